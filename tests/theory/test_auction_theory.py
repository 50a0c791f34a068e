"""The market agrees with auction theory where theory has an answer."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import auction_theory as theory
from auction_house import (
    STAGES,
    Floats,
    books,
    books_of,
    cleared,
    graded,
    mechanism,
    opened,
    options_of,
    payments_by_seat,
    played,
    profit_per_sale,
    random_actions,
    ring_of,
    row_of,
    sale_room,
    standard_errors,
    stepped,
)
from bargaining_table import bits_of
from edgeworth.games.auction.action import DaedalusAction, random_mechanisms
from edgeworth.games.auction.batch import constant_rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.state import TERMS
from edgeworth.games.auction.surplus import shaded_bid, surplus_slope
from edgeworth.games.auction.vocabulary import AUCTION_TYPES, BIDDER_TYPES, SALES_PER_STEP, SECOND_PRICE, VCG

SIGMAS = 5.0
"""A right model strays so far once in two million times."""
EXACT = 1e-12
TEXTBOOK = MarketModel.textbook()
TRUTHFUL = {"truthful": 1.0}


# The closed forms themselves


def test_the_closed_forms_give_the_numbers_of_the_literature() -> None:
    assert [theory.expected_order_statistic(8, k) for k in (1, 2, 3, 4)] == pytest.approx([8 / 9, 7 / 9, 6 / 9, 5 / 9])
    assert [theory.first_price_bid(v, 2, 0.5) for v in (0.4, 0.6, 0.8, 1.0)] == pytest.approx([0, 0.5083, 0.5563, 0.6250], abs=5e-5)
    assert [theory.first_price_bid(v, 8, 0.5) for v in (0.6, 0.8, 1.0)] == pytest.approx([0.5424, 0.7023, 0.8755], abs=5e-5)
    assert [theory.first_price_bid(1.0, n) for n in (2, 8)] == [0.5, 0.875]
    assert [theory.expected_revenue(n) for n in (2, 3, 4, 5, 8)] == pytest.approx([1 / 3, 1 / 2, 3 / 5, 2 / 3, 7 / 9])
    assert [theory.expected_revenue(8, r) for r in (0.3, 0.5, 0.7)] == pytest.approx([0.7778, 0.7782, 0.7637], abs=5e-5)
    assert [theory.expected_revenue(n, 0.5) for n in (1, 2, 3, 4, 5)] == pytest.approx([0.25, 5 / 12, 0.53125, 0.6125, 0.671875])
    assert [theory.no_sale_probability(n, 0.5) for n in (2, 4)] == [0.25, 0.0625]
    assert [theory.welfare_lost_to_reserve(n, 0.5) for n in (2, 3, 4)] == pytest.approx([0.0833, 0.0469, 0.0250], abs=5e-5)
    assert [theory.optimal_reserve(s) for s in (0.0, 0.12)] == [0.5, 0.56]
    assert theory.expected_surplus_each(8) == pytest.approx(0.01389, abs=5e-6)


def test_the_closed_forms_of_rings_and_entry_give_the_numbers_of_the_literature() -> None:
    revenue = [theory.ring_revenue(8, m) for m in range(1, 8)]
    assert revenue == pytest.approx([0.7778, 0.7738, 0.7639, 0.7444, 0.7083, 0.6389, 0.4861], abs=5e-5)
    reserves = [theory.optimal_reserve_against_ring(8, m) for m in range(1, 9)]
    assert reserves == pytest.approx([0.5000, 0.5266, 0.5740, 0.6241, 0.6681, 0.7047, 0.7349, 0.7598], abs=5e-5)
    assert reserves[-1] == pytest.approx(9 ** (-1 / 8))
    entry = [theory.entry_probability(8, cost) for cost in (1 / 72, 0.02, 0.03, 0.05, 0.10, 0.20, 0.5)]
    assert entry == pytest.approx([1.0, 0.8333, 0.6802, 0.5234, 0.3492, 0.1954, 0.0], abs=5e-5)


@pytest.mark.parametrize("members", [1, 2, 5, 8])
def test_the_best_reserve_against_a_ring_is_where_its_revenue_peaks(members: int) -> None:
    grid = np.linspace(0.4, 0.9, 5_001)
    peak = grid[np.argmax([theory.ring_revenue(8, members, r) for r in grid])]
    assert peak == pytest.approx(theory.optimal_reserve_against_ring(8, members), abs=2e-4)


@pytest.mark.parametrize("reserve", [0.0, 0.5])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_no_bid_beats_the_first_price_equilibrium_bid(n: int, reserve: float) -> None:
    values = np.linspace(max(reserve, 1e-3), 1.0, 2_000)
    equilibrium = np.array([theory.first_price_bid(v, n, reserve) for v in values])
    for value in (0.55, 0.8, 1.0):
        payoffs = (value - equilibrium) * values ** (n - 1)  # to bid as type w wins when all rivals are below w
        own = (value - theory.first_price_bid(value, n, reserve)) * value ** (n - 1)
        assert payoffs.max() <= own + 1e-12


# Second price and VCG are truthful, GSP is not


def surplus_at(bid: float, value: float, rivals: Floats, auction_type: str, reserve: float, qualities: Floats) -> float:
    """What bidder 0 gets by a bid against these rivals."""
    ladder = cleared(np.array([bid, *rivals]), auction_type, reserve, qualities)
    for k in range(ladder["sold"]):
        if ladder["seat"][k] == 0:
            return float(qualities[k] * value - ladder["payment"][k])
    return 0.0


def best_gain(auction_type: str, lots: int, profiles: int = 120) -> Floats:
    """For many rival profiles, the most that some other bid gains over bidding one's value."""
    rng = np.random.default_rng(lots)
    grid = np.linspace(0.0, 1.3, 27)
    gains = np.zeros(profiles)
    for p in range(profiles):
        value, reserve, rivals = rng.uniform(), rng.choice([0.0, 0.3, 0.6]), rng.uniform(size=rng.integers(1, 8))
        terms = (value, rivals, auction_type, reserve, graded(lots, rng.uniform(0.3, 0.95)))
        near = np.concatenate([rivals - 1e-6, rivals + 1e-6, [reserve]])
        honest = surplus_at(value, *terms)
        gains[p] = max(surplus_at(max(bid, 0.0), *terms) for bid in (*grid, *near)) - honest
    return gains


