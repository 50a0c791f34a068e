"""Bayes negotiator: the best blind plan of offers, made in turn, then AGREE. The blind end of every table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import Plan, bayes_plan
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.talks import triple_of
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE


@dataclass(frozen=True)
class Bayes:
    """Plans once per episode, from the pool, its own utilities and who opened."""

    offers: int | None = None
    """How many offers to make before AGREE; as many as serve best by default."""
    knows_partner: ClassVar[bool] = False
    _plans: dict[tuple[object, ...], Plan] = field(default_factory=dict, compare=False, repr=False)

    def choose(self, batch: BargainingBatch) -> Moves:
        rules = repr(batch.config)
        acts = np.full(batch.size, DISAGREE, np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for i, row in enumerate(batch.views):
            elapsed = batch.config.max_turns - int(row[16])
            if batch.masks[i].any():
                acts[i], shares[i] = self._move(batch, rules, row, opener=elapsed % 2, made=elapsed // 2)
        return acts, shares

    def _move(self, batch: BargainingBatch, rules: str, row: NDArray[np.int32], opener: int, made: int) -> tuple[int, tuple[int, int, int]]:
        plan = self._plan(batch, rules, row, opener)
        if made < len(plan.offers):
            return int(plan.offers[made].act), plan.offers[made].share
        return (AGREE if plan.agrees else DISAGREE), (0, 0, 0)

    def _plan(self, batch: BargainingBatch, rules: str, row: NDArray[np.int32], opener: int) -> Plan:
        key = (rules, opener, *(int(n) for n in row[0:6]))
        if key not in self._plans:
            half = Context(triple_of(row[0:3]), triple_of(row[3:6]), (0, 0, 0))
            self._plans[key] = bayes_plan(half, batch, opener, self.offers)
        return self._plans[key]
