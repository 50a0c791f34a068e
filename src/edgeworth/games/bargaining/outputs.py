"""Where a step writes what it reports and shows; arrays that nobody holds any more are used again.

Fresh memory for every step costs more than the rules: the system hands it out page by page. A user who keeps an observation keeps its
array alive, and then the next step gets another one.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.state import HISTORY_LINE, REPORT, VIEW_WIDTH

MOST_KEPT = 4


class Outputs(NamedTuple):
    """What a step writes beside the state."""

    reports: NDArray[np.void]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    spoken: NDArray[np.bool_]
    views: NDArray[np.int32]
    masks: NDArray[np.int8]
    final_views: NDArray[np.int32]
    histories: NDArray[np.int8]

    @classmethod
    def of(cls, size: int, turns: int) -> Outputs:
        """Arrays for a batch; with no turns, none for the history."""
        return cls(
            reports=np.zeros(size, REPORT),
            rewards=np.zeros(size),
            ended=np.zeros(size, np.bool_),
            spoken=np.zeros(size, np.bool_),
            views=np.zeros((size, VIEW_WIDTH), np.int32),
            masks=np.zeros((size, 5), np.int8),
            final_views=np.zeros((size, VIEW_WIDTH), np.int32),
            histories=np.zeros((size if turns else 0, turns, HISTORY_LINE), np.int8),
        )

    def is_unshared(self) -> bool:
        """Whether nobody else holds any of the arrays."""
        return all(count == UNSHARED for count in _references(self))


def _references(outputs: Outputs) -> list[int]:
    """How many references each array has, those of this very look included."""
    return [sys.getrefcount(array) for array in outputs]


UNSHARED = _references(Outputs.of(1, 1))[0]
"""References to an array that only its own `Outputs` holds; Python's versions count the look itself differently."""


class OutputPool:
    """Arrays to hand out, used again once they come back."""

    def __init__(self, size: int, turns: int) -> None:
        self.size, self.turns = size, turns
        self._kept: list[Outputs] = []

    def take(self) -> Outputs:
        """Arrays that nobody holds."""
        for outputs in self._kept:
            if outputs.is_unshared():
                return outputs
        outputs = Outputs.of(self.size, self.turns)
        self._kept = [*self._kept[1 - MOST_KEPT :], outputs]
        return outputs
