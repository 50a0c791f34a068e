"""Where a step writes what it reports and shows; arrays that nobody holds any more are used again.

Fresh memory for every step costs more than the rules: the system hands it out page by page. To cut it into the parts that users know by
name takes Python as long as the rules take for dozens of episodes, so the parts are kept as well. A user who keeps an observation keeps its
arrays alive, and then the next step gets others.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.state import HISTORY_LINE, REPORT, VIEW, VIEW_WIDTH

MOST_KEPT = 4
OBSERVED = ("counts", "my_utilities", "partner_utilities", "last_partner_act", "last_partner_offer_for_me", "turns_remaining")
"""The columns of a view that make up an observation."""
ENDINGS = ("outcome", "partner_reward", "deal")
"""The fields of a report that tell how an episode ended."""


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


class Handout:
    """Outputs that an environment hands to its users, with the parts of them that users know by name."""

    def __init__(self, size: int, turns: int) -> None:
        self.outputs = Outputs.of(size, turns)
        self.observation = {name: self.outputs.views[:, VIEW[name]] for name in OBSERVED}
        self.final_observation = {name: self.outputs.final_views[:, VIEW[name]] for name in OBSERVED}
        self.my_last_offer = self.outputs.views[:, VIEW["my_last_offer"]]
        self.endings = {name: self.outputs.reports[name] for name in ENDINGS}
        self._arrays = self._all_arrays()
        self._at_rest = self._references()

    def _all_arrays(self) -> tuple[NDArray[Any], ...]:
        parts = self.observation, self.final_observation, self.endings
        return *self.outputs, self.my_last_offer, *(array for part in parts for array in part.values())

    def _references(self) -> int:
        """How many references to the arrays there are, those of this very look included."""
        return sum(map(sys.getrefcount, self._arrays))

    def is_unshared(self) -> bool:
        """Whether nobody else holds any of the arrays, nor anything cut out of one."""
        return self._references() == self._at_rest


class HandoutPool:
    """Arrays to hand out, used again once they come back."""

    def __init__(self, size: int, turns: int) -> None:
        self.size, self.turns = size, turns
        self._kept: deque[Handout] = deque(maxlen=MOST_KEPT)

    def __reduce__(self) -> tuple[type[HandoutPool], tuple[int, int]]:
        """A copy begins with nothing to hand out: copied, the parts of an array would be arrays of their own."""
        return HandoutPool, (self.size, self.turns)

    def take(self) -> Handout:
        """Arrays that nobody holds: those that were handed out longest ago if they are free, else new ones."""
        if self._kept and self._kept[0].is_unshared():
            self._kept.rotate(-1)
        else:
            self._kept.append(Handout(self.size, self.turns))
        return self._kept[-1]
