"""What a step is worth: R = welfare · fairness · participation · stability, each in [0, 1].

Every part is measured against the first best on the same draws: everybody is present and truthful, the auction is VCG, and the reserve is
the seller's own value. That market defines the welfare that was to be had, the seller's competitive profit, and the surplus each bidder is
entitled to; so luck in the values cancels, and the ideal market scores exactly 1.

* **welfare** W: realised value, kept lots included, less what taking part cost those who came, over the first best, less what it costs
  everybody to come.
* **fairness** F = φ^0.75 e^0.5. The split φ compares the seller's share σ of the realised gains from trade with its competitive share
  σ*: min(1, σ/σ*, (1-σ)/(1-σ*)), so neither side can be squeezed out. Equity e is 1 less the total variation distance between the
  bidders' shares of their surplus and the shares they are entitled to.
* **participation** P: entrants over invitations.
* **stability** S = exp(-0.60 Δ(W_t) - 0.165 Δ(profit_t)), where Δ is the mean difference between two sales, over the step's five and
  the last one before, so that an abrupt redesign costs.

Side payments inside a ring are invisible to the market and are not counted. Gini and Jain are reported, not scored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Array, Int, Real, Record, compiled_apart
from edgeworth.games.auction.enforcement import looks_like_cover
from edgeworth.games.auction.pricing import clear
from edgeworth.games.auction.vocabulary import SALES_PER_STEP, TRUTHFUL, VCG

NEGLIGIBLE = 1e-9
LEAST_SHARE, MOST_SHARE = 0.02, 0.98
"""Bounds of the seller's share, against degenerate draws."""


@dataclass(frozen=True)
class ScoreModel:
    """The weights of the score. Calibrated so that the published baselines come out."""

    welfare_swings: float = 0.60
    """What swings of the welfare ratio cost in stability."""
    profit_swings: float = 0.165
    """What swings of the seller's profit around its competitive level, in units of the usual profit, cost in stability."""
    split_power: float = 0.75
    """Weight of the split between seller and bidders in fairness."""
    equity_power: float = 0.5
    """Weight of the shares among bidders in fairness."""


@compiled_apart
def open_tally(market: Record, tally: Record) -> None:
    """An empty tally for a step; the two series begin with the last sale of the previous step."""
    for i in range(market.n):
        tally.surplus[i], tally.entitlement[i], tally.won[i] = 0.0, 0.0, 0.0
    tally.welfare, tally.first_best, tally.profit, tally.competitive_profit, tally.gains = 0.0, 0.0, 0.0, 0.0, 0.0
    tally.costs, tally.all_costs = 0.0, 0.0
    tally.fines, tally.entrants, tally.shills, tally.wars, tally.ring_activity = 0.0, 0.0, 0.0, 0.0, 0.0
    tally.bids, tally.bid_sum, tally.bid_squares, tally.covers = 0.0, 0.0, 0.0, 0.0
    tally.honest_covers, tally.honest_bids = 0.0, 0.0
    tally.gap, tally.withdrawals, tally.unsold, tally.shading, tally.shaders = 0.0, 0.0, 0.0, 0.0, 0.0
    tally.points = 0
    if market.has_past:
        tally.welfare_series[0], tally.profit_series[0] = market.last_welfare, market.last_profit
        tally.points = 1


