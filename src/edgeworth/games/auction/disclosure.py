"""Who learns what: how the five `reveal_…` fields turn into information.

Publishing helps three readers at once, which is why no flag is simply good. Bidders learn to bid from it (full feedback makes a no-regret
learner converge in fifty sales, bandit feedback does not: √(T ln N / 2) against 2 √((e-1) T N ln N), Cesa-Bianchi and Lugosi 2006);
newcomers fear a market they cannot see into (max-min ambiguity aversion, Gilboa and Schmeidler 1989); and a ring polices its members with
it (Stigler 1964; Green and Porter 1984; Marmer, Shneyerov and Kaplan 2017 find no collusion in auctions that disclose very little).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Array, Int, Record, compiled_apart
from edgeworth.games.auction.vocabulary import ALL_BIDS, DISTRIBUTION, NO_INFORMATION, PRICE_ONLY


@dataclass(frozen=True)
class DisclosureModel:
    """How much each published fact tells. Triples are for first_price, second_price and vcg. All calibrated."""

    opacity_price: float = 0.55
    """Factor on what newcomers fear when clearing prices are published,"""
    opacity_distribution: float = 0.55
    """when a histogram of bids is,"""
    opacity_bids: float = 0.40
    """when all bids are,"""
    opacity_identity: float = 0.85
    """and when winners are named."""
    feedback_bids: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Usable share of a learning step when all bids are seen,"""
    feedback_distribution: tuple[float, float, float] = (0.70, 0.55, 0.40)
    """a histogram: a counterfactual needs the cut-off (first price), the next bid (second price) or the whole ladder (VCG),"""
    feedback_price: tuple[float, float, float] = (0.50, 0.30, 0.12)
    """the clearing price alone,"""
    feedback_private: tuple[float, float, float] = (0.10, 0.20, 0.10)
    """or only what a winner pays itself."""
    bin_width: float = 0.1
    """Width of the histogram's bins."""


@compiled_apart
def write_disclosure_terms(mechanism: Record, model: Record, terms: Record) -> None:
    """The best source of information, how usable it is, and how opaque the market looks from outside."""
    d = model.disclosure
    kind = mechanism.auction_type
    if mechanism.reveal_competing_bids:
        terms.information, terms.feedback = ALL_BIDS, d.feedback_bids[kind]
    elif mechanism.reveal_bid_distribution:
        terms.information, terms.feedback = DISTRIBUTION, d.feedback_distribution[kind]
    elif mechanism.reveal_clearing_price:
        terms.information, terms.feedback = PRICE_ONLY, d.feedback_price[kind]
    else:
        terms.information, terms.feedback = NO_INFORMATION, d.feedback_private[kind]
    opacity = 1.0
    if mechanism.reveal_clearing_price:
        opacity *= d.opacity_price
    if mechanism.reveal_bid_distribution:
        opacity *= d.opacity_distribution
    if mechanism.reveal_competing_bids:
        opacity *= d.opacity_bids
    if mechanism.reveal_winner_identity:
        opacity *= d.opacity_identity
    terms.opacity = opacity


@compiled_apart
def write_seen_cutoffs(position: Int, model: Record, terms: Record, sale: Record, seen: Array) -> None:
    """The rivals' k-th highest bids, as far as a bidder who took lot `position` can tell (`position` = lots: it took none).

    All bids show them exactly, a histogram to the middle of a bin; from the clearing price alone the bidder fills the upper ladder
    evenly up to the day's demand. In units of the day's demand.
    """
    lots, demand = terms.lots, sale.demand
    ladder = sale.ladder
    for k in range(lots):
        place = k if k < position else k + 1
        seen[k] = ladder.bid[place] if place < ladder.ranked else 0.0
    if terms.information == DISTRIBUTION:
        width = model.disclosure.bin_width
        for k in range(lots):
            if seen[k] > 0.0:
                seen[k] = width * math.floor(seen[k] / width) + 0.5 * width
    elif terms.information == PRICE_ONLY:
        last = seen[lots - 1]
        for k in range(lots):
            seen[k] = last + max(demand - last, 0.0) * (lots - 1 - k) / lots
    for k in range(lots):
        seen[k] = min(seen[k] / demand, 1.0)
