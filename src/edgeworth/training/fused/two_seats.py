"""Playing both sides of the table: a rollout of the two-player game, in which every slot makes one move per step, whosever turn it is.

In some talks the present network sits on both sides, and the moves of both are samples. In the others a network of the pool sits on one
side, whose moves are not. Who is met and on which side the learner sits are drawn when an episode begins, from its own randomness. All
situations that wait for the same network go through it together.

The two sides of an episode are two trajectories on one tape. A side is paid with its own last move, also where the other side's move ended
the talks. The moves of a rollout's last step are not learnt from: what follows them for their maker is seen only after the other side's
reply. All of them are left out, also those that ended the talks, so that no kind of move is left out more often than another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.forward import TILE, Scratch, Sizes, forward
from edgeworth.agents.network.heads import draw_move, legal_acts, legal_units, likeliest_move, log_prob, uniforms_for, weigh
from edgeworth.agents.network.reading import read_row
from edgeworth.compiled import Array, Flag, Int, Real, compiled_bare, compiled_within
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.opening import begin_episode
from edgeworth.games.bargaining.purposes import AGENT_ACT, AGENT_SHARE, PARTNER_ACT, PARTNER_CHOICE, PARTNER_SHARE
from edgeworth.games.bargaining.rules import charged_move
from edgeworth.games.bargaining.views import write_features
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, ONGOING, PARTNER, SELECTIONS_MATCHED
from edgeworth.seeding import below, draw, unit
from edgeworth.training.fused.rollout import DEALS, EPISODES, MAXIMUM, REWARD, TURNS, Diary, Game, Tape, asked_of

ITSELF = -1
"""The opponent's number where the present network sits on both sides."""
VALUE, ADVANTAGE, PAID, GOES_ON = range(4)
"""What is carried backwards along each side's trajectory."""


class Opponents(NamedTuple):
    """Whom the learner may meet."""

    parameters: NDArray[np.float32]
    """The networks of the pool, (members, parameters)."""
    members: int
    """How many of them there are now."""
    latest: float
    """The share of talks in which the learner meets itself."""
    likeliest: bool
    """Whether they make their likeliest moves; otherwise they draw them."""


class Seats(NamedTuple):
    """Who sits where in every slot, and whose every row of the tape is."""

    opponent: NDArray[np.int64]
    """By slot: a member of the pool, or ITSELF."""
    own: NDArray[np.int64]
    """By slot: the learner's side against a member."""
    side: NDArray[np.int64]
    """By row: the side that moves."""
    other_paid: NDArray[np.float32]
    """By row: what a move that ended the talks paid the other side, in the learner's unit."""
    mask: NDArray[np.int8]
    chosen: NDArray[np.int64]
    """Room for the slots that wait for one network."""
    carried: NDArray[np.float64]
    """Room for what is carried along both sides' trajectories, (4, 2)."""

    @classmethod
    def of(cls, steps: int, slots: int) -> Seats:
        """Seats for a tape of so many steps."""
        rows = (steps + 1) * slots
        return cls(
            np.full(slots, ITSELF),
            np.zeros(slots, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows, np.float32),
            np.zeros(5, np.int8),
            np.zeros(slots, np.int64),
            np.zeros((4, 2)),
        )


@compiled_within
def is_learners(seats: Seats, e: Int, side: Int) -> Flag:
    """Whether the learner makes a side's moves."""
    return seats.opponent[e] == ITSELF or seats.own[e] == side


@compiled_bare
def take_seats(game: Game, opponents: Opponents, seats: Seats, slot: Int) -> None:
    """Draw whom the learner meets in a slot's new episode, and on which side it sits."""
    e = np.uint64(slot)
    key = game.state[e].key
    met: Int = ITSELF
    if unit(draw(key, 0, PARTNER_CHOICE, 0)) >= opponents.latest:
        met = below(draw(key, 0, PARTNER_CHOICE, 1), opponents.members)
    seats.opponent[e] = met
    seats.own[e] = below(draw(key, 0, PARTNER_CHOICE, 2), 2)


@compiled_bare
def take_all_seats(game: Game, opponents: Opponents, seats: Seats) -> None:
    """The same for all slots."""
    for slot in range(game.state.shape[0]):
        take_seats(game, opponents, seats, slot)


