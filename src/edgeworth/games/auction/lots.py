"""What is for sale: graded lots, what they are worth to the bidders, and what the seller could do with them.

Every sale offers K lots of falling quality to bidders who each want one: sponsored-search positions, landing slots, pitches at a fair.
A bidder with value v gets q_k v from lot k, and an unsold lot is worth s q_k to the seller. Several lots are what makes the three
formats differ and a ring potent; the seller's own use is what makes an interior reserve efficient (Krishna 2010, section 2.5).

Values are private and independent: v = z u with u uniform on [0, 1] and z the day's demand, uniform around 1. Bidders know the
day's demand, the designer does not, so no fixed reserve is right every day. Values do not depend on the mechanism: two mechanisms are
always compared on the same market.

Units: values, bids and prices are money per unit of quality; payments and surplus are money.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import DEMAND, VALUE, chance
from edgeworth.games.auction.vocabulary import MAX_LOTS

REFERENCE_SURPLUS = 0.0581597
"""Competitive surplus per bidder at n = 8 (order statistics of U[0,1], K = 3): costs and fines are quoted for this market."""
LEAST_SURPLUS = 1e-4
LEAST_PROFIT = 0.05


@dataclass(frozen=True)
class LotsModel:
    """How many lots, how good, and the seller's own use for them."""

    per_bidder: float = 0.375
    """Lots per bidder: three lots for eight bidders."""
    quality_ratio: float = 0.75
    """Quality of a lot over that of the next better one; the decay of click rates by position is of this order."""
    seller_value: float = 0.12
    """Worth of an unsold lot to the seller, per unit of quality; the efficient reserve."""


@dataclass(frozen=True)
class DemandModel:
    """How much the days differ."""

    half_width: float = 0.25
    """The day's demand is uniform on 1 ± this; the textbook limit sets it to 0."""


@compiled_apart
def lot_count(n: Int, per_bidder: Real) -> Int:
    """Lots offered to n bidders, between one and MAX_LOTS; halves go to the even number."""
    exact = per_bidder * n
    lots = math.floor(exact)
    rest = exact - lots
    if rest > 0.5 or (rest == 0.5 and lots % 2 == 1):
        lots += 1
    return min(max(lots, 1), MAX_LOTS)


@compiled_apart
def write_lots(n: Int, model: Record, terms: Record) -> None:
    """The lots of a market of n bidders, and the scale of money in it.

    `scale` compares its competitive surplus per bidder with the reference market; `usual_profit` is the seller's competitive profit
    per sale. Both follow from E v_(k) = (n + 1 - k) / (n + 1).
    """
    lots = lot_count(n, model.lots.per_bidder)
    quality, total = 1.0, 0.0
    for k in range(MAX_LOTS + 1):
        terms.quality[k] = quality if k < lots else 0.0
        total += terms.quality[k]
        quality *= model.lots.quality_ratio
    revenue, first_best = 0.0, 0.0
    for k in range(lots):
        next_value = (n - 1.0 - k) / (n + 1.0)
        price = max(next_value, model.lots.seller_value)
        revenue += (k + 1) * (terms.quality[k] - terms.quality[k + 1]) * price
        first_best += terms.quality[k] * (n - k) / (n + 1.0)
    terms.lots = lots
    terms.total_quality = total
    terms.top_ratio = (n - 1.0) / max(n - 2.0, 0.5)
    terms.scale = max((first_best - revenue) / n, LEAST_SURPLUS) / REFERENCE_SURPLUS
    terms.usual_profit = max(revenue - model.lots.seller_value * total, LEAST_PROFIT)


@compiled_apart
def draw_values(market: Record, model: Record, sale: Record) -> None:
    """The day's demand and every bidder's value."""
    sale.demand = 1.0 + model.demand.half_width * (2.0 * chance(market, DEMAND, 0) - 1.0)
    for i in range(market.n):
        sale.value[i] = sale.demand * chance(market, VALUE, i)
