"""`DealOrNoDialog-v0` as its page describes it: keys, spaces, info and the table of talks."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import edgeworth
from bargaining_table import AGREE, POOL, all_bits, fixed, play, propose, sit_down
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import EpisodeOver
from edgeworth.games.bargaining.vocabulary import Outcome

KEYS = ["counts", "my_utilities", "partner_utilities", "last_partner_act", "last_partner_offer_for_me", "turns_remaining"]
INFO_KEYS = ["action_mask", "oA_max", "partner_has_spoken", "my_last_offer", "history"]
ENDING_KEYS = ["outcome", "partner_reward", "deal"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"normalize": True, "reveal_partner_utilities": True},
    {"contexts": "lewis", "partner": "population"},
    {"max_count": 7, "max_turns": 2, "partner": "random"},
    {"min_count": 0, "partner": "tit_for_tat", "disagree": "passes"},
]


def random_play(env: NegotiationEnv, steps: int, seed: int = 0) -> Any:
    """Observations and infos of random legal play."""
    env.action_space.seed(seed)
    yield env.reset(seed=seed)
    for _ in range(steps):
        observation, _, terminated, _, info = env.step(env.action_space.sample())
        yield observation, info
        if terminated:
            yield env.reset()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_observation_lies_in_its_space(options: dict[str, Any]) -> None:
    env = NegotiationEnv(**options)
    for observation, _ in random_play(env, 200):
        assert list(observation) == KEYS
        assert env.observation_space.contains(observation)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_sampled_actions_are_always_legal(options: dict[str, Any]) -> None:
    env = NegotiationEnv(**options)
    for _, info in random_play(env, 200, seed=1):
        action = env.action_space.sample()
        assert env.action_space.contains(action)
        if "outcome" not in info:
            assert info["action_mask"][action["act_type"]] == 1
            assert (action["oA"] <= info["oA_max"]).all()


def test_the_info_has_exactly_the_documented_keys() -> None:
    for observation, info in random_play(NegotiationEnv(partner="random"), 100):
        assert list(info) == INFO_KEYS + (ENDING_KEYS if "outcome" in info else [])
        assert info["action_mask"].shape == (5,) and info["action_mask"].dtype == np.int8
        assert info["oA_max"].tolist() == observation["counts"].tolist()
        assert isinstance(info["partner_has_spoken"], bool)
        assert len(info["history"]) == 10 - observation["turns_remaining"]


def test_the_end_is_told_in_plain_types() -> None:
    last = play(sit_down(), propose(2, 1, 3), AGREE)
    assert type(last.reward) is float and type(last.terminated) is bool and type(last.truncated) is bool
    assert [type(last.info[key]) for key in ENDING_KEYS] == [str, float, tuple]
    assert last.info["outcome"] in Outcome.__members__


def test_the_spaces_are_the_documented_ones() -> None:
    env = NegotiationEnv(max_count=6, max_turns=12)
    assert env.action_space["act_type"].n == 5 and env.action_space["oA"].nvec.tolist() == [7, 7, 7]
    space = env.observation_space
    assert space["counts"].high.tolist() == [6, 6, 6] and space["my_utilities"].high.tolist() == [10, 10, 10]
    assert space["last_partner_act"].n == 5 and space["turns_remaining"].n == 13
    assert space["my_utilities"].dtype == np.int32
    assert NegotiationEnv(normalize=True).observation_space["my_utilities"].dtype == np.float32


def test_normalised_utilities_are_points_of_a_budget_of_ten() -> None:
    env = NegotiationEnv(normalize=True)
    for observation, _ in random_play(env, 100):
        assert observation["my_utilities"] @ observation["counts"] == pytest.approx(10.0, abs=1e-5)


def test_what_is_handed_out_stays_as_it_was() -> None:
    env = sit_down()
    first = play(env, propose(2, 1, 3))
    kept = [np.copy(a) for a in (*first.observation.values(), first.info["action_mask"], first.info["my_last_offer"])]
    moves = list(first.info["history"])
    play(env, propose(1, 0, 2))
    env.reset(seed=9)
    for now, then in zip((*first.observation.values(), first.info["action_mask"], first.info["my_last_offer"]), kept, strict=True):
        np.testing.assert_array_equal(now, then)
    assert list(first.info["history"]) == moves


def test_writing_into_what_was_handed_out_does_not_reach_the_game() -> None:
    env = sit_down()
    step = play(env, propose(2, 1, 3))
    before = all_bits(env.batch)
    for array in (step.observation["counts"], step.observation["last_partner_offer_for_me"], step.info["action_mask"], step.info["oA_max"]):
        array[:] = 77
    assert all_bits(env.batch) == before


@pytest.mark.parametrize(
    "act", [0, np.int64(0), np.int8(0), np.array(0), edgeworth.Act.PROPOSE], ids=["int", "int64", "int8", "array", "enum"]
)
@pytest.mark.parametrize("share", [(2, 1, 3), [2, 1, 3], np.array([2, 1, 3], np.int8), np.array([2, 1, 3], np.uint64)], ids=str)
def test_whole_numbers_of_every_kind_are_actions(act: Any, share: Any) -> None:
    assert sit_down().step({"act_type": act, "oA": share})[4]["my_last_offer"].tolist() == [2, 1, 3]


def test_the_talks_are_rendered_as_a_table() -> None:
    env = sit_down(render_mode="ansi")
    play(env, propose(2, 0, 1))
    table = env.render()
    assert table is not None
    pool, points = table.splitlines()[1:3]
    assert pool.split() == ["pool", "2", "1", "3"] and points.split()[:5] == ["my", "points", "1", "5", "1"]
    assert "1  agent   PROPOSE     2 books, 1 ball           1 hat, 2 balls                    3" in table
    assert "2  partner PROPOSE     1 book, 1 hat, 1 ball     1 book, 2 balls                   7" in table


def test_the_table_hides_the_partners_points_until_the_end() -> None:
    env = sit_down(render_mode="ansi")
    play(env, propose(2, 1, 3))
    assert "its points" not in str(env.render())
    play(env, AGREE)
    assert "its points       2       3       1   whole pool: 10" in str(env.render())
    assert "End: the agent accepted." in str(env.render())


def test_rendering_before_reset_is_refused() -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\) before render\(\)"):
        NegotiationEnv(render_mode="ansi").render()


def test_a_pool_with_missing_types_can_be_rendered_in_every_episode() -> None:
    env = NegotiationEnv(min_count=0, max_count=1, render_mode="ansi")
    for seed in range(40):
        env.reset(seed=seed)
        assert env.render()


def test_gymnasium_makes_it_with_its_options() -> None:
    env = gymnasium.make("DealOrNoDialog-v0", scenario="one_shot", discount=0.5)
    observation, _ = env.reset(seed=1, options=fixed(POOL))
    assert observation["turns_remaining"] == 3
    assert env.unwrapped.config.discount == 0.5
