"""What happened in a sale, as facts: who came, who bid what and why, what became of every lot, whom the rules punished.

The record of a sale holds its bids and totals. Which winner withdrew, who took the lot instead and whom the screens hit is played again
here, lot by lot, with the rules' own functions: a draw is a function of its address, so the same thing happens again, on a copy of the
sale whose accounts are empty. That copy must end with the accounts of the sale itself, which the tests check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from edgeworth.compiled import Record
from edgeworth.games.auction.enforcement import is_suspicious
from edgeworth.games.auction.purposes import (
    AUDIT,
    RING_COORDINATION,
    SHILL_DETECTION,
    SHILL_MISTAKE,
    SHOCK,
    SHOCK_SIZE,
    UNSOLD_BARGAIN,
    chance,
)
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.unsold import bargained_price, best_unserved
from edgeworth.games.auction.vocabulary import ALLOW, BIDDER_TYPES, COLLUDER, COMPETE, FIRST_PRICE, NOBODY, RESTRICT
from edgeworth.games.auction.withdrawals import hand_over, keep_or_withdraw, reaward, sellers_loss

Seats = tuple[int, ...]
Mood = Literal["absent", "at war", "uncoordinated", "competes", "rigs"]
"""What a ring does with a sale."""


@dataclass(frozen=True)
class Bid:
    """A bid that was handed in, per unit of quality."""

    seat: int
    """Whose it is; of a false name, its owner."""
    amount: float
    value: float
    """What a unit of quality is worth to the bidder; a false name values nothing."""
    role: Literal["own", "designee", "cover", "cheat", "false name"]
    is_void: bool
    """Below the reserve."""


@dataclass(frozen=True)
class Award:
    """What became of one lot. Money, not per unit of quality."""

    lot: int
    quality: float
    winner: Bid | None
    """The bid that won it, if one reached the reserve."""
    payment: float
    """What the winner owes."""
    fate: Literal["kept", "withdrawn", "unsold"]
    worth: float
    """What the lot is worth to its winner after the hammer."""
    collapsed: bool
    """Whether the winner's value fell after the hammer."""
    charge: float
    """What withdrawing cost."""
    taker: int | None
    """Who holds it in the end, if not the seller."""
    paid: float
    """What that bidder paid."""


@dataclass(frozen=True)
class Fine:
    """A fine, right or wrong."""

    seat: int
    amount: float
    charge: Literal["collusion", "shilling"]
    deserved: bool


@dataclass(frozen=True)
class Ring:
    """What the ring did."""

    mood: Mood
    members: Seats
    outlaws: Seats
    """Colluders who are present and expelled."""
    designees: Seats
    covering: Seats
    """Members with a cover bid."""
    silent: Seats
    """Members who were to cover and could not afford to."""
    cheats: Seats
    expelled: Seats
    """Cheats who are now expelled."""
    cover_bid: float
    took_turns: bool
    advantage: float
    """What the ring reckons to gain over competing."""
    war_begins: bool
    war_left: int
    """Sales of price war to come."""


@dataclass(frozen=True)
class Chronicle:
    """A sale as it happened."""

    number: int
    """Of the episode's sales, from 1."""
    types: tuple[str, ...]
    """The type of every bidder, by seat."""
    demand: float
    reserve: float
    stayed_away: Seats
    kept_out: Seats
    """Wanted to come and were screened out."""
    bids: tuple[Bid, ...]
    """Best first."""
    awards: tuple[Award, ...]
    ring: Ring
    shills: tuple[Bid, ...]
    uplift: float
    """What the false names added to the revenue."""
    kickback: float
    """What came back to their owners."""
    fines: tuple[Fine, ...]
    welfare: float
    first_best: float
    profit: float
    competitive_profit: float


class _Records(NamedTuple):
    """What the rules read; `again` is the copy of the sale on which it is settled anew."""

    market: Record
    mechanism: Record
    model: Record
    terms: Record
    sale: Record
    again: Record


