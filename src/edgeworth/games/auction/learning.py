"""How bidders learn to bid: exponential weights over shading levels, on what was disclosed.

A strategic bidder keeps a log-weight for each of nine shadings θ in 0.5, 0.5625, …, 1 and plays their weighted mean, give or take a
tremble. After a sale it asks what each level would have earned against the rivals it saw and moves its weights (Hedge: Freund and Schapire
1997), more slowly the less was published; old experience fades. Beside it runs a belief about the rivals' k-th highest bids, which entry
reads. Full disclosure leads a first-price market to the equilibrium (n-1)/n; with nothing published nothing is learnt under pay-as-bid.
Truthful bidders keep the belief and need no weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edgeworth.compiled import Array, Int, Real, Record, compiled_apart
from edgeworth.games.auction.disclosure import write_seen_cutoffs
from edgeworth.games.auction.surplus import surplus_by_shading
from edgeworth.games.auction.vocabulary import FIRST_PRICE, MAX_LOTS, NO_INFORMATION, SECOND_PRICE, TRUTHFUL

SHADINGS = np.linspace(0.5, 1.0, 9)
LEVELS = len(SHADINGS)
HIGHEST_BELIEF = 0.99
LEAST_PRICE = 1e-9


@dataclass(frozen=True)
class LearningModel:
    """How fast bidders learn and forget. Calibrated, except where a source is named."""

    frozen: bool = False
    """Nobody learns anything."""
    rate: float = 24.0
    """Weight of one sale's surplus in the log-weights, at full feedback."""
    memory: float = 0.95
    """What is left of old log-weights after a sale, at full feedback."""
    belief_rate: float = 0.25
    """How far beliefs about rivals move to what was published,"""
    private_belief_rate: float = 0.08
    """or to what a winner infers from its own price."""
    reserve_rate: float = 0.12
    """How far the market's belief about a secret reserve moves when prices are published,"""
    private_reserve_rate: float = 0.05
    """and when they are not."""
    first_reserve_belief: float = 0.15
    """What bidders expect of a secret reserve at first."""
    tremble: float = 0.03
    """Half-width of the noise on the shading that is played."""
    prior_width: float = 0.12
    """Width of the first weights around a type's prior shading."""


@compiled_apart
def write_learning_terms(model: Record, terms: Record) -> None:
    """Step size and memory under this mechanism's feedback."""
    terms.learning_rate = model.learning.rate * terms.feedback
    terms.memory = 1.0 - (1.0 - model.learning.memory) * terms.feedback


@compiled_apart
def begin_learning(market: Record, model: Record, lots: Int) -> None:
    """First weights around each type's prior, and beliefs at the mean order statistics of n - 1 truthful rivals."""
    n = market.n
    for i in range(n):
        prior = model.bidders.prior_shading[market.type[i]]
        for g in range(LEVELS):
            distance = (SHADINGS[g] - prior) / model.learning.prior_width
            market.log_weight[i, g] = -distance * distance
        market.shading[i] = 1.0 if market.type[i] == TRUTHFUL else mean_shading(market.log_weight[i])
        for k in range(MAX_LOTS):
            market.belief[i, k] = (n - 1.0 - k) / n if k < lots and k < n - 1 else 0.0
    market.reserve_belief = model.learning.first_reserve_belief


@compiled_apart
def mean_shading(log_weight: Array) -> Real:
    """The weighted mean of the shading levels."""
    largest = log_weight[0]
    for g in range(1, LEVELS):
        largest = max(largest, log_weight[g])
    total, mean = 0.0, 0.0
    for g in range(LEVELS):
        weight = math.exp(log_weight[g] - largest)
        total += weight
        mean += weight * SHADINGS[g]
    return mean / total


