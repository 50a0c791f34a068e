"""Who comes: the decision to enter a sale, taken before values are known (Levin and Smith 1994).

A bidder enters when the surplus it expects beats its cost of taking part, with a logit margin (McKelvey and Palfrey 1995). It expects
the worse the less it can see (`disclosure`), fears a secret reserve, counts the burdens that the rules themselves lay on honest people
(false fines, published bids, paperwork, withdrawal charges), and who was out last time needs a reason to come back.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Flag, Int, Record, compiled_apart
from edgeworth.games.auction.bidders.colluder import colluder_bonus
from edgeworth.games.auction.bidders.exploiter import exploiter_bonus
from edgeworth.games.auction.purposes import ENTRY, ENTRY_COST, SCREENING, chance
from edgeworth.games.auction.quantal import logistic
from edgeworth.games.auction.surplus import expected_surplus
from edgeworth.games.auction.vocabulary import COLLUDER, EXPLOITER, PENALIZE_CONFIRMED, RESTRICT


@dataclass(frozen=True)
class EntryModel:
    """What entering costs and how sharply it is weighed; money is quoted for eight bidders and scales with the market. Calibrated."""

    frozen: bool = False
    """Everybody always comes."""
    logit_scale: float = 0.0045
    """Width of the decision."""
    hysteresis: float = 0.0045
    """What a bidder who was out needs on top to come back."""
    privacy_cost: float = 0.004
    """What it costs to have one's bids published."""
    compliance_cost: float = 0.004
    """Paperwork under `restrict` and `penalize_confirmed`."""
    expected_charge: float = 0.08
    """Withdrawal charge that a bidder expects to owe once its value has collapsed, at multiplier 1."""
    screened_honest: float = 0.02
    """Share of honest entrants whom the affiliation screening of `restrict` keeps out,"""
    screened_ring: float = 0.05
    """and of colluders."""


@compiled_apart
def draw_entry_costs(market: Record, model: Record) -> None:
    """Costs of taking part, uniform up to twice the type's mean, fixed for the episode."""
    for i in range(market.n):
        market.entry_cost[i] = 2.0 * chance(market, ENTRY_COST, i) * model.bidders.entry_cost[market.type[i]]
        market.was_in[i] = True


@compiled_apart
def write_burden(n: Int, mechanism: Record, model: Record, terms: Record) -> None:
    """What the rules cost an honest entrant in expectation: false fines, privacy, paperwork, withdrawal charges."""
    band = model.enforcement.band_above + min(mechanism.reserve_price, model.enforcement.band_below)
    burden = terms.innocent_rate * band * terms.collusion_fine
    burden += model.enforcement.shill_mistake / n * terms.shill_fine
    charge = model.entry.expected_charge * terms.scale * mechanism.withdrawal_penalty
    burden += model.withdrawals.shock_chance * (terms.lots / n) * charge
    if mechanism.reveal_competing_bids:
        burden += model.entry.privacy_cost * terms.scale
    if mechanism.coalition_policy == RESTRICT or mechanism.coalition_policy == PENALIZE_CONFIRMED:
        burden += model.entry.compliance_cost * terms.scale
    terms.burden = burden


@compiled_apart
def decide_entry(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Everybody decides; under `restrict` some are then kept out."""
    sale.entrants = 0
    for i in range(market.n):
        enters = model.entry.frozen or wants_in(market, mechanism, model, terms, sale, i)
        market.was_in[i] = enters
        if enters and mechanism.coalition_policy == RESTRICT:
            rate = model.entry.screened_ring if market.type[i] == COLLUDER else model.entry.screened_honest
            enters = chance(market, SCREENING, i) >= rate
        sale.present[i] = enters
        if enters:
            sale.entrants += 1


@compiled_apart
def wants_in(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, i: Int) -> Flag:
    """Whether the expected net surplus, with its margin of chance, brings a bidder in."""
    kind = market.type[i]
    ambiguity = model.bidders.ambiguity[kind]
    for k in range(terms.lots):
        sale.feared[k] = market.belief[i, k] + ambiguity * terms.opacity * (1.0 - market.belief[i, k])
    reserve = mechanism.reserve_price if mechanism.reveal_reserve else market.reserve_belief + ambiguity
    if reserve > model.lots.seller_value:
        reserve -= model.unsold.bargain_chance * (reserve - model.lots.seller_value)
    net = sale.demand * expected_surplus(market.shading[i], sale.feared, terms, mechanism.auction_type, reserve / sale.demand)
    if kind == COLLUDER:
        net += colluder_bonus(market)
    elif kind == EXPLOITER:
        net += exploiter_bonus(model)
    net -= market.entry_cost[i] * terms.scale + terms.burden
    if not market.was_in[i]:
        net -= model.entry.hysteresis * terms.scale
    return chance(market, ENTRY, i) < logistic(net / (model.entry.logit_scale * terms.scale))
