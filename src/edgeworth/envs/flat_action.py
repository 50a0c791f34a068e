"""The bargaining game for off-the-shelf learners: one discrete action, a complete mask, a flat observation.

The action numbers are those of `games/bargaining/joint_actions.py`; the observation is the 18 base features in [0, 1].
`action_masks()` is what masked learners such as MaskablePPO ask for, and `info["action_mask"]` holds the same array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_spaces import SafeDiscrete, SafeMultiDiscrete
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.games.bargaining.contexts import array_of
from edgeworth.games.bargaining.joint_actions import checked_actions, decode, joint_masks
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import AGENT

Features = NDArray[np.float32]
Mask = NDArray[np.int8]


def feature_space() -> spaces.Box[Any]:
    """The base features."""
    return spaces.Box(0.0, 1.0, (BASE_FEATURES,), np.float32)


class FlatActionEnv(gymnasium.Env[Any, Any]):
    """`DealOrNoDialog-v0` with `Discrete` actions and `Box` observations; takes the same options."""

    metadata = NegotiationEnv.metadata

    def __init__(self, **options: Any) -> None:
        self.inner = NegotiationEnv(**options)
        self.render_mode = self.inner.render_mode
        self.max_count = self.inner.batch.max_count
        self.action_space = SafeDiscrete(self.max_count, self.inner.batch.least_counts)
        self.observation_space = feature_space()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Features, dict[str, Any]]:
        """Begin the seed's first episode, or without a seed the next one."""
        _, info = self.inner.reset(seed=seed, options=options)
        super().reset(seed=seed)
        return self._features(), self._flat_info(info)

    def step(self, action: Any) -> tuple[Features, float, bool, bool, dict[str, Any]]:
        """Make the agent's move and hear the partner's reply."""
        acts, shares = decode(checked_actions(np.atleast_1d(array_of(action)), 1, self.max_count), self.max_count)
        _, reward, terminated, truncated, info = self.inner.step({"act_type": int(acts[0]), "oA": shares[0]})
        return self._features(), reward, terminated, truncated, self._flat_info(info)

    def action_masks(self) -> Mask:
        """Every action that is legal now."""
        masks: Mask = joint_masks(self.inner.batch.state, AGENT, self.max_count)[0]
        return masks

    def render(self) -> str | None:
        """The negotiation as a table of text."""
        return self.inner.render()

    def _features(self) -> Features:
        features: Features = self.inner.batch.features()[0]
        return features

    def _flat_info(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "action_mask": self.action_masks()}


class FlatActionVectorEnv(VectorEnv[Features, NDArray[np.int64], NDArray[Any]]):
    """The vector environment with joint actions and flat features; takes the same options."""

    def __init__(self, num_envs: int = 1, autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP, **options: Any) -> None:
        self.inner = NegotiationVectorEnv(num_envs, autoreset_mode=autoreset_mode, **options)
        self.num_envs = num_envs
        self.metadata = self.inner.metadata
        self.render_mode = self.inner.render_mode
        self.max_count = self.inner.batch.max_count
        self.single_action_space = SafeDiscrete(self.max_count, self.inner.batch.least_counts)
        self.single_observation_space = feature_space()
        self.action_space = SafeMultiDiscrete(num_envs, self.max_count, self.inner.batch.least_counts)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Features, dict[str, Any]]:
        """Begin new episodes: all of them, or those that `options["reset_mask"]` names."""
        _, infos = self.inner.reset(seed=seed, options=options)
        return self.inner.features(), {**infos, "action_mask": self.action_masks()}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Features, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of every episode, or an error before any has moved."""
        acts, shares = decode(checked_actions(array_of(actions), self.num_envs, self.max_count), self.max_count)
        _, rewards, terminated, truncated, infos = self.inner.step({"act_type": acts, "oA": shares})
        infos["action_mask"] = self.action_masks()
        if "final_obs" in infos:
            infos["final_obs"] = self.inner.batch.final_features() * terminated[:, None]
        return self.inner.features(), rewards, terminated, truncated, infos

    def action_masks(self) -> Mask:
        """Every action that is legal now, one row per episode."""
        return joint_masks(self.inner.batch.state, AGENT, self.max_count)

    def render(self) -> tuple[str, ...] | None:
        """The negotiation of every episode as a table of text."""
        return self.inner.render()
