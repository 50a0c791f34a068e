"""Entry: the decision to come to a sale, taken before the day's demand and the values are known (Levin and Smith 1994).

A bidder enters when the surplus it expects exceeds its cost of taking part, with a logit margin (McKelvey and Palfrey 1995). It expects
less the less is published (`disclosure`) and where the reserve is secret, counts what the rules cost honest bidders (false fines,
published bids, paperwork, withdrawal charges), and after staying away needs more to come back (hysteresis).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import ENTRY, ENTRY_COST, SCREENING, chance, chooses
from edgeworth.games.auction.ring import is_willing
from edgeworth.games.auction.settlement import bargained_price
from edgeworth.games.auction.shills import expected_shill_gain
from edgeworth.games.auction.surplus import mean_bid, winning_value
from edgeworth.games.auction.vocabulary import COLLUDER, EXPLOITER, FIRST_PRICE, PENALIZE_CONFIRMED, RESTRICT, SECOND_PRICE, VCG

REACH = 1.5
"""Standard deviations on either side of the reserve over which the chance that a rival outbids it goes from 0 to 1."""
GAP_VARIANCE = 0.75
"""Variance of the gap between two neighbouring uniform bids of six or seven, over the square of its mean. It adds to what a bidder expects
under second price, where a winner keeps half the square of the gap above its price."""
WIDEST_GAP = 2.0
"""A gap of more than so many times 1 / n is a ring's, and varies less."""
TYPICAL_BEST = 0.75
"""The best of a few values below a bound, over that bound."""


@dataclass(frozen=True)
class EntryModel:
    """What entering costs and how sharply it is weighed; money is quoted for eight bidders and scales with the market. Calibrated."""

    frozen: bool = False
    """Everybody always comes."""
    logit_scale: float = 0.0045
    """Width of the decision."""
    hysteresis: float = 0.0045
    """What a bidder who stayed away last time needs on top to come back."""
    privacy_cost: float = 0.004
    """What it costs to have one's bids published."""
    compliance_cost: float = 0.004
    """Paperwork under `restrict` and `penalize_confirmed`."""
    expected_charge: float = 0.11
    """What a winner expects to lose once its value has collapsed, at withdrawal multiplier 1; twice that at the most."""
    screened_honest: float = 0.02
    """Share of honest entrants whom the affiliation screening of `restrict` keeps out."""
    screened_ring: float = 0.05
    """Share of colluders whom it keeps out."""


@compiled_apart
def draw_entry_costs(market: Record, model: Record) -> None:
    """Costs of taking part, uniform up to twice the type's mean, fixed for the episode."""
    for i in range(market.n):
        market.entry_cost[i] = 2.0 * chance(market, ENTRY_COST, i) * model.bidders.entry_cost[market.type[i]]
        market.was_in[i] = True


@compiled_apart
def write_entry_terms(n: Int, mechanism: Record, model: Record, terms: Record) -> None:
    """What the rules cost every entrant: its privacy and paperwork, and the charge if it has to withdraw."""
    cost = model.entry.privacy_cost if mechanism.reveal_competing_bids else 0.0
    if mechanism.coalition_policy == RESTRICT or mechanism.coalition_policy == PENALIZE_CONFIRMED:
        cost += model.entry.compliance_cost
    terms.rules_cost = cost * terms.scale
    w = mechanism.withdrawal_penalty
    terms.withdrawal_charge = 2.0 * model.entry.expected_charge * terms.scale * w / (1.0 + w)
    terms.setter_share, terms.one_rival_less = 1.0 / n, 1.0 / (n - 1.0)
    terms.entry_sharpness = 1.0 / (model.entry.logit_scale * terms.scale)


