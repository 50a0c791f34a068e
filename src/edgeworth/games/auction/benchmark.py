"""The competitive market on the same draws: what every score is measured against.

Everybody is present and truthful, the auction is VCG, and the reserve is the seller's own value. That is the first best: it defines the
welfare that was to be had, the seller's competitive profit, and the surplus each bidder is entitled to. Luck in the values cancels,
and the ideal market scores exactly 1.
"""

from __future__ import annotations

from edgeworth.compiled import Record, compiled_apart
from edgeworth.games.auction.pricing import clear
from edgeworth.games.auction.vocabulary import VCG


@compiled_apart
def measure_first_best(market: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """First-best welfare and competitive profit of this sale; each bidder's entitlement is added to the step's."""
    own = model.lots.seller_value
    ladder = sale.trial
    clear(sale.value, market.n, terms.lots + 1, VCG, own, terms, ladder)
    welfare, profit = 0.0, ladder.revenue
    for k in range(terms.lots):
        if k < ladder.sold:
            worth = terms.quality[k] * ladder.bid[k]
            welfare += worth
            profit -= terms.quality[k] * own
            tally.entitlement[ladder.seat[k]] += worth - ladder.payment[k]
        else:
            welfare += terms.quality[k] * own
    sale.first_best = welfare
    sale.competitive_profit = profit
