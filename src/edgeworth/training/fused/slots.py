"""One slot of a batch at a time: what its network reads, and a step of its episode.

A GPU has a thread for each slot, and every thread calls these; they are the compiled rules and the compiled reading, nothing of their own.
On a CPU `rollout.py` does the same with a loop over all slots inside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edgeworth.agents.network.forward import Sizes
from edgeworth.agents.network.heads import move_uniforms
from edgeworth.agents.network.reading import read_row
from edgeworth.compiled import Array, Int, Real, compiled_within
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.opening import begin_episode
from edgeworth.games.bargaining.rules import step_episode
from edgeworth.games.bargaining.views import write_features
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING
from edgeworth.training.fused.rollout import Game, asked_of, count_ended


class Sight(NamedTuple):
    """What the network reads of every slot; each an array over the slots."""

    inputs: Any
    """32-bit floats."""
    legal: Any
    """The five acts, as 0 and 1 of 8 bits."""
    caps: Any
    """The pool in the order of reading, 32 bits."""
    orders: Any
    """Which item type is read first, second and third, 32 bits."""
    uniforms: Any
    """Four numbers in [0, 1) for the next move, 32-bit floats."""


class Ledger(NamedTuple):
    """What moves paid, and what is remembered of the episodes; each an array over the slots."""

    rewards: Any
    """Of the last step, in the learner's unit, 32-bit floats."""
    ended: Any
    """Whether it was the episode's last, as 0 and 1, 32-bit floats."""
    returns: Any
    """Points so far in the episode, 64-bit floats."""
    moves: Any
    """Moves of the agent so far in it, 64 bits."""
    totals: Any
    """Over the episodes that ended, five columns as in `Diary.totals`, 64-bit floats."""


@compiled_within
def show_slot(game: Game, sizes: Sizes, sight: Sight, slot: Int) -> None:
    """Write what the network reads of a slot, what is legal there, and the numbers that will decide its move."""
    e = np.uint64(slot)
    s, row, order = game.state[e], sight.inputs[e], sight.orders[e]
    write_features(s, game.rules[0], AGENT, row)
    read_row(row, order, sizes)
    write_mask(s, AGENT, sight.legal[e])
    for k in range(3):
        sight.caps[e, k] = s.counts[np.uint64(order[k])]
    for_act, for_a, for_b, for_c = move_uniforms(s)
    sight.uniforms[e, 0], sight.uniforms[e, 1] = for_act, for_a
    sight.uniforms[e, 2], sight.uniforms[e, 3] = for_b, for_c


@compiled_within
def step_slot(game: Game, sizes: Sizes, sight: Sight, ledger: Ledger, moves: Array, scale: Real, slot: Int) -> None:
    """The move of a slot's agent (act and share, in the order of reading), the reply, what it paid, and a new episode after an end."""
    e = np.uint64(slot)
    s, r, report, order, move = game.state[e], game.rules[0], game.reports[e], sight.orders[e], moves[e]
    a, b, c = asked_of(move, order, 0), asked_of(move, order, 1), asked_of(move, order, 2)
    step_episode(s, r, game.partners, np.int64(move[0]), a, b, c, report)
    ledger.rewards[e] = report.reward * scale
    ledger.returns[e] += report.reward
    ledger.moves[e] += 1
    ledger.ended[e] = 0.0
    if s.outcome != ONGOING:
        ledger.ended[e] = 1.0
        count_ended(s, r, ledger.returns[e], ledger.totals[e])
        ledger.returns[e], ledger.moves[e] = 0.0, 0
        begin_episode(s, r, game.partners, game.table)
    show_slot(game, sizes, sight, slot)
