"""The facts of a sale: who came, who bid what in which role, what became of every lot, what the ring did, and who was fined.

They are read from the record that the rules leave of a sale (`games.auction.state.SALE`). `story` puts them into sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, COLLUDER, COMPETE, NOBODY

Record = Any
"""A record of the rules, whose fields are read as attributes."""
Seats = tuple[int, ...]
Role = Literal["own", "designee", "cover", "cheat", "false name"]
Fate = Literal["kept", "withdrawn", "unsold"]
Mood = Literal["absent", "at war", "uncoordinated", "competes", "rigs"]
"""What a ring does in a sale."""


@dataclass(frozen=True)
class Bid:
    """A bid that was handed in, per unit of quality."""

    seat: int
    """Whose it is; of a false name, its owner."""
    amount: float
    value: float
    """What a unit of quality is worth to the bidder; 0 for a false name."""
    role: Role
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
    fate: Fate
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
    """What the ring expects to gain over competing."""
    war_begins: bool
    war_left: int
    """Sales of price war to come."""


@dataclass(frozen=True)
class SaleFacts:
    """Everything that happened in one sale."""

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


def facts_of_sale(room: SaleRoom, sale: Record) -> SaleFacts:
    """The facts of the sale that has just been held in this room with the bidders of the model, from its record."""
    market: Record = room.market
    n, model = int(market.n), room.batch.model[0]
    bids = _bids(room, sale)
    absent = [i for i in range(n) if not sale.present[i]]
    return SaleFacts(
        number=int(market.sale),
        types=tuple(BIDDER_TYPES[market.type[i]] for i in range(n)),
        demand=float(sale.demand),
        reserve=float(room.mechanisms[0].reserve_price),
        stayed_away=tuple(i for i in absent if not market.was_in[i]),
        kept_out=tuple(i for i in absent if market.was_in[i]),
        bids=tuple(sorted(bids.values(), key=lambda bid: -bid.amount)),
        awards=tuple(_award(room, sale, bids, lot) for lot in range(int(room.terms["lots"]))),
        ring=_ring(market, model, sale),
        shills=tuple(bid for bid in bids.values() if bid.role == "false name"),
        uplift=float(sale.uplift),
        kickback=float(model.shills.kickback * sale.uplift),
        fines=_fines(room.terms, sale, n),
        welfare=float(sale.welfare),
        first_best=float(sale.first_best),
        profit=float(sale.profit),
        competitive_profit=float(sale.competitive_profit),
    )


def _bids(room: SaleRoom, sale: Record) -> dict[int, Bid]:
    """Every bid by its number: a bidder's seat, and from n on the false names."""
    n, reserve = int(room.market["n"]), float(room.mechanisms[0]["reserve_price"])
    bids = {}
    for number in range(int(sale.bids)):
        amount = float(sale.bid[number])
        if amount > 0.0 and number < n:
            bids[number] = Bid(number, amount, float(sale.value[number]), _role(sale, number), amount < reserve)
        elif amount > 0.0:
            bids[number] = Bid(int(sale.owner[number - n]), amount, 0.0, "false name", amount < reserve)
    return bids


def _role(sale: Record, seat: int) -> Role:
    if sale.cheated[seat]:
        return "cheat"
    if sale.kept == 0 or not sale.member[seat]:
        return "own"
    return "cover" if sale.covering[seat] else "designee"


def _award(room: SaleRoom, sale: Record, bids: dict[int, Bid], lot: int) -> Award:
    quality = float(room.terms["quality"][lot])
    winner = bids[int(sale.ladder.seat[lot])] if lot < sale.ladder.sold else None
    fate: Fate = "unsold" if winner is None else "withdrawn" if sale.withdrawn[lot] else "kept"
    return Award(
        lot=lot,
        quality=quality,
        winner=winner,
        payment=0.0 if winner is None else float(sale.ladder.payment[lot]),
        fate=fate,
        worth=0.0 if winner is None else quality * winner.value * float(sale.shock[lot]),
        collapsed=bool(sale.shock[lot] < 1.0),
        charge=float(sale.charge[lot]),
        taker=None if sale.taker[lot] == NOBODY else int(sale.taker[lot]),
        paid=float(sale.paid[lot]),
    )


def _ring(market: Record, model: Record, sale: Record) -> Ring:
    n, rigs = int(market.n), sale.kept > 0
    members = tuple(i for i in range(n) if sale.member[i])
    covering = tuple(i for i in members if rigs and sale.covering[i])
    cheats = tuple(i for i in members if rigs and sale.cheated[i])
    return Ring(
        mood=_mood(sale),
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


def _mood(sale: Record) -> Mood:
    if sale.members < 2:
        return "absent"
    if sale.kept > 0:
        return "rigs"
    if sale.at_war:
        return "at war"
    return "uncoordinated" if sale.uncoordinated else "competes"


def _fines(terms: Record, sale: Record, n: int) -> tuple[Fine, ...]:
    """The fines for shilling, then those for collusion; a fine of 0 is none."""
    amount = float(terms.shill_fine)
    shilling = [Fine(i, amount, "shilling", deserved=True) for i in range(n) if sale.fined_as_shill[i]]
    if sale.mistaken_shill != NOBODY:
        shilling.append(Fine(int(sale.mistaken_shill), amount, "shilling", deserved=False))
    amount = float(terms.collusion_fine)
    collusion = [Fine(i, amount, "collusion", deserved=bool(sale.covering[i])) for i in range(n) if sale.fined_as_cover[i]]
    return tuple(fine for fine in (*shilling, *collusion) if fine.amount > 0.0)