@compiled_bare
def observe_movers(game: Game, sizes: Sizes, tape: Tape, seats: Seats, step: Int) -> None:
    """Write down what the side to move sees in every slot, and what it may do."""
    slots = game.state.shape[0]
    for i in range(slots):
        row = np.uint64(step * slots + i)
        s = game.state[np.uint64(i)]
        side = (np.int64(s.opener) + np.int64(s.turn)) % 2
        seats.side[row] = side
        write_features(s, game.rules[0], side, tape.features[row])
        read_row(tape.features[row], tape.orders[row], sizes)
        write_mask(s, side, seats.mask)
        tape.legal[row, 0] = legal_acts(seats.mask)
        for k in range(3):
            tape.legal[row, 1 + k] = legal_units(s.counts[np.uint64(tape.orders[row, k])])


@compiled_bare
def waiting_for(seats: Seats, slots: Int, step: Int, who: Int) -> Int:
    """Find the slots in which a network is to move; returns how many there are."""
    found: Int = 0
    for i in range(slots):
        e = np.uint64(i)
        mover = ITSELF if is_learners(seats, e, seats.side[np.uint64(step * slots + i)]) else seats.opponent[e]
        if mover == who:
            seats.chosen[np.uint64(found)] = i
            found += 1
    return found


@compiled_bare
def decide_for(
    parameters: Array, sizes: Sizes, scratch: Scratch, game: Game, tape: Tape, seats: Seats, step: Int, number: Int, greedy: Flag
) -> None:
    """One network's moves in the first `number` chosen slots, with their log-probabilities and the values of the situations."""
    first, width = step * game.state.shape[0], sizes.features
    for begin in range(0, number, TILE):
        size = min(TILE, number - begin)
        for j in range(size):
            row = np.uint64(first + seats.chosen[np.uint64(begin + j)])
            for column in range(width):
                scratch.columns[np.uint64(column * size + j)] = tape.features[row, np.uint64(column)]
            for head in range(4):
                scratch.legal[np.uint64(head), np.uint64(j)] = tape.legal[row, np.uint64(head)]
        forward(parameters, sizes, scratch, size)
        weigh(scratch, sizes.units, size)
        for j in range(size):
            slot = np.uint64(seats.chosen[np.uint64(begin + j)])
            row = np.uint64(first) + slot
            if greedy:
                act, a, b, c = likeliest_move(scratch.weights, sizes.units, size, j)
            else:
                mine = seats.side[row] == AGENT
                drawn = uniforms_for(game.state[slot], AGENT_ACT if mine else PARTNER_ACT, AGENT_SHARE if mine else PARTNER_SHARE)
                act, a, b, c = draw_move(scratch.weights, sizes.units, size, j, drawn[0], drawn[1], drawn[2], drawn[3])
            tape.moves[row, 0], tape.moves[row, 1], tape.moves[row, 2], tape.moves[row, 3] = act, a, b, c
            tape.log_probs[row] = log_prob(scratch.heads, scratch.log_sum, sizes.units, size, j, act, a, b, c)
            tape.values[row] = scratch.heads[np.uint64((sizes.heads - 1) * size + j)]


@compiled_bare
def decide_all(
    parameters: Array, sizes: Sizes, scratch: Scratch, game: Game, tape: Tape, seats: Seats, opponents: Opponents, step: Int
) -> None:
    """A move for every slot: one pass through each network that somebody waits for."""
    slots = game.state.shape[0]
    number = waiting_for(seats, slots, step, ITSELF)
    decide_for(parameters, sizes, scratch, game, tape, seats, step, number, False)
    for member in range(opponents.members):
        number = waiting_for(seats, slots, step, member)
        if number > 0:
            decide_for(opponents.parameters[member], sizes, scratch, game, tape, seats, step, number, opponents.likeliest)


@compiled_bare
def note_end(game: Game, seats: Seats, diary: Diary, slot: Int) -> None:
    """Count an episode that has ended, once for every side on which the learner sat."""
    e, r = np.uint64(slot), game.rules[0]
    s = game.state[e]
    for side in range(2):
        if is_learners(seats, e, side):
            diary.totals[EPISODES] += 1.0
            diary.totals[REWARD] += s.payoff[side] - r.insist_price * s.insists[side]
            diary.totals[MAXIMUM] += np.float64(BUDGET) if r.normalize else np.float64(s.maximum[side])
            diary.totals[DEALS] += np.float64(AGENT_AGREED <= s.outcome <= SELECTIONS_MATCHED)
            diary.totals[TURNS] += np.float64(s.turn)


