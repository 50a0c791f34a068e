"""Oracle negotiator: knows the partner's utilities and plays the exact best response. The upper end of every table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import Response, best_response
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.talks import triple_of
from edgeworth.games.bargaining.vocabulary import DISAGREE, Side


@dataclass(frozen=True)
class Oracle:
    """Solves each context once, for the side that opened it; needs one deterministic partner."""

    knows_partner: ClassVar[bool] = True
    _responses: dict[tuple[int, ...], Response] = field(default_factory=dict, compare=False, repr=False)

    def choose(self, batch: BargainingBatch) -> Moves:
        acts = np.full(batch.size, DISAGREE, np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for i in range(batch.size):
            if not batch.masks[i].any():
                continue
            elapsed = batch.config.max_turns - int(batch.views[i, 16])
            moves = self._response(batch, i, elapsed % 2).moves
            move = moves[min(elapsed // 2, len(moves) - 1)]
            acts[i], shares[i] = move.act, move.share or (0, 0, 0)
        return acts, shares

    def _response(self, batch: BargainingBatch, slot: int, opener: int) -> Response:
        state = batch.state[slot]
        context = Context(triple_of(state["counts"]), triple_of(state["utilities"][0]), triple_of(state["utilities"][1]))
        key = (opener, *context.row())
        if key not in self._responses:
            self._responses[key] = best_response(context, batch.config, Side(opener))
        return self._responses[key]
