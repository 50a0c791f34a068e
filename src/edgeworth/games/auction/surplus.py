"""What a way of bidding is worth: expected surplus against given rivals, in closed form.

A bidder who shades by θ bids max(r, θ v) and meets rivals whose k-th highest bid is C_k. Over v uniform on [0, 1] it wins lot k for v
between C_k / θ and C_(k-1) / θ, so its expected surplus is a sum over lots of integrals of linear functions. No sampling: the same
function serves learning (every shading level against what was seen) and entry (the bidder's own level against what it believes).

Cut-offs and reserve are in units of the day's demand.
"""

from __future__ import annotations

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled_apart
from edgeworth.games.auction.vocabulary import FIRST_PRICE, VCG


@compiled_apart
def winning_value(cutoff: Real, shading: Real, reserve: Real) -> Real:
    """The least value that outbids a cut-off, at most 1; a rival at the reserve has to be outbid too."""
    return reserve if cutoff < reserve else min(cutoff / shading, 1.0)


@compiled_apart
def lot_surplus(shading: Real, lowest: Real, highest: Real, quality: Real, price: Real, reserve: Real, pays_bid: Flag) -> Real:
    """Expected surplus from one lot that is won by values from `lowest` to `highest`, at a total `price` or at the own bid."""
    highest = max(highest, lowest)
    mean_value = 0.5 * (highest * highest - lowest * lowest)
    at_reserve = min(max(reserve / shading, lowest), highest)
    bid_payment = reserve * (at_reserve - lowest) + 0.5 * shading * (highest * highest - at_reserve * at_reserve)
    if pays_bid:
        return quality * (mean_value - bid_payment)
    return quality * mean_value - price * (highest - lowest)


@compiled_apart
def lot_price(k: Int, cutoff: Real, below: Real, terms: Record, auction_type: Int) -> Real:
    """Total price of lot k when the best beaten rival bid is `cutoff`; under VCG on top of `below`, the price of the next lot."""
    step = terms.quality[k] - terms.quality[k + 1] if auction_type == VCG else terms.quality[k]
    return step * cutoff + (below if auction_type == VCG else 0.0)


@compiled_apart
def expected_surplus(shading: Real, cutoffs: Array, terms: Record, auction_type: Int, reserve: Real) -> Real:
    """Expected surplus of bidding with this shading against these cut-offs (descending)."""
    total, price = 0.0, 0.0
    for k in range(terms.lots - 1, -1, -1):
        price = lot_price(k, max(cutoffs[k], reserve), price, terms, auction_type)
        lowest = winning_value(cutoffs[k], shading, reserve)
        highest = winning_value(cutoffs[k - 1], shading, reserve) if k > 0 else 1.0
        total += lot_surplus(shading, lowest, highest, terms.quality[k], price, reserve, auction_type == FIRST_PRICE)
    return total


@compiled_apart
def surplus_by_shading(shadings: Array, cutoffs: Array, terms: Record, auction_type: Int, reserve: Real, out: Array) -> None:
    """The same for every shading level at once, lot by lot."""
    levels = shadings.shape[0]
    for g in range(levels):
        out[g] = 0.0
    price = 0.0
    for k in range(terms.lots - 1, -1, -1):
        price = lot_price(k, max(cutoffs[k], reserve), price, terms, auction_type)
        pays_bid = auction_type == FIRST_PRICE
        for g in range(levels):
            lowest = winning_value(cutoffs[k], shadings[g], reserve)
            highest = winning_value(cutoffs[k - 1], shadings[g], reserve) if k > 0 else 1.0
            out[g] += lot_surplus(shadings[g], lowest, highest, terms.quality[k], price, reserve, pays_bid)
