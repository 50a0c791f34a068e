"""The most that any list of offers can be worth: a Lagrangian relaxation, with prices that make it small.

A relaxed list is let off two duties. Each partner type may be won at whichever position serves the agent best, not only at the first that
it accepts; and it may be won several times, but every time costs the agent the type's price, and one price is paid back. With the best
prices this is the bound of the linear program of the p-median problem. `tighten` moves prices along subgradients. On the way it meets good
lists, and rules out offers: one that would bring the bound of a list down to that of the best list known is not in a better one.

Where INSIST has a price, everybody pays who gets to hear it. The relaxation charges it to types (`stays`), at first to those that a good
list has not won by then, and pays back to a type that is won what it is charged for later positions (`refunds`). `docs/blind_plan.md` has
the proofs.

References: Cornuejols, Fisher and Nemhauser 1977 (doi 10.1287/mnsc.23.8.789) for the relaxation; Held, Wolfe and Crowder 1974
(doi 10.1007/BF01580223) for the steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Real, compiled_apart
from edgeworth.games.bargaining.offer_lists import ROUNDING, Offers, list_total, sort_offers

ROUNDS = 60
"""Steps of the prices before a local search, and after it."""
PATIENCE, SHORTEN, SHORTEST = 5, 0.6, 0.005
"""Steps without progress before steps become shorter, by which factor, and the length at which they end."""


class Prices(NamedTuple):
    """What the relaxation charges each partner type."""

    once: Array
    """For being won, by type."""
    stays: Array
    """For hearing an INSIST, by type and position."""
    refunds: Array
    """Of that, what is paid back to a type that is won at a position: all that comes after."""


@compiled_apart
def charge_by(offers: Offers, plan: Array, length: Int, prices: Prices) -> None:
    """Charge every INSIST to the types that a list has not won by then."""
    prices.stays[:] = 0.0
    here = np.ones(len(offers.weights), np.bool_)
    for position in range(length):
        price = offers.costs[position].max()
        for j in range(len(here)):
            prices.stays[j, position] = price * here[j]
        i = plan[position]
        for m in range(offers.first[i], offers.first[i + 1]):
            here[offers.takers[m]] = False
    add_refunds(prices)


@compiled_apart
def add_refunds(prices: Prices) -> None:
    """Pay back to a type that is won all that it is charged for later positions."""
    prices.refunds[:] = 0.0
    for position in range(prices.stays.shape[1] - 2, -1, -1):
        prices.refunds[:, position] = prices.refunds[:, position + 1] + prices.stays[:, position + 1]


@compiled_apart
def relaxed_claim(offers: Offers, i: Int, position: Int, last: Real, left: Array, prices: Prices) -> Real:
    """What an offer claims at a position of the relaxed list, over the types that are left: gains above the prices of those it wins."""
    claim, gain, cost = 0.0, offers.gains[position, i] - last, offers.costs[position, i]
    if cost > 0.0:
        for m in range(offers.first[i], offers.first[i + 1]):
            j = offers.takers[m]
            own = cost - prices.stays[j, position]
            claim += left[j] * max(0.0, gain + prices.refunds[j, position] - own - prices.once[j])
    else:
        for m in range(offers.first[i], offers.first[i + 1]):
            j = offers.takers[m]
            claim += left[j] * max(0.0, gain + prices.refunds[j, position] - prices.once[j])
    return claim


@compiled_apart
def insist_charge(position: Int, left: Array, prices: Prices) -> Real:
    """What the relaxation charges for an INSIST at a position, over the types that are left."""
    charge = 0.0
    for j in range(len(left)):
        charge += left[j] * prices.stays[j, position]
    return charge


@compiled_apart
def relaxed_claims(offers: Offers, possible: Array, last: Real, prices: Prices, claims: Array) -> None:
    """The claims of all offers that are still possible, by position; impossible ones claim -1, less than claiming nothing."""
    for position in range(claims.shape[0]):
        charge = insist_charge(position, offers.weights, prices)
        for i in range(claims.shape[1]):
            claims[position, i] = -1.0
            if possible[position, i]:
                claims[position, i] = relaxed_claim(offers, i, position, last, offers.weights, prices)
                if offers.costs[position, i] > 0.0:
                    claims[position, i] -= charge


@compiled_apart
def margin(best: Real, grain: Real) -> Real:
    """What a bound must exceed for a better list to be possible."""
    return best + max(ROUNDING * abs(best), (1.0 - 1e-6) * grain)


@compiled_apart
def start_prices(offers: Offers, plan: Array, length: Int, last: Real, prices: Prices) -> None:
    """Begin with what a good list wins from each type: the bound is then its total and `length` times the best further gain."""
    for position in range(length - 1, -1, -1):
        i = plan[position]
        for m in range(offers.first[i], offers.first[i + 1]):
            prices.once[offers.takers[m]] = max(0.0, offers.gains[position, i] - last)


@compiled_apart
def choose_claims(claims: Array, length: Int, chosen: Array) -> tuple[Real, Real]:
    """The relaxed list, written to `chosen`: the best claim at each position, or the best few where positions are alike.

    Returns the sum of the claims, and where positions are alike the smallest.
    """
    total, smallest = 0.0, 0.0
    if claims.shape[0] == length:
        for position in range(length):
            chosen[position] = claims[position].argmax()
            total += max(0.0, claims[position, chosen[position]])
        return total, smallest
    order = np.argsort(-claims[0])
    for position in range(length):
        chosen[position] = order[min(position, len(order) - 1)]
        smallest = max(0.0, claims[0, chosen[position]]) if position < len(order) else 0.0
        total += smallest
    return total, smallest


@compiled_apart
def tighten(
    offers: Offers,
    possible: Array,
    length: Int,
    last: Real,
    grain: Real,
    total: Real,
    known: Real,
    plan: Array,
    prices: Prices,
) -> tuple[Real, Real]:
    """Move prices towards the smallest bound, note better lists in `plan` and rule out offers; returns the list's total and the bound."""
    claims, chosen = np.empty(possible.shape), np.empty(length, np.int64)
    alike, best = possible.shape[0] < length, max(total, known)
    lowest, good, good_stays, stalled, stride = np.inf, prices.once.copy(), prices.stays.copy(), 0, 1.0
    for _ in range(ROUNDS):
        relaxed_claims(offers, possible, last, prices, claims)
        claimed, smallest = choose_claims(claims, length, chosen)
        bound = claimed + (offers.weights * (last + prices.once)).sum()
        stalled = 0 if bound < lowest - 1e-3 * (lowest - best) else stalled + 1
        if bound < lowest:
            lowest = bound
            good[:], good_stays[:] = prices.once, prices.stays
        total = note_list(offers, chosen, length, last, total, plan)
        best = max(best, total)
        if lowest <= margin(best, grain):
            break
        rule_out(possible, claims, chosen, alike, smallest, bound - margin(best, grain))
        if stalled >= PATIENCE:
            stride, stalled = SHORTEN * stride, 0
            prices.once[:], prices.stays[:] = good, good_stays
            add_refunds(prices)
        elif not step_prices(offers, claims, chosen, last, stride * (bound - best), prices):
            break
        if stride < SHORTEST:
            break
    prices.once[:], prices.stays[:] = good, good_stays
    add_refunds(prices)
    return total, lowest


