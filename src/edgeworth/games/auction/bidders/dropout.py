"""Strategic dropout: a bidder that is easily driven away and slow to return.

It shades a little and learns like the others, but taking part costs it more, and it fears what it cannot see: the one who leaves first
when a reserve is high or secret, when prices stay hidden, or when honest people are fined. Outside options of this kind are why sellers
with endogenous entry keep their reserves low (Levin and Smith 1994; Bulow and Klemperer 1996).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.auction.bidders.profile import BidderProfile


@dataclass(frozen=True)
class Dropout(BidderProfile):
    """Comes only where it feels safe."""

    prior_shading: float = 0.90
    entry_cost: float = 0.036
    ambiguity: float = 0.22
