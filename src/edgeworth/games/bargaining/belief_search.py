"""What to do next against partners whose counter-offers reveal something: a lookahead over beliefs.

A belief is the set of members that explain what was heard, with their weights and memories. An offer ends the negotiation with those who
accept it; the others counter, and members with the same counter-offer stay together. `best_move` compares AGREE, no deal, and every offer:
what it wins now, plus what the beliefs are worth that its refusal can lead to. For these it uses a lower bound: AGREE, or a list of offers
that ignores what will still be heard, its last offer chosen first, then each one before it. With one offer left that can be answered, the
lookahead is complete and the move is optimal. Looking two or three offers ahead gains less than 0.0005 of the maximum
(decision 0016).
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Bits, Flag, Int, Real, compiled, compiled_apart
from edgeworth.games.bargaining.belief_tables import ACCEPTS, LEAVES, NO_OFFER, Tables, hears
from edgeworth.games.bargaining.offer_lists import ROUNDING
from edgeworth.games.bargaining.partners.program import TIT_FOR_TAT, WALK_AWAY

AGREES, STOPS = -1, -2
"""Moves that are no offers; an offer is its share's number, plus the number of shares where it is a PROPOSE."""
MIXERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
"""Odd numbers that turn sets of members into codes."""


@compiled
def accepts_later(t: Tables, m: Int, first: Int, best: Int, offer: Int, insisted: Int, turn: Int, ahead: Int) -> Flag:
    """Whether a member would accept an offer at a later turn, `ahead` offers from now, if nothing else had been said."""
    kind = t.kinds[t.rows[m]]
    if kind == WALK_AWAY and first + ahead > t.patience[t.rows[m]]:
        return False
    if kind == TIT_FOR_TAT and first < 0:
        first = 0
    reply, _, _ = hears(t, m, first, best, offer, insisted, turn)
    return reply == ACCEPTS


@compiled_apart
def listed_value(t: Tables, members: Array, firsts: Array, bests: Array, turn: Int) -> Real:
    """What a list of offers is worth that is fixed now: the last offer is chosen first, then each one before it."""
    size, shares = len(members), len(t.worths)
    ahead = (t.max_turns - 2 - turn) // 2  # how many offers can still be answered, after the first
    paid = np.full(size, t.nothing)
    last = turn + 2 * ahead
    if last + 2 < t.max_turns:  # a move is left to AGREE with
        for i in range(size):
            reply, _, _ = hears(t, members[i], firsts[i], bests[i], NO_OFFER, 0, last + 1)
            if reply >= 0:
                paid[i] = max(t.nothing, t.discounts[last + 3] * t.worths[reply])
    taken = np.zeros(size, np.bool_)
    chosen = np.zeros(size, np.bool_)
    for position in range(ahead, -1, -1):
        at = turn + 2 * position
        best_gain = 0.0
        for offer in range(shares):
            value, gain = t.discounts[at + 2] * t.worths[offer], 0.0
            for i in range(size):
                taken[i] = accepts_later(t, members[i], firsts[i], bests[i], offer, 1, at + 1, position)
                if taken[i]:
                    gain += t.weights[members[i]] * (value - paid[i])
            if gain > best_gain:
                best_gain = gain
                best_value = value
                chosen[:] = taken
        if best_gain > 0.0:
            for i in range(size):
                if chosen[i]:
                    paid[i] = best_value
    total = 0.0
    for i in range(size):
        total += t.weights[members[i]] * paid[i]
    return total


@compiled
def code_of(place: Int) -> Bits:
    """A number for a member's place in a belief; sets are told apart by the exclusive or of their members'."""
    mixed = (np.uint64(place) + np.uint64(1)) * MIXERS[0]
    return (mixed ^ (mixed >> np.uint64(29))) * MIXERS[1]


@compiled
def hear_all(
    t: Tables, belief: tuple[Array, Array, Array], offer: Int, insisted: Int, turn: Int, replies: Array, after: Array
) -> tuple[Real, Int, Bits]:
    """Every member's reply to an offer, and its memory: what the offer wins at once, how many counter, and a code of who accepts."""
    members, firsts, bests = belief
    won, left, accepted = 0.0, 0, np.uint64(0)
    for i in range(len(members)):
        replies[i], after[0, i], after[1, i] = hears(t, members[i], firsts[i], bests[i], offer, insisted, turn + 1)
        if replies[i] == ACCEPTS:
            won += t.weights[members[i]] * t.discounts[turn + 2] * t.worths[offer]
            accepted ^= code_of(i)
        elif replies[i] == LEAVES or turn + 2 >= t.max_turns:
            won += t.weights[members[i]] * t.nothing
        else:
            left += 1
    return won, left, accepted


@compiled
def weight_of(t: Tables, members: Array) -> Real:
    """How likely a belief is."""
    total = 0.0
    for m in members:
        total += t.weights[m]
    return total


@compiled_apart
def value_after(t: Tables, members: Array, replies: Array, after: Array, left: Int, turn: Int) -> Real:
    """What the beliefs are worth, at least, that counter-offers lead to; those who gave the same one are together."""
    ends = np.zeros(len(t.worths) + 1, np.int64)
    for i in range(len(members)):
        if replies[i] >= 0:
            ends[replies[i] + 1] += 1
    ends = np.cumsum(ends)
    going = np.empty(left, np.int64)
    for i in range(len(members)):
        if replies[i] >= 0:
            going[ends[replies[i]]] = i
            ends[replies[i]] += 1
    total, begin = 0.0, 0
    while begin < left:
        end = begin + 1
        while end < left and replies[going[end]] == replies[going[begin]]:
            end += 1
        part = going[begin:end]
        agreed = t.discounts[turn + 1] * t.worths[replies[going[begin]]]
        value = weight_of(t, members[part]) * max(t.nothing, agreed)
        if turn + 1 < t.max_turns:
            value = max(value, listed_value(t, members[part], after[0][part], after[1][part], turn))
        total += value
        begin = end
    return total


@compiled_apart
def best_move(t: Tables, members: Array, firsts: Array, bests: Array, turn: Int, counter: Int) -> tuple[Real, Int]:
    """What a belief is worth, times its weight, and the best move; `counter` is the share that the partner's offer leaves, or NO_OFFER."""
    size, shares, weight = len(members), len(t.worths), weight_of(t, members)
    best, choice = weight * t.nothing, STOPS
    if counter != NO_OFFER and weight * t.discounts[turn + 1] * t.worths[counter] >= best:
        best, choice = weight * t.discounts[turn + 1] * t.worths[counter], AGREES
    if turn + 1 >= t.max_turns:
        return best, choice
    remembers = False
    for m in members:
        remembers = remembers or t.kinds[t.rows[m]] == TIT_FOR_TAT
    replies, after = np.empty(size, np.int64), np.empty((2, size), np.int64)
    tried, sets = 0, np.zeros(shares, np.uint64)
    for way in range(t.acts):
        tried = 0
        for offer in t.order:
            won, left, accepted = hear_all(t, (members, firsts, bests), offer, 1 - way, turn, replies, after)
            if not remembers:  # of offers that the same members accept, the one that asks for most is enough
                known = False
                for k in range(tried):
                    known = known or sets[k] == accepted
                if known:
                    continue
                sets[tried] = accepted
                tried += 1
            if left > 0 and turn + 2 < t.max_turns:
                won += value_after(t, members, replies, after, left, turn + 2)
            if way == 0:
                won -= weight * t.price
            if won > best + ROUNDING * abs(best):
                best, choice = won, offer + way * shares
    return best, choice