@pytest.mark.parametrize(("auction_type", "lots"), [("second_price", 1), *(("vcg", lots) for lots in (1, 2, 3, 6))])
def test_nobody_gains_by_bidding_anything_but_its_value(auction_type: str, lots: int) -> None:
    assert best_gain(auction_type, lots).max() <= 1e-12


@pytest.mark.parametrize("lots", [2, 3, 6])
def test_the_generalised_second_price_is_not_truthful_with_several_lots(lots: int) -> None:
    gains = best_gain("second_price", lots)
    assert gains.max() > 0.05 and (gains > 1e-6).mean() > 0.05


def test_the_first_price_is_not_truthful() -> None:
    assert (best_gain("first_price", 1) > 1e-6).mean() > 0.2


def test_underbidding_in_the_generalised_second_price_pays_in_the_example_of_the_literature() -> None:
    # values 10, 4, 2 and 200 against 199 clicks (Edelman, Ostrovsky and Schwarz 2007): the best bidder gains by taking the second place
    rivals, qualities = np.array([4.0, 2.0]), np.array([200.0, 199.0])
    assert surplus_at(10.0, 10.0, rivals, "second_price", 0.0, qualities) == 200 * (10 - 4)
    assert surplus_at(3.0, 10.0, rivals, "second_price", 0.0, qualities) == 199 * (10 - 2)


@pytest.mark.parametrize(("auction_type", "lots_per_bidder"), [("second_price", 0.01), ("vcg", 0.375)])
def test_nobody_gains_by_lying_in_a_sale_of_the_market(auction_type: str, lots_per_bidder: float) -> None:
    model = MarketModel.textbook(lots={"per_bidder": lots_per_bidder})
    room = sale_room(3, mix=TRUTHFUL, model=options_of(model), episode_length=100)
    for step in range(8):
        room.post(DaedalusAction(**mechanism(auction_type=auction_type, reserve_price=0.1 * (step % 4))))
        for _ in range(SALES_PER_STEP):
            values = room.draw_values()
            honest = copy.deepcopy(room).run_sale_with_bids(values)["surplus"][0]
            for factor in (0.0, 0.3, 0.6, 0.8, 0.9, 1.1, 1.3, 2.0):
                bids = np.array([factor * values[0], *values[1:]])
                assert copy.deepcopy(room).run_sale_with_bids(bids)["surplus"][0] <= honest + 1e-6
            room.run_sale_with_bids(values)


