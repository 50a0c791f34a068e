"""Every way to divide the pool, the Pareto frontier among them, and the points that bargaining theory singles out.

Nash (1950) maximises the product of gains over disagreement; Kalai and Smorodinsky (1975) equalise the gains as shares of the most
each side could hope for; the egalitarian point equalises the gains themselves; the welfare point maximises their sum. The pool is
made of whole items, so "equalise" means: make the smaller as large as possible, then the larger. Worth is in points of each side's
own utilities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.contexts import Context, Triple, triple_of


@dataclass(frozen=True)
class Allocation:
    """A division of the pool: the agent's share, and what it is worth to the agent and the partner."""

    share: Triple
    mine: int
    theirs: int


@dataclass(frozen=True)
class Solutions:
    """The points that theory singles out, all on the frontier."""

    nash: Allocation
    kalai_smorodinsky: Allocation
    egalitarian: Allocation
    max_welfare: Allocation


def all_shares(counts: Triple) -> NDArray[np.int64]:
    """Every share the pool allows, in lexicographic order."""
    return np.stack(np.meshgrid(*(np.arange(n + 1) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)


def allocations(context: Context) -> list[Allocation]:
    """Every division of the pool."""
    shares = all_shares(context.counts)
    mine = shares @ np.array(context.my_utilities)
    theirs = (np.array(context.counts) - shares) @ np.array(context.partner_utilities)
    return [Allocation(triple_of(share), int(m), int(t)) for share, m, t in zip(shares, mine, theirs, strict=True)]


def pareto_frontier(context: Context) -> list[Allocation]:
    """The divisions that cannot be bettered for one side without hurting the other, from the agent's best to the partner's.

    Divisions worth the same to both are shown once, by the first of them.
    """
    best_for_partner = -1
    frontier: list[Allocation] = []
    for allocation in sorted(allocations(context), key=lambda a: (-a.mine, -a.theirs)):
        if allocation.theirs > best_for_partner:
            frontier.append(allocation)
            best_for_partner = allocation.theirs
    return frontier


def is_pareto(context: Context, share: Triple) -> bool:
    """Whether no division is better for one side and no worse for the other."""
    deal = valued(context, share)
    return any((a.mine, a.theirs) == (deal.mine, deal.theirs) for a in pareto_frontier(context))


def valued(context: Context, share: Triple) -> Allocation:
    """A share of the agent's with its worth to both sides."""
    mine = sum(n * u for n, u in zip(share, context.my_utilities, strict=True))
    theirs = sum((c - n) * u for c, n, u in zip(context.counts, share, context.partner_utilities, strict=True))
    return Allocation(share, mine, theirs)


def nash_product(allocation: Allocation, disagreement: tuple[float, float] = (0.0, 0.0)) -> float:
    """Product of the two sides' gains over disagreement; 0 where a side does not gain."""
    return max(0.0, allocation.mine - disagreement[0]) * max(0.0, allocation.theirs - disagreement[1])


def solutions(context: Context, disagreement: tuple[float, float] = (0.0, 0.0)) -> Solutions:
    """Nash, Kalai–Smorodinsky, egalitarian and welfare points, given what each side gets without a deal."""
    frontier = pareto_frontier(context)
    hopes = (max(context.my_maximum - disagreement[0], 1e-12), max(context.partner_maximum - disagreement[1], 1e-12))

    def gains(a: Allocation) -> tuple[float, float]:
        return a.mine - disagreement[0], a.theirs - disagreement[1]

    def leximin(first: float, second: float) -> tuple[float, float]:
        return min(first, second), max(first, second)

    def best(key: Callable[[Allocation], tuple[float, ...]]) -> Allocation:
        return max(frontier, key=key)

    return Solutions(
        nash=best(lambda a: (nash_product(a, disagreement), a.mine + a.theirs, *leximin(*gains(a)))),
        kalai_smorodinsky=best(lambda a: leximin(gains(a)[0] / hopes[0], gains(a)[1] / hopes[1])),
        egalitarian=best(lambda a: leximin(*gains(a))),
        max_welfare=best(lambda a: (a.mine + a.theirs, nash_product(a, disagreement))),
    )
