"""What bidders believe of each other: the rivals' highest bids, and a reserve that is kept secret.

The prior is n - 1 truthful rivals, whose k-th highest bid is (n - k) / n of the day's demand on average. After a sale a belief moves
towards what was seen. A void bid counts as a bid. A rival who came and did not bid is not a rival who bid 0: an announced reserve tells
that its bid lies below, a secret one tells nothing. Only a rival who stayed away bids 0; entrants remember how many came.

Where nothing is published, a belief returns to the prior for so many rivals, times how high the rivals seem to bid: a bidder who ranks
lower than this explains raises that level, one who ranks higher lowers it. So no belief lasts without evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeworth.compiled import Array, Int, Real, Record, compiled_apart
from edgeworth.games.auction.vocabulary import MAX_LOTS, NO_INFORMATION, PRICE_ONLY

LEAST_LEVEL, MOST_LEVEL = 0.2, 1.25


@dataclass(frozen=True)
class BeliefModel:
    """How fast beliefs follow evidence. Calibrated."""

    rate: float = 0.15
    """How far a belief about the rivals moves towards what was published."""
    private_rate: float = 0.12
    """How far it moves back to the prior where nothing is published."""
    level_rate: float = 0.25
    """How far a bidder's own result moves its estimate of how high the rivals bid, where nothing is published."""
    first_reserve: float = 0.45
    """What bidders expect of a secret reserve at first: the middle of its range."""
    reserve_rate: float = 0.25
    """How far that moves towards what a sale shows of it where prices or bids are published."""
    private_reserve_rate: float = 0.10
    """How far it moves where they are not."""


@compiled_apart
def prior_bid(k: Int, rivals: Real) -> Real:
    """The prior of the k-th highest bid (from 0) of so many truthful rivals: its mean."""
    return max(rivals - k, 0.0) / (rivals + 1.0)


@compiled_apart
def begin_beliefs(market: Record, model: Record) -> None:
    """Everybody begins with the prior."""
    for i in range(market.n):
        market.rival_level[i], market.rivals_met[i] = 1.0, market.n - 1.0
        for k in range(MAX_LOTS):
            market.belief[i, k] = prior_bid(k, market.n - 1.0)
    market.reserve_belief = model.beliefs.first_reserve


@compiled_apart
def find_positions(ladder: Record, n: Int, lots: Int, positions: Array) -> None:
    """Everybody's rank among the first on a ladder, or `lots`."""
    for i in range(n):
        positions[i] = lots
    for k in range(min(ladder.listed, lots)):
        if ladder.seat[k] < n:
            positions[ladder.seat[k]] = k


@compiled_apart
def remember_rivals(market: Record, i: Int, model: Record, sale: Record) -> None:
    """An entrant remembers how many came; a bidder who stayed away learns nothing of it."""
    if sale.present[i]:
        market.rivals_met[i] += model.beliefs.rate * (sale.entrants - 1.0 - market.rivals_met[i])


@compiled_apart
def believe_disclosure(market: Record, i: Int, model: Record, terms: Record, sale: Record) -> None:
    """Move a bidder's belief towards the bids that it sees from its rank.

    Beyond the known bids are rivals who came and bid below a ceiling, then rivals who stayed away. A bidder who stayed away and sees only
    prices cannot tell how many came.
    """
    rate, position = model.beliefs.rate, sale.position[i]
    seen, known = sale.seen[position], sale.known[position]
    rivals = sale.entrants + sale.shills - (1 if sale.present[i] else 0)
    if not sale.present[i] and terms.information == PRICE_ONLY:
        rivals = terms.lots
    for k in range(terms.lots):
        believed = market.belief[i, k]
        if k < known:
            target = seen[k]
        elif k < rivals:
            target = min(believed, sale.ceiling[position])
        else:
            target = 0.0
        market.belief[i, k] += rate * (target - believed)


@compiled_apart
def believe_own_result(market: Record, i: Int, reserve: Real, model: Record, terms: Record, sale: Record) -> None:
    """Where nothing is published: learn from the own rank, and return to the prior."""
    rigs = sale.kept > 0 and sale.member[i]
    if sale.present[i] and not rigs and sale.bid[i] >= reserve and sale.bid[i] > 0.0:
        expected = expected_rank(sale.bid[i] / (sale.demand * market.rival_level[i]), sale.entrants - 1, terms.lots)
        level = market.rival_level[i] + model.beliefs.level_rate * (sale.position[i] - expected) / terms.lots
        market.rival_level[i] = min(max(level, LEAST_LEVEL), MOST_LEVEL)
    for k in range(terms.lots):
        target = min(market.rival_level[i] * prior_bid(k, market.rivals_met[i]), 1.0)
        market.belief[i, k] += model.beliefs.private_rate * (target - market.belief[i, k])


@compiled_apart
def expected_rank(share: Real, rivals: Int, lots: Int) -> Real:
    """How many rivals are expected to bid above this share of their highest possible bid, `lots` at the most, if their bids are uniform."""
    if share >= 1.0 or rivals == 0:
        return 0.0
    rank, below, chance = 0.0, 1.0, share**rivals
    for above in range(min(lots, rivals + 1)):
        rank += above * chance
        below -= chance
        chance *= (1.0 - share) / share * (rivals - above) / (above + 1.0)
    return rank + lots * max(below, 0.0)


@compiled_apart
def believe_reserve(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """What a sale shows of a secret reserve: it is a price where a lot goes unsold or unopposed, else between the void and valid bids."""
    believed, reserve = market.reserve_belief, mechanism.reserve_price
    if mechanism.reveal_reserve or sale.ladder.ranked <= terms.lots:
        target = reserve
    else:
        target = believed
        for i in range(sale.bids):
            bid = sale.bid[i]
            if bid >= reserve and bid > 0.0:
                target = min(target, bid)
            else:
                target = max(target, bid)
    published = mechanism.reveal_reserve or mechanism.reveal_clearing_price or terms.information != NO_INFORMATION
    rate = model.beliefs.reserve_rate if published else model.beliefs.private_reserve_rate
    market.reserve_belief += rate * (target - believed)
