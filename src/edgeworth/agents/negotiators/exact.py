"""Computed negotiators: the best blind agent and the best response, the two ends of every table.

`bayes` makes the offers of the best blind plan in turn, then AGREEs. Where counter-offers reveal something about the partner, it adapts: it
keeps the partners that explain what was heard and looks ahead (`games/bargaining/belief_search.py`). `oracle` knows the partner's utilities
and plays the exact best response; it needs a single partner, not a population. Both solve each situation once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.belief_play import book_of, history_lines
from edgeworth.games.bargaining.best_response import Response, best_response
from edgeworth.games.bargaining.blind_plan import Plan, bayes_plan, is_silent
from edgeworth.games.bargaining.contexts import Context, Triple, context_of, triple_of
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE, Side


class _Exact:
    """Chooses move by move; episodes that are over are passed over."""

    def choose(self, batch: BargainingBatch) -> Moves:
        rules = repr(batch.config)
        acts = np.full(batch.size, DISAGREE, np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for slot in np.flatnonzero(batch.masks.any(axis=1)).tolist():
            turn = batch.config.max_turns - int(batch.views[slot, VIEW["turns_remaining"]])
            acts[slot], shares[slot] = self._move(batch, rules, slot, turn)
        return acts, shares

    def _move(self, batch: BargainingBatch, rules: str, slot: int, turn: int) -> tuple[int, Triple]:
        """The move in one episode after this many moves; `rules` identifies the game."""
        raise NotImplementedError


@dataclass(frozen=True)
class Bayes(_Exact):
    """Plans from the pool, its own utilities and who opened; adapts where counter-offers reveal something."""

    offers: int | None = None
    """How many offers to make before AGREE; as many as serve best by default."""
    knows_partner: ClassVar[bool] = False
    _plans: dict[tuple[object, ...], Plan] = field(default_factory=dict, compare=False, repr=False)
    _silent: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def _move(self, batch: BargainingBatch, rules: str, slot: int, turn: int) -> tuple[int, Triple]:
        if self._adapts(batch, rules):
            advised = book_of(batch).advised(_half(batch.views[slot]), history_lines(batch, slot))
            return int(advised.act), advised.share
        plan, made = self._plan(batch, rules, batch.views[slot], opener=turn % 2), turn // 2
        if made < len(plan.offers):
            return int(plan.offers[made].act), plan.offers[made].share
        return (AGREE if plan.agrees else DISAGREE), (0, 0, 0)

    def _adapts(self, batch: BargainingBatch, rules: str) -> bool:
        """Whether there is something to adapt to in this game; a number of offers asks for a plan."""
        if rules not in self._silent:
            self._silent[rules] = self.offers is not None or is_silent(batch)
        return not self._silent[rules]

    def _plan(self, batch: BargainingBatch, rules: str, row: NDArray[np.int32], opener: int) -> Plan:
        half = _half(row)
        key = (rules, opener, half)
        if key not in self._plans:
            self._plans[key] = bayes_plan(half, batch, opener, self.offers)
        return self._plans[key]


def _half(row: NDArray[np.int32]) -> Context:
    """The agent's half of the context in a view."""
    return Context(triple_of(row[VIEW["counts"]]), triple_of(row[VIEW["my_utilities"]]), (0, 0, 0))


@dataclass(frozen=True)
class Oracle(_Exact):
    """Plays the best response to the partner's true utilities."""

    knows_partner: ClassVar[bool] = True
    _responses: dict[tuple[object, ...], Response] = field(default_factory=dict, compare=False, repr=False)

    def _move(self, batch: BargainingBatch, rules: str, slot: int, turn: int) -> tuple[int, Triple]:
        response = self._response(rules, batch, context_of(batch.state[slot]), opener=turn % 2)
        offered = batch.masks[slot, AGREE]
        move = response.move_at(turn, triple_of(batch.views[slot, VIEW["last_partner_offer_for_me"]]) if offered else None)
        return move.act, move.share or (0, 0, 0)

    def _response(self, rules: str, batch: BargainingBatch, context: Context, opener: int) -> Response:
        key = (rules, opener, context)
        if key not in self._responses:
            self._responses[key] = best_response(context, batch.config, Side(opener))
        return self._responses[key]
