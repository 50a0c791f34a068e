"""Enforcement: who is fined for collusion, rightly and wrongly.

A ban that is never enforced permits: `deterrence` runs from 0 (the ring is as good as legal) to 1. A losing bid near the reserve looks
like a cover bid. Under `penalize_suspected` every such bid may be fined; `penalize_confirmed` needs evidence, which disclosure provides,
and rarely fines the innocent; `restrict` hinders coordination and fines a little. Every screen has false positives (Porter and Zona 1993;
Bajari and Ye 2003): that is what separates suspicion from proof. Fines leave the market.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Flag, Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import AUDIT, SCRUPLE, chance
from edgeworth.games.auction.vocabulary import ALLOW, PENALIZE_CONFIRMED, PENALIZE_SUSPECTED, RESTRICT


@dataclass(frozen=True)
class EnforcementModel:
    """How often screens find the guilty and the innocent, and what a fine costs. Calibrated."""

    teeth_scale: float = 0.5
    """Collusion penalty at which a policy of fines reaches a deterrence of 1 - 1/e."""
    least_scruple: float = 0.5
    """An outsider's scruple is uniform from this to 1; it joins a ring that is at least so lawful. Above 1, outsiders never join."""
    fine_unit: float = 0.35
    """The fine at penalty 1, quoted for eight bidders."""
    band_below: float = 0.05
    """How far below the reserve a losing bid is still suspicious."""
    band_above: float = 0.08
    """How far above the reserve a losing bid is still suspicious."""
    suspected_rate: float = 0.20
    """Chance that a cover bid is fined under `penalize_suspected`."""
    suspected_mistake: float = 0.12
    """Chance that an honest bid that looks like cover is fined under `penalize_suspected`."""
    confirmed_rate: float = 0.06
    """Chance that a cover bid is proven under `penalize_confirmed`."""
    evidence_identity: float = 0.015
    """How much more likely proof is where winners are named."""
    evidence_bids: float = 0.02
    """How much more likely proof is where all bids are published."""
    evidence_distribution: float = 0.01
    """How much more likely proof is where a histogram is published."""
    confirmed_mistake: float = 0.003
    """Chance that an honest bid that looks like cover is fined under `penalize_confirmed`."""
    restrict_rate: float = 0.05
    """Chance that a cover bid is fined under `restrict`."""
    shill_rate: float = 0.06
    """Chance that a false name is detected."""
    shill_identity: float = 0.10
    """How much more likely detection is where winners are named."""
    shill_bids: float = 0.04
    """How much more likely detection is where all bids are published."""
    shill_mistake: float = 0.04
    """Chance that the honest loser who sets the price is fined as a shill."""


@compiled_apart
def draw_scruples(market: Record, model: Record) -> None:
    """How lawful a ring must look before each outsider joins it."""
    least = model.enforcement.least_scruple
    for i in range(market.n):
        market.scruple[i] = least + (1.0 - least) * chance(market, SCRUPLE, i)


@compiled_apart
def write_enforcement_terms(mechanism: Record, model: Record, terms: Record) -> None:
    """Deterrence, rates and fines under this mechanism."""
    e = model.enforcement
    policy = mechanism.coalition_policy
    guilty, innocent, deterrence = 0.0, 0.0, 1.0 - math.exp(-mechanism.collusion_penalty / e.teeth_scale)
    if policy == ALLOW:
        deterrence = 0.0
    elif policy == RESTRICT:
        deterrence, guilty = 1.0, e.restrict_rate
    elif policy == PENALIZE_SUSPECTED:
        guilty, innocent = e.suspected_rate, e.suspected_mistake
    elif policy == PENALIZE_CONFIRMED:
        guilty, innocent = e.confirmed_rate, e.confirmed_mistake
        if mechanism.reveal_winner_identity:
            guilty += e.evidence_identity
        if mechanism.reveal_competing_bids:
            guilty += e.evidence_bids
        if mechanism.reveal_bid_distribution:
            guilty += e.evidence_distribution
    detection = e.shill_rate
    if mechanism.reveal_winner_identity:
        detection += e.shill_identity
    if mechanism.reveal_competing_bids:
        detection += e.shill_bids
    terms.deterrence, terms.guilty_rate, terms.innocent_rate, terms.shill_detection = deterrence, guilty, innocent, detection
    terms.collusion_fine = 0.0 if policy == ALLOW else mechanism.collusion_penalty * e.fine_unit * terms.scale
    terms.shill_fine = mechanism.shill_penalty * e.fine_unit * terms.scale


@compiled_apart
def looks_like_cover(bid: Real, reserve: Real, model: Record) -> Flag:
    """Whether a losing bid lies in the narrow band around the reserve where cover bids lie."""
    return bid > 0.0 and reserve - model.enforcement.band_below < bid < reserve + model.enforcement.band_above


@compiled_apart
def is_suspicious(sale: Record, i: Int, mechanism: Record, model: Record) -> Flag:
    """Whether a bidder lost with a bid that looks like cover; a winner who withdrew has not lost."""
    lost = not sale.served[i] and not sale.withdrew[i]
    return lost and looks_like_cover(sale.bid[i], mechanism.reserve_price, model)


@compiled_apart
def audit_losers(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """Screen the losing bids, fine by the policy, and count what the ring will remember."""
    caught, exposed = 0.0, 0.0
    for i in range(market.n):
        if not is_suspicious(sale, i, mechanism, model):
            continue
        tally.covers += 1.0
        if mechanism.coalition_policy == ALLOW:
            continue
        guilty = sale.covering[i]
        fined = chance(market, AUDIT, i) < (terms.guilty_rate if guilty else terms.innocent_rate)
        if fined:
            sale.fined_as_cover[i] = True
            sale.surplus[i] -= terms.collusion_fine
            sale.fines += terms.collusion_fine
        if guilty:
            exposed += 1.0
            caught += 1.0 if fined else 0.0
    sale.caught, sale.exposed = caught, exposed
