"""Negotiations that begin from a given context, or replay given moves.

Replayed moves are made by the rules, which refuse illegal ones; the partner's moves are those given, whatever it would have chosen itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgeworth.config import BargainingConfig
from edgeworth.errors import IllegalAction, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING

OWNERS = ("mine", "the partner's")
"""By side: whose move it is, in errors."""


def opened_negotiation(config: BargainingConfig, context: Context, seed: int, two_player: bool) -> BargainingBatch:
    """A batch of one that begins with this context."""
    batch = BargainingBatch(config, 1, two_player=two_player)
    batch.seed(seed)
    batch.reset(np.array([context.row()], np.int16))
    return batch


def replayed_negotiation(config: BargainingConfig, context: Context, history: Sequence[Move], called: str = "history") -> BargainingBatch:
    """A batch of one after these moves, the agent to move next; `called` names the moves in errors."""
    opener = history[0].side if history else AGENT
    opens = ("agent", "partner")[opener]
    if config.opens not in ("random", opens):
        raise InvalidOption(f"The first move of {called} is of the {opens}, but here the {config.opens} opens (option `opens`).")
    batch = opened_negotiation(replace(config, opens=opens), context, 0, two_player=True)  # type: ignore[arg-type]
    batch.rules["sudden_end"] = 0.0  # this negotiation did not break off
    for number, move in enumerate(history, start=1):
        if move.side != (opener + number - 1) % 2:
            raise InvalidOption(f"Move {number} of {called} is again one of {OWNERS[move.side]}; the sides move in turn.")
        try:
            batch.move(move.side, np.array([move.act]), np.array([move.share or (0, 0, 0)]))
        except IllegalAction as error:
            raise InvalidOption(f"Move {number} of {called} is not legal: {error}") from error
        if batch.state["outcome"][0] != ONGOING:
            raise InvalidOption(f"The negotiation is over with move {number} of {called}; there is nothing to give a hint for.")
    if history and history[-1].side == AGENT:
        raise InvalidOption(f"The last move of {called} is mine, so the next is the partner's; add its move.")
    batch.refresh()
    return batch