@compiled_bare
def make_moves(game: Game, tape: Tape, seats: Seats, diary: Diary, opponents: Opponents, scale: Real, step: Int) -> None:
    """Make the moves, note what they paid both sides, and begin new episodes."""
    slots = game.state.shape[0]
    r = game.rules[0]
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        s, move, order, side = game.state[e], tape.moves[row], tape.orders[row], seats.side[row]
        a, b, c = asked_of(move, order, 0), asked_of(move, order, 1), asked_of(move, order, 2)
        charge = charged_move(s, r, side, np.int64(move[0]), a, b, c)
        ended = s.outcome != ONGOING
        tape.played[row] = is_learners(seats, e, side)
        tape.ended[row] = ended
        tape.rewards[row] = (s.payoff[side] - charge) * scale
        seats.other_paid[row] = s.payoff[1 - side] * scale
        if ended:
            note_end(game, seats, diary, i)
            begin_episode(s, r, game.partners, game.table)
            take_seats(game, opponents, seats, i)


@compiled_bare
def play_both(
    parameters: Array,
    sizes: Sizes,
    scratch: Scratch,
    game: Game,
    tape: Tape,
    seats: Seats,
    diary: Diary,
    opponents: Opponents,
    scale: Real,
    steps: Int,
) -> None:
    """A whole rollout; the last look, at the situations after it, is the present network's alone."""
    slots = game.state.shape[0]
    for step in range(steps):
        observe_movers(game, sizes, tape, seats, step)
        decide_all(parameters, sizes, scratch, game, tape, seats, opponents, step)
        make_moves(game, tape, seats, diary, opponents, scale, step)
    for row in range((steps - 1) * slots, steps * slots):
        tape.played[np.uint64(row)] = False
    observe_movers(game, sizes, tape, seats, steps)
    for i in range(slots):
        seats.chosen[np.uint64(i)] = i
    decide_for(parameters, sizes, scratch, game, tape, seats, steps, slots, False)


@compiled_within
def carry(carried: Array, side: Int, value: Real, advantage: Real, paid: Real, goes_on: Real) -> None:
    """Remember what follows a side's earlier move."""
    carried[VALUE, side], carried[ADVANTAGE, side], carried[PAID, side], carried[GOES_ON, side] = value, advantage, paid, goes_on


@compiled_bare
def estimate_both(
    tape: Tape, seats: Seats, slots: Int, steps: Int, gamma: Real, gae_lambda: Real, advantages: Array, returns: Array, baselines: Array
) -> None:
    """δ = r + γ V' (1 - end) - V and A = δ + γ λ (1 - end) A' along each side's own moves; R = A + V.

    The last step's own advantages are not known and count as 0: what comes before it is judged by the value there.
    """
    ahead = seats.carried
    for i in range(slots):
        last = np.uint64(steps * slots + i)
        carry(ahead, AGENT, 0.0, 0.0, 0.0, 0.0)
        carry(ahead, PARTNER, 0.0, 0.0, 0.0, 0.0)
        carry(ahead, seats.side[last], np.float64(tape.values[last]), 0.0, 0.0, 1.0)
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            side, value, advantage = seats.side[row], np.float64(tape.values[row]), 0.0
            if tape.ended[row]:
                carry(ahead, side, 0.0, 0.0, 0.0, 0.0)
                carry(ahead, 1 - side, 0.0, 0.0, np.float64(seats.other_paid[row]), 0.0)
            if back > 0:
                goes_on = ahead[GOES_ON, side]
                delta = np.float64(tape.rewards[row]) + ahead[PAID, side] + gamma * ahead[VALUE, side] * goes_on - value
                advantage = delta + gamma * gae_lambda * goes_on * ahead[ADVANTAGE, side]
            advantages[row] = advantage
            returns[row] = advantage + value
            baselines[row] = value
            carry(ahead, side, value, advantage, 0.0, 1.0)
