"""Bayes hints: the next move of the best blind plan, the best advice that is possible without knowing the partner's utilities.

A plan (`games/bargaining/blind_plan.py`) is made once per game, context and opening side in a process. The hint is the offer at the agent's
place in it, counting its own moves; after the last, AGREE or, where no deal is better, DISAGREE. It is the best advice for an agent that
has followed the plan so far. The confidence of an offer is the probability that the partner accepts it, given that it refused the earlier
offers of the plan; AGREE and DISAGREE end the negotiation for certain, confidence 1.

Where the partner's counter-offers reveal something, no plan is fixed in advance: the hint is the move of the lookahead over beliefs
(`games/bargaining/belief_search.py`) after the moves that were really made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.advice import AdviceBook, hints_of
from edgeworth.errors import InvalidContext
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.belief_play import book_of, history_lines
from edgeworth.games.bargaining.blind_plan import BEGINNINGS, acceptance_chances, bayes_plan, check_silent_partner, is_silent
from edgeworth.games.bargaining.branches import check_predictable
from edgeworth.games.bargaining.contexts import Context, Triple, triple_of
from edgeworth.games.bargaining.hints import Hint, Hints
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, ITEM_TYPES, UTILITY_LIMIT, Act
from edgeworth.protocol import Reason, Rejection

Situation = tuple[int, Triple, Triple]
"""Who opened, the pool, the agent's utilities: what a plan depends on."""
Advice = tuple[Hint, ...] | Rejection
"""The hints for the agent's moves in turn, the last of them for all that follow; or why there are none."""

RADICES = (2, *[COUNT_LIMIT + 1] * ITEM_TYPES, *[UTILITY_LIMIT + 1] * ITEM_TYPES)
"""How many values each number of a situation can have."""
PLACES = np.cumprod((1, *RADICES[:0:-1]))[::-1]
"""What each number of a situation counts in its code."""


class PlanBook:
    """The plans of one game, looked up for whole batches."""

    def __init__(self, offers: int | None) -> None:
        self.offers = offers
        self.advice = AdviceBook()
        size = int(np.prod(RADICES))
        self._first = np.zeros(size, np.int32)  # by code of a situation: 1 + the number of its plan's first hint; 0 where there is none
        self._moves = np.zeros(size, np.int8)  # and how many hints the plan has

    def numbers(self, batch: BargainingBatch, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """The hint for the next move at each of these views, as its number in the book; what is not planned yet is planned."""
        elapsed = batch.config.max_turns - rows[:, VIEW["turns_remaining"]].astype(np.int64)
        codes = elapsed % 2 * PLACES[0] + rows[:, : 2 * ITEM_TYPES] @ PLACES[1:]
        for code in np.unique(codes[self._first[codes] == 0]).tolist():
            self._plan(code, batch)
        return np.asarray(self._first[codes] - 1 + np.minimum(elapsed // 2, self._moves[codes] - 1), np.int64)

    def _plan(self, code: int, batch: BargainingBatch) -> None:
        opener, *half = (code // place % radix for place, radix in zip(PLACES.tolist(), RADICES, strict=True))
        advice = planned_hints((opener, triple_of(half[:ITEM_TYPES]), triple_of(half[ITEM_TYPES:])), batch, self.offers)
        hints = (advice,) if isinstance(advice, Rejection) else advice
        self._first[code], self._moves[code] = 1 + len(self.advice), len(hints)
        for hint in hints:
            self.advice.add(hint)


BOOKS: dict[tuple[str, int | None], PlanBook] = {}
"""By rules and number of offers; kept as long as the process lives, since a plan depends on nothing else."""


@dataclass(frozen=True)
class Bayes:
    """Suggests the best blind plan's move; where counter-offers say something of the partner's utilities, that of the belief agent."""

    offers: int | None = None
    """How many offers to make before AGREE; by default the best number."""
    counters: ClassVar[Mapping[str, int | str]] = {}

    def check(self, batch: BargainingBatch) -> None:
        if self.offers is not None:
            check_silent_partner(batch)
        elif not is_silent(batch):
            check_predictable(batch)

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        if self.offers is None and not is_silent(batch):
            return hints_of(batch, due, [_adapted(batch, slot) for slot in np.flatnonzero(due).tolist()])
        key = repr(batch.config), self.offers
        if key not in BOOKS:
            BOOKS[key] = PlanBook(self.offers)
        return BOOKS[key].advice.lay_out(batch, due, BOOKS[key].numbers(batch, batch.views[due]))


def _adapted(batch: BargainingBatch, slot: int) -> Hint | Rejection:
    """The move of the lookahead as a hint."""
    row = batch.views[slot]
    half = Context(triple_of(row[VIEW["counts"]]), triple_of(row[VIEW["my_utilities"]]), (0, 0, 0))
    try:
        advised = book_of(batch).advised(half, history_lines(batch, slot))
    except InvalidContext as error:
        return Rejection(Reason.NO_REPLY, f"There is no plan: {error}")
    return Hint(advised.act, advised.share, advised.chance)


def planned_hints(situation: Situation, batch: BargainingBatch, offers: int | None, beginnings: int = BEGINNINGS) -> Advice:
    """The moves of the best plan as hints; its search gives up after so many beginnings of lists."""
    opener, counts, utilities = situation
    half = Context(counts, utilities, (0, 0, 0))
    try:
        plan = bayes_plan(half, batch, opener, offers, beginnings)
    except InvalidContext as error:  # a context that the user fixed and the source never draws
        return Rejection(Reason.NO_REPLY, f"There is no plan: {error}")
    chances = acceptance_chances(plan, half, batch)
    made = [Hint(offer.act, offer.share, chance) for offer, chance in zip(plan.offers, chances, strict=True)]
    return (*made, Hint(Act.AGREE if plan.agrees else Act.DISAGREE, (0, 0, 0), 1.0))
