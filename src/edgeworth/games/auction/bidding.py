"""The bids of people who compete: what everybody would bid if there were no ring and no false names.

A bidder bids θ v with the shading it has learnt, give or take a tremble. An announced reserve is met or left alone; a secret one
may void a bid.
"""

from __future__ import annotations

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.bidders.exploiter import overbid_factor
from edgeworth.games.auction.purposes import TREMBLE, chance
from edgeworth.games.auction.surplus import shaded_bid
from edgeworth.games.auction.vocabulary import EXPLOITER, FIRST_PRICE, TRUTHFUL


@compiled_apart
def write_competitive_bids(market: Record, mechanism: Record, model: Record, sale: Record) -> None:
    """The competitive bid of every entrant, and 0 for the rest; `genuine` keeps θ v for later talks about unsold lots."""
    for i in range(market.n):
        sale.shading[i] = played_shading(market, model, i)
        sale.genuine[i] = sale.shading[i] * sale.value[i] if sale.present[i] else 0.0
        sale.competitive[i] = competitive_bid(market, mechanism, model, sale, i) if sale.present[i] else 0.0
        sale.bid[i] = sale.competitive[i]
    sale.bids = market.n


@compiled_apart
def played_shading(market: Record, model: Record, i: Int) -> Real:
    """The shading of this sale: the learnt mean and a tremble, at most 1; a truthful bidder has none of either."""
    if market.type[i] == TRUTHFUL:
        return 1.0
    return min(1.0, market.shading[i] + model.learning.tremble * (2.0 * chance(market, TREMBLE, i) - 1.0))


@compiled_apart
def competitive_bid(market: Record, mechanism: Record, model: Record, sale: Record, i: Int) -> Real:
    """What bidder i bids on its own account; 0 is no bid."""
    bid = sale.genuine[i]
    if market.type[i] == EXPLOITER:
        bid *= overbid_factor(mechanism, model)
    if not mechanism.reveal_reserve:
        return bid
    if sale.value[i] < mechanism.reserve_price:
        return 0.0
    if mechanism.auction_type == FIRST_PRICE:
        return shaded_bid(sale.value[i], sale.shading[i], mechanism.reserve_price)
    return max(bid, mechanism.reserve_price)
