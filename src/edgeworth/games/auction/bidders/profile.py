"""What distinguishes the types of bidders in numbers; what they do differently stands in each type's file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BidderProfile:
    """How a type of bidder begins and what brings it to the market."""

    prior_shading: float
    """The share of its value that it bids before it has learnt anything."""
    entry_cost: float
    """Mean cost of taking part in a sale, quoted for eight bidders."""
    ambiguity: float
    """How much worse than believed it takes a market that shows nothing to be, from 0 to 1."""
