"""Batches of markets and the plain functions for search: nothing moves that should not."""

from __future__ import annotations

import numpy as np
import pytest

from edgeworth.config import AuctionConfig
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption
from edgeworth.games.auction.action import action_of, mechanism_rows, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, constant_rows, open_markets, step_markets
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.seeding import generator


def begun(size: int = 4, **options: object) -> MarketBatch:
    batch = MarketBatch(AuctionConfig.from_options(**options), size)
    batch.seed(3)
    batch.reset()
    return batch


def test_a_search_can_try_many_mechanisms_from_one_moment() -> None:
    markets, model = open_markets(AuctionConfig(stage="stages"), [3, 4, 5, 6])
    before = markets.tobytes()
    tried = [step_markets(markets, random_mechanisms(generator(k), 4), model)[1]["composite"] for k in range(3)]
    assert markets.tobytes() == before and not np.array_equal(tried[0], tried[1])
    again = step_markets(markets, random_mechanisms(generator(1), 4), model)[1]["composite"]
    assert np.array_equal(again, tried[1])


def test_the_functions_and_the_batch_play_the_same_game() -> None:
    batch, rows = begun(stage="4"), random_mechanisms(generator(0), 4)
    markets, model = open_markets(AuctionConfig(stage="4"), [3, 4, 5, 6])
    for _ in range(3):
        markets, outcomes = step_markets(markets, rows, model)
        assert np.array_equal(batch.step(rows), outcomes)


def test_playing_on_under_one_mechanism_is_stepping_with_it() -> None:
    batch, rows = begun(stage="3"), random_mechanisms(generator(2), 4)
    scores = begun(stage="3").play_constant(rows, 5)
    assert np.array_equal(scores, np.stack([batch.step(rows)["composite"].copy() for _ in range(5)], axis=1))


def test_playing_a_schedule_is_stepping_with_its_mechanisms() -> None:
    batch, rows = begun(stage="3"), random_mechanisms(generator(2), 12).reshape(4, 3)
    scores = begun(stage="3").play_schedule(rows, threads=2)
    assert np.array_equal(scores, np.stack([batch.step(rows[:, t].copy())["composite"].copy() for t in range(3)], axis=1))


def test_a_schedule_of_the_wrong_shape_or_length_is_refused() -> None:
    rows = random_mechanisms(generator(2), 44)
    with pytest.raises(IllegalAction, match="one mechanism per market and step"):
        begun().play_schedule(rows[:4])
    with pytest.raises(IllegalAction, match="for 4 markets"):
        begun().play_schedule(rows.reshape(22, 2))
    with pytest.raises(EpisodeOver, match="no room for 11 more"):
        begun().play_schedule(rows.reshape(4, 11))


def test_a_seed_may_be_a_number_a_list_or_an_array() -> None:
    batches = [MarketBatch(AuctionConfig(), 3) for _ in range(3)]
    for batch, seeds in zip(batches, (7, [7, 8, 9], np.arange(7, 10)), strict=True):
        batch.seed(seeds)
        batch.reset()
    assert batches[0].markets.tobytes() == batches[1].markets.tobytes() == batches[2].markets.tobytes()


def test_each_further_reset_begins_another_episode_of_the_seed() -> None:
    batch = begun(stage="mixed")
    first = batch.markets["entry_cost"].copy()
    batch.reset()
    assert not np.array_equal(batch.markets["entry_cost"], first)
    batch.seed(3)
    batch.reset()
    assert np.array_equal(batch.markets["entry_cost"], first)


@pytest.mark.parametrize("steps", [1, 11])
def test_an_episode_cannot_be_played_past_its_end(steps: int) -> None:
    batch, rows = begun(), random_mechanisms(generator(0), 4)
    if steps == 1:
        batch.play_constant(rows)
    before = batch.markets.tobytes()
    with pytest.raises(EpisodeOver, match="10 steps"):
        batch.play_constant(rows, steps)
    assert batch.markets.tobytes() == before


def test_a_batch_that_has_not_begun_refuses_to_play() -> None:
    with pytest.raises(EpisodeOver, match=r"reset\(\) first"):
        MarketBatch(AuctionConfig(), 2).step(random_mechanisms(generator(0), 2))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "two"])
