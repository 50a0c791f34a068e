"""Playing: the network and the compiled rules take turns, and everything that learning needs is written on a tape.

One step is `observe` (features and masks of all slots), `decide` (the network, and moves drawn from it) and `advance` (the rules). Where
hints come from the rules themselves, or there are none, `play` repeats them inside compiled code; where a provider has to be asked in
Python, the learner repeats the very same steps from there.

PPO plays a fixed number of steps and goes on from there next time. REINFORCE needs whole episodes, so that every slot plays on until the
episode it is in has ended, and rests. Stopping at the first end of an episode after so many moves is a stopping time, so the sum over an
iteration's episodes is an unbiased estimate (Wald), which it would not be if unfinished episodes were dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.forward import TILE, Scratch, Sizes, forward
from edgeworth.agents.network.heads import draw_move, legal_acts, legal_units, log_prob, move_uniforms, weigh
from edgeworth.agents.network.memory import aligned_zeros
from edgeworth.agents.network.reading import read_row
from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled_bare, compiled_within
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import (
    HINT_FEATURES,
    TURNS_COLUMN,
    extend_features,
    find_due,
    moves_since_asking,
    write_random_hints,
)
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.opening import begin_episode
from edgeworth.games.bargaining.rules import step_episode
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.views import write_features
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, ONGOING, SELECTIONS_MATCHED

EPISODES, REWARD, MAXIMUM, DEALS, TURNS = range(5)
"""What `Diary.totals` counts over the episodes that have ended."""


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


class Tape(NamedTuple):
    """What was seen, done and paid; row = step × slots + slot, and one step more for what is seen at the end."""

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

    @classmethod
    def of(cls, steps: int, slots: int, features: int) -> Tape:
        """A tape for so many steps."""
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
        )


class Diary(NamedTuple):
    """What is remembered of the episodes in play, and of those that ended in this iteration."""

    returns: NDArray[np.float64]
    """Points so far in each slot's episode."""
    moves: NDArray[np.int64]
    """Moves of the agent so far in it."""
    resting: NDArray[np.bool_]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, slots: int) -> Diary:
        """An empty diary."""
        return cls(np.zeros(slots), np.zeros(slots, np.int64), np.zeros(slots, np.bool_), np.zeros(5))


class HintDesk(NamedTuple):
    """The hints in force, and what random ones need to be drawn in compiled code."""

    features: NDArray[np.float32]
    """(slots, 0, 10 or 11)."""
    views: NDArray[np.int32]
    masks: NDArray[np.int8]
    since: NDArray[np.int64]
    due: NDArray[np.bool_]
    given: NDArray[np.float32]
    k: int
    holds: bool
    drawn: NDArray[np.int64]
    """How many random hints were drawn here, one number."""
    random: bool
    """Whether random hints are drawn here; otherwise somebody else writes `features`, or there are none."""

    @classmethod
    def of(cls, batch: BargainingBatch, width: int, k: int, holds: bool, random: bool) -> HintDesk:
        """A desk for a batch."""
        return cls(
            aligned_zeros((batch.size, width)),
            np.zeros_like(batch.views),
            np.zeros_like(batch.masks),
            moves_since_asking(k),
            np.zeros(batch.size, np.bool_),
            aligned_zeros((batch.size, HINT_FEATURES)),
            k,
            holds,
            np.zeros(1, np.int64),
            random,
        )


@compiled_bare
def draw_hints(game: Game, desk: HintDesk) -> None:
    """Random hints for the episodes that are due one now."""
    r = game.rules[0]
    for i in range(game.state.shape[0]):
        e = np.uint64(i)
        desk.views[e, TURNS_COLUMN] = r.max_turns - game.state[e].turn
        write_mask(game.state[e], AGENT, desk.masks[e])
    desk.drawn[0] += find_due(desk.views, desk.masks, r.max_turns, desk.since, desk.k, desk.due)
    write_random_hints(game.state, desk.due, desk.given)
    extend_features(desk.views, desk.masks, r.max_turns, desk.since, desk.k, desk.holds, desk.due, desk.given, desk.features, desk.features)


@compiled_bare
def observe(game: Game, sizes: Sizes, tape: Tape, desk: HintDesk, step: Int) -> None:
    """Write down what every slot's network reads, and what it may do."""
    slots = game.state.shape[0]
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        s = game.state[e]
        write_features(s, game.rules[0], AGENT, tape.features[row])
        for column in range(desk.features.shape[1]):
            tape.features[row, np.uint64(BASE_FEATURES + column)] = desk.features[e, np.uint64(column)]
        read_row(tape.features[row], tape.orders[row], sizes)
        write_mask(s, AGENT, desk.masks[e])
        tape.legal[row, 0] = legal_acts(desk.masks[e])
        for k in range(3):
            tape.legal[row, 1 + k] = legal_units(s.counts[np.uint64(tape.orders[row, k])])