@compiled_apart
def weigh_entry(market: Record, mechanism: Record, model: Record, terms: Record) -> None:
    """What everybody expects to be left with, per sale, of the step that begins: weighed once, when the mechanism is posted."""
    if model.entry.frozen:
        return
    for i in range(market.n):
        gain = expected_gain(market, mechanism, model, terms, i, model.bidders.ambiguity[market.type[i]])
        terms.prospect[i] = gain - market.entry_cost[i] * terms.scale - terms.rules_cost


@compiled_apart
def decide_entry(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Every bidder decides, by a logit choice; under `restrict` some are then screened out."""
    sale.entrants, sale.costs = 0, 0.0
    inertia = model.entry.hysteresis * terms.scale
    for i in range(market.n):
        net = terms.prospect[i] - (0.0 if market.was_in[i] else inertia)
        enters = model.entry.frozen or chooses(chance(market, ENTRY, i), net * terms.entry_sharpness)
        market.was_in[i] = enters
        if enters and mechanism.coalition_policy == RESTRICT:
            rate = model.entry.screened_ring if market.type[i] == COLLUDER else model.entry.screened_honest
            enters = chance(market, SCREENING, i) >= rate
        sale.present[i] = enters
        if enters:
            sale.entrants += 1
            sale.costs += market.entry_cost[i] * terms.scale + terms.rules_cost


@compiled_apart
def expected_gain(market: Record, mechanism: Record, model: Record, terms: Record, i: Int, ambiguity: Real) -> Real:
    """What a bidder expects of a sale in money, before the cost of taking part.

    `ambiguity` is how much worse than believed it takes what it cannot see to be; at 0 this is its belief. An unsold lot may be bargained
    for; a value may collapse after the hammer, which leaves m / 2 of a margin m; and a ring member or an exploiter expects more than its
    own bids bring.
    """
    reserve = mechanism.reserve_price if mechanism.reveal_reserve else market.reserve_belief + ambiguity
    surplus, unsold, losing, least = weigh_rivals(market, mechanism, terms, i, ambiguity * terms.opacity, reserve)
    worth = 0.5 * (1.0 - least * least) * terms.total_quality / terms.lots
    margin = min(surplus / worth, 1.0) if worth > 0.0 else 0.0
    shock = model.withdrawals.shock_chance
    gain = surplus * (1.0 - shock * (1.0 - 0.5 * margin)) - shock * (1.0 - least) * terms.withdrawal_charge
    gain -= expected_fines(mechanism, model, terms, losing, reserve)
    gain += unsold / market.n * model.unsold.bargain_chance * bargain_margin(least, market.shading[i], model)
    if is_willing(market, terms, i):
        gain += market.ring_gain
    elif market.type[i] == EXPLOITER:
        gain += expected_shill_gain(market, mechanism, model, terms)
    return gain


@compiled_apart
def weigh_rivals(market: Record, mechanism: Record, terms: Record, i: Int, doubt: Real, reserve: Real) -> tuple[Real, Real, Real, Real]:
    """A bidder against the rivals it believes in, taken to bid higher by `doubt` (0 to 1) of what is left up to the day's demand.

    Gives its expected surplus, the quality that it expects to stay unsold, the chance that a bid at the reserve loses, and the least value
    that wins. Rivals' bids vary, and surplus is quadratic in them up to where it is cut off; so a good day and a bad one are weighed, the
    belief less and plus the standard deviation of order statistics of uniform bids.
    """
    n, shading, kind = market.n, market.shading[i], mechanism.auction_type
    value_per_bid, met = 1.0 / shading, 1.0 if mechanism.reveal_reserve else 1.0 / shading
    bends = kind == FIRST_PRICE and mechanism.reveal_reserve and shading < 1.0
    surplus, unsold, losing, spread_scale = 0.0, 0.0, 0.0, 1.0 / (n + 1.0)
    highest, cutoff, spread, previous = 0.0, 0.0, 0.0, 0.0
    good_above, bad_above = 1.0, 1.0
    for k in range(terms.lots):
        cutoff = market.belief[i, k] + doubt * (1.0 - market.belief[i, k])
        if k == 0:
            highest = min(cutoff * (n * terms.one_rival_less), 1.0)
        spread = math.sqrt(max(cutoff * (highest - cutoff), 0.0) * spread_scale)
        low, high = cutoff - spread, cutoff + spread
        good = least_winner(low, spread, value_per_bid, reserve, met)
        bad = least_winner(high, spread, value_per_bid, reserve, met)
        step = terms.quality[k] - terms.quality[k + 1]
        if kind == VCG:
            surplus += step * (priced_surplus(good, 1.0, max(low, reserve)) + priced_surplus(bad, 1.0, max(high, reserve)))
        elif kind == SECOND_PRICE:
            won = priced_surplus(good, good_above, max(low, reserve)) + priced_surplus(bad, bad_above, max(high, reserve))
            if k > 0 and cutoff > reserve and previous < shading:
                gap = min(previous - cutoff, WIDEST_GAP * spread_scale) * value_per_bid
                won += GAP_VARIANCE * gap * gap
            surplus += terms.quality[k] * won
            good_above, bad_above, previous = good, bad, cutoff
        elif bends:
            good, bad = winning_value(low, shading, reserve, True, reserve), winning_value(high, shading, reserve, True, reserve)
            surplus += step * (1.0 - 0.5 * (good * good + bad * bad))
            surplus -= step * (mean_bid(shading, good, 1.0, reserve) + mean_bid(shading, bad, 1.0, reserve))
        else:
            surplus += step * (1.0 - shading) * (1.0 - 0.5 * (good * good + bad * bad))
        over, reach = cutoff - reserve, REACH * spread
        if over >= reach:
            losing = 1.0
        elif over <= -reach:
            losing = 0.0
        else:
            losing = 0.5 + 0.5 * over / reach
        unsold += terms.quality[k] * (1.0 - losing)
    least = least_winner(cutoff, spread, value_per_bid, reserve, met)
    return 0.5 * surplus, unsold, losing, least


@compiled_apart
def least_winner(cutoff: Real, spread: Real, value_per_bid: Real, reserve: Real, met: Real) -> Real:
    """The least value that wins against a rival bid of about `cutoff`: one that meets the reserve, or one that outbids the rival.

    In between, where the rival may or may not reach the reserve, the two are mixed, so that decisions are continuous.
    """
    if cutoff >= reserve + 0.5 * spread:
        return min(cutoff * value_per_bid, 1.0)
    if cutoff <= reserve - 0.5 * spread:
        return min(reserve * met, 1.0)
    outbid = 0.5 + (cutoff - reserve) / spread
    return min((1.0 - outbid) * reserve * met + outbid * max(cutoff, reserve) * value_per_bid, 1.0)


@compiled_apart
def priced_surplus(lowest: Real, highest: Real, price: Real) -> Real:
    """Values from `lowest` to `highest` less a price, integrated."""
    return (highest - lowest) * (0.5 * (highest + lowest) - price) if highest > lowest else 0.0


@compiled_apart
def expected_fines(mechanism: Record, model: Record, terms: Record, losing: Real, reserve: Real) -> Real:
    """The false fines that an honest bidder expects who loses with a bid at the reserve with the chance `losing`.

    For collusion: its bid lies near the reserve, and loses there. For shilling: it sets the price.
    """
    e = model.enforcement
    below = 0.0 if mechanism.reveal_reserve else min(reserve, e.band_below)
    fines = terms.innocent_rate * (losing * e.band_above + below) * terms.collusion_fine
    if mechanism.auction_type != FIRST_PRICE:
        fines += e.shill_mistake * terms.setter_share * losing * terms.shill_fine
    return fines


@compiled_apart
def bargain_margin(least: Real, shading: Real, model: Record) -> Real:
    """What the best of the bidders with values below `least` makes of an unsold lot."""
    value = TYPICAL_BEST * least
    return max(value - bargained_price(shading * value, model), 0.0)