def test_a_batch_has_at_least_one_market(size: object) -> None:
    with pytest.raises(InvalidOption, match="number of environments"):
        MarketBatch(AuctionConfig(), size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("reserve_price", 0.91, "0 to 0.9"),
        ("reserve_price", float("nan"), "0 to 0.9"),
        ("shill_penalty", -0.1, "0 to 3"),
        ("auction_type", 3, "vcg"),
        ("coalition_policy", -1, "allow"),
    ],
)
def test_a_row_that_no_mechanism_has_is_refused_by_field_and_slot(field: str, value: float, expected: str) -> None:
    batch, rows = begun(), random_mechanisms(generator(0), 4)
    rows[field][2] = value
    before = batch.markets.tobytes()
    with pytest.raises(IllegalAction, match=expected) as caught:
        batch.step(rows)
    assert caught.value.env_index == 2 and caught.value.rule == field and batch.markets.tobytes() == before


def test_one_mechanism_per_market_is_expected() -> None:
    with pytest.raises(IllegalAction, match="one each"):
        begun().step(random_mechanisms(generator(0), 3))
    with pytest.raises(IllegalAction, match="MECHANISM"):
        begun().step(np.zeros(4))  # type: ignore[arg-type]


def test_a_sale_room_keeps_the_order_of_a_sale() -> None:
    room = SaleRoom(AuctionConfig(), seed=0)
    mechanism = {
        **dict.fromkeys(("reveal_reserve", "reveal_competing_bids", "reveal_winner_identity"), True),
        **dict.fromkeys(("reveal_clearing_price", "reveal_bid_distribution"), False),
        **dict.fromkeys(("reserve_price", "shill_penalty", "withdrawal_penalty", "collusion_penalty"), 0.0),
        "auction_type": "vcg",
        "coalition_policy": "allow",
    }
    with pytest.raises(EpisodeOver, match=r"call post\(\)"):
        room.run_sale()
    room.post(mechanism)  # type: ignore[arg-type]
    with pytest.raises(EpisodeOver, match="still to be held"):
        room.post(mechanism)  # type: ignore[arg-type]
    with pytest.raises(EpisodeOver, match="has not begun"):
        room.run_sale_with_bids(np.zeros(8))
    values = room.draw_values()
    assert np.array_equal(room.draw_values(), values)
    with pytest.raises(EpisodeOver, match="bids awaited"):
        room.run_sale()
    with pytest.raises(IllegalAction, match="8 numbers"):
        room.run_sale_with_bids(np.full(8, np.nan))
    sale = room.run_sale_with_bids(values)
    assert sale["welfare"] > 0.0 and room.sales_left == 4


def test_truthful_bids_from_outside_fetch_what_truthful_bidders_do() -> None:
    """With everybody truthful, present and undisturbed, bids from outside equal to the values give the model's own sale."""
    model = {"entry": {"frozen": True}, "withdrawals": {"shock_chance": 0.0}}
    config = AuctionConfig.from_options(stage=0, model=model)
    rows = mechanism_rows(
        [
            {
                **dict.fromkeys(("reveal_reserve", "reveal_winner_identity", "reveal_clearing_price"), True),
                "reveal_competing_bids": False,
                **dict.fromkeys(("shill_penalty", "withdrawal_penalty", "collusion_penalty"), 0.0),
                "reveal_bid_distribution": True,
                "reserve_price": 0.12,
                "auction_type": "vcg",
                "coalition_policy": "allow",
            }
        ]
    )
    batch = MarketBatch(config, 1)
    batch.seed(11)
    batch.reset()
    batch.step(constant_rows(rows[0], 1))
    room = SaleRoom(config, seed=11)
    room.post(action_of(rows[0]))
    for _ in range(5):
        room.run_sale_with_bids(room.draw_values())
    assert room.outcome["composite"] == pytest.approx(float(batch.outcomes["composite"][0]), abs=1e-9)
    assert room.outcome["composite"] == pytest.approx(1.0, abs=1e-6)
