"""The ring: bidders who agree before the sale who may have which lot.

Members rank themselves, by value where side payments can be risked (a knock-out) and by turns where not. The first few are designees and
bid for their lots; the others place cover bids just above the reserve. A knock-out rewards holding the lot, so designees overbid outsiders
(Asker 2010), but lower the bids that set each other's prices. The ring weighs three plans, competing, keeping its share of the lots,
or keeping one fewer, by exponential weights on what each would have earned, fines included, so it breaks up when punished in expectation.
A legal ring is strong: it always finds its best members (Graham and Marshall 1987); under `restrict` most sales go uncoordinated.
`ring_discipline` holds what keeps members from cheating, and what the ring remembers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeworth.compiled import Flag, Int, Real, Record, compiled_apart
from edgeworth.games.auction.beliefs import prior_bid
from edgeworth.games.auction.draws import RING_ARM, RING_COORDINATION, RING_GUESS, RING_ORDER, chance
from edgeworth.games.auction.enforcement import looks_like_cover
from edgeworth.games.auction.pricing import clear
from edgeworth.games.auction.vocabulary import (
    COLLUDER,
    COMPETE,
    FIRST_PRICE,
    KEEP_FEWER,
    KEEP_SHARE,
    RESTRICT,
    RING_ARMS,
    TRUTHFUL,
)

ROUNDING = 1e-9


@dataclass(frozen=True)
class RingModel:
    """How a ring plans and remembers. Calibrated, except where a source is named. "Covert" is a ring under full deterrence."""

    frozen: bool = False
    """The ring remembers nothing: no new plans, wars, expulsions or estimates."""
    plan_rate: float = 15.0
    """Weight of one sale's profit in the choice of plan."""
    plan_memory: float = 0.9
    """What is left of old profits after a sale."""
    first_trust: float = 5.0
    """How many sales the gain that a ring expects of a plan before its first sale counts for."""
    first_bias: float = 0.0
    """Added to the first scores of both plans to collude, for experiments with rings that always or never do."""
    knockout_covert: float = 0.7
    """Chance that a covert ring ranks by value; a legal one always does."""
    knockout_restrict: float = 0.4
    """Chance that a ring ranks by value under `restrict`."""
    restrict_failure: float = 0.7
    """Chance that a sale goes uncoordinated under `restrict`."""
    overbid: float = 0.25
    """Overbidding of designees in a knock-out (Asker 2010)."""
    first_price_cut: float = 0.15
    """How far a covert designee lowers a pay-as-bid offer."""
    first_price_cut_legal: float = 0.40
    """How far a legal designee lowers a pay-as-bid offer."""
    squeeze_always: float = 0.15
    """How far designees behind the leader lower their bids, which set the price above them, under any policy."""
    squeeze_informed: float = 0.45
    """How much further in a covert ring, times what it can see."""
    squeeze_legal: float = 0.75
    """How much further in a legal ring."""
    squeeze_sight: tuple[float, float, float, float] = (0.0, 0.3, 0.6, 1.0)
    """What a ring can see where nothing, prices, a histogram or all bids are published."""
    cover_margin: float = 0.01
    """How far above the reserve cover bids lie."""
    first_guess: float = 0.35
    """The ring's first estimate of a secret reserve, on average."""
    guess_spread: float = 0.05
    """Half-width of the range of these estimates."""
    guess_up: float = 0.05
    """How much the estimate rises after an unsold lot."""
    guess_down: float = 0.008
    """How much it falls otherwise."""
    gain_rate: float = 0.10
    """How fast the expected gain of membership per sale follows the actual one."""
    first_fining: float = 0.10
    """How often the ring expects a cover bid to be fined at first."""
    fining_rate: float = 0.2
    """How fast that expectation follows what happens."""
    war_sales: float = 6.0
    """Sales that a price war lasts (Green and Porter 1984)."""
    expulsion_sales: float = 70.0
    """Sales that a proven cheat is shut out."""
    cheat_scale: float = 0.03
    """Width of the decision to cheat."""
    least_temptation: float = 0.01
    """Gains below this lead to no cheating."""
    overtaking: float = 0.02
    """How far above a designee one must bid to be sure of its lot under pay-as-bid."""
    attribution: float = 0.30
    """Chance that a covert ring knows a cheat by name where neither bids nor winners are published."""
    attribution_bids: float = 0.85
    """Share of the remaining uncertainty that published bids remove."""
    attribution_identity: float = 0.50
    """Share of the remaining uncertainty that named winners remove."""
    notice_price: float = 0.40
    """Chance that cheating shows in a published price."""
    notice_distribution: float = 0.40
    """Chance that cheating shows in a published histogram."""
    false_alarm: float = 0.06
    """Chance that a low price is taken for cheating where prices are public and names are not."""


