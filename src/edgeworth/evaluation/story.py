"""The story of a sale, its facts (`sale_facts`) as sentences and rows of a table; and the account of a step, sale by sale.

A bidder is named by its type and seat ("colluder 3"), seats counted from 1. Bids, values and prices are per unit of quality; charges,
fines, kickbacks and profits are money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from edgeworth.evaluation.sale_facts import Award, Bid, Ring, SaleFacts, facts_of_sale
from edgeworth.evaluation.statistics import counted
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.games.auction.state import DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, SALES_PER_STEP

QUIET_DAY, BRISK_DAY = 0.9, 1.1
"""Demand below and above which a day is called so."""
NEGLIGIBLE = 0.005
"""Money that rounds to nothing."""
ROLE_WORDS = {"own": "", "designee": "designee", "cover": "cover bid", "cheat": "cheat", "false name": "false name"}
FINE_WORDS = {
    ("collusion", True): "for covering",
    ("collusion", False): "for collusion, wrongly: no cover bid was made",
    ("shilling", True): "for bidding under a false name",
    ("shilling", False): "for shilling, wrongly: an honest bid set the price",
}


def bidder_name(types: Sequence[str], seat: int) -> str:
    """A bidder as the story calls it: `colluder 3`."""
    return f"{types[seat]} {seat + 1}"


def bidder_names(types: Sequence[str], seats: Sequence[int]) -> str:
    """Several bidders, by type: `colluders 3 and 5 and shader 1`."""
    groups = []
    for kind in BIDDER_TYPES:
        numbers = [str(seat + 1) for seat in sorted(seats) if types[seat] == kind]
        if numbers:
            plural = "s" if len(numbers) > 1 and kind != "truthful" else ""
            groups.append(f"{kind}{plural} {listed(numbers)}")
    return listed(groups)


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def cast_line(types: Sequence[str]) -> str:
    """Who is in the market."""
    return f"The bidders: {bidder_names(types, range(len(types)))}."


def headline(sale: SaleFacts) -> str:
    """The day, and who came."""
    day = "a quiet day" if sale.demand < QUIET_DAY else "a brisk day" if sale.demand > BRISK_DAY else "an ordinary day"
    return f"Sale {sale.number}, {day} (demand {sale.demand:.2f}): {_attendance(sale)}."


def _attendance(sale: SaleFacts) -> str:
    n = len(sale.types)
    away = []
    if sale.stayed_away:
        away.append(f"{bidder_names(sale.types, sale.stayed_away)} stayed away")
    if sale.kept_out:
        away.append(f"{bidder_names(sale.types, sale.kept_out)} {_were(sale.kept_out)} screened out")
    came = n - len(sale.stayed_away) - len(sale.kept_out)
    if not came:
        return "nobody came"
    return f"{came} of {n} came, {listed(away)}" if away else f"all {n} came"


def award_rows(sale: SaleFacts) -> list[tuple[str, str, str, str, str, str, str]]:
    """A row per lot: lot, quality, who won it, in which role, value, bid and price, the last three per unit of quality."""
    rows = []
    for award in sale.awards:
        head = (f"lot {award.lot + 1}", f"×{award.quality:.2f}")
        if award.winner is None:
            rows.append((*head, "no bid at the reserve", "", "", "", f"{sale.reserve:.2f}"))
            continue
        who = (bidder_name(sale.types, award.winner.seat), ROLE_WORDS[award.winner.role])
        value = "" if award.winner.role == "false name" else f"{award.winner.value:.2f}"
        rows.append((*head, *who, value, f"{award.winner.amount:.2f}", f"{award.payment / award.quality:.2f}"))
    return rows


def losing_bids(sale: SaleFacts) -> list[str]:
    """The rest of the ladder, best first, equal cover bids together: `shader 2 0.61`, `colluders 3 and 5 0.21 (cover bids)`."""
    winners = [award.winner for award in sale.awards]
    groups: dict[tuple[str, str], list[Bid]] = {}
    for place, bid in enumerate(sale.bids):
        if bid not in winners:
            amount = f"{bid.amount:.2f}"
            groups.setdefault((amount, "cover") if bid.role == "cover" else (amount, str(place)), []).append(bid)
    return [_losing_bid(sale, bids) for bids in groups.values()]


def _losing_bid(sale: SaleFacts, bids: list[Bid]) -> str:
    first = bids[0]
    role = ROLE_WORDS[first.role] + ("s" if len(bids) > 1 else "")
    notes = ", ".join(note for note in (role, "void" if first.is_void else "") if note)
    return f"{bidder_names(sale.types, [bid.seat for bid in bids])} {first.amount:.2f}" + (f" ({notes})" if notes else "")


def sentences(sale: SaleFacts) -> list[str]:
    """What went on, in the order of the sale."""
    found = [*_ring_sentences(sale), *_shill_sentences(sale), *_award_sentences(sale), *_fine_sentences(sale)]
    return [sentence[0].upper() + sentence[1:] for sentence in found]


def account_line(sale: SaleFacts) -> str:
    """The seller's profit and the welfare, beside the first best."""
    competitive = sale.competitive_profit
    return (
        f"Seller's profit {sale.profit:.2f}, {_share(sale.profit, competitive)} of the competitive {competitive:.2f};"
        f" welfare {sale.welfare:.2f}, {_share(sale.welfare, sale.first_best)} of the first best."
    )


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole > NEGLIGIBLE else "–"