@compiled_within
def decide(parameters: Array, sizes: Sizes, scratch: Scratch, game: Game, tape: Tape, step: Int) -> None:
    """A move for every slot, with its log-probability and the value of the situation."""
    slots = game.state.shape[0]
    for begin in range(0, slots, TILE):
        size = min(TILE, slots - begin)
        first = step * slots + begin
        look(parameters, sizes, scratch, tape, first, size)
        for j in range(size):
            row = np.uint64(first + j)
            for_act, for_a, for_b, for_c = move_uniforms(game.state[np.uint64(begin + j)])
            act, a, b, c = draw_move(scratch.weights, sizes.units, size, j, for_act, for_a, for_b, for_c)
            tape.moves[row, 0], tape.moves[row, 1], tape.moves[row, 2], tape.moves[row, 3] = act, a, b, c
            tape.log_probs[row] = log_prob(scratch.heads, scratch.log_sum, sizes.units, size, j, act, a, b, c)
            tape.values[row] = scratch.heads[np.uint64((sizes.heads - 1) * size + j)]


@compiled_within
def look(parameters: Array, sizes: Sizes, scratch: Scratch, tape: Tape, first: Int, size: Int) -> None:
    """Send rows of the tape through the network, and weigh what is legal."""
    width = sizes.features
    for j in range(size):
        for column in range(width):
            scratch.columns[np.uint64(column * size + j)] = tape.features[np.uint64(first + j), np.uint64(column)]
        for head in range(4):
            scratch.legal[np.uint64(head), np.uint64(j)] = tape.legal[np.uint64(first + j), np.uint64(head)]
    forward(parameters, sizes, scratch, size)
    weigh(scratch, sizes.units, size)


@compiled_within
def asked_of(move: Array, order: Array, item: Int) -> Int:
    """How many units of an item type a move asks for, whose share stands in the order in which the types were read."""
    place = 1 * np.int64(order[1] == item) + 2 * np.int64(order[2] == item)
    return np.int64(move[np.uint64(1 + place)])


@compiled_within
def count_ended(s: Record, r: Record, points: Real, totals: Array) -> None:
    """Count an episode that has ended, in which the agent made so many points."""
    totals[EPISODES] += 1.0
    totals[REWARD] += points
    totals[MAXIMUM] += np.float64(BUDGET) if r.normalize else np.float64(s.maximum[AGENT])
    totals[DEALS] += np.float64(AGENT_AGREED <= s.outcome <= SELECTIONS_MATCHED)
    totals[TURNS] += np.float64(s.turn)


@compiled_bare
def advance(game: Game, tape: Tape, diary: Diary, scale: Real, step: Int, rests: Flag) -> Int:
    """Make the moves, note what they paid, and begin new episodes; with `rests`, slots whose episode has ended rest from now on.

    Returns how many slots play on.
    """
    slots = game.state.shape[0]
    r = game.rules[0]
    playing: Int = 0
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        tape.played[row] = not diary.resting[e]
        if diary.resting[e]:
            continue
        s, report, move, order = game.state[e], game.reports[e], tape.moves[row], tape.orders[row]
        a, b, c = asked_of(move, order, 0), asked_of(move, order, 1), asked_of(move, order, 2)
        step_episode(s, r, game.partners, np.int64(move[0]), a, b, c, report)
        tape.rewards[row] = report.reward * scale
        tape.made[row] = diary.moves[e]
        diary.returns[e] += report.reward
        diary.moves[e] += 1
        ended = s.outcome != ONGOING
        tape.ended[row] = ended
        if ended:
            count_ended(s, r, diary.returns[e], diary.totals)
            diary.returns[e] = 0.0
            diary.moves[e] = 0
            begin_episode(s, r, game.partners, game.table)
        diary.resting[e] = ended and rests
        playing += np.int64(not diary.resting[e])
    return playing


@compiled_bare
def play(
    parameters: Array,
    sizes: Sizes,
    scratch: Scratch,
    game: Game,
    tape: Tape,
    diary: Diary,
    desk: HintDesk,
    scale: Real,
    steps: Int,
    whole_episodes: Flag,
) -> Int:
    """A whole rollout in compiled code; returns how many steps it took. The last look is at the situation after them."""
    step, playing = 0, 1
    while True:
        observe(game, sizes, tape, desk, step)
        decide(parameters, sizes, scratch, game, tape, step)
        if step >= steps and not (whole_episodes and playing > 0):
            return step
        playing = advance(game, tape, diary, scale, step, whole_episodes and step >= steps - 1)
        if desk.random:
            draw_hints(game, desk)
        step += 1