def chronicle(room: SaleRoom, sale: np.void) -> Chronicle:
    """The facts of the sale that has just been held in this room with the bidders of the model."""
    records = _Records(room.market, room.mechanisms[0], room.batch.model[0], room.terms, sale, _unsettled(sale))
    market, n = records.market, int(records.market.n)
    bids = _bids(records)
    awards = _awards(records, bids)
    absent = [i for i in range(n) if not records.sale.present[i]]
    return Chronicle(
        number=int(market.sale),
        types=tuple(BIDDER_TYPES[market.type[i]] for i in range(n)),
        demand=float(records.sale.demand),
        reserve=float(records.mechanism.reserve_price),
        stayed_away=tuple(i for i in absent if not market.was_in[i]),
        kept_out=tuple(i for i in absent if market.was_in[i]),
        bids=tuple(sorted(bids.values(), key=lambda bid: -bid.amount)),
        awards=awards,
        ring=_ring(records),
        shills=tuple(bid for bid in bids.values() if bid.role == "false name"),
        uplift=float(records.sale.uplift),
        kickback=float(records.model.shills.kickback * records.sale.uplift),
        fines=(*_shill_fines(records), *_collusion_fines(records)),
        welfare=float(records.sale.welfare),
        first_best=float(records.sale.first_best),
        profit=float(records.sale.profit),
        competitive_profit=float(records.sale.competitive_profit),
    )


def _unsettled(sale: Record) -> Record:
    """A copy of the sale with nothing settled yet."""
    again = sale.copy()
    again.surplus[:], again.won[:], again.served[:], again.withdrew[:] = 0.0, 0, 0, 0
    again.welfare, again.profit, again.fines = 0.0, 0.0, 0.0
    return again


def _bids(records: _Records) -> dict[int, Bid]:
    """Every bid by its place in the sale's list; false names come after the seats."""
    sale, n = records.sale, int(records.market.n)
    bids = {}
    for place in range(int(sale.bids)):
        amount = float(sale.bid[place])
        if amount > 0.0:
            is_void = amount < float(records.mechanism.reserve_price)
            if place < n:
                bids[place] = Bid(place, amount, float(sale.value[place]), _role(sale, place), is_void)
            else:
                bids[place] = Bid(int(sale.owner[place - n]), amount, 0.0, "false name", is_void)
    return bids


def _role(sale: Record, seat: int) -> Literal["own", "designee", "cover", "cheat"]:
    if sale.cheated[seat]:
        return "cheat"
    if sale.kept == 0 or not sale.member[seat]:
        return "own"
    return "cover" if sale.covering[seat] else "designee"


def _awards(records: _Records, bids: dict[int, Bid]) -> tuple[Award, ...]:
    """Every lot in order, settled again: kept or withdrawn, re-awarded, bargained over, or left with the seller."""
    sold, lots = int(records.sale.ladder.sold), int(records.terms.lots)
    awards, next_in_line = [], sold
    for lot in range(sold):
        awards.append(_settled(records, bids, lot, next_in_line))
        if awards[-1].fate == "withdrawn":
            next_in_line += 1
    return (*awards, *(_unsold(records, lot) for lot in range(sold, lots)))


def _settled(records: _Records, bids: dict[int, Bid], lot: int, next_in_line: int) -> Award:
    market, mechanism, model, terms, sale, again = records
    seat, payment, quality = int(sale.ladder.seat[lot]), float(sale.ladder.payment[lot]), float(terms.quality[lot])
    damages = float(mechanism.withdrawal_penalty * sellers_loss(mechanism, model, terms, again, lot, next_in_line))
    winner = bids[seat]
    collapsed = winner.role != "false name" and bool(chance(market, SHOCK, lot) < model.withdrawals.shock_chance)
    worth = quality * winner.value * (float(chance(market, SHOCK_SIZE, lot)) if collapsed else 1.0)
    if winner.role != "false name" and keep_or_withdraw(market, model, terms, again, lot, seat, damages):
        return Award(lot, quality, winner, payment, "kept", worth, collapsed, 0.0, seat, payment)
    taker, paid = None, 0.0
    if reaward(market, model, terms, again, lot, next_in_line):
        taker, paid = int(sale.ladder.seat[next_in_line]), quality * float(sale.ladder.bid[next_in_line])
    return Award(lot, quality, winner, payment, "withdrawn", worth, collapsed, damages, taker, paid)


