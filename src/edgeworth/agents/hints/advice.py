"""Hints for a batch of episodes: from a list of answers, or from a book in which they are kept by number.

A provider whose hints depend on few situations writes each into the book once and keeps its number; the hints of a batch are then looked up
without a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hint, Hints, hints_of_moves
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES
from edgeworth.protocol import Rejection

LINE = np.dtype([("act", np.int8), ("share", np.int8, (ITEM_TYPES,)), ("given", np.bool_), ("confidence", np.float32)])
FIRST_LINES = 1024


class AdviceBook:
    """Hints, and reasons why there is none, in the order in which they were written down."""

    def __init__(self) -> None:
        self._lines = np.zeros(FIRST_LINES, LINE)
        self._reasons: dict[int, Rejection] = {}
        self._known: dict[Rejection, int] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, number: int) -> Hint | Rejection:
        if number in self._reasons:
            return self._reasons[number]
        act, share, _, confidence = self._lines[number].item()
        return Hint(act, tuple(share), confidence)

    def add(self, advice: Hint | Rejection) -> int:
        """Write down a hint or why there is none; returns its number, which is the same for the same reason."""
        number = self._length
        if isinstance(advice, Rejection) and self._known.setdefault(advice, number) != number:
            return self._known[advice]
        if number == len(self._lines):
            self._lines = np.concatenate([self._lines, np.zeros_like(self._lines)])
        if isinstance(advice, Rejection):
            self._reasons[number] = advice
        else:
            self._lines[number] = advice.act, advice.share, True, advice.confidence
        self._length += 1
        return number

    def lay_out(
        self, batch: BargainingBatch, due: NDArray[np.bool_], numbers: NDArray[np.int64], orders: NDArray[np.int64] | None = None
    ) -> Hints:
        """The hints with these numbers for the episodes that are due, in their order.

        `orders` names the item types that the first, second and third number of each share are for, where these are not as they stand.
        """
        acts, shares = np.zeros(batch.size, np.int64), np.zeros((batch.size, ITEM_TYPES), np.int64)
        confidences, given = np.zeros(batch.size, np.float32), np.zeros(batch.size, np.bool_)
        lines = self._lines[numbers]
        stated = lines["share"].astype(np.int64)
        if orders is not None:
            placed = np.empty_like(stated)
            np.put_along_axis(placed, orders, stated, axis=1)
            stated = placed
        acts[due], shares[due], confidences[due], given[due] = lines["act"], stated, lines["confidence"], lines["given"]
        refused = np.flatnonzero(due & ~given).tolist() if self._reasons else []
        places = np.cumsum(due) - 1
        rejections = {slot: self._reasons[int(numbers[places[slot]])] for slot in refused}
        return hints_of_moves(batch, given, acts, shares, confidences, rejections)


def hints_of(batch: BargainingBatch, due: NDArray[np.bool_], answers: Sequence[Hint | Rejection]) -> Hints:
    """A batch of hints from the answers for the episodes that are due, in their order."""
    book = AdviceBook()
    return book.lay_out(batch, due, np.array([book.add(answer) for answer in answers], np.int64))