# Graded lots: payments from their definitions


@pytest.mark.parametrize(
    ("auction_type", "owed"),
    [("first_price", theory.gfp_payments), ("second_price", theory.gsp_payments), ("vcg", theory.vcg_payments)],
)
def test_payments_are_those_of_the_definition(auction_type: str, owed: Any) -> None:
    rng = np.random.default_rng(7)
    for _ in range(150):
        bids, lots, reserve = rng.uniform(size=rng.integers(1, 9)), int(rng.integers(1, 5)), rng.choice([0.0, rng.uniform()])
        qualities = graded(lots, rng.uniform(0.2, 1.0))
        ladder = cleared(bids, auction_type, reserve, qualities)
        expected = owed(list(bids), list(qualities), reserve)
        np.testing.assert_allclose(payments_by_seat(ladder, len(bids)), expected, rtol=0, atol=1e-12)
        assert ladder["revenue"] == pytest.approx(math.fsum(expected), abs=1e-12)


@pytest.mark.parametrize("stage", STAGES)
def test_vcg_payments_equal_externalities_in_the_living_market(stage: str) -> None:
    room = sale_room(11, stage=stage)
    for action in random_actions(int(stage), 6):
        room.post(action.model_copy(update={"auction_type": "vcg"}))
        for _ in range(SALES_PER_STEP):
            sale = room.run_sale()
            bids, quality = sale["bid"][: sale["bids"]], room.terms["quality"][: room.terms["lots"]]
            just_below = max(0.0, action.reserve_price - 1e-14)  # a bid at the reserve is served
            expected = theory.vcg_payments(list(bids), list(quality), just_below)
            # sorted, because cover bids tie and it does not matter who of the tied is served
            np.testing.assert_allclose(np.sort(payments_by_seat(sale["ladder"], len(bids))), np.sort(expected), rtol=0, atol=1e-12)


def test_for_the_same_bids_vcg_asks_no_more_than_second_price_and_that_no_more_than_first_price() -> None:
    rng = np.random.default_rng(1)
    differ = 0
    for _ in range(300):
        bids, qualities, reserve = rng.uniform(size=rng.integers(1, 17)), graded(int(rng.integers(1, 7))), rng.choice([0.0, rng.uniform()])
        first, second, vcg = (cleared(bids, kind, reserve, qualities)["payment"] for kind in AUCTION_TYPES)
        assert (vcg <= second + 1e-15).all() and (second <= first).all()
        differ += bool((vcg < second - 1e-6).any() and (second < first - 1e-6).any())
    assert differ > 150


def test_one_lot_makes_second_price_and_vcg_the_same_on_any_bids() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        bids, reserve = rng.uniform(size=rng.integers(1, 17)), rng.choice([0.0, rng.uniform()])
        second, vcg = (cleared(bids, kind, reserve, graded(1)) for kind in ("second_price", "vcg"))
        assert second.tobytes() == vcg.tobytes()


@pytest.mark.parametrize(("options", "public"), [*(({"stage": stage}, True) for stage in STAGES), ({"mix": TRUTHFUL}, False)])
def test_one_lot_makes_second_price_and_vcg_the_same_market_outcome_by_outcome(options: dict[str, Any], public: bool) -> None:
    # how much learners take from less than all bids differs by format, so they are shown all
    one_lot = {"lots": {"per_bidder": 0.01}}
    batches = [opened(40, 5, model=one_lot, **options) for _ in range(2)]
    for step in range(6):
        rows = random_mechanisms(np.random.default_rng(step), 40)
        rows["reveal_competing_bids"] |= public
        for batch, kind in zip(batches, (SECOND_PRICE, VCG), strict=True):
            rows["auction_type"] = kind
            batch.step(rows)
        assert batches[0].outcomes.tobytes() == batches[1].outcomes.tobytes()
    batches[0].markets["format"] = batches[1].markets["format"]  # the name of the format is all that differs
    assert bits_of(batches[0].markets) == bits_of(batches[1].markets)


