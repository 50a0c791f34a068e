"""Discipline in a ring: the temptation to cheat, what follows when a member does, and what the ring remembers of a sale.

A member who is to cover compares the best lot it could take with what it would lose (Stigler 1964): if the ring can tell who it was, the
member is expelled; if it only notices that somebody cheated, a price war punishes all (Green and Porter 1984). Published names make the
first likely, published prices the second, so the same disclosure that teaches honest bidders also polices a ring. In a second-price sale
the designee's high bid protects its lot; under pay-as-bid it must bid low and can be overtaken (Robinson 1985). Where prices are public
and names are not, an unlucky price can start a war by mistake.
"""

from __future__ import annotations

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.games.auction.draws import ALARM, BLAME, CHEATING, chance, logistic
from edgeworth.games.auction.pricing import rank_bids
from edgeworth.games.auction.ring import known_reserve
from edgeworth.games.auction.surplus import lot_price
from edgeworth.games.auction.vocabulary import COMPETE, FIRST_PRICE, RING_ARMS

HIGHEST_GUESS = 0.9


@compiled_apart
def write_discipline_terms(mechanism: Record, model: Record, terms: Record) -> None:
    """The chance that a ring knows a cheat by name, and that it notices cheating at all, under this mechanism."""
    r = model.ring
    blind = 1.0 - r.attribution
    if mechanism.reveal_competing_bids:
        blind *= 1.0 - r.attribution_bids
    if mechanism.reveal_winner_identity:
        blind *= 1.0 - r.attribution_identity
    terms.attribution = 1.0 - terms.deterrence * blind
    unnoticed = 1.0
    if mechanism.reveal_clearing_price:
        unnoticed *= 1.0 - r.notice_price
    if mechanism.reveal_bid_distribution:
        unnoticed *= 1.0 - r.notice_distribution
    terms.notice = 1.0 - unnoticed


@compiled_apart
def decide_cheating(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Members who cover may bid for themselves after all."""
    sale.cheats = 0
    if sale.kept == 0 or terms.deterrence == 0.0:
        return
    r = model.ring
    reserve = known_reserve(market, mechanism)
    rank_bids(sale.bid, market.n, reserve, terms.lots + 1, sale.trial)
    stake = terms.attribution * r.expulsion_sales + (1.0 - terms.attribution) * terms.notice * r.war_sales
    for i in range(market.n):
        if not sale.covering[i]:
            continue
        gain = best_deviation(mechanism, model, terms, sale, i, reserve)
        cheats = terms.deterrence * logistic((gain - stake * max(market.ring_gain, 0.0)) / r.cheat_scale)
        if gain > r.least_temptation and chance(market, CHEATING, i) < cheats:
            sale.bid[i] = sale.competitive[i]
            sale.cheated[i], sale.covering[i] = True, False
            sale.cheats += 1


@compiled_apart
def best_deviation(mechanism: Record, model: Record, terms: Record, sale: Record, i: Int, reserve: Real) -> Real:
    """The most a covering member could gain by taking a lot at the price it would fetch, at the reserve that it knows or guesses."""
    best, price = 0.0, 0.0
    for k in range(terms.lots - 1, -1, -1):
        rival = max(sale.trial.bid[k], reserve) if k < sale.trial.ranked else reserve
        price = lot_price(k, rival, price, terms, mechanism.auction_type)
        cost = price + (terms.quality[k] * model.ring.overtaking if mechanism.auction_type == FIRST_PRICE else 0.0)
        if sale.value[i] > rival:
            best = max(best, terms.quality[k] * sale.value[i] - cost)
    return best


@compiled_apart
def judge_cheats(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Expel the cheats that are known by name; if none is, but the cheating shows, there is war."""
    r = model.ring
    alarm = chance(market, ALARM, 0)
    if sale.cheats > 0:
        blamed = False
        for i in range(market.n):
            if sale.cheated[i] and chance(market, BLAME, i) < terms.attribution:
                market.expelled_left[i] = r.expulsion_sales
                blamed = True
        if not blamed and alarm < terms.notice:
            market.war_left = r.war_sales
    elif only_prices_are_public(mechanism) and alarm < terms.deterrence * r.false_alarm:
        market.war_left = r.war_sales


@compiled_apart
def only_prices_are_public(mechanism: Record) -> bool:
    """Whether the ring watches prices without names."""
    return mechanism.reveal_clearing_price and not mechanism.reveal_winner_identity and not mechanism.reveal_competing_bids


@compiled_apart
def remember_ring(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """Everything that a sale changes in the ring: running punishments, new ones, and what it has learnt about its plans."""
    if model.ring.frozen:
        return
    count_down_punishments(market, sale)
    if sale.members >= 2:
        if sale.kept > 0:
            judge_cheats(market, mechanism, model, terms, sale)
        remember_profits(market, mechanism, model, terms, sale)


@compiled_apart
def count_down_punishments(market: Record, sale: Record) -> None:
    """Every running expulsion and war is one sale shorter."""
    for i in range(market.n):
        if market.expelled_left[i] > 0.0:
            market.expelled_left[i] -= 1.0
    if sale.at_war:
        market.war_left -= 1.0


@compiled_apart
def remember_profits(market: Record, mechanism: Record, model: Record, terms: Record, sale: Record) -> None:
    """What the ring learns: profits of its plans, worth of membership, fining, the secret reserve, whose turn is next."""
    r = model.ring
    if sale.kept > 0:
        if sale.exposed > 0.0:
            market.ring_fining += r.fining_rate * (sale.caught / sale.exposed - market.ring_fining)
        if not mechanism.reveal_reserve:
            change = r.guess_up if sale.ladder.sold < terms.lots else -r.guess_down
            market.ring_guess = min(max(market.ring_guess + change, 0.0), HIGHEST_GUESS)
    if sale.took_turns:
        market.turn += 1
    for plan in range(RING_ARMS):
        market.ring_score[plan] = r.plan_memory * market.ring_score[plan] + sale.plan_profit[plan] - sale.plan_profit[COMPETE]
    gain = sale.plan_profit[sale.plan] - sale.plan_profit[COMPETE]
    market.ring_gain += r.gain_rate * (gain / sale.members - market.ring_gain)
