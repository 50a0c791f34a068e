"""Lots that find no buyer: a seller cannot always commit to withholding them.

With some probability a passed-in lot is bargained over with the best unserved entrant, who pays part of the way from the seller's own
value to its genuine bid (Skreta 2006 on sellers without commitment). How often and at what price sets how harsh
silly reserves are.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.purposes import UNSOLD_BARGAIN, chance
from edgeworth.games.auction.vocabulary import NOBODY
from edgeworth.games.auction.withdrawals import hand_over


@dataclass(frozen=True)
class UnsoldModel:
    """What happens to passed-in lots. Calibrated."""

    bargain_chance: float = 0.46
    """Chance that a passed-in lot is bargained over."""
    seller_share: float = 0.7
    """The seller's share of what the buyer's genuine bid exceeds the seller's own value by."""


@compiled_apart
def settle_unsold(market: Record, model: Record, terms: Record, sale: Record) -> None:
    """Unsold lots are bargained over or stay with the seller."""
    own = model.lots.seller_value
    for k in range(sale.ladder.sold, terms.lots):
        buyer = best_unserved(market, sale, own) if chance(market, UNSOLD_BARGAIN, k) < model.unsold.bargain_chance else NOBODY
        if buyer == NOBODY:
            sale.welfare += terms.quality[k] * own
        else:
            price = bargained_price(sale.genuine[buyer], model)
            hand_over(terms, model, sale, buyer, k, terms.quality[k] * sale.value[buyer], terms.quality[k] * price)


@compiled_apart
def bargained_price(genuine: Real, model: Record) -> Real:
    """What a bidder with this genuine bid pays for a lot that was passed in, per unit of quality."""
    return model.lots.seller_value + model.unsold.seller_share * (genuine - model.lots.seller_value)


@compiled_apart
def best_unserved(market: Record, sale: Record, least: Real) -> Int:
    """The entrant without a lot (and who gave none back) whose genuine bid is highest and above the seller's own value, or NOBODY."""
    best, who = least, NOBODY
    for i in range(market.n):
        if sale.present[i] and not sale.served[i] and not sale.withdrew[i] and sale.genuine[i] > best:
            best, who = sale.genuine[i], i
    return who
