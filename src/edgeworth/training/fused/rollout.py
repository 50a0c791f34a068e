"""Playing: the network and the compiled rules take turns, and everything that learning needs is written to a rollout buffer.

One step is `observe` (features and masks of all slots), `decide` (the network, and moves drawn from it) and `advance` (the rules). Where
hints come from the rules themselves, or there are none, `play` repeats them inside compiled code; where a provider has to be asked in
Python, the learner calls these steps one by one.

PPO plays a fixed number of steps and goes on from there next time. REINFORCE needs whole episodes, so that every slot plays on until the
episode it is in has ended, and rests. Stopping at the first end of an episode after so many moves is a stopping time, so the sum over an
iteration's episodes is an unbiased estimate (Wald), which it would not be if unfinished episodes were dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.heads import choose_move, legal_acts, legal_units, log_prob, move_uniforms, softmax
from edgeworth.agents.network.layers import TILE, NetworkArrays, Sizes, aligned_zeros, forward
from edgeworth.agents.network.reading import read_row
from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled_bare, compiled_within
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.opening import begin_episode
from edgeworth.games.bargaining.rules import step_episode
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.views import write_situation
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, ONGOING, SELECTIONS_MATCHED
from edgeworth.training.fused.hint_state import HintState, draw_hints

EPISODES, REWARD, MAXIMUM, DEALS, TURNS = range(5)
"""The columns of `EpisodeProgress.totals`, over the episodes that have ended."""


class Game(NamedTuple):
    """The arrays of a batch of episodes that the rules work on."""

    state: NDArray[np.void]
    rules: NDArray[np.void]
    partners: NDArray[np.void]
    table: NDArray[np.int16]
    reports: NDArray[np.void]

    @classmethod
    def of(cls, batch: BargainingBatch) -> Game:
        """The arrays of a batch; it must keep them."""
        return cls(batch.state, batch.rules, batch.partners, batch.table, batch.reports)


class RolloutBuffer(NamedTuple):
    """What was seen, done and paid in a rollout; row = step × slots + slot, and one step more for what is seen at the end."""

    features: NDArray[np.float32]
    legal: NDArray[np.int32]
    """Bits of what was legal, for the act and each item type."""
    moves: NDArray[np.int32]
    """The act and the share."""
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float32]
    """In the learner's unit."""
    ended: NDArray[np.bool_]
    played: NDArray[np.bool_]
    """False where the slot was resting."""
    made: NDArray[np.int64]
    """Moves that the agent had made in this episode before."""
    orders: NDArray[np.int32]
    """Which item type was read first, second and third; shares and what was legal of them stand in this order."""
    sides: NDArray[np.int64]
    """The side that moves: the agent, or in self-play either."""
    slots: NDArray[np.int64]
    """The numbers of all slots."""
    advantages: NDArray[np.float32]
    """Written after the rollout (`returns.py`), as are the next two."""
    returns: NDArray[np.float32]
    baselines: NDArray[np.float32]
    """What was expected: the network's value, a running mean, or 0."""

    @classmethod
    def of(cls, steps: int, slots: int, features: int) -> RolloutBuffer:
        """Room for so many steps."""
        rows = (steps + 1) * slots
        return cls(
            aligned_zeros((rows, features)),
            aligned_zeros((rows, 4), np.int32),
            aligned_zeros((rows, 4), np.int32),
            aligned_zeros(rows),
            aligned_zeros(rows),
            aligned_zeros(rows),
            np.zeros(rows, np.bool_),
            np.zeros(rows, np.bool_),
            np.zeros(rows, np.int64),
            aligned_zeros((rows, 3), np.int32),
            np.zeros(rows, np.int64),
            np.arange(slots),
            aligned_zeros(rows),
            aligned_zeros(rows),
            aligned_zeros(rows),
        )


class EpisodeProgress(NamedTuple):
    """How far the episodes in play have come, and totals of those that ended in this iteration."""

    returns: NDArray[np.float64]
    """Points so far in each slot's episode."""
    moves: NDArray[np.int64]
    """Moves of the agent so far in it."""
    resting: NDArray[np.bool_]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, returns: NDArray[np.float64], moves: NDArray[np.int64]) -> EpisodeProgress:
        """The progress of episodes with these points and moves, which stay where they are."""
        return cls(returns, moves, np.zeros(len(moves), np.bool_), np.zeros(5))


@compiled_bare
def observe(game: Game, sizes: Sizes, buffer: RolloutBuffer, hints: HintState, step: Int) -> None:
    """Write what the network reads of every slot from the side that is to move, and what is legal there."""
    slots = game.state.shape[0]
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        s = game.state[e]
        side = (np.int64(s.opener) + np.int64(s.turn)) % 2
        buffer.sides[row] = side
        write_situation(s, game.rules[0], side, sizes.unhinted > BASE_FEATURES, buffer.features[row])
        for column in range(hints.features.shape[1]):
            buffer.features[row, np.uint64(sizes.unhinted + column)] = hints.features[e, np.uint64(column)]
        read_row(buffer.features[row], buffer.orders[row], sizes)
        write_mask(s, side, hints.masks[e])
        buffer.legal[row, 0] = legal_acts(hints.masks[e])
        for k in range(3):
            buffer.legal[row, 1 + k] = legal_units(s.counts[np.uint64(buffer.orders[row, k])])