@compiled_apart
def measure_first_best(market: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """First-best welfare and competitive profit of this sale; each bidder's entitlement is added to the step's."""
    own = model.lots.seller_value
    ladder = sale.trial
    clear(sale.value, market.n, terms.lots + 1, VCG, own, terms, ladder)
    welfare, profit = 0.0, ladder.revenue
    for k in range(terms.lots):
        if k < ladder.sold:
            worth = terms.quality[k] * ladder.bid[k]
            welfare += worth
            profit -= terms.quality[k] * own
            tally.entitlement[ladder.seat[k]] += worth - ladder.payment[k]
        else:
            welfare += terms.quality[k] * own
    sale.first_best = welfare
    sale.competitive_profit = profit


@compiled_apart
def enter_sale(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """Add a finished sale to the tally of its step."""
    all_costs = 0.0
    for i in range(market.n):
        all_costs += market.entry_cost[i] * terms.scale
        tally.surplus[i] += sale.surplus[i]
        tally.won[i] += sale.won[i]
        if market.type[i] != TRUTHFUL:
            tally.shading += sale.shading[i]
            tally.shaders += 1.0
        if sale.bid[i] > 0.0:
            tally.bids += 1.0
            tally.bid_sum += sale.bid[i]
            tally.bid_squares += sale.bid[i] * sale.bid[i]
    lots, ladder = terms.lots, sale.ladder
    if ladder.ranked > lots:
        tally.gap += ladder.bid[lots - 1] - ladder.bid[lots]
    tally.unsold += lots - ladder.sold
    tally.entrants += sale.entrants
    tally.costs += sale.costs
    tally.all_costs += all_costs
    tally.fines += sale.fines
    tally.shills += sale.shills
    tally.wars += 1.0 if sale.at_war else 0.0
    if sale.kept > 0:
        tally.ring_activity += 0.5 if sale.cheats > 0 else 1.0
    count_honest_covers(market, mechanism, model, terms, sale, tally)
    tally.welfare += sale.welfare
    tally.first_best += sale.first_best
    tally.gains += sale.first_best - model.lots.seller_value * terms.total_quality
    tally.profit += sale.profit
    tally.competitive_profit += sale.competitive_profit
    tally.welfare_series[tally.points] = (sale.welfare - sale.costs) / (sale.first_best - all_costs)
    tally.profit_series[tally.points] = 1.0 + (sale.profit - sale.competitive_profit) / terms.usual_profit
    tally.points += 1


@compiled_apart
def count_honest_covers(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, tally: Record) -> None:
    """Bids, and suspicious ones among them, that these entrants would show if all of them bid their values."""
    reserve = mechanism.reserve_price
    for i in range(market.n):
        if not sale.present[i] or (mechanism.reveal_reserve and sale.value[i] < reserve):
            continue
        tally.honest_bids += 1.0
        if looks_like_cover(sale.value[i], reserve, model):
            better = 0
            for j in range(market.n):
                if sale.present[j] and sale.value[j] > sale.value[i]:
                    better += 1
            if better >= terms.lots or sale.value[i] < reserve:
                tally.honest_covers += 1.0


@compiled_apart
def write_outcome(market: Record, model: Record, terms: Record, tally: Record, outcome: Record) -> None:
    """Score a finished step, with what a designer may see of it and the diagnostics for research."""
    n = market.n
    last = tally.points - 1
    market.last_welfare, market.last_profit, market.has_past = tally.welfare_series[last], tally.profit_series[last], True
    outcome.welfare_ratio = min(1.0, max(0.0, (tally.welfare - tally.costs) / (tally.first_best - tally.all_costs)))
    outcome.participation_rate = tally.entrants / (n * SALES_PER_STEP)
    outcome.split = gains_split(tally, n)
    outcome.equity = equity(tally.surplus, tally.entitlement, n)
    outcome.fairness_score = math.pow(outcome.split, model.score.split_power) * math.pow(outcome.equity, model.score.equity_power)
    swings = model.score.welfare_swings * mean_difference(tally.welfare_series, tally.points)
    swings += model.score.profit_swings * mean_difference(tally.profit_series, tally.points)
    outcome.stability_score = math.exp(-swings)
    outcome.composite = outcome.welfare_ratio * outcome.fairness_score * outcome.participation_rate * outcome.stability_score
    write_proxies(terms, tally, n, outcome)
    write_truth(tally, n, outcome)


@compiled_apart
def gains_split(tally: Record, n: Int) -> Real:
    """How close the seller's share of the realised gains comes to its competitive share."""
    competitive = bounded_share(tally.competitive_profit / max(tally.gains, NEGLIGIBLE))
    bidders = 0.0
    for i in range(n):
        bidders += tally.surplus[i]
    seller, bidders = max(tally.profit, 0.0), max(bidders, 0.0)
    if seller + bidders <= NEGLIGIBLE:
        return 0.0
    share = bounded_share(seller / (seller + bidders))
    return min(1.0, min(share / competitive, (1.0 - share) / (1.0 - competitive)))


@compiled_apart
def bounded_share(share: Real) -> Real:
    """A share of the gains, kept away from 0 and 1, where ratios of shares mean nothing."""
    return min(max(share, LEAST_SHARE), MOST_SHARE)


@compiled_apart
def equity(surplus: Array, entitlement: Array, n: Int) -> Real:
    """1 less the total variation distance between shares of realised and of entitled surplus; losses count as nothing."""
    got, entitled = 0.0, 0.0
    for i in range(n):
        got += max(surplus[i], 0.0)
        entitled += entitlement[i]
    if got <= NEGLIGIBLE or entitled <= NEGLIGIBLE:
        return 0.0
    distance = 0.0
    for i in range(n):
        distance += abs(max(surplus[i], 0.0) / got - entitlement[i] / entitled)
    return max(0.0, 1.0 - 0.5 * distance)


@compiled_apart
def mean_difference(series: Array, points: Int) -> Real:
    """Gini's mean difference of a series: how far two of its points lie apart on average, whatever their number."""
    total = 0.0
    for t in range(points):
        for u in range(t):
            total += abs(series[t] - series[u])
    return total / (points * (points - 1) / 2)


@compiled_apart
def write_proxies(terms: Record, tally: Record, n: Int, outcome: Record) -> None:
    """What a designer sees of the bidders: their bids, awards and withdrawals, never their types."""
    lots = terms.lots * SALES_PER_STEP
    mean = tally.bid_sum / tally.bids if tally.bids > 0.0 else 0.0
    spread = math.sqrt(max(tally.bid_squares / tally.bids - mean * mean, 0.0)) if tally.bids > 0.0 else 0.0
    outcome.bid_mean = mean
    outcome.bid_variation = spread / mean if mean > 0.0 else 0.0
    outcome.cover_share = tally.covers / tally.bids if tally.bids > 0.0 else 0.0
    outcome.winner_gap = tally.gap / SALES_PER_STEP
    outcome.withdrawal_rate = tally.withdrawals / lots
    outcome.unsold_share = tally.unsold / lots
    outcome.entrants = tally.entrants / SALES_PER_STEP
    awards = 0.0
    for i in range(n):
        awards += tally.won[i]
    concentration = 0.0
    for i in range(n):
        share = tally.won[i] / awards if awards > 0.0 else 0.0
        concentration += share * share
    outcome.winner_concentration = concentration


@compiled_apart
def write_truth(tally: Record, n: Int, outcome: Record) -> None:
    """The diagnostics, which no designer sees."""
    outcome.profit_ratio = tally.profit / max(tally.competitive_profit, NEGLIGIBLE)
    outcome.shading = tally.shading / tally.shaders if tally.shaders > 0.0 else 1.0
    outcome.ring_activity = tally.ring_activity / SALES_PER_STEP
    honest = tally.honest_covers / tally.honest_bids if tally.honest_bids > 0.0 else 0.0
    outcome.collusion_signal = outcome.cover_share - honest
    outcome.shills = tally.shills / SALES_PER_STEP
    outcome.wars = tally.wars / SALES_PER_STEP
    outcome.fines = tally.fines
    total, squares, absolute, differences = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        total += tally.surplus[i]
        squares += tally.surplus[i] * tally.surplus[i]
        absolute += abs(tally.surplus[i])
        for j in range(i):
            differences += abs(tally.surplus[i] - tally.surplus[j])
    outcome.gini = differences / (n * absolute) if absolute > NEGLIGIBLE else 1.0
    outcome.jain = total * total / (n * squares) if squares > NEGLIGIBLE else 0.0
