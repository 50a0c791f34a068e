"""Truthful bidder: bids its value, in every format, for ever.

The dominant strategy of a one-lot second-price sale and of VCG (Vickrey 1961); naive under pay-as-bid, where it pays all it gains, sees no
surplus coming and stays away. It learns nothing about bidding, but watches prices to decide whether to come.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.auction.bidders.profile import BidderProfile


@dataclass(frozen=True)
class Truthful(BidderProfile):
    """Bids its value."""

    prior_shading: float = 1.0
    entry_cost: float = 0.022
    ambiguity: float = 0.10
