"""What an agent may believe about its partner: every utility vector the context source allows, and what the moves rule out.

Before the first move all vectors consistent with the pool and the agent's own utilities are equally likely: all 1,331 for uniform
contexts, the matching rows for a table. Then a deterministic partner's replies rule vectors out: the posterior replays the moves against
every candidate, by the rules themselves, and keeps those that would have answered as the partner did.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidContext, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.partners.program import RANDOM, check_answers_alike
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES, LOST_TURN, UTILITY_LIMIT, Side


@cache
def _all_utilities() -> NDArray[np.int64]:
    vectors = np.array(list(itertools.product(range(UTILITY_LIMIT + 1), repeat=ITEM_TYPES)), np.int64)
    vectors.flags.writeable = False
    return vectors


@cache
def uniform_types(counts: Triple, normalize: bool) -> NDArray[np.int64]:
    """All utilities; where contexts are scaled, those of a side that values something in the pool."""
    vectors: NDArray[np.int64] = _all_utilities()
    types = np.asarray(vectors[(vectors @ np.array(counts) > 0) | (not normalize)], np.int64)
    types.flags.writeable = False
    return types


def partner_types(context: Context, batch: BargainingBatch) -> NDArray[np.int64]:
    """The partner utilities that are possible before the first move, equally likely; only the agent's half of the context is read."""
    if not batch.rules[0]["from_table"]:
        return uniform_types(context.counts, batch.config.normalize)
    seen = np.array((*context.counts, *context.my_utilities))
    rows = batch.table[(batch.table[:, :6] == seen).all(axis=1)]
    if not len(rows):
        raise InvalidContext(
            f"No context of source {batch.config.contexts!r} has counts {context.counts} and utilities {context.my_utilities}."
        )
    return np.asarray(rows[:, 6:], np.int64)


def posterior(context: Context, moves: Sequence[Move], batch: BargainingBatch) -> NDArray[np.int64]:
    """The partner utilities that remain possible after these moves, equally likely.

    A random partner's replies tell nothing. A population has no single way to reply, so it is refused.
    """
    if len(batch.partners) > 1:
        raise InvalidOption("The posterior needs to know which partner it faces; name one instead of a population.")
    check_answers_alike(batch, "The posterior")
    types = partner_types(context, batch)
    if batch.partners[0]["kind"] == RANDOM or not moves:
        return types
    replay = BargainingBatch(batch.config, len(types), two_player=True)
    replay.rules["sudden_end"] = 0.0
    half = np.array((*context.counts, *context.my_utilities), np.int16)
    replay.seed(0)
    replay.reset(np.concatenate([np.broadcast_to(half, (len(types), 6)), types.astype(np.int16)], axis=1))
    possible = np.ones(len(types), np.bool_)
    for move in moves:
        acts, shares = _repeated(move, len(types))
        if move.side == Side.PARTNER:
            said, asked = replay.replies()
            possible &= said == acts
            possible &= (asked == shares).all(axis=1) | (move.share is None)
        _force(replay, move, acts, shares)
    if not possible.any():
        raise InvalidOption("No utilities explain these replies; check that partner, options and moves belong together.")
    return types[possible]


def _repeated(move: Move, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    share = move.share or (0, 0, 0)
    return np.full(size, move.act, np.int64), np.tile(np.array(share, np.int64), (size, 1))


def _force(replay: BargainingBatch, move: Move, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> None:
    """Make an observed move in every candidate world."""
    if move.act == LOST_TURN:
        replay.state["turn"] += 1
        return
    replay.move(move.side, acts, shares)
