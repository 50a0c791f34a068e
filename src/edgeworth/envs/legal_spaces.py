"""Action spaces whose `sample()` is legal in every state.

Which actions are legal depends on the pool and on what has been said, and an illegal one is an error by default. A plain `sample()`
knows neither, so it draws from the actions that no state forbids: any act but AGREE, with a share no larger than the smallest pool
the context source can give (a still smaller pool fixed by `reset` options needs the mask). The spaces still contain every action;
to draw from all that are legal now, pass the mask (`info["action_mask"]`, in the flat view complete) or use `random_actions()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.games.bargaining.joint_actions import joint_action_count, joint_mask
from edgeworth.games.bargaining.vocabulary import AGREE, Act

SAFE_ACTS = np.array([act for act in Act if act != AGREE])


class SafeActions(spaces.Dict):
    """Act and share of one episode, or of a batch."""

    def __init__(self, act_type: spaces.Space[Any], share: spaces.Space[Any], least_counts: NDArray[np.int16]) -> None:
        super().__init__({"act_type": act_type, "oA": share})
        self._least_counts = least_counts

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """An action that is legal in every state, or any action that a mask allows."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        acts, shares = self["act_type"], self["oA"]
        chosen = SAFE_ACTS[acts.np_random.integers(len(SAFE_ACTS), size=acts.shape)]
        return {"act_type": chosen, "oA": shares.np_random.integers(0, self._least_counts + 1, size=shares.shape)}


class SafeDiscrete(spaces.Discrete):
    """Joint actions of one episode."""

    def __init__(self, max_count: int, least_counts: NDArray[np.int16]) -> None:
        super().__init__(joint_action_count(max_count))
        self._safe = joint_mask(least_counts, max_count, can_agree=False)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """An action that is legal in every state, or any action that a mask allows."""
        return super().sample(self._safe if mask is None and probability is None else mask, probability)


class SafeMultiDiscrete(spaces.MultiDiscrete):
    """Joint actions of a batch of episodes."""

    def __init__(self, size: int, max_count: int, least_counts: NDArray[np.int16]) -> None:
        super().__init__([joint_action_count(max_count)] * size)
        self._safe = np.flatnonzero(joint_mask(least_counts, max_count, can_agree=False))

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Actions that are legal in every state, or any that the masks (one row each) allow."""
        if isinstance(mask, np.ndarray) and mask.ndim == 2 and probability is None:
            return np.asarray((self.np_random.random(mask.shape) * (mask > 0)).argmax(axis=1), np.int64)
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return self._safe[self.np_random.integers(len(self._safe), size=self.shape)]
