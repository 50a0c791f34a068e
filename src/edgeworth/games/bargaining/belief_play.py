"""Playing by beliefs: what is still possible after a negotiation so far, and the move that the lookahead makes then.

A belief is worked out from the moves, one reply at a time: members that would have replied otherwise are dropped. A reply that no member
would have given, as other opponents than the expected one may make, drops nobody. Every belief and every move is worked out once; they
depend on the rules, the own side and the moves alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, compiled_bare
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.belief_search import AGREES, STOPS, best_move
from edgeworth.games.bargaining.belief_tables import ACCEPTS, NO_OFFER, Tables, hears, tables_of
from edgeworth.games.bargaining.branches import check_predictable
from edgeworth.games.bargaining.contexts import Context, Triple, rest_of, triple_of
from edgeworth.games.bargaining.partners.concession import NOTHING_HEARD
from edgeworth.games.bargaining.partners.program import TIT_FOR_TAT
from edgeworth.games.bargaining.state import HISTORY_LINE
from edgeworth.games.bargaining.vocabulary import INSIST, PROPOSE, Act

MOST_BELIEFS = 20_000
"""How many beliefs are kept before all are forgotten."""


@compiled_bare
def filter_members(
    t: Tables, members: Array, firsts: Array, bests: Array, offer: Int, insisted: Int, turn: Int, reply: Int, after: Array, kept: Array
) -> None:
    """Which members give this reply, and the memories of all after it."""
    for i in range(len(members)):
        said, after[0, i], after[1, i] = hears(t, members[i], firsts[i], bests[i], offer, insisted, turn)
        kept[i] = said == reply


class Advised(NamedTuple):
    """The move to make, how likely it closes the negotiation, and what is expected of it."""

    act: Act
    share: Triple
    chance: float
    value: float
    """Points still to come, at least."""


@dataclass(frozen=True)
class Belief:
    """The members that explain the moves so far, with their memories, and the standing offers as numbers of the agent's shares."""

    tables: Tables
    members: NDArray[np.int64]
    memory: NDArray[np.int64]
    turn: int
    """Moves made so far."""
    own: int = NO_OFFER
    insisted: bool = False
    counter: int = NO_OFFER

    @property
    def possible(self) -> int:
        """How many different utilities the partner may have."""
        return len(np.unique(self.tables.types[self.members]))

    def answering(self, own: int, insisted: bool, turn: int, reply: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which members give this reply to an own offer after so many moves, and the memories of all after it."""
        after, kept = np.empty_like(self.memory), np.empty(len(self.members), np.bool_)
        filter_members(self.tables, self.members, self.memory[0], self.memory[1], own, int(insisted), turn, reply, after, kept)
        return kept, after

    def hearing(self, own: int, insisted: bool, turn: int, counter: int) -> Belief:
        """The belief after the standing own offer was answered with a counter-offer; NO_OFFER is a reply that tells nothing."""
        kept, after = self.answering(own, insisted, turn, counter)
        if not kept.any():
            kept[:] = True
        standing = self.counter if counter == NO_OFFER else counter
        return Belief(self.tables, self.members[kept], np.ascontiguousarray(after[:, kept]), turn + 1, own, insisted, standing)

    def move(self) -> tuple[int, float, float]:
        """What the lookahead does, as `belief_search` numbers it; how likely that closes the negotiation; what is still to come."""
        t, weights = self.tables, self.tables.weights[self.members]
        value, choice = best_move(t, self.members, self.memory[0], self.memory[1], self.turn, self.counter)
        chance = 1.0
        if choice not in (AGREES, STOPS):
            taken, _ = self.answering(choice % len(t.worths), choice < len(t.worths), self.turn + 1, ACCEPTS)
            chance = float(weights[taken].sum() / weights.sum())
        return int(choice), chance, float(value / weights.sum())


class BeliefBook:
    """The beliefs and moves of one game."""

    def __init__(self, batch: BargainingBatch) -> None:
        check_predictable(batch)
        self.batch = batch
        self._beliefs: dict[tuple[Context, bytes], Belief] = {}
        self._moves: dict[tuple[Context, bytes], Advised] = {}

    def advised(self, half: Context, lines: bytes) -> Advised:
        """The move to make for an own side after these moves, as the state's `history` keeps them."""
        key = half, lines
        if key not in self._moves:
            choice, chance, value = self.belief(half, lines).move()
            if choice in (AGREES, STOPS):
                self._moves[key] = Advised(Act.AGREE if choice == AGREES else Act.DISAGREE, (0, 0, 0), chance, value)
            else:
                way, share = numbered_share(half.counts, choice)
                self._moves[key] = Advised(Act.PROPOSE if way else Act.INSIST, share, chance, value)
        return self._moves[key]

    def belief(self, half: Context, lines: bytes) -> Belief:
        """The belief of an own side after these moves, its own move being next."""
        key = half, lines
        if key not in self._beliefs:
            if len(self._beliefs) >= MOST_BELIEFS:
                self._beliefs.clear()
            self._beliefs[key] = self._worked_out(half, lines)
        return self._beliefs[key]

    def _worked_out(self, half: Context, lines: bytes) -> Belief:
        turns = len(lines) // HISTORY_LINE
        if turns == 0:
            tables = tables_of(half, self.batch)
            memory = np.zeros((2, len(tables.types)), np.int64)
            memory[0, tables.kinds[tables.rows] == TIT_FOR_TAT] = NOTHING_HEARD
            return Belief(tables, np.arange(len(tables.types)), memory, 0)
        _, act, *share = lines[-HISTORY_LINE:]
        asked = rest_of(half.counts, triple_of(share)) if act in (PROPOSE, INSIST) else None
        counter = NO_OFFER if asked is None else share_number(half.counts, asked)
        before = self.belief(half, lines[: -2 * HISTORY_LINE])
        if turns == 1:
            return before.hearing(NO_OFFER, False, 0, counter)
        _, act, *share = lines[-2 * HISTORY_LINE : -HISTORY_LINE]
        if act in (PROPOSE, INSIST):
            return before.hearing(share_number(half.counts, triple_of(share)), act == INSIST, turns - 1, counter)
        return before.hearing(before.own, before.insisted, turns - 1, counter)


def share_number(counts: Triple, share: Triple) -> int:
    """The number of a share among all."""
    return int((share[0] * (counts[1] + 1) + share[1]) * (counts[2] + 1) + share[2])


def numbered_share(counts: Triple, number: int) -> tuple[int, Triple]:
    """The share of this number, and how often the numbers of all shares were counted through before it."""
    rest, c = divmod(number, counts[2] + 1)
    rest, b = divmod(rest, counts[1] + 1)
    way, a = divmod(rest, counts[0] + 1)
    return way, (a, b, c)


def history_lines(batch: BargainingBatch, slot: int) -> bytes:
    """The moves of an episode so far."""
    return bytes(batch.state["history"][slot, : int(batch.state["turn"][slot])].tobytes())


BOOKS: dict[str, BeliefBook] = {}
"""By rules; kept as long as the process lives."""


def book_of(batch: BargainingBatch) -> BeliefBook:
    """The book of a batch's game."""
    rules = repr(batch.config)
    if rules not in BOOKS:
        BOOKS[rules] = BeliefBook(batch)
    return BOOKS[rules]
