"""What a negotiating network reads: 18 base features of the observation, and those of a hint.

The base features are counts 3, own utilities 3, the partner's utilities 3, its last act 5 (all zero before it has spoken), its offer 3 and
the turns left 1, each over its largest value: bit for bit those of `BargainingBatch.features`, but from what any environment returns. The
hint features are taken from `info`; an `info` without them stands for no hint, all zero, so that one network serves with and without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.hint_features import HINT_FEATURES
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import DISAGREE, UTILITY_LIMIT, Act

Features = NDArray[np.float32]
ACTS = np.arange(len(Act))


@dataclass(frozen=True)
class HintAdapter:
    """Turns an observation and its `info` into one row of features, or those of a vector environment into one row per episode."""

    max_count: int = 4
    """Most units of a type in the game, as in its observation space."""
    max_turns: int = 10
    """Turns of a whole episode."""
    age: bool = False
    """Whether the hint features include the hint's age."""

    @classmethod
    def of(cls, env: Any) -> HintAdapter:
        """The adapter for a bargaining environment, single or vector, with or without hints."""
        space = getattr(env, "single_observation_space", env.observation_space)
        config = getattr(env.unwrapped, "config", None)
        if not isinstance(config, BargainingConfig):
            raise InvalidOption(f"HintAdapter reads the observations of DealOrNoDialog-v0, not those of {env!r}.")
        feed = getattr(env, "feed", None)
        return cls(int(space["counts"].high[0]), config.max_turns, feed is not None and feed.config.age)

    @property
    def size(self) -> int:
        """How many features there are."""
        return BASE_FEATURES + HINT_FEATURES + self.age

    def __call__(self, observation: Mapping[str, Any], info: Mapping[str, Any] | None = None) -> Features:
        """Base features, then those of the hint."""
        base = self.base(observation, info)
        hint = None if info is None else info.get("hint_features")
        width = HINT_FEATURES + self.age
        if hint is None:
            hint = np.zeros((*base.shape[:-1], width), np.float32)
        if hint.shape != (*base.shape[:-1], width):
            raise InvalidOption(f"hint_features have shape {hint.shape}; expected {(*base.shape[:-1], width)} (see the option `age`).")
        return np.concatenate([base, hint], axis=-1)

    def base(self, observation: Mapping[str, Any], info: Mapping[str, Any] | None = None) -> Features:
        """The 18 base features alone."""
        unit_count, unit_points = np.float32(1.0) / np.float32(self.max_count), np.float32(1.0) / np.float32(UTILITY_LIMIT)
        acts, turns = np.asarray(observation["last_partner_act"]), np.asarray(observation["turns_remaining"])
        spoken = np.asarray(self._has_spoken(acts, turns) if info is None else info["partner_has_spoken"])
        parts = [
            _numbers(observation["counts"]) * unit_count,
            _numbers(observation["my_utilities"]) * unit_points,
            _numbers(observation["partner_utilities"]) * unit_points,
            _numbers((acts[..., None] == ACTS) & spoken[..., None]),
            _numbers(observation["last_partner_offer_for_me"]) * unit_count,
            _numbers(turns[..., None]) / np.float32(self.max_turns),
        ]
        return np.concatenate(parts, axis=-1)

    def _has_spoken(self, acts: NDArray[Any], turns: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the partner has said anything, from the observation alone.

        A silent partner is shown as DISAGREE, so a DISAGREE as its first act looks like silence; `info` has the difference.
        """
        return np.asarray((acts != DISAGREE) | (turns < self.max_turns - 1))


def _numbers(values: Any) -> Features:
    return np.asarray(values, np.float32)