@compiled_apart
def write_ring_terms(mechanism: Record, model: Record, terms: Record) -> None:
    """How a ring works under this mechanism: between its legal and its covert form, by how far the policy deters."""
    r = model.ring
    deterrence = terms.deterrence
    lawful = 1.0 - deterrence
    covert = r.knockout_restrict if mechanism.coalition_policy == RESTRICT else r.knockout_covert
    terms.lawful = lawful
    terms.knockout = lawful + deterrence * covert
    terms.ring_overbid = r.overbid * terms.knockout
    terms.price_squeeze = r.squeeze_always + lawful * r.squeeze_legal + deterrence * r.squeeze_informed * r.squeeze_sight[terms.information]
    terms.first_price_cut = lawful * r.first_price_cut_legal + deterrence * r.first_price_cut


@compiled_apart
def begin_ring(market: Record, model: Record) -> None:
    """A ring at the start of an episode: no plans, no war, nobody expelled."""
    market.ring_met, market.ring_gain = False, 0.0
    for plan in range(RING_ARMS):
        market.ring_score[plan] = 0.0
    market.ring_guess = model.ring.first_guess + model.ring.guess_spread * (2.0 * chance(market, RING_GUESS, 0) - 1.0)
    market.ring_fining = model.ring.first_fining
    market.war_left = 0.0
    market.turn = 0
    for i in range(market.n):
        market.expelled_left[i] = 0.0


