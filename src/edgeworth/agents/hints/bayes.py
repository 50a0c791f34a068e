"""Bayes hints: the next move of the best blind plan, as exact as advice gets from somebody who does not know the partner either.

The plan is made once per context and side that opens (`games/bargaining/blind_plan.py`), and the hint is the offer at the agent's place in
it, counting its own moves; after the last, AGREE or, where no deal is better, DISAGREE. It is the best advice for an agent that has
followed so far. The confidence of an offer is the chance that the partner takes it, given that it refused the offers of the plan
before; AGREE and DISAGREE end the talks for certain, confidence 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.provider import ask_once, hints_of
from edgeworth.errors import InvalidContext
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import acceptance_chances, bayes_plan, check_silent_partner
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.hints import Hint, Hints
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.protocol import Reason, Rejection

Situation = tuple[int, Triple, Triple]
"""Who opened, the pool, the agent's utilities: what a plan depends on."""
Advice = tuple[Hint, ...] | Rejection
"""The hints for the agent's moves in turn, the last of them for all that follow; or why there are none."""


@dataclass(frozen=True)
class Bayes:
    """Plans every situation once; needs a partner whose counter-offers betray nothing."""

    offers: int | None = None
    """How many offers to make before AGREE; as many as serve best by default."""
    counters: ClassVar[Mapping[str, int | str]] = {}
    _advice: dict[tuple[str, Situation], Advice] = field(default_factory=dict, init=False, compare=False, repr=False)

    def check(self, batch: BargainingBatch) -> None:
        check_silent_partner(batch)

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        rows = batch.views[due]
        elapsed = (batch.config.max_turns - rows[:, 16]).tolist()
        situations = [_situation(row, turn % 2) for row, turn in zip(rows[:, 0:6].tolist(), elapsed, strict=True)]
        rules = repr(batch.config)
        advice = ask_once(situations, lambda different: [self._advise(rules, situation, batch) for situation in different])
        return hints_of(
            batch, due, [a if isinstance(a, Rejection) else a[min(t // 2, len(a) - 1)] for a, t in zip(advice, elapsed, strict=True)]
        )

    def _advise(self, rules: str, situation: Situation, batch: BargainingBatch) -> Advice:
        key = (rules, situation)
        if key not in self._advice:
            self._advice[key] = planned_hints(situation, batch, self.offers)
        return self._advice[key]


def planned_hints(situation: Situation, batch: BargainingBatch, offers: int | None) -> Advice:
    """The moves of the best plan as hints."""
    opener, counts, utilities = situation
    half = Context(counts, utilities, (0, 0, 0))
    try:
        plan = bayes_plan(half, batch, opener, offers)
    except InvalidContext as error:  # a context that the user fixed and the source never draws
        return Rejection(Reason.NO_REPLY, f"There is no plan: {error}")
    chances = acceptance_chances(plan, half, batch)
    made = [Hint(offer.act, offer.share, chance) for offer, chance in zip(plan.offers, chances, strict=True)]
    return (*made, Hint(Act.AGREE if plan.agrees else Act.DISAGREE, (0, 0, 0), 1.0))


def _situation(row: list[int], opener: int) -> Situation:
    a, b, c, x, y, z = row
    return opener, (a, b, c), (x, y, z)