# Revenue


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 16])
def test_revenue_by_number_of_bidders_is_the_second_order_statistic(n: int) -> None:
    revenue = profit_per_sale(mechanism(auction_type="second_price"), 3_000, TEXTBOOK, n_agents=n, mix=TRUTHFUL)
    assert abs(standard_errors(revenue, theory.expected_order_statistic(n, 2))) < SIGMAS
    assert revenue.std() / np.sqrt(len(revenue)) < 0.003


@pytest.mark.parametrize(("n", "reserve"), [(2, 0.3), (2, 0.5), (2, 0.7), (3, 0.5), (8, 0.5), (8, 0.7)])
def test_revenue_with_a_reserve_is_the_closed_form(n: int, reserve: float) -> None:
    kept = books(mechanism(auction_type="second_price", reserve_price=reserve), 3_000, TEXTBOOK, n_agents=n, mix=TRUTHFUL)
    # measured against the same sales without a reserve, so that most of the luck cancels
    gain = (kept["profit"] - kept["competitive_profit"]) / SALES_PER_STEP
    assert abs(standard_errors(gain, theory.expected_revenue(n, reserve) - theory.expected_revenue(n))) < SIGMAS
    unsold, lost = kept["unsold"] / SALES_PER_STEP, (kept["first_best"] - kept["welfare"]) / SALES_PER_STEP
    assert abs(standard_errors(lost, theory.welfare_lost_to_reserve(n, reserve))) < SIGMAS
    assert abs(standard_errors(unsold, theory.no_sale_probability(n, reserve))) < SIGMAS


@pytest.mark.parametrize(("auction_type", "expected"), [("vcg", 1.38194), ("second_price", 1.59028), ("first_price", 1.84722)])
def test_three_lots_sold_to_truthful_bidders_earn_what_the_order_statistics_say(auction_type: str, expected: float) -> None:
    order = [theory.expected_order_statistic(8, k) for k in range(1, 9)]
    owed = {"vcg": theory.vcg_payments, "second_price": theory.gsp_payments, "first_price": theory.gfp_payments}[auction_type]
    assert math.fsum(owed(order, list(graded(3)))) == pytest.approx(expected, abs=5e-6)
    fields = mechanism(auction_type=auction_type, withdrawal_penalty=1.0)
    revenue = profit_per_sale(fields, 3_000, MarketModel.textbook(lots={"per_bidder": 0.375}), mix=TRUTHFUL)
    assert abs(standard_errors(revenue, expected)) < SIGMAS
    assert revenue.std() / np.sqrt(len(revenue)) < 0.004


@pytest.mark.parametrize("reserve", [0.0, 0.5])
@pytest.mark.parametrize("n", [2, 5])
def test_first_price_in_equilibrium_earns_what_second_price_earns(n: int, reserve: float) -> None:
    revenue = {}
    for auction_type in ("first_price", "second_price"):
        room = sale_room(1, n_agents=n, mix=TRUTHFUL, model=options_of(TEXTBOOK), episode_length=1_000)
        earned = []
        for _ in range(400):
            room.post(DaedalusAction(**mechanism(auction_type=auction_type, reserve_price=reserve)))
            for _ in range(SALES_PER_STEP):
                values = room.draw_values()
                equilibrium = [theory.first_price_bid(v, n, reserve) for v in values]
                earned.append(room.run_sale_with_bids(np.array(equilibrium) if auction_type == "first_price" else values)["profit"])
        revenue[auction_type] = np.array(earned)
        assert abs(standard_errors(revenue[auction_type], theory.expected_revenue(n, reserve))) < SIGMAS
    difference = revenue["first_price"] - revenue["second_price"]
    assert abs(standard_errors(difference)) < SIGMAS
    assert difference.std() > 0.05  # equal on average only


