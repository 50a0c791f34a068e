"""How bidders learn to bid: each moves its shading up the slope of its expected surplus.

A strategic bidder bids a share θ of its value, give or take a tremble. After a sale it asks how its expected surplus against the bids that
it saw changes with θ (`surplus.surplus_slope`) and moves θ that way, by less the less was published and the longer it has practised in this
format: online gradient ascent, which has no regret in the long run (Zinkevich 2003). Full disclosure leads a first-price market to the
equilibrium (n-1)/n and a second-price one to the truth; with nothing published nothing is learnt under pay-as-bid. Truthful bidders keep
θ = 1.

Ring members know what they suppressed: in a sale that the ring rigs they learn from the bids that would have been.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Array, Int, Real, Record, compiled_apart
from edgeworth.games.auction.beliefs import believe_disclosure, believe_own_result, believe_reserve, find_positions, remember_rivals
from edgeworth.games.auction.disclosure import write_seen_bids
from edgeworth.games.auction.surplus import surplus_slope
from edgeworth.games.auction.vocabulary import FIRST_PRICE, NO_INFORMATION, TRUTHFUL


@dataclass(frozen=True)
class LearningModel:
    """How fast bidders learn to bid. Calibrated."""

    frozen: bool = False
    """Shadings and beliefs do not change."""
    rate: float = 0.16
    """First step of the shading per unit of slope, at full feedback."""
    practice: float = 50.0
    """Sales in one auction format after which the step is half as long."""
    least_shading: float = 0.25
    """The smallest share of its value that a bidder bids."""
    tremble: float = 0.03
    """Half-width of the noise on the shading that is played."""


@compiled_apart
def begin_learning(market: Record, model: Record) -> None:
    """Everybody begins with the shading of its type, and without practice."""
    market.practised, market.format = 0.0, FIRST_PRICE
    for i in range(market.n):
        market.shading[i] = 1.0 if market.type[i] == TRUTHFUL else model.bidders.prior_shading[market.type[i]]


@compiled_apart
def learn_from_sale(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Everybody's beliefs and shading after a sale."""
    if model.learning.frozen:
        return
    if mechanism.auction_type != market.format:
        market.practised, market.format = 0.0, mechanism.auction_type
    for i in range(market.n):
        remember_rivals(market, i, model, sale)
    if terms.information == NO_INFORMATION:
        learn_from_own_result(market, mechanism, model, terms, sale)
    else:
        learn_from_ladder(sale.ladder, False, market, mechanism, model, terms, sale)
        if sale.kept > 0:
            learn_from_ladder(sale.honest, True, market, mechanism, model, terms, sale)
    market.practised += 1.0
    believe_reserve(market, mechanism, model, terms, sale)


@compiled_apart
def learn_from_ladder(ladder: Record, ring: bool, market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """What is published of a ladder teaches outsiders, or with `ring` the members of a ring that rigged the sale."""
    for position in range(terms.lots + 1):
        write_seen_bids(ladder, position, mechanism, terms, sale)
    find_positions(ladder, market.n, terms.lots, sale.position)
    for i in range(market.n):
        if (sale.kept > 0 and sale.member[i]) == ring:
            believe_disclosure(market, i, model, terms, sale)
            if market.type[i] != TRUTHFUL:
                move_shading(market, i, sale.seen[sale.position[i]], mechanism, model, terms, sale.demand)


@compiled_apart
def learn_from_own_result(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Learn where nothing is published: a winner knows what it paid, which teaches nothing about bidding where that is its own bid."""
    find_positions(sale.ladder, market.n, terms.lots, sale.position)
    for i in range(market.n):
        believe_own_result(market, i, mechanism.reserve_price, model, terms, sale)
        won = sale.position[i] < sale.ladder.sold
        if won and market.type[i] != TRUTHFUL and mechanism.auction_type != FIRST_PRICE:
            move_shading(market, i, market.belief[i], mechanism, model, terms, sale.demand)


@compiled_apart
def move_shading(market: Record, i: Int, cutoffs: Array, mechanism: Record, model: Record, terms: Record, demand: Real) -> None:
    """A step of a bidder's shading up the slope of its surplus against these rival bids."""
    announced = mechanism.reveal_reserve
    reserve = (mechanism.reserve_price if announced else market.reserve_belief) / demand
    slope = demand * surplus_slope(market.shading[i], cutoffs, terms, mechanism.auction_type, reserve, announced)
    step = model.learning.rate * terms.feedback / (1.0 + market.practised / model.learning.practice)
    market.shading[i] = min(max(market.shading[i] + step * slope, model.learning.least_shading), 1.0)
