"""Action spaces that know the state: `sample()` draws only legal actions.

The legal share depends on the pool and AGREE on whether there is an offer, so a fixed space is too large. These spaces describe the whole
format of an action, as Gymnasium expects, but draw from what the rules allow at this moment; with an explicit mask they behave as their
base class does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

LegalNow = Callable[[], tuple[NDArray[np.int8], NDArray[Any]] | None]
"""Masks of acts (N, 5) and caps of shares (N, 3), or None before the first episode."""


class LegalActions(spaces.Dict):
    """Act and share of one episode (`size` None) or of a batch; `sample()` is legal in the state in play."""

    def __init__(self, act_type: spaces.Space[Any], share: spaces.Space[Any], legal_now: LegalNow, single: bool) -> None:
        super().__init__({"act_type": act_type, "oA": share})
        self._legal_now = legal_now
        self._single = single

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A legal action, every legal act and every share as likely as the next."""
        legal = self._legal_now() if mask is None and probability is None else None
        if legal is None:
            return super().sample(mask, probability)
        masks, caps = legal
        shares = self["oA"].np_random.integers(0, caps + 1)
        order = self["act_type"].np_random.random(masks.shape) * masks
        acts = order.argmax(axis=1)
        if self._single:
            return {"act_type": np.int64(acts[0]), "oA": shares[0]}
        return {"act_type": acts, "oA": shares}


class LegalDiscrete(spaces.Discrete):
    """Joint actions of one episode; `sample()` is legal in the state in play."""

    def __init__(self, n: int, mask_now: Callable[[], NDArray[np.int8] | None]) -> None:
        super().__init__(n)
        self._mask_now = mask_now

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """A legal action, every one as likely as the next."""
        return super().sample(self._mask_now() if mask is None and probability is None else mask, probability)


class LegalMultiDiscrete(spaces.MultiDiscrete):
    """Joint actions of a batch of episodes; `sample()` is legal in the states in play."""

    def __init__(self, sizes: NDArray[np.int64], masks_now: Callable[[], NDArray[np.int8] | None]) -> None:
        super().__init__(sizes)
        self._masks_now = masks_now

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Legal actions, every one as likely as the next."""
        masks = self._masks_now() if mask is None and probability is None else None
        if masks is None:
            return super().sample(mask, probability)
        order = self.np_random.random(masks.shape) * masks
        return np.asarray(order.argmax(axis=1), np.int64)
