"""Shader: a no-regret learner that begins by bidding far below its value.

It bids θ v and learns θ step by step from whatever the market publishes (`learning`), as the bidders of online ad exchanges do
(Nekipelov, Syrgkanis and Tardos 2015). Under VCG it can be taught to bid its value, under pay-as-bid it learns the equilibrium
(n-1)/n; kept in the dark it goes on under-bidding. Where a ring is as good as legal, it joins.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.games.auction.bidders.profile import BidderProfile


@dataclass(frozen=True)
class Shader(BidderProfile):
    """Learns how much to shade."""

    prior_shading: float = 0.62
    entry_cost: float = 0.022
    ambiguity: float = 0.10
