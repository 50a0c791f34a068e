"""All partners at once: a blind agent makes one move against everybody it may face, and their replies divide them.

A branch is one history of a negotiation as the agent sees it, with its *members*: every partner (utilities, and which of a population) that
would have replied as this history says, with its probability. The agent's next move is the same against all of them. Those who reply alike
stay together, so the branches that go on are all that the agent can distinguish, and the members of a branch are its belief. What a branch
pays is an average over members, without any sampling.

The partner must be one of the rules that draws nothing, and chance must not break off the negotiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, Real, Record, compiled, compiled_bare
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.moves import deal_worth, has_deal, reservation_value, worth
from edgeworth.games.bargaining.partners.program import OUTSIDE, RANDOM
from edgeworth.games.bargaining.partners.reply import partner_reply, prepare_partner
from edgeworth.games.bargaining.vocabulary import AGENT, COUNT_LIMIT, END, ONGOING, PARTNER

MEMBER = np.dtype(
    [
        ("weight", np.float64),  # its probability
        ("utilities", np.int16, (3,)),
        ("partner", np.int16),  # row of the partner table
        ("counter", np.int16, (3,)),
        ("memory", np.int16, (2,)),
    ],
    align=True,
)
"""One partner that the agent may face; counter and memory are those of an episode."""

AS_BYTES = np.dtype((np.void, MEMBER.itemsize))
"""Members as plain bytes; NumPy copies records field by field otherwise."""
LEVELS = COUNT_LIMIT + 1
SEED_BASE = 16
SEED_PLACES = SEED_BASE ** np.arange(6)[::-1]
"""What each number of an own side counts in the seed of its branches."""
REPLIES = (END + 1) * LEVELS**3
"""How many replies can be told apart."""


@compiled
def place_member(s: Record, member: Record) -> None:
    """Let this partner play on in an episode."""
    for k in range(3):
        s.utilities[PARTNER, k] = member.utilities[k]
        s.counter[k] = member.counter[k]
    s.maximum[PARTNER] = worth(s, PARTNER, s.counts[0], s.counts[1], s.counts[2])
    s.partner = member.partner
    s.memory[0] = member.memory[0]
    s.memory[1] = member.memory[1]


@compiled
def keep_member(s: Record, member: Record) -> None:
    """What this partner takes along from an episode."""
    for k in range(3):
        member.counter[k] = s.counter[k]
    member.memory[0] = s.memory[0]
    member.memory[1] = s.memory[1]


@compiled_bare
def prepare_members(state: Array, partners: Array, members: Array, starts: Array) -> None:
    """What every member works out before the first move."""
    for branch in range(state.shape[0]):
        s = state[np.uint64(branch)]
        for number in range(starts[branch], starts[branch + 1]):
            member = members[np.uint64(number)]
            place_member(s, member)
            prepare_partner(s, partners[np.uint64(member.partner)])
            keep_member(s, member)


@compiled_bare
def divide(
    state: Array, rules: Array, partners: Array, members: Array, starts: Array, seen: Array, child: Array, parents: Array, replies: Array
) -> Int:
    """Hear every member's reply and number the replies of all branches; returns how many there are.

    `child` gets the number of each member's reply, `parents` the branch of each reply, `replies` its act and share. `seen` is scratch
    space of REPLIES numbers, all -1 at first.
    """
    found, r = 0, rules[0]
    for branch in range(state.shape[0]):
        s, first = state[np.uint64(branch)], found
        for number in range(starts[branch], starts[branch + 1]):
            member = members[np.uint64(number)]
            place_member(s, member)
            act, a, b, c = partner_reply(s, r, partners[np.uint64(member.partner)])
            keep_member(s, member)
            place = np.uint64(((act * LEVELS + a) * LEVELS + b) * LEVELS + c)
            if seen[place] < first:
                seen[place] = found
                parents[found] = branch
                replies[found, 0], replies[found, 1], replies[found, 2], replies[found, 3] = act, a, b, c
                found += 1
            child[np.uint64(number)] = seen[place]
    return found


@compiled_bare
def sort_members(members: Array, child: Array, ends: Array, ordered: Array) -> None:
    """The members by their replies; `ends` has the first place of every reply and is moved to its last."""
    for number in range(members.shape[0]):
        reply = np.uint64(child[np.uint64(number)])
        ordered[np.uint64(ends[reply])] = members[np.uint64(number)]
        ends[reply] += 1


@compiled
def paid_to_member(s: Record, r: Record, member: Record) -> Real:
    """What the partner gets out of an episode that has ended, before the price of its INSISTs."""
    place_member(s, member)
    return r.discount_at[s.turn] * deal_worth(s, r, PARTNER) if has_deal(s) else reservation_value(s, r, PARTNER)


@compiled_bare
def pay_members(state: Array, rules: Array, members: Array, starts: Array, paid: Array) -> None:
    """What the members of each branch get on the whole, by weight."""
    for branch in range(state.shape[0]):
        s = state[np.uint64(branch)]
        for number in range(starts[branch], starts[branch + 1]):
            member = members[np.uint64(number)]
            paid[branch] += member.weight * paid_to_member(s, rules[0], member)


@dataclass
class Branches:
    """Histories that the agent can distinguish, each with the partners that it may still face."""

    batch: BargainingBatch
    """One episode per branch; the partner's utilities in it mean nothing."""
    members: NDArray[np.void]
    """The members of all branches, one branch after the other."""
    starts: NDArray[np.int64]
    """Where the members of each branch begin, and the end of the last."""
    origins: NDArray[np.int64]
    """Which context each branch began with."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """How likely each branch is."""
        return np.asarray(np.add.reduceat(self.members["weight"], self.starts[:-1]) if len(self.members) else np.zeros(0))

    def paid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What branches that have ended paid to both sides, times their weights."""
        theirs = np.zeros(self.batch.size)
        pay_members(self.batch.state, self.batch.rules, self.members, self.starts, theirs)
        return self.weights * self.batch.state["payoff"][:, AGENT], theirs

    def chosen(self, which: NDArray[np.bool_]) -> Branches:
        """Some of the branches, as copies."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[which])])
        members = self.members.view(AS_BYTES)[np.repeat(which, lengths)].view(MEMBER)
        return Branches(self.batch.selected(which), members, starts, self.origins[which])

    def answered(self) -> Branches:
        """The branches after the partners' replies to the agent's move, or after the first moves of partners that open."""
        batch, size = self.batch, len(self.members)
        child, parents, replies = np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, 4), np.int64)
        seen = np.full(REPLIES, -1, np.int64)
        number = divide(batch.state, batch.rules, batch.partners, self.members, self.starts, seen, child, parents, replies)
        starts = np.concatenate([[0], np.cumsum(np.bincount(child, minlength=number))])
        ordered = np.empty_like(self.members)
        sort_members(self.members, child, starts[:-1].copy(), ordered)
        after = batch.over(batch.state[parents[:number]])
        after.move(PARTNER, replies[:number, 0].copy(), replies[:number, 1:].copy())
        after.refresh()
        return Branches(after, ordered, starts, self.origins[parents[:number]])

    def after(self, acts: NDArray[np.int64], shares: NDArray[np.int64]) -> tuple[Branches, Branches, NDArray[np.float64]]:
        """Make one move in every branch: the branches that have ended, those that go on, and what each move cost at once."""
        made = Branches(self.batch.over(self.batch.state.copy()), self.members, self.starts, self.origins)
        charges = made.batch.move(AGENT, acts, shares)
        going = made.batch.state["outcome"] == ONGOING
        ended, heard = made.chosen(~going), made.chosen(going).answered()
        open_still = heard.batch.state["outcome"] == ONGOING
        return joined([ended, heard.chosen(~open_still)]), heard.chosen(open_still), charges


def joined(parts: Sequence[Branches]) -> Branches:
    """Branches of several origins in one."""
    batch = parts[0].batch.over(np.concatenate([part.batch.state for part in parts]))
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    members = np.concatenate([part.members.view(AS_BYTES) for part in parts]).view(MEMBER)
    return Branches(batch, members, np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([part.origins for part in parts]))


def begun(batch: BargainingBatch, halves: NDArray[np.int64], types: Sequence[NDArray[np.int64]], opener: int, draw: int = 0) -> Branches:
    """The start of a negotiation for each of these own sides (n, 6), against all partners that are possible, before the agent's first move.

    `types` has the utilities that each own side may face, equally likely; the weights of one own side add up to 1. What an agent is told
    at random is drawn for every own side, and anew for every number of the `draw`.
    """
    check_predictable(batch)
    lengths = np.array([len(each) for each in types]) * len(batch.partners)
    members, starts = np.zeros(lengths.sum(), MEMBER), np.concatenate([[0], np.cumsum(lengths)])
    chances = np.diff(batch.partners["cumulative"], prepend=0.0)
    members["utilities"] = np.concatenate([np.tile(each, (len(chances), 1)) for each in types])
    members["partner"] = np.concatenate([np.repeat(np.arange(len(chances)), len(each)) for each in types])
    members["weight"] = chances[members["partner"]] * len(chances) / np.repeat(lengths, lengths)
    table = BargainingBatch(batch.config, len(halves), two_player=True)
    table.rules["opens"] = opener
    table.seed((halves @ SEED_PLACES + draw * SEED_PLACES[0] * SEED_BASE).tolist())
    table.reset(np.concatenate([halves, halves[:, 3:]], axis=1).astype(np.int16))  # anything that a side may value, for the partner
    prepare_members(table.state, table.partners, members, starts)
    table.refresh()
    branches = Branches(table, members, starts, np.arange(len(halves)))
    return branches.answered() if opener == PARTNER else branches


def check_predictable(batch: BargainingBatch) -> None:
    """Refuse a game in which replies, or the end, are drawn, or in which the agent sees the partner's utilities."""
    config = batch.config
    if np.isin(batch.partners["kind"], (RANDOM, OUTSIDE)).any():
        raise InvalidOption(f"All partners at once must be partners of the rules that draw nothing; {config.partner!r} is not one.")
    if config.sudden_end > 0.0 or config.reveal_partner_utilities:
        raise InvalidOption(
            "All partners at once are played in games without sudden end and without revealed utilities; the game has sudden_end"
            f" {config.sudden_end} and reveal_partner_utilities {config.reveal_partner_utilities}."
        )
