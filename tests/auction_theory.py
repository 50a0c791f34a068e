"""What auction theory says, in closed form: oracles for the tests and numbers for the docs.

Values are independent and uniform on [0, 1], n bidders compete for one lot, and r is the reserve, unless a function says otherwise. The
payments for graded lots at the end are written from the definitions, by optimising the allocation anew; nothing here calls the market's
own rules. Krishna (2010), *Auction Theory*, has all of the one-lot results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

NOTHING = -1
"""The lot of a bidder who wins none."""


def expected_order_statistic(n: int, k: int) -> float:
    """Mean of the k-th highest of n values: (n + 1 - k) / (n + 1)."""
    return (n + 1 - k) / (n + 1)


def first_price_bid(value: float, n: int, reserve: float = 0.0) -> float:
    """The equilibrium bid of a first-price sale, (n-1)v/n + r^n / (n v^(n-1)); 0 below the reserve (Riley and Samuelson 1981)."""
    if value < reserve or value <= 0.0:
        return 0.0
    return (n - 1) * value / n + reserve**n / (n * value ** (n - 1))


def expected_revenue(n: int, reserve: float = 0.0) -> float:
    """Revenue of every standard auction in equilibrium: (n-1)/(n+1) + r^n - 2n r^(n+1) / (n+1) (Vickrey 1961; Myerson 1981)."""
    return (n - 1) / (n + 1) + reserve**n - 2 * n * reserve ** (n + 1) / (n + 1)


def expected_surplus_each(n: int) -> float:
    """What a bidder expects before it knows its value, without a reserve: 1 / (n (n + 1))."""
    return 1 / (n * (n + 1))


def optimal_reserve(seller_value: float = 0.0) -> float:
    """The reserve that earns the seller most, whatever the number of bidders: (1 + s) / 2 (Myerson 1981)."""
    return (1 + seller_value) / 2


def no_sale_probability(n: int, reserve: float) -> float:
    """Chance that every value lies below the reserve: r^n."""
    return reserve**n


def welfare_lost_to_reserve(n: int, reserve: float) -> float:
    """Mean value of the lots that a reserve leaves with a seller who has no use for them: n r^(n+1) / (n+1)."""
    return n * reserve ** (n + 1) / (n + 1)


def ring_revenue(n: int, members: int, reserve: float = 0.0) -> float:
    """Revenue of a second-price sale in which a strong ring sends its best member alone (Graham and Marshall 1987).

    r P(a sale) + ∫ P(second bid > x) dx from r to 1; the second bid is at most x when all outsiders are, or when one outsider alone is
    above it. With one member it is the competitive revenue; without a reserve it is (n-m)/(n-m+1) - (n-m)/(n(n+1)).
    """
    outsiders = n - members
    at_most_ring = (1 - reserve ** (outsiders + 1)) / (outsiders + 1)
    one_outsider = outsiders * ((1 - reserve**n) / n - (1 - reserve ** (n + 1)) / (n + 1))
    return reserve * (1 - reserve**n) + (1 - reserve) - at_most_ring - one_outsider


def optimal_reserve_against_ring(n: int, members: int) -> float:
    """The best reserve against that ring: where (n-m) r^(m-1) (1-2r) + 1 - (m+1) r^m = 0. It rises with the ring."""

    def slope(r: float) -> float:
        return (n - members) * r ** (members - 1) * (1 - 2 * r) + 1 - (members + 1) * r**members

    return falling_root(slope, 0.5, 1.0)


def entry_probability(n: int, cost: float) -> float:
    """The chance with which each of n bidders enters when entering costs c and values are learnt afterwards (Levin and Smith 1994).

    Everybody comes while c <= 1 / (n (n + 1)); beyond, p makes entrants indifferent: Σ C(n-1, k) p^k (1-p)^(n-1-k) / ((k+1)(k+2)) = c.
    """

    def gain(p: float) -> float:
        rivals = (math.comb(n - 1, k) * p**k * (1 - p) ** (n - 1 - k) * expected_surplus_each(k + 1) for k in range(n))
        return math.fsum(rivals) - cost

    if gain(1.0) >= 0.0:
        return 1.0
    return falling_root(gain, 0.0, 1.0) if gain(0.0) > 0.0 else 0.0


def falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls from above to below 0 crosses it, by bisection."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0.0 else (low, middle)
    return (low + high) / 2


# Graded lots: bids per unit of quality, each bidder wants one lot, a lot that stays with the seller counts for the reserve


def best_allocation(bids: Sequence[float], qualities: Sequence[float], reserve: float = 0.0) -> tuple[float, list[int]]:
    """The most that the lots can be worth at these bids, and the lot of each bidder; all ways to give them out are compared.

    Dynamic programming over bidders and sets of lots already given, so nothing relies on sorting.
    """
    none: list[int] = []
    best = {0: (0.0, none)}
    for bid in bids:
        longer: dict[int, tuple[float, list[int]]] = {}
        for taken, (worth, lots) in best.items():
            choices = [NOTHING, *(k for k in range(len(qualities)) if not taken >> k & 1)]
            for k in choices:
                gained, given = (worth, taken) if k == NOTHING else (worth + qualities[k] * (bid - reserve), taken | 1 << k)
                if given not in longer or gained > longer[given][0]:
                    longer[given] = (gained, [*lots, k])
        best = longer
    worth, lots = max(best.values(), key=lambda found: found[0])
    return worth + reserve * math.fsum(qualities), lots


def vcg_payments(bids: Sequence[float], qualities: Sequence[float], reserve: float = 0.0) -> list[float]:
    """What each bidder's presence costs the others, the seller included (Vickrey 1961; Clarke 1971; Groves 1973)."""
    worth, lots = best_allocation(bids, qualities, reserve)
    payments = []
    for i, k in enumerate(lots):
        own = 0.0 if k == NOTHING else qualities[k] * bids[i]
        without, _ = best_allocation([*bids[:i], *bids[i + 1 :]], qualities, reserve)
        payments.append(without - (worth - own))
    return payments


def gsp_payments(bids: Sequence[float], qualities: Sequence[float], reserve: float = 0.0) -> list[float]:
    """Each winner pays the best bid that its own beats, or the reserve, per unit of quality (Edelman, Ostrovsky and Schwarz 2007)."""
    _, lots = best_allocation(bids, qualities, reserve)
    payments = []
    for i, k in enumerate(lots):
        beaten = [bid for j, bid in enumerate(bids) if j != i and (lots[j] == NOTHING or lots[j] > k)]
        payments.append(0.0 if k == NOTHING else qualities[k] * max([reserve, *beaten]))
    return payments


def gfp_payments(bids: Sequence[float], qualities: Sequence[float], reserve: float = 0.0) -> list[float]:
    """Each winner pays its own bid per unit of quality."""
    _, lots = best_allocation(bids, qualities, reserve)
    return [0.0 if k == NOTHING else qualities[k] * bid for bid, k in zip(bids, lots, strict=True)]
