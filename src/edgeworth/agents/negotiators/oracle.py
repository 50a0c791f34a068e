"""Oracle negotiator: knows the partner's utilities and plays the exact best response. The upper end of every table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import Response, best_response
from edgeworth.games.bargaining.contexts import Context, Triple, context_of
from edgeworth.games.bargaining.talks import triple_of
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE, Side


@dataclass(frozen=True)
class Oracle:
    """Solves each context once, for the side that opened it; needs a single partner, not a population."""

    knows_partner: ClassVar[bool] = True
    _responses: dict[tuple[object, ...], Response] = field(default_factory=dict, compare=False, repr=False)

    def choose(self, batch: BargainingBatch) -> Moves:
        rules = repr(batch.config)
        acts = np.full(batch.size, DISAGREE, np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for slot in range(batch.size):
            if batch.masks[slot].any():
                turn = batch.config.max_turns - int(batch.views[slot, 16])
                context = context_of(batch.state[slot])
                response = self._response(rules, batch, context, opener=turn % 2)
                move = response.move_at(turn, _standing_offer(batch, slot))
                acts[slot], shares[slot] = move.act, move.share or (0, 0, 0)
        return acts, shares

    def _response(self, rules: str, batch: BargainingBatch, context: Context, opener: int) -> Response:
        key = (rules, opener, *context.row())
        if key not in self._responses:
            self._responses[key] = best_response(context, batch.config, Side(opener))
        return self._responses[key]


def _standing_offer(batch: BargainingBatch, slot: int) -> Triple | None:
    """What the partner's standing offer leaves the agent."""
    return triple_of(batch.views[slot, 9:12]) if batch.masks[slot, AGREE] else None