def _ring_sentences(sale: SaleFacts) -> Iterator[str]:
    ring, types = sale.ring, sale.types
    members = bidder_names(types, ring.members)
    if ring.mood == "at war":
        left = f"{ring.war_left} more sale{'s' if ring.war_left > 1 else ''} of it" if ring.war_left else "the last sale of it"
        yield f"price war in the ring: {members} bid against each other; {left}."
    elif ring.mood == "uncoordinated":
        yield f"{members} find no way to meet: the restriction keeps the ring apart."
    elif ring.mood == "competes":
        yield f"the ring ({members}) leaves this sale alone: its members compete."
    elif ring.mood == "rigs":
        yield from _rigging_sentences(sale)
    if ring.outlaws and ring.mood != "absent":
        yield f"{bidder_names(types, ring.outlaws)}, expelled, {_plural(ring.outlaws, 'bids', 'bid')} alone."


def _rigging_sentences(sale: SaleFacts) -> Iterator[str]:
    ring, types = sale.ring, sale.types
    joined = [seat for seat in ring.members if types[seat] != "colluder"]
    order = "by turns" if ring.took_turns else "by a knock-out"
    deal = f"the ring of {len(ring.members)} picks {bidder_names(types, ring.designees)} {order}"
    if ring.covering:
        deal += f"; {bidder_names(types, ring.covering)} {_plural(ring.covering, 'covers', 'cover')} at {ring.cover_bid:.2f}"
    if ring.silent:
        deal += f"; {bidder_names(types, ring.silent)} {_plural(ring.silent, 'keeps', 'keep')} silent"
    if abs(ring.advantage) > NEGLIGIBLE:
        deal += f". By its own estimate that is {abs(ring.advantage):.2f} {'better' if ring.advantage > 0.0 else 'worse'} than competing"
    yield deal + "."
    idle = [seat for seat in ring.designees if not any(bid.seat == seat and bid.role == "designee" for bid in sale.bids)]
    if idle:
        yield f"{bidder_names(types, idle)} could have had a lot, but no lot is worth the reserve to {_plural(idle, 'it', 'them')}."
    if joined:
        yield f"a ring as good as legal: {bidder_names(types, joined)} {_plural(joined, 'is', 'are')} in it too."
    if ring.cheats:
        yield _betrayal(sale, ring)
    elif ring.war_begins:
        yield f"nobody cheated, but the low price looks like it: the ring goes to war for {counted(ring.war_left, 'sale')}."


def _betrayal(sale: SaleFacts, ring: Ring) -> str:
    break_and_bid = _plural(ring.cheats, "breaks the deal and bids", "break the deal and bid")
    words = f"{bidder_names(sale.types, ring.cheats)} {break_and_bid} for real"
    if ring.expelled:
        return f"{words}; {bidder_names(sale.types, ring.expelled)} {_were(ring.expelled)} named and expelled."
    if ring.war_begins:
        return f"{words}; the ring sees it, not who it was, and goes to war for {counted(ring.war_left, 'sale')}."
    return f"{words}, and nobody in the ring finds out."


