"""Shaded bids: what a shading bids, which values win with it, and how expected surplus changes with it.

A bidder who shades by θ bids θ v where the reserve is secret, and max(r, θ v) where it is announced. Under pay-as-bid an announced
reserve bends the whole curve: a value v ≥ r bids (θ⁴ v⁴ + (1 - θ⁴) r⁴)^(1/4), r at v = r and nearly θ v far above it. That is close to
the first-price equilibrium with a reserve, θ v + (1 - θ) r (r / v)^(θ / (1 - θ)) with θ = (n - 1) / n, and can be inverted.

Against rivals whose k-th highest bid is C_k a bidder wins lot k for values between the one that bids C_k and the one that bids C_(k-1), so
its expected surplus over v uniform on [0, 1] is a sum of integrals over lots. No sampling: learning follows its slope.

Bids, cut-offs and reserve are in units of the day's demand.
"""

from __future__ import annotations

import math

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled_apart
from edgeworth.games.auction.vocabulary import FIRST_PRICE, VCG

LEAST_BID = 1e-12


@compiled_apart
def fourth(x: Real) -> Real:
    """x⁴."""
    return x * x * x * x


@compiled_apart
def shaded_bid(value: Real, shading: Real, floor: Real) -> Real:
    """The bid of a value of at least `floor`, an announced reserve or 0."""
    if floor == 0.0:
        return shading * value
    theta = fourth(shading)
    return math.sqrt(math.sqrt(theta * fourth(value) + (1.0 - theta) * fourth(floor)))


@compiled_apart
def winning_value(cutoff: Real, shading: Real, reserve: Real, announced: Flag, floor: Real) -> Real:
    """The least value that outbids a cut-off, at most 1; an announced reserve only has to be met."""
    if cutoff <= reserve:
        return min(reserve if announced else reserve / shading, 1.0)
    if floor == 0.0 or shading == 1.0:
        return min(cutoff / shading, 1.0)
    return min(math.sqrt(math.sqrt(fourth(cutoff) - (1.0 - fourth(shading)) * fourth(floor))) / shading, 1.0)


@compiled_apart
def mean_bid(shading: Real, lowest: Real, highest: Real, floor: Real) -> Real:
    """The bids of the values from `lowest` to `highest`, integrated (Simpson's rule)."""
    if floor == 0.0:
        return 0.5 * shading * (highest * highest - lowest * lowest)
    middle = shaded_bid(0.5 * (lowest + highest), shading, floor)
    return (highest - lowest) / 6.0 * (shaded_bid(lowest, shading, floor) + 4.0 * middle + shaded_bid(highest, shading, floor))


@compiled_apart
def lot_price(k: Int, cutoff: Real, below: Real, terms: Record, auction_type: Int) -> Real:
    """Total price of lot k when the best beaten rival bid is `cutoff`; under VCG on top of `below`, the price of the next lot."""
    step = terms.quality[k] - terms.quality[k + 1] if auction_type == VCG else terms.quality[k]
    return step * cutoff + (below if auction_type == VCG else 0.0)


@compiled_apart
def bid_slope(value: Real, shading: Real, floor: Real) -> Real:
    """How a bid grows with the shading."""
    if floor == 0.0:
        return value
    bid = max(shaded_bid(value, shading, floor), LEAST_BID)
    return shading * shading * shading * (fourth(value) - fourth(floor)) / (bid * bid * bid)


@compiled_apart
def surplus_slope(shading: Real, cutoffs: Array, terms: Record, auction_type: Int, reserve: Real, announced: Flag) -> Real:
    """How the expected surplus of bidding against these cut-offs (descending) grows with the shading.

    A higher shading lowers the value w from which lot k is won, by (w⁴ - r⁴) / (θ w³). There the bidder gains lot k for its price and gives
    up lot k + 1 for its own; under pay-as-bid it also pays more for what it wins anyway.
    """
    slope, below = 0.0, 0.0
    floor = reserve if announced and auction_type == FIRST_PRICE else 0.0
    pays_bid = auction_type == FIRST_PRICE
    lowest = winning_value(cutoffs[terms.lots - 1], shading, reserve, announced, floor)
    for k in range(terms.lots - 1, -1, -1):
        price = lot_price(k, max(cutoffs[k], reserve), below, terms, auction_type)
        if 0.0 < lowest < 1.0 and (cutoffs[k] > reserve or not announced):
            step = terms.quality[k] - terms.quality[k + 1]
            gained = step * (lowest - max(cutoffs[k], reserve)) if pays_bid else step * lowest - (price - below)
            slope += gained * (fourth(lowest) - fourth(floor)) / (shading * lowest * lowest * lowest)
        highest = max(winning_value(cutoffs[k - 1], shading, reserve, announced, floor), lowest) if k > 0 else 1.0
        if pays_bid:
            middle = bid_slope(0.5 * (lowest + highest), shading, floor)
            ends = bid_slope(lowest, shading, floor) + bid_slope(highest, shading, floor)
            slope -= terms.quality[k] * (highest - lowest) / 6.0 * (ends + 4.0 * middle)
        lowest, below = highest, price
    return slope
