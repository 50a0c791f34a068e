"""The best list of offers, found exactly: a bound that often proves a good list at once, and branch and bound where it does not.

`branch` builds lists from the front, out of the offers that the bound (`list_bounds.py`) has not ruled out. It drops a beginning whose
bound does not exceed the best list known, and one that would gain if its last two offers changed places. Where time costs nothing
(positions are `alike`), lists that ask for more first are as good as any, and only they are built.

The search gives up after so many beginnings and then returns what it can prove: a list, and a bound on all others.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Real, compiled_apart
from edgeworth.games.bargaining.list_bounds import Prices, charge_by, insist_charge, margin, relaxed_claim, start_prices, tighten
from edgeworth.games.bargaining.offer_lists import ROUNDING, Offers, greedy_list, list_total, swap_offers


@compiled_apart
def best_list(
    offers: Offers, length: Int, last: Real, alike: Flag, grain: Real, known: Real, plan: Array, beginnings: Int
) -> tuple[Real, Real]:
    """The best list of so many offers, written to `plan`; returns its total and a bound on the total of any.

    A list that does not exceed the total `known` need not be the best. Totals are multiples of `grain`, or any numbers where it is 0.
    `alike` says that an offer pays the same at every position and costs nothing.
    """
    types, rows = len(offers.weights), 1 if alike else length
    prices = Prices(np.zeros(types), np.zeros((types, length)), np.zeros((types, length)))
    possible = possible_offers(offers, rows, last)
    greedy_list(offers, length, last, plan)
    total = list_total(offers, plan, length, last, np.empty(types))
    if offers.costs.max() > 0.0:
        total = swap_offers(offers, plan, length, last, alike)
        charge_by(offers, plan, length, prices)
    start_prices(offers, plan, length, last, prices)
    total, bound = tighten(offers, possible, length, last, grain, total, known, plan, prices)
    if bound > margin(max(total, known), grain):
        total = swap_offers(offers, plan, length, last, alike)
        total, bound = tighten(offers, possible, length, last, grain, total, known, plan, prices)
    if bound > margin(max(total, known), grain):
        total, bound = branch(offers, possible, length, last, grain, total, known, plan, prices, beginnings)
    return total, max(bound, total)


@compiled_apart
def possible_offers(offers: Offers, rows: Int, last: Real) -> Array:
    """Which offers may be made at which position: those that pay more than refusing all, and the highest free one, to pass the time."""
    possible = offers.gains[:rows] > last
    for position in range(rows):
        free = np.where(offers.costs[position] > 0.0, -np.inf, offers.gains[position])
        possible[position, free.argmax()] = True
    return possible


@compiled_apart
def branch(
    offers: Offers,
    possible: Array,
    length: Int,
    last: Real,
    grain: Real,
    total: Real,
    known: Real,
    plan: Array,
    prices: Prices,
    beginnings: Int,
) -> tuple[Real, Real]:
    """Search all lists of possible offers for better ones than `plan`, whose total is given; returns the best total and a bound on all."""
    alike, ids = possible.shape[0] < length, usable_offers(offers, possible)
    bounds, paid = np.empty((length, len(ids))), np.empty((length, len(ids)))
    left, value, chosen = np.empty((length + 1, len(offers.weights))), np.zeros(length + 1), np.zeros(length, np.int64)
    left[0] = offers.weights
    depth, fresh, opened = 0, True, 0
    while depth >= 0:
        if fresh:
            opened, fresh = opened + 1, False
            score_next(offers, possible, ids, depth, length, last, left[depth], prices, bounds[depth], paid[depth])
            if alike and depth > 0:
                bounds[depth, : chosen[depth - 1] + 1] = -np.inf
            bounds[depth] += value[depth]
        k = bounds[depth].argmax()
        if bounds[depth, k] <= margin(max(total, known), grain):
            depth -= 1
            continue
        if opened > beginnings:
            return total, bounds[: depth + 1].max()
        bounds[depth, k] = -np.inf
        if not alike and depth > 0 and gains_by_exchange(offers, depth, ids[chosen[depth - 1]], ids[k], left[depth - 1]):
            continue
        value[depth + 1] = value[depth] + paid[depth, k]
        win_takers(offers, ids[k], left[depth], left[depth + 1])
        chosen[depth:] = k
        stopped = value[depth + 1] + last * left[depth + 1].sum()
        if (alike or depth + 1 == length) and stopped > total + ROUNDING * abs(total):  # repeated offers fill the list
            total, plan[:length] = stopped, ids[chosen]
        if depth + 1 < length:
            depth, fresh = depth + 1, True
    return total, max(total, known)


@compiled_apart
def usable_offers(offers: Offers, possible: Array) -> Array:
    """The offers that are possible at some position, those that ask for more first."""
    usable = np.zeros(possible.shape[1], np.bool_)
    for position in range(possible.shape[0]):
        usable |= possible[position]
    ids = np.flatnonzero(usable)
    return ids[np.argsort(-offers.gains[0][ids], kind="mergesort")]


@compiled_apart
def win_takers(offers: Offers, i: Int, left: Array, after: Array) -> None:
    """The weights of the types that are left after an offer, written to `after`."""
    after[:] = left
    for m in range(offers.first[i], offers.first[i + 1]):
        after[offers.takers[m]] = 0.0


@compiled_apart
def gains_by_exchange(offers: Offers, position: Int, before: Int, i: Int, left: Array) -> Flag:
    """Whether a list gains if its offers at a position and just before it change places; `left` are the types that hear both.

    Of two orders that are worth the same, the one with the lower number first is kept.
    """
    as_is, swapped = pair_total(offers, position, before, i, left), pair_total(offers, position, i, before, left)
    tie = ROUNDING * max(abs(as_is), abs(swapped))
    return swapped > as_is + tie or (swapped >= as_is - tie and i < before)


@compiled_apart
def pair_total(offers: Offers, position: Int, one: Int, other: Int, left: Array) -> Real:
    """What two offers pay that are made one after the other, the second at this position."""
    reached, after = left.sum(), left.copy()
    taken = 0.0
    for m in range(offers.first[one], offers.first[one + 1]):
        taken += after[offers.takers[m]]
        after[offers.takers[m]] = 0.0
    total = (
        offers.gains[position - 1, one] * taken
        - offers.costs[position - 1, one] * reached
        - offers.costs[position, other] * (reached - taken)
    )
    for m in range(offers.first[other], offers.first[other + 1]):
        total += offers.gains[position, other] * after[offers.takers[m]]
    return total


# Bounds on what can follow


@compiled_apart
def score_next(
    offers: Offers,
    possible: Array,
    ids: Array,
    position: Int,
    length: Int,
    last: Real,
    left: Array,
    prices: Prices,
    bounds: Array,
    paid: Array,
) -> None:
    """For every offer that may come next: what it pays, and a bound on all that the list pays from here on."""
    alike, reached = possible.shape[0] < length, left.sum()
    worth = left * (last + prices.once)
    rest = worth.sum()
    for k in range(len(ids)):
        i, taken, won = ids[k], 0.0, 0.0
        for m in range(offers.first[i], offers.first[i + 1]):
            taken += left[offers.takers[m]]
            won += worth[offers.takers[m]]
        paid[k] = offers.gains[position, i] * taken - offers.costs[position, i] * reached
        bounds[k] = paid[k] + rest - won if alike or possible[position, i] else -np.inf
    if alike:
        add_alike_claims(offers, ids, length - position - 1, last, left, prices, bounds)
    else:
        for later in range(position + 1, length):
            add_claims(offers, possible, ids, later, last, left, prices, bounds)


@compiled_apart
def add_alike_claims(offers: Offers, ids: Array, number: Int, last: Real, left: Array, prices: Prices, bounds: Array) -> None:
    """Add to the bound of every offer the largest claims of so many that ask for no more."""
    if number == 0:
        return
    largest, total = np.zeros(number), 0.0
    for k in range(len(ids) - 1, -1, -1):
        bounds[k] += total
        claim, least = relaxed_claim(offers, ids[k], 0, last, left, prices), largest.argmin()
        if claim > largest[least]:
            total += claim - largest[least]
            largest[least] = claim


@compiled_apart
def add_claims(offers: Offers, possible: Array, ids: Array, later: Int, last: Real, left: Array, prices: Prices, bounds: Array) -> None:
    """Add to the bound of every offer the largest claim at a later position, less what an INSIST there is charged to those who remain."""
    free, insisting = 0.0, -np.inf
    for k in range(len(ids)):
        if possible[later, ids[k]]:
            claim = relaxed_claim(offers, ids[k], later, last, left, prices)
            if offers.costs[later, ids[k]] > 0.0:
                insisting = max(insisting, claim)
            else:
                free = max(free, claim)
    charge = insist_charge(later, left, prices)
    for k in range(len(ids)):
        if insisting > free:
            saved = 0.0
            for m in range(offers.first[ids[k]], offers.first[ids[k] + 1]):
                saved += left[offers.takers[m]] * prices.stays[offers.takers[m], later]
            bounds[k] += max(free, insisting - charge + saved)
        else:
            bounds[k] += free
