"""Disclosure: what bidders, newcomers and rings learn from the five `reveal_…` fields.

Publishing has three effects at once, so no flag is simply good. Bidders learn to bid from it (full feedback makes a no-regret
learner converge in fifty sales, bandit feedback does not: √(T ln N / 2) against 2 √((e-1) T N ln N), Cesa-Bianchi and Lugosi 2006);
newcomers fear a market they cannot see into (max-min ambiguity aversion, Gilboa and Schmeidler 1989); and a ring polices its members with
it (Stigler 1964; Green and Porter 1984; Marmer, Shneyerov and Kaplan 2017 find no collusion in auctions that disclose very little).
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Int, Record, compiled_apart
from edgeworth.games.auction.vocabulary import ALL_BIDS, DISTRIBUTION, FIRST_PRICE, NO_INFORMATION, PRICE_ONLY


@dataclass(frozen=True)
class DisclosureModel:
    """How informative each published fact is. Triples are for first_price, second_price and vcg. All calibrated."""

    opacity_price: float = 0.55
    """Factor on opacity where clearing prices are published."""
    opacity_distribution: float = 0.55
    """Factor on opacity where a histogram of bids is published."""
    opacity_bids: float = 0.40
    """Factor on opacity where all bids are published."""
    opacity_identity: float = 0.85
    """Factor on opacity where winners are named."""
    feedback_bids: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Usable share of a learning step where all bids are seen."""
    feedback_distribution: tuple[float, float, float] = (0.70, 0.55, 0.40)
    """Usable share with a histogram: a counterfactual needs the cut-off (first price), the next bid (second price) or all bids (VCG)."""
    feedback_price: tuple[float, float, float] = (0.50, 0.30, 0.12)
    """Usable share with the clearing price alone."""
    feedback_private: tuple[float, float, float] = (0.10, 0.20, 0.10)
    """Usable share with only what a winner pays itself."""
    bin_width: float = 0.1
    """Width of the bins in the histogram shown to bidders from outside."""


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
def write_seen_bids(ladder: Record, position: Int, mechanism: Record, terms: Record, sale: Record) -> None:
    """The rivals' highest bids as seen from a rank on the ladder (`position` = lots: from below the winners), and how many are known.

    All bids, or a histogram of them, show every bid that was handed in, void ones too. Prices show the bids that set them: under pay-as-bid
    the winners' own, else all but the best, which is guessed from the next one. The ceiling is what the unknown
    rivals are known to be below: the lowest winning bid, or an announced reserve. In units of the day's demand.
    """
    lots, demand = terms.lots, sale.demand
    seen, ceiling = sale.seen[position], 1.0
    shown = ladder.listed
    if mechanism.reveal_reserve:
        ceiling = mechanism.reserve_price / demand
    if terms.information == PRICE_ONLY:
        shown = ladder.ranked
        if mechanism.auction_type == FIRST_PRICE and shown >= lots:
            shown, ceiling = lots, min(ladder.bid[lots - 1] / demand, 1.0)
    known = min(lots, shown - (1 if position < shown else 0))
    for k in range(known):
        seen[k] = min(ladder.bid[k if k < position else k + 1] / demand, 1.0)
    for k in range(known, lots):
        seen[k] = 0.0
    if terms.information == PRICE_ONLY and mechanism.auction_type != FIRST_PRICE and position > 0 and known > 0:
        setter = (ladder.bid[1] if ladder.ranked > 1 else mechanism.reserve_price) / demand
        seen[0] = min(setter * terms.top_ratio, 1.0)
    sale.known[position], sale.ceiling[position] = known, ceiling