@compiled_apart
def run_ring(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Gather the ring, judge its plans on this sale's bids, choose one, and write the members' bids."""
    gather_members(market, terms, sale)
    sale.plan, sale.kept = COMPETE, 0
    at_war = market.war_left > 0.0
    if sale.members >= 2:
        rank_members(market, terms, sale)
        sale.cover_bid = known_reserve(market, mechanism) + model.ring.cover_margin
        if not market.ring_met:
            expect_gains(market, mechanism, model, terms, sale)
        judge_plans(market, mechanism, model, terms, sale)
        restricted = mechanism.coalition_policy == RESTRICT
        sale.uncoordinated = restricted and chance(market, RING_COORDINATION, 0) < model.ring.restrict_failure
        if not at_war and not sale.uncoordinated:
            sale.plan = choose_plan(market, model)
            sale.kept = lots_kept(sale.plan, market.n, terms.lots, sale.members)
    sale.at_war = at_war
    if sale.kept > 0:
        for i in range(market.n):
            if sale.member[i]:
                sale.bid[i] = ring_bid(mechanism, terms, sale, i, sale.kept)
                sale.covering[i] = sale.ring_rank[i] >= sale.kept


@compiled_apart
def known_reserve(market: Record, mechanism: Record) -> Real:
    """The reserve as the ring knows it: announced, or its estimate."""
    return mechanism.reserve_price if mechanism.reveal_reserve else market.ring_guess


@compiled_apart
def is_willing(market: Record, terms: Record, i: Int) -> Flag:
    """Whether an entrant is in the ring: a colluder, or a strategic bidder who finds it lawful enough, unless expelled."""
    kind = market.type[i]
    willing = kind == COLLUDER or (kind != TRUTHFUL and terms.lawful >= market.scruple[i])
    return willing and market.expelled_left[i] <= 0.0


@compiled_apart
def gather_members(market: Record, terms: Record, sale: Record) -> None:
    """Write who is in the ring in this sale."""
    sale.members = 0
    for i in range(market.n):
        sale.member[i] = sale.present[i] and is_willing(market, terms, i)
        sale.covering[i], sale.cheated[i] = False, False
        if sale.member[i]:
            sale.members += 1


@compiled_apart
def rank_members(market: Record, terms: Record, sale: Record) -> None:
    """The order in which members may have lots: by value in a knock-out, else in turn."""
    by_value = chance(market, RING_ORDER, 0) < terms.knockout
    first, seat = market.turn % sale.members, 0
    for i in range(market.n):
        if not sale.member[i]:
            continue
        if by_value:
            rank = 0
            for j in range(market.n):
                if sale.member[j] and (sale.value[j] > sale.value[i] or (sale.value[j] == sale.value[i] and j < i)):
                    rank += 1
        else:
            rank = (seat - first + sale.members) % sale.members
        sale.ring_rank[i] = rank
        seat += 1
    sale.took_turns = not by_value


@compiled_apart
def lots_kept(plan: Int, n: Int, lots: Int, members: Int) -> Int:
    """How many lots the ring bids for under a plan: none of its own, its share rounded up, or one fewer."""
    if plan == COMPETE:
        return 0
    share = min(max(math.ceil(members * lots / n - ROUNDING), 1), members - 1)
    return share if plan == KEEP_SHARE else max(1, share - 1)


@compiled_apart
def ring_bid(mechanism: Record, terms: Record, sale: Record, i: Int, kept: Int) -> Real:
    """A member's bid when the ring keeps this many lots."""
    own, cover = sale.competitive[i], sale.cover_bid
    if kept == 0:
        return own
    if sale.ring_rank[i] >= kept:
        return cover if sale.value[i] >= cover else 0.0
    bid = own * (1.0 + terms.ring_overbid)
    if mechanism.auction_type == FIRST_PRICE:
        bid *= 1.0 - terms.first_price_cut
    elif sale.ring_rank[i] > 0:
        bid *= 1.0 - terms.price_squeeze
    if bid > cover:
        return bid
    return cover if own > cover else own


@compiled_apart
def expect_gains(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Before its first sale the ring weighs its plans against outsiders who bid as the prior of so many truthful ones says."""
    outsiders = sale.entrants - sale.members
    better = 0
    for i in range(market.n):
        sale.trial_bid[i] = 0.0
        if sale.present[i] and not sale.member[i]:
            sale.trial_bid[i] = sale.demand * prior_bid(better, outsiders)
            better += 1
    reserve = known_reserve(market, mechanism)
    compete = plan_profit(COMPETE, market, mechanism, model, terms, sale, reserve, sale.trial)
    best = 0.0
    for plan in range(1, RING_ARMS):
        gain = plan_profit(plan, market, mechanism, model, terms, sale, reserve, sale.trial) - compete
        market.ring_score[plan] = model.ring.first_trust * gain + model.ring.first_bias
        best = max(best, gain)
    market.ring_gain = best / sale.members
    market.ring_met = True


@compiled_apart
def judge_plans(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """What each plan would earn the ring on this sale's competitive bids."""
    for i in range(market.n):
        if not sale.member[i]:
            sale.trial_bid[i] = sale.competitive[i]
    reserve = mechanism.reserve_price
    sale.plan_profit[COMPETE] = plan_profit(COMPETE, market, mechanism, model, terms, sale, reserve, sale.honest)
    for plan in range(1, RING_ARMS):
        sale.plan_profit[plan] = plan_profit(plan, market, mechanism, model, terms, sale, reserve, sale.trial)


@compiled_apart
def plan_profit(
    plan: Int, market: Record, mechanism: Record, model: Record, terms: Record, sale: Record, reserve: Real, ladder: Record
) -> Real:
    """What a plan would earn the ring against the outsiders' bids in `sale.trial_bid` at this reserve, less the fines it expects."""
    kept = lots_kept(plan, market.n, terms.lots, sale.members)
    for i in range(market.n):
        if sale.member[i]:
            sale.trial_bid[i] = ring_bid(mechanism, terms, sale, i, kept)
    clear(sale.trial_bid, market.n, terms.lots + 1, mechanism.auction_type, reserve, terms, ladder)
    profit = 0.0
    for k in range(ladder.sold):
        seat = ladder.seat[k]
        if sale.member[seat]:
            profit += terms.quality[k] * sale.value[seat] - ladder.payment[k]
    if kept > 0:
        for i in range(market.n):
            if sale.member[i] and sale.ring_rank[i] >= kept and looks_like_cover(sale.trial_bid[i], reserve, model):
                profit -= market.ring_fining * terms.collusion_fine
    return profit


@compiled_apart
def choose_plan(market: Record, model: Record) -> Int:
    """A plan by exponential weights on past profits."""
    compete = math.exp(model.ring.plan_rate * market.ring_score[COMPETE])
    share = math.exp(model.ring.plan_rate * market.ring_score[KEEP_SHARE])
    fewer = math.exp(model.ring.plan_rate * market.ring_score[KEEP_FEWER])
    point = chance(market, RING_ARM, 0) * (compete + share + fewer)
    if point < compete:
        return COMPETE
    return KEEP_SHARE if point < compete + share else KEEP_FEWER
