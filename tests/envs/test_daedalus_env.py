"""`Daedalus-v0` as its page describes it: what may be posted, what is seen, what stays hidden, and the notice."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import edgeworth
from designs import SANE, SILLY, all_bits, with_fields
from edgeworth.envs.daedalus import DaedalusEnv, DaedalusFlatEnv
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.auction.action import FIELDS, FLAGS, checked_action, mechanism_rows
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import observation_of
from edgeworth.games.auction.state import DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import AUCTION_TYPES, BIDDER_TYPES, RULES

KEYS = [
    "market_outcomes",
    "population_proxies",
    "round_number",
    "episode_length",
    "n_agents",
    "current_mechanism",
    "recent_mechanisms",
    "recent_proxies",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stage": 4, "n_agents": 16},
    {"stage": "stages", "n_agents": 2, "episode_length": 3},
    {"mix": {"exploiter": 1.0}, "episode_length": 1},
    {"stage": "dirichlet", "model": {"exploiter": {"overbid": 20.0}}},
    {"curriculum": True},
]


def opened(seed: int = 0, **options: Any) -> DaedalusEnv:
    env = DaedalusEnv(**options)
    env.reset(seed=seed)
    return env


def random_play(env: DaedalusEnv, steps: int, seed: int = 0) -> Any:
    env.action_space.seed(seed)
    yield env.reset(seed=seed)
    for _ in range(steps):
        observation, _, terminated, _, info = env.step(env.action_space.sample())
        yield observation, info
        if terminated:
            yield env.reset()


# What is seen


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_observation_lies_in_its_space(options: dict[str, Any]) -> None:
    env = DaedalusEnv(**options)
    for observation, _ in random_play(env, 60):
        assert list(observation) == KEYS and list(observation["current_mechanism"]) == list(FIELDS)
        assert env.observation_space.contains(observation)


def test_nothing_has_been_seen_before_the_first_step() -> None:
    observation, info = DaedalusEnv(n_agents=5, episode_length=7).reset(seed=0)
    assert not observation["market_outcomes"].any() and not observation["population_proxies"].any()
    assert (observation["round_number"], observation["episode_length"], observation["n_agents"]) == (0, 7, 5)
    assert not any(observation["current_mechanism"].values())
    assert not observation["recent_mechanisms"].any() and not observation["recent_proxies"].any()
    assert not any(info["components"].values())


def test_the_last_five_scores_are_seen_newest_last() -> None:
    env = opened()
    played = []
    for step in range(1, 11):
        observation, reward, *_, info = env.step(SANE)
        played.append([*info["components"].values(), reward])
        assert observation["market_outcomes"].shape == (5, 5) and observation["round_number"] == step
        expected = np.zeros((5, 5))
        expected[-min(step, 5) :] = played[-5:]
        np.testing.assert_array_equal(observation["market_outcomes"], expected)


def test_the_last_five_mechanisms_and_proxies_are_seen_beside_their_scores() -> None:
    env, posted, seen = opened(stage="4"), [], []
    for step in range(1, 9):
        mechanism = {**SANE, "reserve_price": step / 10, "auction_type": AUCTION_TYPES[step % 3], "reveal_reserve": step % 2 == 0}
        observation, *_ = env.step(mechanism)
        posted.append([step % 3, step / 10, step % 2 == 0, 0, 0, 1, 1, 0.5, 1.0, 0.25, 3])
        seen.append(observation["population_proxies"])
        rows, unplayed = min(step, 5), max(0, 5 - step)
        np.testing.assert_array_equal(observation["recent_mechanisms"], np.concatenate([np.zeros((unplayed, 11)), posted[-rows:]]))
        np.testing.assert_array_equal(observation["recent_proxies"], np.concatenate([np.zeros((unplayed, 8)), seen[-rows:]]))


def test_the_observation_shows_the_mechanism_in_force() -> None:
    env = opened()
    observation, *_ = env.step(SANE)
    shown = observation["current_mechanism"]
    assert (shown["auction_type"], shown["coalition_policy"], float(shown["reserve_price"])) == (2, 3, 0.1)
    assert [shown[flag] for flag in FLAGS] == [int(SANE[flag]) for flag in FLAGS]


def test_what_was_seen_can_be_posted_again() -> None:
    env, twin = opened(), opened()
    observation, *_ = env.step(SANE)
    twin.step(SANE)
    assert env.step(observation["current_mechanism"])[1] == twin.step(SANE)[1]


def test_the_proxies_are_those_of_the_last_step() -> None:
    env, batch = opened(seed=4, stage="4"), MarketBatch(edgeworth.AuctionConfig(stage="4"), 1)
    batch.seed(4)
    batch.reset()
    for _ in range(4):
        observation, *_ = env.step(SANE)
        outcome = batch.step(mechanism_rows([SANE]))[0]
        assert observation["population_proxies"].tolist() == [outcome[name] for name in PROXIES]


def test_the_reward_is_the_product_of_the_components() -> None:
    env = opened(seed=1)
    for _ in range(10):
        _, reward, *_, info = env.step(SANE)
        assert list(info["components"]) == list(SCORES[:4])
        assert reward == pytest.approx(np.prod(list(info["components"].values())), abs=1e-15)


def test_a_sane_mechanism_is_worth_more_than_a_silly_one() -> None:
    sane, silly = opened(), opened()
    assert sum(sane.step(SANE)[1] for _ in range(10)) > 2 * sum(silly.step(SILLY)[1] for _ in range(10))


@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_info_says_which_rules_are_in_force(make: Any) -> None:
    env = make()
    assert env.reset(seed=0)[1]["rules"] == RULES == env.step(SANE if make is DaedalusEnv else np.zeros(11, int))[4]["rules"]


# What stays hidden


def test_the_truth_is_told_in_plain_types() -> None:
    env = opened(seed=2, stage="4")
    *_, info = env.step(SANE)
    assert list(info) == ["rules", "components", "truth"] and list(info["truth"]) == ["types", "stage", *DIAGNOSTICS]
    assert len(info["truth"]["types"]) == 8 and set(info["truth"]["types"]) <= set(BIDDER_TYPES)
    assert info["truth"]["stage"] == "4"
    assert all(type(info["truth"][name]) is float for name in DIAGNOSTICS)


@pytest.mark.parametrize("stage", ["0", "mixed", "held_out_7", "dirichlet"])
def test_the_truth_names_the_population(stage: str) -> None:
    assert DaedalusEnv(stage=stage).reset(seed=0)[1]["truth"]["stage"] == stage


@pytest.mark.parametrize(("stage", "first"), [("stages", "0"), ("held_out", "held_out_0")])
def test_the_truth_names_the_member_of_a_family_of_populations(stage: str, first: str) -> None:
    env = DaedalusEnv(stage=stage)
    names = {env.reset(seed=seed)[1]["truth"]["stage"] for seed in range(200)}
    assert first in names and len(names) == (5 if stage == "stages" else 20)


def test_the_truth_calls_a_mix_a_mix() -> None:
    truth = DaedalusEnv(mix={"truthful": 0.5, "shader": 0.5}).reset(seed=0)[1]["truth"]
    assert truth["stage"] == "mix" and sorted(truth["types"]) == ["shader"] * 4 + ["truthful"] * 4


@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_the_observation_does_not_change_with_the_truth(make: Any) -> None:
    env = make(stage="3")
    env.reset(seed=0)
    env.step(SANE if make is DaedalusEnv else np.zeros(11, int))
    seen = [env.reset(seed=seed, options={"stage": stage})[0] for stage in (0, 3, 4) for seed in (0, 1)]
    first = pickle.dumps(seen[0])
    assert all(pickle.dumps(other) == first for other in seen)


def test_markets_that_show_the_same_are_seen_alike_whoever_bids() -> None:
    env = opened()
    env.step(SANE)
    twin = copy.deepcopy(env)
    twin.markets.batch.markets["type"] = 3
    for name in DIAGNOSTICS:
        twin.markets.batch.outcomes[name] = 0.123
    twin.markets.stages[:] = "4"
    assert pickle.dumps(env.markets.info()) != pickle.dumps(twin.markets.info())
    assert pickle.dumps(observation_of(env.markets.view())) == pickle.dumps(observation_of(twin.markets.view()))


# What may be posted


def in_numbers(action: dict[str, Any]) -> dict[str, Any]:
    row = mechanism_rows([action])[0]
    return {name: row[name].item() for name in FIELDS}


@pytest.mark.parametrize(
    "action",
    [
        SANE,
        checked_action(SANE),
        in_numbers(SANE),
        {name: np.asarray(value) for name, value in in_numbers(SANE).items()},
        {name: np.int8(value) if name in FLAGS else value for name, value in SANE.items()},
        {**SANE, "auction_type": np.int64(2)},
        {**SANE, "withdrawal_penalty": 1},
    ],
    ids=["words", "DaedalusAction", "numbers", "arrays", "flags as integers", "one number", "whole number"],
)
def test_a_mechanism_may_come_in_words_or_in_numbers(action: Any) -> None:
    observation, reward, *_ = opened(seed=5).step(action)
    expected, expected_reward, *_ = opened(seed=5).step(SANE)
    assert reward == expected_reward
    assert pickle.dumps(observation) == pickle.dumps(expected)


def test_sampled_actions_are_always_legal() -> None:
    env = DaedalusEnv(episode_length=300)
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(300):
        action = env.action_space.sample()
        assert env.action_space.contains(action)
        env.step(action)


def test_the_ends_of_the_ranges_are_legal() -> None:
    env = opened()
    env.step(with_fields(reserve_price=0.9, shill_penalty=3.0, withdrawal_penalty=3.0, collusion_penalty=3.0))
    env.step({name: space.high if isinstance(space, gymnasium.spaces.Box) else 0 for name, space in env.action_space.items()})


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (with_fields(auction_type="vgc"), "auction_type is 'vgc'.*Did you mean 'vcg'"),
        (with_fields(auction_type=3), "auction_type is 3; expected one of first_price, second_price, vcg"),
        (with_fields(auction_type=-1), "auction_type is -1"),
        (with_fields(auction_type=True), "auction_type is True"),
        (with_fields(auction_type=1.0), "auction_type is 1.0"),
        (with_fields(coalition_policy=4), "coalition_policy is 4; expected one of allow"),
        (with_fields(coalition_policy=np.array([1])), "coalition_policy is"),
        (with_fields(reveal_reserve=2), "reveal_reserve is 2; expected true or false"),
        (with_fields(reveal_reserve=1.0), "reveal_reserve is 1.0; expected true or false"),
        (with_fields(reveal_reserve="yes"), "reveal_reserve is 'yes'; expected true or false"),
        (with_fields(reserve_price=0.91), "reserve_price is 0.91; expected a number from 0 to 0.9"),
        (with_fields(reserve_price=-0.01), "reserve_price is -0.01"),
        (with_fields(reserve_price=float("nan")), "reserve_price is nan"),
        (with_fields(reserve_price=np.array(float("nan"))), "reserve_price is nan"),
        (with_fields(reserve_price=np.array([0.1, 0.2])), "reserve_price is array"),
        (with_fields(reserve_price="0.1"), "reserve_price is '0.1'"),
        (with_fields(reserve_price=True), "reserve_price is True"),
        (with_fields(reserve_price=None), "reserve_price is None"),
        (with_fields(shill_penalty=3.01), "shill_penalty is 3.01; expected a number from 0 to 3"),
        (with_fields(collusion_penalty=float("inf")), "collusion_penalty is inf"),
        (with_fields(reserve=0.1), "Unknown field 'reserve'.*Did you mean"),
        ({name: value for name, value in SANE.items() if name != "reveal_reserve"}, "reveal_reserve is missing"),
        ({}, "auction_type is missing"),
        (None, "A mechanism is a mapping of 11 fields; got None"),
        (3, "A mechanism is a mapping"),
        ("vcg", "A mechanism is a mapping"),
        ([SANE], "A mechanism is a mapping"),
    ],
    ids=str,
)
def test_a_wrong_mechanism_is_refused_by_field_and_changes_nothing(action: Any, words: str) -> None:
    env = opened()
    env.step(SANE)
    before = all_bits(env.markets)
    with pytest.raises(IllegalAction, match=words):
        env.step(action)
    assert all_bits(env.markets) == before


# Time, seeds and options


def test_the_episode_ends_after_its_steps_and_not_by_truncation() -> None:
    env = opened(episode_length=3)
    assert [env.step(SANE)[2:4] for _ in range(3)] == [(False, False), (False, False), (True, False)]


def test_stepping_after_the_end_is_refused_and_changes_nothing() -> None:
    env = opened(episode_length=1)
    env.step(SANE)
    before = all_bits(env.markets)
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        env.step(SANE)
    assert all_bits(env.markets) == before


@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_stepping_before_reset_is_refused(make: Any) -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\) first"):
        make().step(SANE if make is DaedalusEnv else np.zeros(11, int))


def test_a_seed_names_its_episodes() -> None:
    def rewards(env: DaedalusEnv) -> list[float]:
        return [env.step(SANE)[1] for _ in range(10)]

    env, twin = opened(seed=9), opened(seed=9)
    first, second = rewards(env), rewards((env.reset(), env)[1])
    assert rewards(twin) == first != second
    assert rewards((env.reset(seed=9), env)[1]) == first and rewards((env.reset(), env)[1]) == second


def test_options_of_reset_hold_for_the_episodes_that_follow() -> None:
    env = DaedalusEnv()
    observation, info = env.reset(seed=0, options={"stage": 0, "n_agents": 4, "episode_length": 2})
    assert (observation["n_agents"], observation["episode_length"]) == (4, 2) and info["truth"]["types"] == ("truthful",) * 4
    assert [env.step(SANE)[2] for _ in range(2)] == [False, True]
    observation, info = env.reset()
    assert (observation["n_agents"], observation["episode_length"], info["truth"]["stage"]) == (4, 2, "0")
    _, info = env.reset(options={"mix": {"shader": 1.0}})
    assert info["truth"]["types"] == ("shader",) * 4 and env.config.episode_length == 2
    assert env.reset(options={"stage": "mixed"})[1]["truth"]["stage"] == "mixed"


def test_an_episode_of_other_options_is_that_of_an_environment_made_with_them() -> None:
    changed, made = DaedalusEnv(), DaedalusEnv(stage=3, n_agents=6, episode_length=4)
    changed.reset(seed=8, options={"stage": 3, "n_agents": 6, "episode_length": 4})
    made.reset(seed=8)
    for _ in range(4):
        assert changed.step(SANE)[1] == made.step(SANE)[1]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"stage": "5"}, UnknownName, "Unknown stage '5'"),
        ({"stage": "mixd"}, UnknownName, "Did you mean 'mixed'"),
        ({"stage": 2.0}, InvalidOption, "stage is 2.0"),
        ({"stage": None}, InvalidOption, "stage is None"),
        ({"mix": {}}, InvalidOption, "mix is {}"),
        ({"mix": {"truthful": 0.5}}, InvalidOption, "add up to 0.5; expected 1"),
        ({"mix": {"truthfull": 1.0}}, UnknownKey, "Did you mean 'truthful'"),
        ({"mix": {"truthful": 1.0}, "stage": 0}, InvalidOption, "stage and mix both name the population"),
        ({"n_agents": 1}, InvalidOption, "n_agents is 1; expected 2 to 16"),
        ({"n_agents": 17}, InvalidOption, "n_agents is 17; expected 2 to 16"),
        ({"n_agents": 8.0}, InvalidOption, "n_agents is 8.0; expected a whole number"),
        ({"episode_length": 0}, InvalidOption, "episode_length is 0"),
        ({"episode_length": "10"}, InvalidOption, "episode_length is '10'; expected a whole number"),
        ({"n_agent": 4}, UnknownKey, "Unknown reset option 'n_agent'.*Did you mean 'n_agents'"),
        ({"n_agents": 4, "stage": "nine"}, UnknownName, "Unknown stage 'nine'"),
    ],
    ids=str,
)
def test_a_wrong_option_of_reset_is_refused_and_changes_nothing(options: dict[str, Any], error: type[Exception], words: str) -> None:
    env = opened()
    env.step(SANE)
    before = all_bits(env.markets)
    with pytest.raises(error, match=words):
        env.reset(seed=1, options=options)
    assert all_bits(env.markets) == before


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", True], ids=str)
def test_a_bad_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    env = opened()
    before = all_bits(env.markets)
    with pytest.raises(InvalidOption, match="seed"):
        env.reset(seed=seed, options={"n_agents": 3})
    assert all_bits(env.markets) == before


def test_options_of_wrappers_are_left_alone() -> None:
    assert DaedalusEnv().reset(seed=0, options={"video_folder": "here"})[0]["n_agents"] == 8


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"stages": 3}, UnknownKey, "Unknown option 'stages'.*Did you mean 'stage'"),
        ({"stage": 7}, UnknownName, "Unknown stage '7'"),
        ({"render_mode": "ansy"}, UnknownName, "Did you mean 'ansi'"),
        ({"freeze": "lerning"}, UnknownKey, "Did you mean 'learning'"),
        ({"model": {"ring": {"overbit": 1.0}}}, UnknownKey, "Did you mean 'overbid'"),
        ({"curriculum": True, "mix": {"truthful": 1.0}}, InvalidOption, "curriculum walks through the stages"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_a_wrong_option_is_refused_by_name(make: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(**options)


# What is handed out


def test_what_is_handed_out_stays_as_it_was() -> None:
    env = opened()
    observation, *_, info = env.step(SANE)
    kept = pickle.dumps((observation, info))
    env.step(SILLY)
    env.reset(seed=3)
    assert pickle.dumps((observation, info)) == kept


def test_writing_into_what_was_handed_out_does_not_reach_the_game() -> None:
    env = opened()
    observation, *_ = env.step(SANE)
    before = all_bits(env.markets)
    observation["market_outcomes"][:] = 7.0
    observation["population_proxies"][:] = 7.0
    observation["recent_mechanisms"][:] = observation["recent_proxies"][:] = 7.0
    observation["current_mechanism"]["reserve_price"][...] = 7.0
    assert all_bits(env.markets) == before


def test_a_copy_plays_on_by_itself() -> None:
    env = opened()
    env.step(SANE)
    twin, kept = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    assert env.step(SANE)[1] == twin.step(SANE)[1] == kept.step(SANE)[1]


def test_gymnasium_makes_it_with_its_options() -> None:
    env = gymnasium.make("Daedalus-v0", stage=2, n_agents=5)
    observation, _ = env.reset(seed=1, options={"episode_length": 2})
    assert (observation["n_agents"], observation["episode_length"]) == (5, 2)
    assert env.unwrapped.config.stage == "2"


# The notice


def test_a_step_is_rendered_as_a_notice() -> None:
    env = DaedalusEnv(render_mode="ansi")
    env.reset(seed=0)
    _, reward, *_ = env.step(SANE)
    notice = str(env.render())
    assert notice.startswith("Step 1 of 10, 8 bidders\n")
    assert "vcg, winners pay what their presence costs the others; reserve 0.1, announced" in notice
    assert "published   the prices paid, a histogram of bids" in notice
    assert "fined on proof" in notice and "0.5 for false names, 0.25 for bidding as a ring" in notice
    assert "costs 1 times the seller's loss" in notice
    heads, scores = notice.splitlines()[8:10]
    assert heads.split() == ["welfare", "fairness", "participation", "stability", "composite"]
    assert scores.split()[-1] == f"{reward:.3f}"
    assert all(name.replace("_", " ") in notice for name in PROXIES)


def test_the_notice_tells_nothing_of_the_truth() -> None:
    env = DaedalusEnv(render_mode="ansi", stage="4")
    env.reset(seed=0)
    env.step(SANE)
    notice = str(env.render())
    assert not any(word in notice for word in (*BIDDER_TYPES, "stage", "gini", "shading"))


def test_a_secret_market_says_so() -> None:
    env = DaedalusEnv(render_mode="ansi")
    env.reset(seed=0)
    assert "No mechanism has been posted yet." in str(env.render())
    env.step({**SANE, **dict.fromkeys(FLAGS, False), "coalition_policy": "allow"})
    assert "reserve 0.1, secret" in str(env.render()) and "published   nothing" in str(env.render())


@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_rendering_before_reset_is_refused(make: Any) -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\) before render\(\)"):
        make(render_mode="ansi").render()


# Partial mechanisms


def test_a_partial_mechanism_leaves_the_rest_as_it_is_and_says_what() -> None:
    env, whole = DaedalusEnv(), DaedalusEnv()
    for each in (env, whole):
        each.reset(seed=3)
        each.step(SANE)
    change = {"reserve_price": 0.4, "auction_type": "first_price"}
    _, reward, _, _, info = env.step({**change, "partial": True})
    assert reward == whole.step({**SANE, **change})[1]
    assert info["filled"] == tuple(name for name in FIELDS if name not in change)
    assert "filled" not in env.step(SANE)[4]


def test_before_the_first_step_there_is_nothing_to_take_missing_fields_from() -> None:
    env = DaedalusEnv()
    env.reset(seed=3)
    with pytest.raises(IllegalAction, match="auction_type is missing, and before the first step there is no mechanism in force"):
        env.step({"reserve_price": 0.4, "partial": True})
    assert "filled" not in env.step({**SANE, "partial": True})[4]
    env.reset()
    with pytest.raises(IllegalAction, match="before the first step"):
        env.step({"reserve_price": 0.4, "partial": True})


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"reserve_price": 0.4}, "auction_type is missing.*With `partial: true` beside them"),
        ({"reserve_price": 0.4, "partial": False}, "auction_type is missing"),
        ({"reserve_price": 0.4, "partial": 1}, "partial is 1; expected true or false"),
        ({"reserve_price": 5, "partial": True}, "reserve_price is 5; expected"),
        ({"reserve": 0.4, "partial": True}, "Unknown field 'reserve' in the mechanism"),
    ],
)
def test_what_is_wrong_with_a_partial_mechanism_is_refused(action: dict[str, Any], message: str) -> None:
    env = DaedalusEnv()
    env.reset(seed=3)
    env.step(SANE)
    with pytest.raises(IllegalAction, match=message):
        env.step(action)
