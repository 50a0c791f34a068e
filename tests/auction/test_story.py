"""The story of a sale says what the rules did: the facts balance to the last cent, and every event has its sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgeworth.config import AuctionConfig
from edgeworth.evaluation.sale_facts import Award, Bid, Fine, Ring, SaleFacts, facts_of_sale
from edgeworth.evaluation.story import account_line, award_rows, bidder_names, cast_line, headline, losing_bids, sentences
from edgeworth.games.auction.action import DaedalusAction, action_of, random_mechanisms
from edgeworth.games.auction.sale_room import SaleRoom

TYPES = ("truthful", "shader", "colluder", "colluder", "dropout", "exploiter")
QUIET_RING = Ring("absent", (), (), (), (), (), (), (), 0.0, False, 0.0, False, 0)
RIGGING = replace(QUIET_RING, mood="rigs", members=(2, 3), designees=(2,), covering=(3,), cover_bid=0.21, advantage=0.12)
NOTHING_HAPPENED = SaleFacts(
    number=4,
    types=TYPES,
    demand=1.0,
    reserve=0.2,
    stayed_away=(),
    kept_out=(),
    bids=(),
    awards=(),
    ring=QUIET_RING,
    shills=(),
    uplift=0.0,
    kickback=0.0,
    fines=(),
    welfare=1.5,
    first_best=2.0,
    profit=0.6,
    competitive_profit=1.2,
)


def held_sales(stages: tuple[str, ...], seeds: int, steps: int = 2) -> list[tuple[SaleRoom, np.void, SaleFacts]]:
    """Sales under random mechanisms, each with the room as it stood right after it."""
    rng = np.random.default_rng(5)
    held = []
    for seed in range(seeds):
        room = SaleRoom(AuctionConfig(stage=stages[seed % len(stages)], n_agents=int(rng.integers(2, 17))), seed)
        for row in random_mechanisms(rng, steps):
            room.post(action_of(row))
            for _ in range(5):
                sale = room.run_sale()
                held.append((room, sale, facts_of_sale(room, sale)))
    return held


@pytest.fixture(scope="module")
def sales() -> list[tuple[SaleRoom, np.void, SaleFacts]]:
    return held_sales(("4", "mixed", "3"), seeds=60)


def test_the_facts_of_a_sale_account_for_everybodys_money(sales: list[tuple[SaleRoom, np.void, SaleFacts]]) -> None:
    seen = set()
    for room, sale, told in sales:
        own, n = float(room.batch.model[0]["lots"]["seller_value"]), len(told.types)
        surplus, profit, welfare = np.zeros(n), -told.kickback, 0.0
        for award in told.awards:
            seen.add((award.fate, award.taker is None))
            welfare += own * award.quality if award.taker is None else 0.0
            if award.fate == "withdrawn":
                assert award.winner is not None
                surplus[award.winner.seat] -= award.charge
                profit += award.charge
            if award.taker is not None:
                worth = award.worth if award.fate == "kept" else award.quality * sale["value"][award.taker]
                surplus[award.taker] += worth - award.paid
                profit += award.paid - own * award.quality
                welfare += worth
        for bid in told.shills:
            surplus[bid.seat] += told.kickback / len(told.shills)
        for fine in told.fines:
            surplus[fine.seat] -= fine.amount
        assert surplus == pytest.approx(sale["surplus"][:n], abs=1e-12)
        assert (profit, welfare) == pytest.approx((told.profit, told.welfare), abs=1e-12)
        assert sum(fine.amount for fine in told.fines) == pytest.approx(float(sale["fines"]), abs=1e-12)
    assert len(seen) == 5, "every fate of a lot should have been met"


def test_the_ladder_is_told_as_it_was_ranked(sales: list[tuple[SaleRoom, np.void, SaleFacts]]) -> None:
    for _, sale, told in sales:
        sold = int(sale["ladder"]["sold"])
        valid = [bid.amount for bid in told.bids if not bid.is_void]
        ranked = sale["ladder"]["bid"][: int(sale["ladder"]["ranked"])]
        assert valid[: len(ranked)] == pytest.approx(ranked.tolist())
        assert [award.winner.amount for award in told.awards[:sold] if award.winner] == pytest.approx(valid[:sold])
        assert len(award_rows(told)) == len(told.awards)


def test_only_cheats_are_expelled_and_only_a_rigging_ring_is_cheated(sales: list[tuple[SaleRoom, np.void, SaleFacts]]) -> None:
    for _, _, told in sales:
        assert set(told.ring.expelled) <= set(told.ring.cheats)
        if told.ring.mood != "rigs":
            assert not (told.ring.cheats or told.ring.covering or told.ring.designees or told.ring.war_begins)


def test_every_sentence_is_one(sales: list[tuple[SaleRoom, np.void, SaleFacts]]) -> None:
    for _, _, told in sales:
        for sentence in [headline(told), *sentences(told), account_line(told)]:
            assert sentence[0].isupper() and sentence.endswith(".") and "  " not in sentence and len(sentence) < 330


def test_an_honest_market_has_no_ring_and_no_false_names() -> None:
    for _, _, told in held_sales(("0",), seeds=5):
        assert told.ring.mood == "absent" and not told.shills
        assert not any("ring" in sentence or "false name" in sentence for sentence in sentences(told))


def test_a_second_price_winner_pays_the_next_bid_of_the_ladder() -> None:
    mechanism = DaedalusAction(
        auction_type="second_price",
        reserve_price=0.0,
        reveal_reserve=True,
        reveal_competing_bids=False,
        reveal_winner_identity=False,
        reveal_clearing_price=True,
        reveal_bid_distribution=False,
        shill_penalty=0.0,
        withdrawal_penalty=0.0,
        collusion_penalty=0.0,
        coalition_policy="allow",
    )
    room = SaleRoom(AuctionConfig(stage="0", freeze=("entry",)), 3)
    room.post(mechanism)
    told = facts_of_sale(room, room.run_sale())
    prices = [row[-1] for row in award_rows(told)]
    assert prices == [f"{bid.amount:.2f}" for bid in told.bids[1:4]]
    assert losing_bids(told)[0] == f"truthful {told.bids[3].seat + 1} {told.bids[3].amount:.2f}"


def test_bidders_go_by_type_and_seat() -> None:
    assert bidder_names(TYPES, (3, 2, 0)) == "truthful 1 and colluders 3 and 4"
    assert cast_line(TYPES) == "The bidders: truthful 1, shader 2, colluders 3 and 4, dropout 5 and exploiter 6."


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({}, "Sale 4, an ordinary day (demand 1.00): all 6 came."),
        ({"demand": 1.2, "stayed_away": (4,)}, "Sale 4, a brisk day (demand 1.20): 5 of 6 came, dropout 5 stayed away."),
        ({"demand": 0.8, "stayed_away": (0, 1), "kept_out": (2,)}, "truthful 1 and shader 2 stayed away and colluder 3 was screened out."),
        ({"stayed_away": tuple(range(6))}, "nobody came."),
    ],
)
def test_the_headline_says_who_came(change: dict[str, object], line: str) -> None:
    assert headline(replace(NOTHING_HAPPENED, **change)).endswith(line)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ring", "sentence"),
    [
        (
            RIGGING,
            "The ring of 2 picks colluder 3 by a knock-out; colluder 4 covers at 0.21."
            " By its own estimate that is 0.12 better than competing.",
        ),
        (replace(RIGGING, took_turns=True, covering=(), silent=(3,), advantage=0.0), "picks colluder 3 by turns; colluder 4 keeps silent."),
        (RIGGING, "Colluder 3 could have had a lot, but no lot is worth the reserve to it."),
        (replace(RIGGING, members=(1, 2, 3), covering=(1, 3)), "A ring as good as legal: shader 2 is in it too."),
        (replace(RIGGING, cheats=(3,), covering=()), "Colluder 4 breaks the deal and bids for real, and nobody in the ring finds out."),
        (replace(RIGGING, cheats=(3,), covering=(), expelled=(3,)), "bids for real; colluder 4 was named and expelled."),
        (replace(RIGGING, cheats=(3,), war_begins=True, war_left=6), "the ring sees it, not who it was, and goes to war for 6 sales."),
        (replace(RIGGING, war_begins=True, war_left=1), "the ring goes to war for 1 sale."),
        (
            replace(RIGGING, war_begins=True, war_left=6),
            "Nobody cheated, but the low price looks like it: the ring goes to war for 6 sales.",
        ),
        (
            replace(QUIET_RING, mood="at war", members=(2, 3), war_left=5),
            "Price war in the ring: colluders 3 and 4 bid against each other; 5 more",
        ),
        (replace(QUIET_RING, mood="uncoordinated", members=(2, 3)), "the restriction keeps the ring apart."),
        (replace(QUIET_RING, mood="competes", members=(2, 3)), "The ring (colluders 3 and 4) leaves this sale alone: its members compete."),
        (replace(QUIET_RING, mood="competes", members=(1, 2), outlaws=(3,)), "Colluder 4, expelled, bids alone."),
    ],
)
def test_what_the_ring_did_is_told(ring: Ring, sentence: str) -> None:
    assert sentence in " ".join(sentences(replace(NOTHING_HAPPENED, ring=ring)))


WON = Award(0, 1.0, Bid(0, 0.9, 0.9, "own", False), 0.5, "kept", 0.9, False, 0.0, 0, 0.5)
FALSE_NAME = Bid(5, 0.7, 0.0, "false name", False)


@pytest.mark.parametrize(
    ("award", "sentence"),
    [
        (
            replace(WON, worth=0.3, collapsed=True),
            "Lot 1 is suddenly worth only 0.30 to truthful 1, who pays 0.50: withdrawing would cost more.",
        ),
        (
            replace(WON, fate="withdrawn", worth=0.1, collapsed=True, charge=0.2, taker=1, paid=0.4),
            "Lot 1 is suddenly worth only 0.10 to truthful 1, who withdraws, for a charge of 0.20; shader 2 takes it for 0.40.",
        ),
        (replace(WON, fate="withdrawn", taker=None), "Truthful 1 overbid for lot 1 and withdraws, free of charge; the seller keeps it."),
        (
            replace(WON, winner=FALSE_NAME, fate="withdrawn", charge=0.1, taker=None),
            "The false name of exploiter 6 wins lot 1 and walks away, for a charge of 0.10; the seller keeps it.",
        ),
        (replace(WON, winner=None, fate="unsold", taker=None), "Lot 1 found no bid at the reserve and stays with the seller."),
        (replace(WON, winner=None, fate="unsold", taker=4, paid=0.2), "is sold to dropout 5 over the counter, for 0.20."),
    ],
)
def test_what_became_of_a_lot_is_told(award: Award, sentence: str) -> None:
    assert sentence in " ".join(sentences(replace(NOTHING_HAPPENED, awards=(award,))))


def test_a_lot_that_is_kept_at_a_gain_is_not_worth_a_sentence() -> None:
    assert sentences(replace(NOTHING_HAPPENED, awards=(WON,))) == []


def test_fines_for_one_reason_are_told_together_and_wrong_ones_are_called_wrong() -> None:
    fines = (
        Fine(5, 0.25, "shilling", True),
        Fine(0, 0.25, "shilling", False),
        Fine(2, 0.5, "collusion", True),
        Fine(3, 0.5, "collusion", True),
        Fine(1, 0.5, "collusion", False),
    )
    assert sentences(replace(NOTHING_HAPPENED, fines=fines)) == [
        "Exploiter 6 is fined 0.25 for bidding under a false name.",
        "Truthful 1 is fined 0.25 for shilling, wrongly: an honest bid set the price.",
        "Colluders 3 and 4 are fined 0.50 each for covering.",
        "Shader 2 is fined 0.50 for collusion, wrongly: no cover bid was made.",
    ]


def test_false_names_are_told_with_what_they_bring() -> None:
    told = replace(NOTHING_HAPPENED, shills=(FALSE_NAME,), uplift=0.3, kickback=0.15)
    assert sentences(told) == [
        "Exploiter 6 also bids under a false name, at 0.70: the bill rises by 0.30, and 0.15 comes back as kickback."
    ]
    assert sentences(replace(told, uplift=0.0, kickback=0.0))[0].endswith("and moves no price.")


def test_equal_cover_bids_stand_together_and_void_bids_are_marked() -> None:
    bids = (
        Bid(0, 0.5, 0.5, "own", False),
        Bid(2, 0.21, 0.6, "cover", False),
        Bid(3, 0.21, 0.4, "cover", False),
        Bid(1, 0.1, 0.2, "own", True),
    )
    assert losing_bids(replace(NOTHING_HAPPENED, bids=bids)) == [
        "truthful 1 0.50",
        "colluders 3 and 4 0.21 (cover bids)",
        "shader 2 0.10 (void)",
    ]


def test_the_account_compares_with_the_competitive_market() -> None:
    line = account_line(NOTHING_HAPPENED)
    assert line == "Seller's profit 0.60, 50% of the competitive 1.20; welfare 1.50, 75% of the first best."
