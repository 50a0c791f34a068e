"""Lists of offers as numbers: what a list is worth, and a local search that improves it by single replacements.

A list is made offer by offer until one is accepted. `list_total` adds up what it pays over all partner types; divided by the number of
types this is its value in points. `swap_offers` gives the exact search (`list_search.py`) a good list to begin with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Real, compiled_apart

ROUNDING = 1e-11
"""Totals that differ by less, relative to their size, are the same."""


class Offers(NamedTuple):
    """The offers to choose from, and what each pays and costs; partner types that accept the same offers are one, with a weight."""

    first: Array
    """Offer i is accepted by the types `takers[first[i] : first[i + 1]]`."""
    takers: Array
    weights: Array
    gains: Array
    """What an accepted offer pays, by position and offer."""
    costs: Array
    """What an offer costs all who hear it, by position and offer."""


@compiled_apart
def list_total(offers: Offers, plan: Array, length: Int, last: Real, left: Array) -> Real:
    """What a list pays over all types, the last resort included; `left` is room for one number per type."""
    left[:] = offers.weights
    total, reached = 0.0, offers.weights.sum()
    for position in range(length):
        i, taken = plan[position], 0.0
        for m in range(offers.first[i], offers.first[i + 1]):
            taken += left[offers.takers[m]]
            left[offers.takers[m]] = 0.0
        total += offers.gains[position, i] * taken - offers.costs[position, i] * reached
        reached -= taken
    return total + last * reached


@compiled_apart
def sort_offers(offers: Offers, plan: Array, length: Int) -> None:
    """Put the offers that ask for more first: where time costs nothing, the best order."""
    gains = offers.gains[0]
    for position in range(1, length):
        i, at = plan[position], position
        while at > 0 and gains[plan[at - 1]] < gains[i]:
            plan[at] = plan[at - 1]
            at -= 1
        plan[at] = i


@compiled_apart
def best_replacement(offers: Offers, plan: Array, length: Int, position: Int, last: Real, left: Array, later: Array) -> Int:
    """The offer that does best at one position of a list while the others stay; `left` and `later` have room for one number per type."""
    left[:] = offers.weights
    for earlier in range(position):
        i = plan[earlier]
        for m in range(offers.first[i], offers.first[i + 1]):
            left[offers.takers[m]] = 0.0
    later[:] = last
    for after in range(length - 1, position, -1):
        i = plan[after]
        later -= offers.costs[after, i]
        for m in range(offers.first[i], offers.first[i + 1]):
            later[offers.takers[m]] = offers.gains[after, i] - offers.costs[after, i]
    best, chosen, reached = -np.inf, plan[position], left.sum()
    for i in range(offers.gains.shape[1]):
        score = -offers.costs[position, i] * reached
        for m in range(offers.first[i], offers.first[i + 1]):
            j = offers.takers[m]
            score += left[j] * (offers.gains[position, i] - later[j])
        if score > best:
            best, chosen = score, i
    return chosen


@compiled_apart
def swap_offers(offers: Offers, plan: Array, length: Int, last: Real, alike: Flag) -> Real:
    """Replace single offers until no replacement improves the list; returns its total."""
    left, later, trial = np.empty(len(offers.weights)), np.empty(len(offers.weights)), plan.copy()
    total, since, position = list_total(offers, plan, length, last, left), 0, 0
    while since < length:
        trial[:] = plan
        trial[position] = best_replacement(offers, plan, length, position, last, left, later)
        if alike:
            sort_offers(offers, trial, length)
        found = list_total(offers, trial, length, last, left)
        since += 1
        if found > total + ROUNDING * abs(total):
            plan[:], total, since = trial, found, 0
        position = (position + 1) % length
    return total


@compiled_apart
def greedy_list(offers: Offers, length: Int, last: Real, plan: Array) -> None:
    """Add the offer that gains most until the list is full, then sort; `plan` receives it."""
    won = np.full(len(offers.weights), last)
    for position in range(length):
        best = -np.inf
        for i in range(offers.gains.shape[1]):
            gain, score = offers.gains[0, i] - offers.costs[0, i], 0.0
            for m in range(offers.first[i], offers.first[i + 1]):
                j = offers.takers[m]
                score += offers.weights[j] * max(0.0, gain - won[j])
            if score > best:
                best, plan[position] = score, i
        i = plan[position]
        for m in range(offers.first[i], offers.first[i + 1]):
            won[offers.takers[m]] = max(won[offers.takers[m]], offers.gains[0, i] - offers.costs[0, i])
    sort_offers(offers, plan, length)
