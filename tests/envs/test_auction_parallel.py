"""Learners who bid: PettingZoo's own tests, what a sale pays, and what each mechanism discloses of it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from bargaining_table import bits_of
from edgeworth import auction_parallel
from edgeworth.envs.auction_parallel import EFFICIENT_MECHANISM
from edgeworth.errors import DataError, EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.auction.action import FLAGS
from edgeworth.games.auction.model import MarketModel

DEFAULT = EFFICIENT_MECHANISM.model_dump()
SECRET: dict[str, Any] = {**DEFAULT, **dict.fromkeys(FLAGS, False)}
PUBLISHED = {
    "reveal_competing_bids": "bids",
    "reveal_winner_identity": "winners",
    "reveal_clearing_price": "clearing_price",
    "reveal_bid_distribution": "bid_histogram",
}
QUIET: dict[str, Any] = {"withdrawals": {"shock_chance": 0.0}, "unsold": {"bargain_chance": 0.0}}
"""A model in which nothing happens after the hammer."""


def opened(seed: int = 0, **options: Any) -> Any:
    env = auction_parallel(**options)
    env.reset(seed=seed)
    return env


def bid(env: Any, *bids: float) -> Any:
    return env.step({bidder: np.array([b], np.float32) for bidder, b in zip(env.agents, bids, strict=True)})


def truthful(observations: dict[str, Any]) -> dict[str, Any]:
    return {bidder: seen["value"] for bidder, seen in observations.items()}


def all_bits(env: Any) -> list[Any]:
    batch, room = env.room.batch, env.room
    return [bits_of(batch.markets), bits_of(batch.workspace), bits_of(batch.outcomes), room.sales_left, env.sales_left, list(env.agents)]


# PettingZoo's own tests


@pytest.mark.parametrize("options", [{}, {"n_agents": 2, "episode_length": 1}, {"n_agents": 16, "mechanism": SECRET}], ids=str)
def test_pettingzoo_accepts_it(options: dict[str, Any]) -> None:
    parallel_api_test(auction_parallel(**options), num_cycles=120)


def test_pettingzoo_finds_it_repeatable() -> None:
    parallel_seed_test(auction_parallel, num_cycles=60)


# A sale


@pytest.mark.parametrize("options", [{}, {"n_agents": 3}, {"mechanism": SECRET}, {"model": {"demand": {"half_width": 0.4}}}], ids=str)
def test_every_observation_lies_in_its_space(options: dict[str, Any]) -> None:
    env = auction_parallel(**options)
    observations, _ = env.reset(seed=0)
    for bidder in env.possible_agents:
        env.action_space(bidder).seed(int(bidder[7:]))
    while env.agents:
        assert all(env.observation_space(bidder).contains(seen) for bidder, seen in observations.items())
        observations, *_ = env.step({bidder: env.action_space(bidder).sample() for bidder in env.agents})
    assert all(env.observation_space(bidder).contains(seen) for bidder, seen in observations.items())


@pytest.mark.parametrize("auction_type", ["first_price", "second_price", "vcg"])
def test_bids_at_the_very_top_are_seen_within_the_space(auction_type: str) -> None:
    env = opened(mechanism={**DEFAULT, **dict.fromkeys(FLAGS, True), "auction_type": auction_type})
    for _ in range(20):
        observations, *_ = bid(env, *[1.25] * 8)
        assert all(env.observation_space(bidder).contains(seen) for bidder, seen in observations.items())


def test_an_episode_has_five_sales_for_every_step() -> None:
    env = auction_parallel(episode_length=3)
    observations, _ = env.reset(seed=0)
    left = []
    while env.agents:
        left.append(observations["bidder_0"]["sales_left"])
        observations, _, terminated, truncated, _ = env.step(truthful(observations))
    assert left == list(range(15, 0, -1)) and observations["bidder_0"]["sales_left"] == 0
    assert all(terminated.values()) and not any(truncated.values())
    assert env.room.market["step"] == 3 and not observations["bidder_0"]["value"].any()


def test_the_best_bids_take_the_best_lots_and_pay_their_externality() -> None:
    env = opened(n_agents=8, model=QUIET)
    values, bids = env.values.copy(), 0.75 * env.values.astype(np.float32)
    observations, rewards, *_, infos = bid(env, *bids)
    seats = np.argsort(-bids)
    steps, following = np.array([0.25, 0.1875, 0.5625]), np.maximum(bids[seats][1:4], 0.12)
    for lot in range(3):
        bidder, owed = f"bidder_{seats[lot]}", steps[lot:] @ following[lot:]
        assert observations[bidder]["last_lot"] == lot
        assert observations[bidder]["last_payment"][0] == pytest.approx(owed, abs=1e-6)
        assert rewards[bidder] == pytest.approx(0.75**lot * values[seats[lot]] - owed, abs=1e-6)
    assert all(rewards[f"bidder_{seat}"] == 0.0 and observations[f"bidder_{seat}"]["last_lot"] == -1 for seat in seats[3:])
    assert sorted(seats[:3]) == [seat for seat in range(8) if infos[f"bidder_{seat}"]["took_lot"]]


def test_who_bid_too_much_withdraws_where_that_is_the_smaller_loss() -> None:
    for multiplier, reward in ((0.0, 0.0), (0.5, -0.225), (3.0, None)):
        env = opened(n_agents=2, model=QUIET, mechanism={**DEFAULT, "withdrawal_penalty": multiplier, "reserve_price": 0.57})
        env.room.sale["value"][:2] = 0.06, 0.06
        _, rewards, *_, infos = bid(env, 1.0, 0.0)
        assert infos["bidder_0"]["took_lot"] == (reward is None)
        assert rewards["bidder_0"] == pytest.approx(0.06 - 0.57 if reward is None else reward, abs=1e-6)


@pytest.mark.parametrize("auction_type", ["first_price", "second_price", "vcg"])
@pytest.mark.parametrize("policy", ["allow", "penalize_suspected"])
def test_the_account_of_every_sale_closes(auction_type: str, policy: str) -> None:
    mechanism = {**DEFAULT, "auction_type": auction_type, "coalition_policy": policy, "collusion_penalty": 3.0, "shill_penalty": 3.0}
    env = auction_parallel(mechanism=mechanism, n_agents=6)
    observations, _ = env.reset(seed=3)
    rng, fines = np.random.default_rng(0), 0.0
    while env.agents:
        observations, rewards, *_ = env.step({b: seen["value"] * rng.uniform(0, 1) for b, seen in observations.items()})
        sale, terms = env.last_sale, env.room.terms
        gains = sale["welfare"] - 0.12 * terms["total_quality"]
        assert sum(rewards.values()) + sale["profit"] + sale["fines"] == pytest.approx(gains, abs=1e-12)
        fines += sale["fines"]
    assert (fines > 0.0) == (auction_type != "first_price" or policy != "allow")  # nobody shills where everybody pays its own bid


def test_truthful_bidders_never_lose_under_vcg_but_by_collapsed_values() -> None:
    env = auction_parallel(model=QUIET)
    observations, _ = env.reset(seed=5)
    while env.agents:
        observations, rewards, *_ = env.step(truthful(observations))
        assert min(rewards.values()) > -1e-6


def test_values_do_not_depend_on_what_is_bid_or_posted() -> None:
    def values(factor: float, mechanism: dict[str, Any]) -> list[list[float]]:
        env = auction_parallel(mechanism=mechanism)
        observations, _ = env.reset(seed=11)
        drawn = []
        while env.agents:
            drawn.append([float(seen["value"][0]) for seen in observations.values()])
            observations, *_ = env.step({bidder: factor * seen["value"] for bidder, seen in observations.items()})
        return drawn

    assert values(1.0, DEFAULT) == values(0.3, {**SECRET, "auction_type": "first_price"})


def test_who_bids_nothing_stays_away() -> None:
    env = opened()
    _, rewards, *_ = bid(env, *[0.0] * 8)
    assert not any(rewards.values()) and env.last_sale["entrants"] == 0 and env.last_sale["ladder"]["sold"] == 0


def test_a_seed_names_its_episodes() -> None:
    env = auction_parallel(n_agents=3)
    first = env.reset(seed=4)[0]["bidder_0"]["value"][0]
    second = env.reset()[0]["bidder_0"]["value"][0]
    assert first != second
    assert env.reset(seed=4)[0]["bidder_0"]["value"][0] == first and env.reset()[0]["bidder_0"]["value"][0] == second


# What is disclosed


BIDS = (0.62, 0.95, 0.0, 0.71, 0.35, 0.31, 0.05, 0.0)


def shown_after_a_sale(mechanism: dict[str, Any], *bids: float) -> dict[str, Any]:
    observations, *_ = bid(opened(mechanism=mechanism), *(bids or BIDS))
    return dict(observations["bidder_6"])


@pytest.mark.parametrize("flag", [None, *PUBLISHED])
def test_a_flag_discloses_what_it_says_and_nothing_else(flag: str | None) -> None:
    shown = shown_after_a_sale({**SECRET, **({flag: True} if flag else {})})
    disclosed = {key for key in PUBLISHED.values() if (shown[key] != -1).any()}
    assert disclosed == ({PUBLISHED[flag]} if flag else set())
    assert shown["reserve"].tolist() == [-1.0]


def test_before_the_first_sale_nothing_is_disclosed() -> None:
    observations, _ = auction_parallel(mechanism={**DEFAULT, **dict.fromkeys(FLAGS, True)}).reset(seed=0)
    for seen in observations.values():
        assert all((seen[key] == -1).all() for key in PUBLISHED.values())
        assert (seen["last_lot"], seen["last_payment"].tolist()) == (-1, [0.0])


def test_published_bids_are_those_that_were_made_by_seat() -> None:
    shown = shown_after_a_sale({**SECRET, "reveal_competing_bids": True})
    np.testing.assert_array_equal(shown["bids"], np.array(BIDS, np.float32))


def test_winners_are_named_lot_by_lot() -> None:
    assert shown_after_a_sale({**SECRET, "reveal_winner_identity": True})["winners"].tolist() == [1, 3, 0]


def test_an_unsold_lot_is_said_to_have_gone_to_nobody() -> None:
    mechanism = {**SECRET, "reveal_winner_identity": True, "reveal_clearing_price": True, "reserve_price": 0.65}
    shown = shown_after_a_sale(mechanism)
    assert shown["winners"].tolist() == [1, 3, 8] and shown["clearing_price"][0] == pytest.approx(0.65)
    shown = shown_after_a_sale(mechanism, *[0.1] * 8)
    assert shown["winners"].tolist() == [8, 8, 8] and shown["clearing_price"].tolist() == [0.0]


@pytest.mark.parametrize(("auction_type", "price"), [("first_price", 0.62), ("second_price", 0.35), ("vcg", 0.35)])
def test_the_clearing_price_is_the_lowest_paid_per_unit_of_quality(auction_type: str, price: float) -> None:
    shown = shown_after_a_sale({**SECRET, "reveal_clearing_price": True, "auction_type": auction_type})
    assert shown["clearing_price"][0] == pytest.approx(price, abs=1e-6)


def test_the_histogram_counts_bids_in_tenths_and_leaves_out_who_stayed_away() -> None:
    shown = shown_after_a_sale({**SECRET, "reveal_bid_distribution": True})
    assert shown["bid_histogram"].tolist() == [1, 0, 0, 2, 0, 0, 1, 1, 0, 1, 0, 0, 0]
    top = shown_after_a_sale({**SECRET, "reveal_bid_distribution": True}, *[1.25] * 8)
    assert top["bid_histogram"].tolist() == [0] * 12 + [8]


def test_an_announced_reserve_is_seen_and_a_secret_one_is_not() -> None:
    for announced, seen in ((True, 0.12), (False, -1.0)):
        observations, _ = auction_parallel(mechanism={**DEFAULT, "reveal_reserve": announced}).reset(seed=0)
        assert observations["bidder_0"]["reserve"][0] == pytest.approx(seen)


def test_a_secret_market_shows_each_bidder_only_its_own_affairs() -> None:
    quiet = {"mechanism": SECRET, "model": QUIET}
    one, other = opened(**quiet), opened(**quiet)
    seen, rewards, *_, infos = bid(one, *BIDS)
    also_seen, same_rewards, *_, same_infos = bid(other, *[0.8 if seat == 4 else b for seat, b in enumerate(BIDS)])
    unmoved = ("bidder_1", "bidder_2", "bidder_5", "bidder_6", "bidder_7")  # bidder_1 pays more, which is its own affair
    for bidder in unmoved[1:]:
        assert pickle.dumps((seen[bidder], rewards[bidder], infos[bidder])) == pickle.dumps(
            (also_seen[bidder], same_rewards[bidder], same_infos[bidder])
        )
    assert seen["bidder_1"]["last_payment"] != also_seen["bidder_1"]["last_payment"]


def test_nobody_sees_the_value_of_another() -> None:
    env = opened()
    observations, *_ = bid(env, *BIDS)
    for seat, seen in enumerate(observations.values()):
        others = np.delete(env.values, seat).astype(np.float32)
        shown = np.concatenate([np.ravel(value) for value in seen.values()])
        assert not np.isin(others, shown).any()


# Mechanisms, options and bad input


def test_the_mechanism_may_come_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SECRET))
    for mechanism in (SECRET, EFFICIENT_MECHANISM.model_copy(update=dict.fromkeys(FLAGS, False)), path, str(path)):
        assert auction_parallel(mechanism=mechanism).mechanism.model_dump() == SECRET
    assert auction_parallel().mechanism == EFFICIENT_MECHANISM


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"mechanism": {**DEFAULT, "reserve_price": 2.0}}, IllegalAction, "reserve_price is 2.0"),
        ({"mechanism": {"auction_type": "vcg"}}, IllegalAction, "reserve_price is missing"),
        ({"mechanism": 3}, IllegalAction, "A mechanism is a mapping"),
        ({"mechanism": "nowhere.json"}, DataError, "nowhere.json: cannot be read"),
        ({"n_agents": 1}, InvalidOption, "n_agents is 1; expected 2 to 16"),
        ({"n_agent": 3}, UnknownKey, "Did you mean 'n_agents'"),
        ({"stage": 3}, InvalidOption, "stage is about the bidders of the model"),
        ({"curriculum": True}, InvalidOption, "curriculum is about the bidders of the model"),
        ({"render_mode": "ansii"}, UnknownName, "Did you mean 'ansi'"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        auction_parallel(**options)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bidder_1": np.array([np.nan])}, "bidder_1 bids nan; expected a number from 0 to 1.25, 0 to stay away"),
        ({"bidder_1": np.array([np.inf])}, "bidder_1 bids inf"),
        ({"bidder_1": np.array([-0.1])}, "bidder_1 bids -0.1"),
        ({"bidder_1": np.array([1.26])}, "bidder_1 bids 1.26"),
        ({"bidder_1": np.array([0.1, 0.2])}, "bidder_1 bids array"),
        ({"bidder_1": np.zeros((1, 1))}, "bidder_1 bids array"),
        ({"bidder_1": "0.5"}, "bidder_1 bids '0.5'"),
        ({"bidder_1": True}, "bidder_1 bids True"),
        ({"bidder_1": None}, "bidder_1 bids None"),
        ({"bidder_1": [0.1, [0.2]]}, "bidder_1 bids"),
        ({"bidder_3": np.array([0.1])}, "There is no bidder 'bidder_3'; expected bidder_0 to bidder_2"),
        ({0: np.array([0.1])}, "There is no bidder 0"),
    ],
    ids=str,
)
def test_a_wrong_bid_is_refused_and_changes_nothing(changes: dict[Any, Any], words: str) -> None:
    env = opened(n_agents=3)
    bid(env, 0.2, 0.3, 0.4)
    before = all_bits(env)
    with pytest.raises(IllegalAction, match=words):
        env.step({**{bidder: np.array([0.5]) for bidder in env.agents}, **changes})
    assert all_bits(env) == before


def test_a_bid_that_is_missing_and_bids_that_are_no_mapping_are_refused() -> None:
    env = opened(n_agents=2)
    before = all_bits(env)
    with pytest.raises(IllegalAction, match="bidder_1 bids None"):
        env.step({"bidder_0": np.array([0.5])})
    with pytest.raises(IllegalAction, match="expected a mapping from bidder to bid"):
        env.step(np.zeros(2))
    assert all_bits(env) == before


@pytest.mark.parametrize("number", [0.5, 1, np.float32(0.5), np.array(0.5), [0.5], (0.5,)], ids=str)
def test_numbers_of_every_kind_are_bids(number: Any) -> None:
    env = opened(n_agents=2)
    env.step({"bidder_0": number, "bidder_1": 0})
    assert env.last_sale["competitive"][0] == np.ravel(number)[0] and env.last_sale["entrants"] == 1


def test_bidding_before_reset_and_after_the_end_is_refused() -> None:
    env = auction_parallel(episode_length=1, n_agents=2)
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        env.step({"bidder_0": 0.1, "bidder_1": 0.1})
    env.reset(seed=0)
    for _ in range(5):
        bid(env, 0.1, 0.2)
    assert env.agents == []
    before = all_bits(env)
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        env.step({"bidder_0": 0.1, "bidder_1": 0.1})
    assert all_bits(env) == before


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", True], ids=str)
def test_a_bad_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    env = opened()
    before = all_bits(env)
    with pytest.raises(InvalidOption, match="expected a whole number from 0"):
        env.reset(seed=seed)
    assert all_bits(env) == before


def test_what_is_handed_out_stays_as_it_was() -> None:
    env = opened(mechanism={**DEFAULT, **dict.fromkeys(FLAGS, True)})
    handed = bid(env, *BIDS)
    kept = pickle.dumps(handed)
    bid(env, *reversed(BIDS))
    env.reset(seed=9)
    assert pickle.dumps(handed) == kept
    for value in handed[0]["bidder_0"].values():
        if isinstance(value, np.ndarray):
            value[:] = 1
    assert env.observation_space("bidder_1").contains(env.reset()[0]["bidder_1"])
    assert env.qualities.tolist() == [1.0, 0.75, 0.5625]


def test_highest_bid_and_bins_follow_the_model() -> None:
    env = auction_parallel(model={"demand": {"half_width": 0.0}, "disclosure": {"bin_width": 0.25}})
    assert env.action_space("bidder_0").high.tolist() == [1.0]
    assert env.observation_space("bidder_0")["bid_histogram"].shape == (5,)
    assert auction_parallel().action_space("bidder_0").high.tolist() == [1.25]
    assert MarketModel().disclosure.bin_width == 0.1


def test_a_sale_is_rendered_as_a_table() -> None:
    env = auction_parallel(render_mode="ansi", model=QUIET)
    env.reset(seed=0)
    assert "No sale has been held yet." in env.render()
    bid(env, *BIDS)
    lines = env.render().splitlines()
    assert lines[0].startswith("sale        vcg") and lines[6].split() == ["bidder", "value", "bid", "lot", "price", "surplus"]
    assert lines[8].split()[2:4] == ["0.950", "1"] and lines[9].split()[2] == "away"
    assert auction_parallel().render() is None