def _unsold(records: _Records, lot: int) -> Award:
    market, _, model, terms, sale, again = records
    quality, own = float(terms.quality[lot]), float(model.lots.seller_value)
    bargains = chance(market, UNSOLD_BARGAIN, lot) < model.unsold.bargain_chance
    buyer = int(best_unserved(market, again, own)) if bargains else NOBODY
    if buyer == NOBODY:
        return Award(lot, quality, None, 0.0, "unsold", 0.0, False, 0.0, None, 0.0)
    paid = quality * float(bargained_price(sale.genuine[buyer], model))
    hand_over(terms, model, again, buyer, lot, quality * float(sale.value[buyer]), paid)
    return Award(lot, quality, None, 0.0, "unsold", 0.0, False, 0.0, buyer, paid)


def _ring(records: _Records) -> Ring:
    market, _, model, _, sale, _ = records
    n, rigs = int(market.n), sale.kept > 0
    members = tuple(i for i in range(n) if sale.member[i])
    covering = tuple(i for i in members if rigs and sale.covering[i])
    cheats = tuple(i for i in members if rigs and sale.cheated[i])
    return Ring(
        mood=_mood(records),
        members=members,
        outlaws=tuple(i for i in range(n) if sale.present[i] and market.type[i] == COLLUDER and not sale.member[i]),
        designees=tuple(i for i in members if rigs and i not in covering and i not in cheats),
        covering=tuple(i for i in covering if sale.bid[i] > 0.0),
        silent=tuple(i for i in covering if sale.bid[i] <= 0.0),
        cheats=cheats,
        expelled=tuple(i for i in cheats if market.expelled_left[i] == model.ring.expulsion_sales),
        cover_bid=float(sale.cover_bid),
        took_turns=bool(sale.took_turns),
        advantage=float(sale.plan_profit[sale.plan] - sale.plan_profit[COMPETE]) if rigs else 0.0,
        war_begins=bool(rigs and market.war_left == model.ring.war_sales),
        war_left=int(market.war_left),
    )


def _mood(records: _Records) -> Mood:
    market, mechanism, model, _, sale, _ = records
    if sale.members < 2:
        return "absent"
    if sale.kept > 0:
        return "rigs"
    if sale.at_war:
        return "at war"
    restricted = mechanism.coalition_policy == RESTRICT
    failed = restricted and chance(market, RING_COORDINATION, 0) < model.ring.restrict_failure
    return "uncoordinated" if failed else "competes"


def _shill_fines(records: _Records) -> list[Fine]:
    market, mechanism, model, terms, sale, _ = records
    amount, fines = float(terms.shill_fine), []
    if mechanism.auction_type == FIRST_PRICE:
        return []
    for j in range(int(sale.shills)):
        if chance(market, SHILL_DETECTION, sale.owner[j]) < terms.shill_detection:
            fines.append(Fine(int(sale.owner[j]), amount, "shilling", deserved=True))
    if sale.ladder.sold < sale.ladder.ranked:
        price_setter = int(sale.ladder.seat[sale.ladder.sold])
        if price_setter < market.n and chance(market, SHILL_MISTAKE, 0) < model.enforcement.shill_mistake:
            fines.append(Fine(price_setter, amount, "shilling", deserved=False))
    return [fine for fine in fines if fine.amount > 0.0]


def _collusion_fines(records: _Records) -> list[Fine]:
    market, mechanism, model, terms, sale, _ = records
    amount, fines = float(terms.collusion_fine), []
    for i in range(int(market.n)):
        if mechanism.coalition_policy == ALLOW or not is_suspicious(sale, i, mechanism, model):
            continue
        guilty = bool(sale.covering[i])
        if chance(market, AUDIT, i) < (terms.guilty_rate if guilty else terms.innocent_rate):
            fines.append(Fine(i, amount, "collusion", deserved=guilty))
    return [fine for fine in fines if fine.amount > 0.0]
