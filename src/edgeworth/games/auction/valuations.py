"""What the lots are worth to the bidders, sale by sale.

Independent private values v = z u with u uniform on [0, 1] and z the day's demand, uniform around 1. The bidders know the day, whoever
sets the reserve does not, so no fixed reserve is right every day. Nothing here reads the mechanism: two mechanisms are always compared on
the same market.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Record, compiled_apart
from edgeworth.games.auction.purposes import DEMAND, VALUE, chance


@dataclass(frozen=True)
class DemandModel:
    """How much the days differ."""

    half_width: float = 0.25
    """The day's demand is uniform on 1 ± this; the textbook limit sets it to 0."""


@compiled_apart
def draw_values(market: Record, model: Record, sale: Record) -> None:
    """The day's demand and every bidder's value."""
    sale.demand = 1.0 + model.demand.half_width * (2.0 * chance(market, DEMAND, 0) - 1.0)
    for i in range(market.n):
        sale.value[i] = sale.demand * chance(market, VALUE, i)