@compiled_bare
def decide(net: NetworkArrays, game: Game, buffer: RolloutBuffer, step: Int, chosen: Array, number: Int, greedy: Flag) -> None:
    """A network's moves in the first `number` of the chosen slots, with their log-probabilities and the values of the situations."""
    sizes, scratch = net.sizes, net.scratch
    first, width = step * game.state.shape[0], sizes.features
    for begin in range(0, number, TILE):
        size = min(TILE, number - begin)
        for j in range(size):
            row = np.uint64(first + chosen[np.uint64(begin + j)])
            for column in range(width):
                scratch.columns[np.uint64(column * size + j)] = buffer.features[row, np.uint64(column)]
            for head in range(4):
                scratch.legal[np.uint64(head), np.uint64(j)] = buffer.legal[row, np.uint64(head)]
        forward(net, size)
        softmax(scratch, sizes.units, size)
        for j in range(size):
            slot = np.uint64(chosen[np.uint64(begin + j)])
            row = np.uint64(first) + slot
            for_act, for_a, for_b, for_c = move_uniforms(game.state[slot], buffer.sides[row])
            act, a, b, c = choose_move(scratch.weights, sizes.units, size, j, greedy, for_act, for_a, for_b, for_c)
            buffer.moves[row, 0], buffer.moves[row, 1], buffer.moves[row, 2], buffer.moves[row, 3] = act, a, b, c
            buffer.log_probs[row] = log_prob(scratch.heads, scratch.log_sum, sizes.units, size, j, act, a, b, c)
            buffer.values[row] = scratch.heads[np.uint64(sizes.value * size + j)]


@compiled_within
def asked_of(move: Array, order: Array, item: Int) -> Int:
    """How many units of an item type a move asks for, whose share stands in the order in which the types were read."""
    place = 1 * np.int64(order[1] == item) + 2 * np.int64(order[2] == item)
    return np.int64(move[np.uint64(1 + place)])


@compiled_within
def count_ended(s: Record, r: Record, side: Int, points: Real, totals: Array) -> None:
    """Count an episode that has ended, in which a side made so many points."""
    totals[EPISODES] += 1.0
    totals[REWARD] += points
    totals[MAXIMUM] += np.float64(BUDGET) if r.normalize else np.float64(s.maximum[side])
    totals[DEALS] += np.float64(AGENT_AGREED <= s.outcome <= SELECTIONS_MATCHED)
    totals[TURNS] += np.float64(s.turn)


@compiled_within
def play_slot(game: Game, move: Array, order: Array, returns: Array, moves: Array, totals: Array, e: Int) -> tuple[Real, Flag]:
    """The move of a slot's agent and the reply; returns the points and whether the episode ended, after which the next has begun."""
    s: Record = game.state[e]
    report: Record = game.reports[e]
    r = game.rules[0]
    a, b, c = asked_of(move, order, 0), asked_of(move, order, 1), asked_of(move, order, 2)
    step_episode(s, r, game.partners, np.int64(move[0]), a, b, c, report)
    returns[e] += report.reward
    moves[e] += 1
    ended = s.outcome != ONGOING
    if ended:
        count_ended(s, r, AGENT, returns[e], totals)
        returns[e], moves[e] = 0.0, 0
        begin_episode(s, r, game.partners, game.table)
    return report.reward, ended


@compiled_bare
def advance(game: Game, buffer: RolloutBuffer, progress: EpisodeProgress, scale: Real, step: Int, rests: Flag) -> Int:
    """Make the moves, note what they paid, and begin new episodes; with `rests`, slots whose episode has ended rest from now on.

    Returns how many slots play on.
    """
    slots = game.state.shape[0]
    playing: Int = 0
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        buffer.played[row] = not progress.resting[e]
        if progress.resting[e]:
            continue
        buffer.made[row] = progress.moves[e]
        reward, ended = play_slot(game, buffer.moves[row], buffer.orders[row], progress.returns, progress.moves, progress.totals, e)
        buffer.rewards[row] = reward * scale
        buffer.ended[row] = ended
        progress.resting[e] = ended and rests
        playing += np.int64(not progress.resting[e])
    return playing


@compiled_bare
def play(
    net: NetworkArrays,
    game: Game,
    buffer: RolloutBuffer,
    progress: EpisodeProgress,
    hints: HintState,
    scale: Real,
    steps: Int,
    whole: Flag,
) -> Int:
    """A rollout in compiled code, of whole episodes if wanted; returns its steps. The last look is at the situation after them."""
    step, playing = 0, 1
    while True:
        observe(game, net.sizes, buffer, hints, step)
        decide(net, game, buffer, step, buffer.slots, game.state.shape[0], False)
        if step >= steps and not (whole and playing > 0):
            return step
        playing = advance(game, buffer, progress, scale, step, whole and step >= steps - 1)
        if hints.random:
            draw_hints(game.state, game.rules[0], hints)
        step += 1
