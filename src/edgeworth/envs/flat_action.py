"""The bargaining game for off-the-shelf learners: one discrete action, a complete mask, a flat observation.

The action numbers are those of `games/bargaining/joint_actions.py`; the observation is the 18 base features in [0, 1].
`action_masks()` is what masked learners such as MaskablePPO ask for, and `info["action_mask"]` holds the same array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_spaces import SafeDiscrete, SafeMultiDiscrete
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.games.bargaining.contexts import triple_of
from edgeworth.games.bargaining.joint_actions import encode, joint_masks, read_actions
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import AGENT

Features = NDArray[np.float32]
Mask = NDArray[np.int8]


def feature_space() -> spaces.Box[Any]:
    """The base features."""
    return spaces.Box(0.0, 1.0, (BASE_FEATURES,), np.float32)


class FlatActionEnv(NegotiationEnv):
    """`DealOrNoDialog-v0` with `Discrete` actions and `Box` observations; takes the same options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.max_count = self.batch.max_count
        self.action_space = SafeDiscrete(self.max_count, self.batch.least_counts)
        self.observation_space = feature_space()

    def step(self, action: Any) -> tuple[Features, float, bool, bool, dict[str, Any]]:
        """Make the agent's move, and the partner's reply."""
        acts, shares = read_actions(action, 1, self.max_count)
        return super().step({"act_type": int(acts[0]), "oA": shares[0]})

    def action_masks(self) -> Mask:
        """Every action that is legal now."""
        masks: Mask = joint_masks(self.batch.state, AGENT, self.max_count)[0]
        return masks

    def _observation(self, row: NDArray[np.int32]) -> Features:
        features: Features = self.batch.features()[0]
        return features

    def _info(self, row: NDArray[np.int32]) -> dict[str, Any]:
        return {**super()._info(row), "action_mask": self.action_masks()}


class FlatActionVectorEnv(NegotiationVectorEnv):
    """The vector environment with joint actions and flat features; takes the same options."""

    def __init__(self, num_envs: int = 1, **options: Any) -> None:
        super().__init__(num_envs, **options)
        self.max_count = self.batch.max_count
        self.single_action_space = SafeDiscrete(self.max_count, self.batch.least_counts)
        self.single_observation_space = feature_space()
        self.action_space = SafeMultiDiscrete(num_envs, self.max_count, self.batch.least_counts)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

    def step(self, actions: Any) -> tuple[Features, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of every episode, or an error before any has moved."""
        acts, shares = read_actions(actions, self.num_envs, self.max_count)
        return super().step({"act_type": acts, "oA": shares})

    def random_actions(self) -> NDArray[np.int64]:
        """A legal action for every episode, drawn from the episode's own randomness."""
        acts, shares = self.batch.random_actions()
        return np.array([encode(act, triple_of(share), self.max_count) for act, share in zip(acts, shares, strict=True)])

    def action_masks(self) -> Mask:
        """Every action that is legal now, one row per episode."""
        return joint_masks(self.batch.state, AGENT, self.max_count)

    def _observations(self) -> Features:
        return self.batch.features()

    def _final_observations(self) -> Features:
        return self.batch.final_features() * self.batch.outputs.ended[:, None]

    def _infos(self) -> dict[str, Any]:
        return {**super()._infos(), "action_mask": self.action_masks()}