@pytest.mark.parametrize(("n", "seller_value", "best"), [(2, 0.0, 0.5), (3, 0.0, 0.5), (2, 0.2, 0.6)])
def test_the_reserve_that_earns_most_is_myersons(n: int, seller_value: float, best: float) -> None:
    assert theory.optimal_reserve(seller_value) == best
    model = MarketModel.textbook(lots={"seller_value": seller_value})
    grid = [round(best + 0.1 * k, 1) for k in range(-3, 4)]
    revenue = {
        r: profit_per_sale(mechanism(auction_type="second_price", reserve_price=r), 6_000, model, n_agents=n, mix=TRUTHFUL) for r in grid
    }
    assert max(grid, key=lambda r: float(revenue[r].mean())) == best
    for r in (best - 0.2, best + 0.2):
        assert standard_errors(revenue[best] - revenue[round(r, 1)]) > SIGMAS


# Learners: those that are shipped, in the textbook's market


def surplus_of(shading: float, cutoffs: Floats, auction_type: str, reserve: float, announced: bool) -> float:
    """Mean surplus of a shading against three rival bids, value by value, by the market's own clearing."""
    terms = graded(3)
    values = (np.arange(2_000) + 0.5) / 2_000
    total = 0.0
    for value in values:
        floor = reserve if announced and auction_type == "first_price" else 0.0
        bid = shaded_bid(value, shading, floor)
        if announced:
            bid = max(bid, reserve) if value >= reserve else 0.0
        ladder = cleared(np.array([bid, *cutoffs]), auction_type, reserve, terms)
        for k in range(int(ladder["sold"])):
            if ladder["seat"][k] == 0:
                total += terms[k] * value - ladder["payment"][k]
    return total / len(values)


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("auction_type", AUCTION_TYPES)
def test_the_slope_that_learners_follow_is_that_of_their_surplus(auction_type: str, announced: bool) -> None:
    rng, terms = np.random.default_rng(5), np.zeros(1, TERMS)
    terms[0]["lots"], terms[0]["quality"][:3] = 3, graded(3)
    for _ in range(6):
        cutoffs, shading, reserve = np.sort(rng.uniform(0.1, 0.9, 3))[::-1].copy(), rng.uniform(0.5, 0.95), rng.uniform(0.0, 0.6)
        step = 0.02  # values are 0.0005 apart, so the surplus has steps of its own
        around = [surplus_of(shading + d, cutoffs, auction_type, reserve, announced) for d in (-step, step)]
        slope = surplus_slope(shading, cutoffs, terms[0], AUCTION_TYPES.index(auction_type), reserve, announced)
        assert slope == pytest.approx((around[1] - around[0]) / (2 * step), abs=0.03)


def learnt(auction_type: str, n: int, reserve: float = 0.0, markets: int = 48) -> tuple[float, Floats]:
    """After 400 steps of learning: mean shading in the next 60, and the seller's profit per sale, market by market."""
    batch = opened(markets, 17, n_agents=n, mix={"shader": 1.0}, model=options_of(TEXTBOOK), episode_length=460)
    rows = constant_rows(row_of(mechanism(auction_type=auction_type, reserve_price=reserve)), markets)
    batch.play_constant(rows, 400)
    kept = books_of(batch, rows, 60)
    return float(kept["shading"].sum() / kept["shaders"].sum()), kept["profit"].mean(axis=0) / SALES_PER_STEP


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_first_price_learners_come_to_bid_n_minus_1_nths_of_their_value(n: int) -> None:
    assert learnt("first_price", n)[0] == pytest.approx((n - 1) / n, rel=0.03)


@pytest.mark.parametrize("auction_type", ["second_price", "vcg"])
def test_second_price_learners_come_to_bid_their_value(auction_type: str) -> None:
    assert learnt(auction_type, 8)[0] > 0.99


