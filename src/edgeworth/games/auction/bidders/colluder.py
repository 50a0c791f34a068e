"""Colluder: a born member of the bidding ring.

With another member present it bids as the ring decides: a designee bids for its lot, the others cover for it near the reserve (`ring`).
Alone, expelled, or when the ring competes, it shades like any learner. What the ring has lately earned per member is one more reason to
come (Graham and Marshall 1987; Asker 2010 for a ring's books).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.auction.bidders.profile import BidderProfile


@dataclass(frozen=True)
class Colluder(BidderProfile):
    """Bids with the ring."""

    prior_shading: float = 0.88
    entry_cost: float = 0.016
    ambiguity: float = 0.06