def _shill_sentences(sale: SaleFacts) -> Iterator[str]:
    if not sale.shills:
        return
    owners = tuple(bid.seat for bid in sale.shills)
    words = f"{bidder_names(sale.types, owners)} also {_plural(owners, 'bids under a false name', 'bid under false names')}"
    at = listed([f"{bid.amount:.2f}" for bid in sale.shills])
    if sale.uplift > NEGLIGIBLE:
        yield f"{words}, at {at}: the bill rises by {sale.uplift:.2f}, and {sale.kickback:.2f} comes back as kickback."
    else:
        yield f"{words}, at {at}, and {_plural(owners, 'moves', 'move')} no price."


def _award_sentences(sale: SaleFacts) -> Iterator[str]:
    for award in sale.awards:
        if award.fate == "withdrawn":
            yield _withdrawal(sale, award)
        elif award.fate == "kept" and award.worth < award.payment - NEGLIGIBLE:
            yield _loss(sale, award)
        elif award.fate == "unsold" and award.taker is not None:
            name = bidder_name(sale.types, award.taker)
            yield f"lot {award.lot + 1} found no bid at the reserve and is sold to {name} over the counter, for {award.paid:.2f}."
        elif award.fate == "unsold":
            yield f"lot {award.lot + 1} found no bid at the reserve and stays with the seller."


def _withdrawal(sale: SaleFacts, award: Award) -> str:
    assert award.winner is not None
    name, lot = bidder_name(sale.types, award.winner.seat), f"lot {award.lot + 1}"
    if award.winner.role == "false name":
        words = f"the false name of {name} wins {lot} and walks away"
    elif award.collapsed:
        words = f"{lot} is suddenly worth only {award.worth:.2f} to {name}, who withdraws"
    else:
        words = f"{name} overbid for {lot} and withdraws"
    words += f", for a charge of {award.charge:.2f}" if award.charge > NEGLIGIBLE else ", free of charge"
    if award.taker is None:
        return f"{words}; the seller keeps it."
    return f"{words}; {bidder_name(sale.types, award.taker)} takes it for {award.paid:.2f}."


def _loss(sale: SaleFacts, award: Award) -> str:
    assert award.winner is not None
    name = bidder_name(sale.types, award.winner.seat)
    why = "is suddenly worth only" if award.collapsed else "is worth"
    return f"lot {award.lot + 1} {why} {award.worth:.2f} to {name}, who pays {award.payment:.2f}: withdrawing would cost more."


def _fine_sentences(sale: SaleFacts) -> Iterator[str]:
    """Those fined for the same reason together."""
    for reason in dict.fromkeys((fine.charge, fine.deserved) for fine in sale.fines):
        fined = [fine for fine in sale.fines if (fine.charge, fine.deserved) == reason]
        seats = [fine.seat for fine in fined]
        each = " each" if len(seats) > 1 else ""
        yield f"{bidder_names(sale.types, seats)} {_plural(seats, 'is', 'are')} fined {fined[0].amount:.2f}{each} {FINE_WORDS[reason]}."


def _plural(seats: Sequence[int], one: str, many: str) -> str:
    return one if len(seats) == 1 else many


def _were(seats: Sequence[int]) -> str:
    return _plural(seats, "was", "were")


# Steps


def play_step(room: SaleRoom, mechanism: DaedalusAction, show: Callable[[SaleFacts], None] | None = None) -> dict[str, Any]:
    """Hold the sales of one step under a mechanism, and return its account; `show` is called with every sale."""
    room.post(mechanism)
    sales = []
    for _ in range(SALES_PER_STEP):
        sale = facts_of_sale(room, room.run_sale())
        sales.append({**asdict(sale), "story": [headline(sale), *sentences(sale), account_line(sale)]})
        if show is not None:
            show(sale)
    tally, n = room.workspace["tally"], room.batch.config.n_agents
    return {
        "step": int(room.market["step"]),
        "mechanism": mechanism.model_dump(),
        **{name: float(room.outcome[name]) for name in (*SCORES, *PROXIES, *DIAGNOSTICS)},
        "profit": float(tally["profit"]),
        "competitive_profit": float(tally["competitive_profit"]),
        "surplus": float(tally["surplus"][:n].sum()),
        "entitlement": float(tally["entitlement"][:n].sum()),
        "welfare": float(tally["welfare"]),
        "first_best": float(tally["first_best"]),
        "sales": sales,
    }
