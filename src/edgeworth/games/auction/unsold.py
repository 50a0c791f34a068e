"""Lots that find no buyer: a seller cannot always commit to withholding them.

With some probability a passed-in lot is bargained over with the best unserved entrant, who pays the midpoint between its genuine bid and
the seller's own value (Skreta 2006 on sellers without commitment). This one number sets how harsh silly reserves are.
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

    bargain_chance: float = 0.19
    """Chance that a passed-in lot is bargained over."""


@compiled_apart
def settle_unsold(market: Record, model: Record, terms: Record, sale: Record) -> None:
    """Unsold lots are bargained over or stay with the seller."""
    own = model.lots.seller_value
    for k in range(sale.ladder.sold, terms.lots):
        buyer = best_unserved(market, sale, own) if chance(market, UNSOLD_BARGAIN, k) < model.unsold.bargain_chance else NOBODY
        if buyer == NOBODY:
            sale.welfare += terms.quality[k] * own
        else:
            price = 0.5 * (sale.genuine[buyer] + own)
            hand_over(terms, model, sale, buyer, k, terms.quality[k] * sale.value[buyer], terms.quality[k] * price)


@compiled_apart
def best_unserved(market: Record, sale: Record, least: Real) -> Int:
    """The entrant without a lot (and who gave none back) whose genuine bid is highest and above the seller's own value, or NOBODY."""
    best, who = least, NOBODY
    for i in range(market.n):
        if sale.present[i] and not sale.served[i] and not sale.withdrew[i] and sale.genuine[i] > best:
            best, who = sale.genuine[i], i
    return who
