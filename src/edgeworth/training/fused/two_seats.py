"""Self-play's rollout of the two-player game, in which every slot makes one move per step, of the side whose turn it is.

In some episodes the present network plays both sides, and the moves of both are samples. In the others a network of the pool plays one
side, whose moves are not. The opponent and the learner's side are drawn when an episode begins, from its own randomness. All situations
that wait for the same network go through it together.

The two sides of an episode are two trajectories in one buffer. A side is paid with its own last move, also where the other side's move
ended the episode. The moves of a rollout's last step are not learnt from: what follows them for their maker is seen only after the other
side's reply. All of them are left out, also those that ended the episode, so that no kind of move is left out more often than another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.layers import NetworkArrays
from edgeworth.compiled import Flag, Int, Real, compiled_bare, compiled_within
from edgeworth.games.bargaining.opening import begin_episode
from edgeworth.games.bargaining.rules import charged_move
from edgeworth.games.bargaining.vocabulary import ONGOING, PARTNER_CHOICE
from edgeworth.seeding import below, draw, unit
from edgeworth.training.fused.hint_state import HintState
from edgeworth.training.fused.rollout import EpisodeProgress, Game, RolloutBuffer, asked_of, count_ended, decide, observe

ITSELF = -1
"""The opponent's number where the present network plays both sides."""


class Opponents(NamedTuple):
    """The networks that the learner plays against."""

    parameters: NDArray[np.float32]
    """The networks of the pool, (members, parameters)."""
    members: int
    """How many of them there are now."""
    latest: float
    """The share of episodes in which the learner plays against itself."""
    likeliest: bool
    """Whether they make their likeliest moves; otherwise they draw them."""


class Seats(NamedTuple):
    """The players of both sides in every slot, and what the other side's moves pay a side."""

    opponent: NDArray[np.int64]
    """By slot: a member of the pool, or ITSELF."""
    own: NDArray[np.int64]
    """By slot: the learner's side against a member."""
    other_paid: NDArray[np.float32]
    """By row: what a move that ended the episode paid the other side, in the learner's unit."""
    chosen: NDArray[np.int64]
    """Room for the slots that wait for one network."""
    carried: NDArray[np.float64]
    """Room for what is carried along both sides' trajectories, (4, 2)."""

    @classmethod
    def of(cls, steps: int, slots: int) -> Seats:
        """Seats for a rollout of so many steps."""
        rows = (steps + 1) * slots
        return cls(
            np.full(slots, ITSELF),
            np.zeros(slots, np.int64),
            np.zeros(rows, np.float32),
            np.zeros(slots, np.int64),
            np.zeros((4, 2)),
        )


@compiled_within
def is_learners(seats: Seats, e: Int, side: Int) -> Flag:
    """Whether the learner makes a side's moves."""
    return seats.opponent[e] == ITSELF or seats.own[e] == side


@compiled_bare
def take_seats(game: Game, opponents: Opponents, seats: Seats, slot: Int) -> None:
    """Draw the opponent of a slot's new episode, and the learner's side."""
    e = np.uint64(slot)
    key = game.state[e].key
    opponent: Int = ITSELF
    if unit(draw(key, 0, PARTNER_CHOICE, 0)) >= opponents.latest:
        opponent = below(draw(key, 0, PARTNER_CHOICE, 1), opponents.members)
    seats.opponent[e] = opponent
    seats.own[e] = below(draw(key, 0, PARTNER_CHOICE, 2), 2)


@compiled_bare
def take_all_seats(game: Game, opponents: Opponents, seats: Seats) -> None:
    """Draw opponent and side for all slots."""
    for slot in range(game.state.shape[0]):
        take_seats(game, opponents, seats, slot)


@compiled_bare
def waiting_for(buffer: RolloutBuffer, seats: Seats, slots: Int, step: Int, who: Int) -> Int:
    """Find the slots in which a network is to move; returns how many there are."""
    found: Int = 0
    for i in range(slots):
        e = np.uint64(i)
        mover = ITSELF if is_learners(seats, e, buffer.sides[np.uint64(step * slots + i)]) else seats.opponent[e]
        if mover == who:
            seats.chosen[np.uint64(found)] = i
            found += 1
    return found


@compiled_bare
def decide_all(net: NetworkArrays, game: Game, buffer: RolloutBuffer, seats: Seats, opponents: Opponents, step: Int) -> None:
    """A move for every slot: one pass through each network that is to move somewhere."""
    slots = game.state.shape[0]
    number = waiting_for(buffer, seats, slots, step, ITSELF)
    decide(net, game, buffer, step, seats.chosen, number, False)
    for member in range(opponents.members):
        number = waiting_for(buffer, seats, slots, step, member)
        if number > 0:
            other = NetworkArrays(opponents.parameters[member], net.sizes, net.scratch)
            decide(other, game, buffer, step, seats.chosen, number, opponents.likeliest)


@compiled_bare
def make_moves(
    game: Game, buffer: RolloutBuffer, seats: Seats, progress: EpisodeProgress, opponents: Opponents, scale: Real, step: Int
) -> None:
    """Make the moves, note what they paid both sides, and begin new episodes; one that ended counts once per side of the learner's."""
    slots = game.state.shape[0]
    r = game.rules[0]
    for i in range(slots):
        e, row = np.uint64(i), np.uint64(step * slots + i)
        s, move, order, side = game.state[e], buffer.moves[row], buffer.orders[row], buffer.sides[row]
        a, b, c = asked_of(move, order, 0), asked_of(move, order, 1), asked_of(move, order, 2)
        charge = charged_move(s, r, side, np.int64(move[0]), a, b, c)
        ended = s.outcome != ONGOING
        buffer.played[row] = is_learners(seats, e, side)
        buffer.ended[row] = ended
        buffer.rewards[row] = (s.payoff[side] - charge) * scale
        seats.other_paid[row] = s.payoff[1 - side] * scale
        if ended:
            for own in range(2):
                if is_learners(seats, e, own):
                    count_ended(s, r, own, s.payoff[own] - r.insist_price * s.insists[own], progress.totals)
            begin_episode(s, r, game.partners, game.table)
            take_seats(game, opponents, seats, i)


@compiled_bare
def play_both(
    net: NetworkArrays,
    game: Game,
    buffer: RolloutBuffer,
    seats: Seats,
    progress: EpisodeProgress,
    hints: HintState,
    opponents: Opponents,
    scale: Real,
    steps: Int,
) -> None:
    """A whole rollout; the values of the situations after it are the present network's alone."""
    slots = game.state.shape[0]
    for step in range(steps):
        observe(game, net.sizes, buffer, hints, step)
        decide_all(net, game, buffer, seats, opponents, step)
        make_moves(game, buffer, seats, progress, opponents, scale, step)
    for row in range((steps - 1) * slots, steps * slots):
        buffer.played[np.uint64(row)] = False
    observe(game, net.sizes, buffer, hints, steps)
    decide(net, game, buffer, steps, buffer.slots, slots, False)