@compiled_apart
def note_list(offers: Offers, chosen: Array, length: Int, last: Real, total: Real, plan: Array) -> Real:
    """Keep a relaxed list, as it is or sorted, where it is better than the best so far; returns the better total."""
    left, trial = np.empty(len(offers.weights)), chosen.copy()
    for _ in range(2):
        found = list_total(offers, trial, length, last, left)
        if found > total + ROUNDING * abs(total):
            plan[:], total = trial, found
        sort_offers(offers, trial, length)
    return total


@compiled_apart
def rule_out(possible: Array, claims: Array, chosen: Array, alike: Flag, smallest: Real, slack: Real) -> None:
    """Drop each offer that, put in the place of a chosen one, would bring the bound down to the best list known."""
    for position in range(possible.shape[0]):
        claimed = smallest if alike else max(0.0, claims[position, chosen[position]])
        for i in range(possible.shape[1]):
            if claims[position, i] <= claimed - slack:
                possible[position, i] = False


@compiled_apart
def step_prices(offers: Offers, claims: Array, chosen: Array, last: Real, stride: Real, prices: Prices) -> Flag:
    """Raise the price of types that are won several times, lower that of types that are not won; false where prices are at rest.

    Likewise raise what types are charged for an INSIST that is made before they are won, and lower it where they are won before and it is
    not made.
    """
    once, stays = np.full(len(offers.weights), -1.0), np.zeros_like(prices.stays)
    for position in range(len(chosen)):
        i, row = chosen[position], position if claims.shape[0] > 1 else 0
        cost = offers.costs[row, i]
        if offers.costs[row].max() > 0.0:
            stays[:, position] = (1.0 if cost > 0.0 else 0.0) - (once + 1.0)
        if claims[row, i] > 0.0 or cost > 0.0:
            for m in range(offers.first[i], offers.first[i + 1]):
                j = offers.takers[m]
                own = cost - prices.stays[j, row] if cost > 0.0 else 0.0
                if offers.gains[row, i] - last + prices.refunds[j, row] - own > prices.once[j]:
                    once[j] += 1.0
    norm = 0.0
    for j in range(len(once)):
        if once[j] < 0.0 and prices.once[j] <= 0.0:
            once[j] = 0.0
        norm += offers.weights[j] * (once[j] ** 2 + (stays[j] ** 2).sum())
    stride /= max(norm, 1e-300)
    for j in range(len(once)):
        prices.once[j] = max(0.0, prices.once[j] + stride * once[j])
    if offers.costs.max() > 0.0:
        for position in range(len(chosen)):
            most = offers.costs[position].max()
            prices.stays[:, position] = np.minimum(most, np.maximum(0.0, prices.stays[:, position] + stride * stays[:, position]))
        add_refunds(prices)
    return norm > 0.0