@pytest.mark.parametrize("reserve", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_the_three_formats_earn_the_seller_the_same(n: int, reserve: float) -> None:
    revenue = [learnt(auction_type, n, reserve)[1].mean() for auction_type in AUCTION_TYPES]
    assert max(revenue) / min(revenue) < 1.03
    assert revenue == pytest.approx([theory.expected_revenue(n, reserve)] * 3, rel=0.03)


@pytest.mark.parametrize("kind", BIDDER_TYPES)
def test_the_prior_shading_of_a_type_is_what_it_plays_at_first(kind: str) -> None:
    model = MarketModel()
    room = sale_room(3, mix={kind: 1.0})
    room.post(DaedalusAction(**mechanism(reserve_price=0.12)))
    played_first = room.run_sale()["shading"][:8]
    assert np.abs(played_first - getattr(model.bidders, kind).prior_shading).max() <= model.learning.tremble


# Rings


STRONG = MarketModel.textbook(
    ring={
        "overbid": 0.0,
        "squeeze_always": 0.0,
        "squeeze_informed": 0.0,
        "squeeze_legal": 0.0,
        "cover_margin": 0.0,
        "first_bias": 1000.0,
        "frozen": True,
    },
    learning={"frozen": True},
    bidders={"colluder": {"prior_shading": 1.0}},
)
"""The ring of the textbook: it always sends its best member, who bids its value."""


@pytest.mark.parametrize(("n", "members"), [(8, 2), (8, 3), (8, 5), (8, 7), (4, 3)])
def test_a_legal_ring_lowers_revenue_as_theory_says(n: int, members: int) -> None:
    kept = books(mechanism(auction_type="second_price"), 4_000, STRONG, **ring_of(members, n))
    lost = (kept["competitive_profit"] - kept["profit"]) / SALES_PER_STEP
    assert abs(standard_errors(lost, theory.expected_revenue(n) - theory.ring_revenue(n, members))) < SIGMAS
    assert standard_errors(lost) > SIGMAS


@pytest.mark.parametrize(("members", "best"), [(1, 0.5), (3, 0.6), (4, 0.7)])
def test_a_higher_reserve_answers_a_larger_ring(members: int, best: float) -> None:
    grid = (0.4, 0.5, 0.6, 0.7)
    assert best == min(grid, key=lambda r: abs(r - theory.optimal_reserve_against_ring(4, members)))
    revenue = {
        r: profit_per_sale(mechanism(auction_type="second_price", reserve_price=r), 9_000, STRONG, **ring_of(members, 4)) for r in grid
    }
    for r in grid:
        assert abs(standard_errors(revenue[r], theory.ring_revenue(4, members, r))) < SIGMAS
    assert max(grid, key=lambda r: float(revenue[r].mean())) == best


# The ideal market and the books


IDEAL: dict[str, Any] = {"mix": TRUTHFUL, "freeze": ("entry",), "model": {"withdrawals": {"shock_chance": 0.0}}}


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("n", [2, 3, 8, 16])
def test_the_ideal_market_scores_exactly_1(n: int, announced: bool) -> None:
    discreet = mechanism(reserve_price=0.12, reveal_reserve=announced, reveal_competing_bids=False)
    assert np.abs(played(discreet, 100, n_agents=n, **IDEAL) - 1.0).max() < EXACT


def test_publishing_every_bid_costs_privacy_which_the_ideal_market_does_without() -> None:
    welfare = stepped(mechanism(reserve_price=0.12), 100, **IDEAL)["welfare_ratio"]
    assert 0.97 < welfare.mean() < 0.99


def test_truthful_winners_of_a_first_price_sale_keep_what_they_won_where_walking_away_is_free() -> None:
    outcomes = stepped(mechanism(auction_type="first_price"), 20, **IDEAL)
    assert outcomes["withdrawal_rate"].max() == 0.0


@pytest.mark.parametrize("change", [{"reserve_price": 0.6}, {"auction_type": "second_price"}, {"auction_type": "first_price"}])
def test_a_market_short_of_the_ideal_scores_less_than_1(change: dict[str, Any]) -> None:
    assert played(mechanism(**{"reserve_price": 0.12, **change}), 100, **IDEAL).mean() < 0.95


@pytest.mark.parametrize("stage", STAGES)
def test_gains_are_profit_and_surplus_and_fines_in_every_sale(stage: str) -> None:
    own = MarketModel().lots.seller_value
    fined = 0
    for seed, n in ((0, 8), (1, 2), (2, 5), (3, 16)):
        room = sale_room(seed, stage=stage, n_agents=n, episode_length=20)
        for action in random_actions(100 * int(stage) + seed, 20):
            room.post(action)
            for _ in range(SALES_PER_STEP):
                sale = room.run_sale()
                gains = sale["welfare"] - own * room.terms["total_quality"]
                assert abs(gains - sale["profit"] - sale["surplus"][:n].sum() - sale["fines"]) < EXACT
                fined += sale["fines"] > 0.0
    assert fined > 0
