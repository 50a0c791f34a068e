"""The five types of bidders: how each begins, what brings it to the market, and what it bids when it competes.

A bidder bids θ v, where its shading θ begins at its type's prior and is then learnt (`learning`), plus or minus a tremble. An announced
reserve is met or the bidder does not bid; a secret one may void a bid. Rings (`ring`) and false names (`shills`) change these competitive
bids afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import TREMBLE, chance
from edgeworth.games.auction.surplus import shaded_bid
from edgeworth.games.auction.vocabulary import EXPLOITER, FIRST_PRICE, TRUTHFUL


@dataclass(frozen=True)
class BidderProfile:
    """How a type of bidder begins and what brings it to the market."""

    prior_shading: float
    """The share of its value that it bids before it has learnt anything."""
    entry_cost: float
    """Mean cost of taking part in a sale, quoted for eight bidders."""
    ambiguity: float
    """How much worse than believed it takes a market that shows nothing to be, from 0 to 1."""


@dataclass(frozen=True)
class Truthful(BidderProfile):
    """Bids its value, in every format, always.

    The dominant strategy of a one-lot second-price sale and of VCG (Vickrey 1961); naive under pay-as-bid, where it pays all it gains,
    expects no surplus and stays away. It learns nothing about bidding, but watches prices to decide whether to come.
    """

    prior_shading: float = 1.0
    entry_cost: float = 0.022
    ambiguity: float = 0.10


@dataclass(frozen=True)
class Shader(BidderProfile):
    """Learns how much to shade: a no-regret learner that begins by bidding far below its value.

    It learns θ step by step from whatever the market publishes, as the bidders of online ad exchanges do (Nekipelov, Syrgkanis and Tardos
    2015). Under VCG it learns to bid its value, under pay-as-bid the equilibrium (n-1)/n; where nothing is published it goes on
    under-bidding. Where a ring is as good as legal, it joins.
    """

    prior_shading: float = 0.62
    entry_cost: float = 0.022
    ambiguity: float = 0.10


@dataclass(frozen=True)
class Colluder(BidderProfile):
    """A member of the bidding ring from the start.

    With another member present it bids as the ring decides. Alone, expelled, or when the ring competes, it shades like any learner. What
    the ring has lately earned per member is one more reason to come (Graham and Marshall 1987; Asker 2010 for a ring's books).
    """

    prior_shading: float = 0.88
    entry_cost: float = 0.016
    ambiguity: float = 0.06


@dataclass(frozen=True)
class Dropout(BidderProfile):
    """Easily driven away and slow to return: the first to leave when a reserve is high or secret, or when honest bidders are fined.

    It shades a little and learns like the others, but taking part costs it more, and it is averse to ambiguity. Outside options of this
    kind are why sellers with endogenous entry keep their reserves low (Levin and Smith 1994; Bulow and Klemperer 1996).
    """

    prior_shading: float = 0.90
    entry_cost: float = 0.036
    ambiguity: float = 0.22


@dataclass(frozen=True)
class Exploiter(BidderProfile):
    """Uses the rules around the auction: it shills for a kickback, and overbids where withdrawing is cheap.

    Overbidding keeps the option to withdraw if its value collapses (the incentive that FCC rule 13-7, bid withdrawal payments, removes).
    Where a ring is as good as legal, it joins.
    """

    prior_shading: float = 0.95
    entry_cost: float = 0.014
    ambiguity: float = 0.05


@dataclass(frozen=True)
class BiddersModel:
    """The profiles of the five types."""

    truthful: Truthful = field(default_factory=Truthful)
    shader: Shader = field(default_factory=Shader)
    colluder: Colluder = field(default_factory=Colluder)
    dropout: Dropout = field(default_factory=Dropout)
    exploiter: Exploiter = field(default_factory=Exploiter)


@dataclass(frozen=True)
class ExploiterModel:
    """How far exploiters overbid. Calibrated."""

    overbid: float = 0.40
    """Overbidding when withdrawal is free; falls to 0 at multiplier 1."""


@compiled_apart
def write_competitive_bids(market: Record, mechanism: Record, model: Record, sale: Record) -> None:
    """The competitive bid of every entrant, and 0 for the rest; `genuine` keeps θ v for bargaining over unsold lots."""
    for i in range(market.n):
        sale.shading[i] = played_shading(market, model, i)
        sale.genuine[i] = sale.shading[i] * sale.value[i] if sale.present[i] else 0.0
        sale.competitive[i] = competitive_bid(market, mechanism, model, sale, i) if sale.present[i] else 0.0
        sale.bid[i] = sale.competitive[i]
    sale.bids = market.n


@compiled_apart
def played_shading(market: Record, model: Record, i: Int) -> Real:
    """The shading of this sale: the learnt mean and a tremble, at most 1; a truthful bidder has neither."""
    if market.type[i] == TRUTHFUL:
        return 1.0
    return min(1.0, market.shading[i] + model.learning.tremble * (2.0 * chance(market, TREMBLE, i) - 1.0))


@compiled_apart
def competitive_bid(market: Record, mechanism: Record, model: Record, sale: Record, i: Int) -> Real:
    """What bidder i bids on its own account; 0 is no bid."""
    bid = sale.genuine[i]
    if market.type[i] == EXPLOITER:
        bid *= overbid_factor(mechanism, model)
    if not mechanism.reveal_reserve:
        return bid
    if sale.value[i] < mechanism.reserve_price:
        return 0.0
    if mechanism.auction_type == FIRST_PRICE:
        return shaded_bid(sale.value[i], sale.shading[i], mechanism.reserve_price)
    return max(bid, mechanism.reserve_price)


@compiled_apart
def overbid_factor(mechanism: Record, model: Record) -> Real:
    """How far an exploiter raises its genuine bid where withdrawing is cheap; under pay-as-bid it does not."""
    if mechanism.auction_type == FIRST_PRICE:
        return 1.0
    return 1.0 + model.exploiter.overbid * max(0.0, 1.0 - mechanism.withdrawal_penalty)
