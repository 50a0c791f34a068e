"""False names: exploiters bid against the winners for a share of what that brings the seller.

A losing fake bid just under the lowest winning bid lifts what winners pay: by q_K D under second price, by K q_K D under VCG, not at all
under pay-as-bid, where there are no shills. The exploiter takes part of the extra revenue as a kickback and weighs it against the fine it
expects. Cheap withdrawal makes it bolder: a fake name that wins by accident simply walks away. (Graham, Marshall and Richard 1990 on the
seller's phantom bids; Rothkopf, Teisberg and Kahn 1990 on why this hurts Vickrey's auction most.)
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import SHILL_DECISION, SHILL_DETECTION, SHILL_LEVEL, SHILL_MISTAKE, chance, logistic
from edgeworth.games.auction.pricing import clear
from edgeworth.games.auction.vocabulary import EXPLOITER, FIRST_PRICE


@dataclass(frozen=True)
class ShillModel:
    """What shilling pays, and where false names bid. Calibrated."""

    kickback: float = 0.5
    """The exploiter's share of the extra revenue."""
    first_gain: float = 0.02
    """What an exploiter expects a false name to bring at first, before fines."""
    gain_rate: float = 0.2
    """How fast that expectation follows the actual gain."""
    decision_scale: float = 0.01
    """Width of the decision."""
    default_fear: float = 0.006
    """What a false name expects to owe for an accidental win, at withdrawal multiplier 1."""
    margin: float = 0.06
    """How far below the expected lowest winning bid a false name stays where withdrawal is not cheap."""
    reach: float = 0.08
    """How far above the expected lowest winning bid it goes where withdrawal is free."""
    aim: tuple[float, float, float, float] = (0.15, 0.09, 0.06, 0.04)
    """Half-width of its error where nothing, prices, a histogram or all bids are published."""


@compiled_apart
def shill_chance(market: Record, mechanism: Record, model: Record, terms: Record) -> Real:
    """The chance that an exploiter bids under a false name, by expected gain and cost."""
    if mechanism.auction_type == FIRST_PRICE:
        return 0.0
    cost = terms.shill_detection * terms.shill_fine + model.shills.default_fear * mechanism.withdrawal_penalty
    return logistic((market.shill_gain - cost) / model.shills.decision_scale)


@compiled_apart
def expected_shill_gain(market: Record, mechanism: Record, model: Record, terms: Record) -> Real:
    """What an exploiter expects its false names to bring: kickbacks less defaults and fines."""
    return shill_chance(market, mechanism, model, terms) * (market.shill_gain - terms.shill_detection * terms.shill_fine)


@compiled_apart
def place_shills(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Add the false names to this sale's bids. Nobody bids against its own ring."""
    sale.shills = 0
    if market.count[EXPLOITER] == 0:
        return
    shilling = shill_chance(market, mechanism, model, terms)
    for i in range(market.n):
        rigs = sale.kept > 0 and sale.member[i]
        if market.type[i] == EXPLOITER and sale.present[i] and not rigs and chance(market, SHILL_DECISION, i) < shilling:
            level = shill_level(market, mechanism, model, terms, sale, i)
            if level > mechanism.reserve_price:
                sale.owner[sale.shills] = i
                sale.bid[market.n + sale.shills] = level
                sale.shills += 1
    sale.bids = market.n + sale.shills


@compiled_apart
def shill_level(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, i: Int) -> Real:
    """Where a false name bids: near the lowest winning bid that its owner expects."""
    s = model.shills
    boldness = max(0.0, 1.0 - mechanism.withdrawal_penalty)
    expected = sale.demand * market.belief[i, terms.lots - 1]
    error = s.aim[terms.information] * (2.0 * chance(market, SHILL_LEVEL, i) - 1.0)
    return expected - s.margin * (1.0 - boldness) + s.reach * boldness + error


@compiled_apart
def measure_uplift(market: Record, mechanism: Record, terms: Record, sale: Record) -> None:
    """What the false names add to what real winners owe; what a false name itself owes is never paid."""
    sale.uplift = 0.0
    if sale.shills > 0:
        clear(sale.bid, market.n, terms.lots + 1, mechanism.auction_type, mechanism.reserve_price, terms, sale.trial)
        owed = 0.0
        for k in range(sale.ladder.sold):
            if sale.ladder.seat[k] < market.n:
                owed += sale.ladder.payment[k]
        sale.uplift = max(0.0, owed - sale.trial.revenue)


@compiled_apart
def settle_shills(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Kickbacks for shilling, fines for those detected, and sometimes, wrongly, for the honest loser who set the price."""
    if mechanism.auction_type == FIRST_PRICE:
        return
    for j in range(sale.shills):
        i = sale.owner[j]
        kickback = model.shills.kickback * sale.uplift / sale.shills
        sale.surplus[i] += kickback
        sale.profit -= kickback
        if chance(market, SHILL_DETECTION, i) < terms.shill_detection:
            sale.fined_as_shill[i] = True
            sale.surplus[i] -= terms.shill_fine
            sale.fines += terms.shill_fine
    if sale.ladder.sold < sale.ladder.ranked:
        price_setter = sale.ladder.seat[sale.ladder.sold]
        if price_setter < market.n and chance(market, SHILL_MISTAKE, 0) < model.enforcement.shill_mistake:
            sale.mistaken_shill = price_setter
            sale.surplus[price_setter] -= terms.shill_fine
            sale.fines += terms.shill_fine


@compiled_apart
def remember_shills(market: Record, model: Record, sale: Record) -> None:
    """What exploiters learn from a sale in which they shilled."""
    if sale.shills > 0 and not model.learning.frozen:
        brought = (model.shills.kickback * sale.uplift - sale.defaults) / sale.shills
        market.shill_gain += model.shills.gain_rate * (brought - market.shill_gain)