@compiled_apart
def learn_from_sale(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Everybody's weights and beliefs after a sale."""
    if model.learning.frozen:
        return
    reserve = (mechanism.reserve_price if mechanism.reveal_reserve else market.reserve_belief) / sale.demand
    if terms.information != NO_INFORMATION:
        learn_from_disclosure(market, mechanism, model, terms, sale, reserve)
    elif mechanism.auction_type != FIRST_PRICE:
        learn_from_own_prices(market, mechanism, model, terms, sale, reserve)
    rate = model.learning.reserve_rate if mechanism.reveal_clearing_price else model.learning.private_reserve_rate
    market.reserve_belief += rate * (mechanism.reserve_price - market.reserve_belief)


@compiled_apart
def learn_from_disclosure(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, reserve: Real) -> None:
    """Everybody sees the published ladder, less its own bid. All who won nothing see the same, so each view is judged once."""
    lots = terms.lots
    for position in range(lots + 1):
        write_seen_cutoffs(position, model, terms, sale, sale.seen[position])
        sale.judged[position] = False
    for i in range(market.n):
        sale.position[i] = lots
    for k in range(sale.ladder.sold):
        seat = sale.ladder.seat[k]
        if seat < market.n:
            sale.position[seat] = k
    for i in range(market.n):
        position = sale.position[i]
        seen, worth = sale.seen[position], sale.worth[position]
        move_belief(market, i, seen, lots, model.learning.belief_rate)
        if market.type[i] != TRUTHFUL:
            if not sale.judged[position]:
                surplus_by_shading(SHADINGS, seen, terms, mechanism.auction_type, reserve, worth)
                sale.judged[position] = True
            reweigh(market, i, worth, sale.demand, terms)


@compiled_apart
def learn_from_own_prices(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, reserve: Real) -> None:
    """A winner knows only what it paid: it rescales its beliefs so that they would have predicted that price."""
    lots = terms.lots
    seen, worth = sale.seen[0], sale.worth[0]
    for k in range(sale.ladder.sold):
        i = sale.ladder.seat[k]
        if i >= market.n:
            continue
        predicted = predicted_payment(market, mechanism, terms, sale, i, k)
        ratio = sale.ladder.payment[k] / predicted if predicted > LEAST_PRICE else 1.0
        for j in range(lots):
            seen[j] = min(HIGHEST_BELIEF, market.belief[i, j] * ratio)
        move_belief(market, i, seen, lots, model.learning.private_belief_rate)
        if market.type[i] != TRUTHFUL:
            surplus_by_shading(SHADINGS, seen, terms, mechanism.auction_type, reserve, worth)
            reweigh(market, i, worth, sale.demand, terms)


@compiled_apart
def predicted_payment(market: Record, mechanism: Record, terms: Record, sale: Record, i: Int, lot: Int) -> Real:
    """What bidder i would have expected to pay for a lot."""
    if mechanism.auction_type == SECOND_PRICE:
        return terms.quality[lot] * max(sale.demand * market.belief[i, lot], mechanism.reserve_price)
    total = 0.0
    for k in range(lot, terms.lots):
        total += (terms.quality[k] - terms.quality[k + 1]) * max(sale.demand * market.belief[i, k], mechanism.reserve_price)
    return total


@compiled_apart
def move_belief(market: Record, i: Int, seen: Array, lots: Int, rate: Real) -> None:
    """Move a bidder's belief towards the cut-offs it saw."""
    for k in range(lots):
        market.belief[i, k] += rate * (seen[k] - market.belief[i, k])


@compiled_apart
def reweigh(market: Record, i: Int, worth: Array, demand: Real, terms: Record) -> None:
    """Move a bidder's weights by what each level would have earned, relative to their mean."""
    mean = 0.0
    for g in range(LEVELS):
        mean += worth[g]
    mean /= LEVELS
    for g in range(LEVELS):
        market.log_weight[i, g] = terms.memory * market.log_weight[i, g] + terms.learning_rate * demand * (worth[g] - mean)
    market.shading[i] = mean_shading(market.log_weight[i])
