"""The same game as one discrete action: numbers and moves correspond one to one, and the mask is complete."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest

import edgeworth  # noqa: F401 - registers the environments
from bargaining_table import POOL, fixed
from edgeworth.envs.flat_action import FlatActionEnv, FlatActionVectorEnv
from edgeworth.errors import EdgeworthError, IllegalAction
from edgeworth.games.bargaining.joint_actions import decode, encode, joint_action_count
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE

OPENERS = ["agent", "partner"]


def flat(**options: Any) -> FlatActionEnv:
    env = FlatActionEnv(max_count=3, **options)
    env.reset(seed=0, options=fixed(POOL))
    return env


@pytest.mark.parametrize("max_count", [1, 2, 4, 10])
def test_every_number_is_one_move_and_every_move_one_number(max_count: int) -> None:
    count = joint_action_count(max_count)
    acts, shares = decode(np.arange(count), max_count)
    moves = [(int(act), tuple(share)) for act, share in zip(acts, shares.tolist(), strict=True)]
    assert len(set(moves)) == count == 3 * (max_count + 1) ** 3 + 2
    assert [encode(act, share, max_count) for act, share in moves] == list(range(count))


def test_agree_and_disagree_have_one_number_each() -> None:
    assert encode(AGREE, (1, 2, 3), 4) == encode(AGREE, (0, 0, 0), 4) == 250
    assert encode(DISAGREE, (1, 2, 3), 4) == encode(DISAGREE, (0, 0, 0), 4) == 251


def test_the_default_game_has_377_actions() -> None:
    assert FlatActionEnv().action_space.n == 377


@pytest.mark.parametrize("opens", OPENERS)
def test_every_action_in_the_mask_works_and_every_other_one_is_refused(opens: str) -> None:
    env = flat(opens=opens)
    mask = env.action_masks()
    assert mask.sum() == 3 * 24 + 1 + (opens == "partner")
    for action in range(env.action_space.n):
        twin = copy.deepcopy(env)
        if mask[action]:
            twin.step(action)
        else:
            with pytest.raises(IllegalAction):
                twin.step(action)


def test_the_mask_is_the_same_wherever_it_is_asked_for() -> None:
    env = flat()
    *_, info = env.step(int(np.flatnonzero(env.action_masks())[0]))
    np.testing.assert_array_equal(info["action_mask"], env.action_masks())
    assert info["action_mask"].dtype == np.int8


def test_nothing_is_legal_after_the_end() -> None:
    env = flat()
    env.step(encode(DISAGREE, (0, 0, 0), 3))
    assert not env.action_masks().any()


def test_sampled_actions_are_always_legal() -> None:
    env = FlatActionEnv(partner="random", disagree="passes")
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(200):
        _, _, terminated, _, _ = env.step(env.action_space.sample())
        if terminated:
            env.reset()


@pytest.mark.parametrize("options", [{}, {"normalize": True}, {"reveal_partner_utilities": True}, {"contexts": "lewis"}], ids=str)
def test_the_features_are_eighteen_numbers_between_0_and_1(options: dict[str, Any]) -> None:
    env = FlatActionEnv(**options)
    env.action_space.seed(1)
    observation, _ = env.reset(seed=1)
    for _ in range(100):
        assert observation.shape == (18,)
        assert env.observation_space.contains(observation)
        observation, _, terminated, _, _ = env.step(env.action_space.sample())
        if terminated:
            observation, _ = env.reset()


def test_the_features_are_the_observation_on_a_scale_of_one() -> None:
    env = FlatActionEnv(opens="partner", reveal_partner_utilities=True)
    observation, _ = env.reset(seed=0, options=fixed(POOL))
    expected = [2 / 4, 1 / 4, 3 / 4, 0.1, 0.5, 0.1, 0.2, 0.3, 0.1, 1, 0, 0, 0, 0, 1 / 4, 1 / 4, 1 / 4, 0.9]
    assert observation.tolist() == pytest.approx(expected)


def test_a_normalised_type_that_is_not_in_the_pool_counts_for_nothing() -> None:
    env = FlatActionEnv(normalize=True, opens="agent", reveal_partner_utilities=True)
    counts, utilities = (0, 1, 1), (10, 1, 0)
    observation, _ = env.reset(seed=0, options={"counts": counts, "my_utilities": utilities, "partner_utilities": utilities})
    assert observation[3:9].tolist() == [0, 1, 0, 0, 1, 0]
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize("action", [-1, 377, 10**6, 1.0, True, "1", None, [1, 2]], ids=str)
def test_numbers_that_are_no_actions_are_refused_and_change_nothing(action: Any) -> None:
    env = FlatActionEnv()
    env.reset(seed=0)
    with pytest.raises(IllegalAction):
        env.step(action)
    assert env.batch.state["turn"][0] == env.batch.state["opener"][0]


def test_a_batch_names_the_environment_whose_action_does_not_exist() -> None:
    env = FlatActionVectorEnv(3)
    env.reset(seed=0)
    with pytest.raises(IllegalAction, match="Environment 1: The action is 400; expected 0 to 376"):
        env.step(np.array([0, 400, 0]))
    with pytest.raises(IllegalAction, match="expected 3 whole numbers"):
        env.step(np.zeros(2, int))


def test_it_pays_what_the_dictionary_environment_pays() -> None:
    flat_env, plain = FlatActionEnv(), gymnasium.make("DealOrNoDialog-v0").unwrapped
    for seed in range(20):
        _, info = flat_env.reset(seed=seed)
        plain.reset(seed=seed)
        terminated = False
        while not terminated:
            action = int(np.flatnonzero(info["action_mask"])[seed])
            acts, shares = decode(np.array([action]), 4)
            _, reward, terminated, _, info = flat_env.step(action)
            _, plain_reward, plain_terminated, _, plain_info = plain.step({"act_type": acts[0], "oA": shares[0]})
            assert (reward, terminated) == (plain_reward, plain_terminated)
        assert info["outcome"] == plain_info["outcome"]


def test_stepping_before_reset_is_refused() -> None:
    with pytest.raises(EdgeworthError, match=r"call reset\(\)"):
        FlatActionEnv().step(0)
