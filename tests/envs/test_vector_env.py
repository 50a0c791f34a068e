"""The vector environment beside Gymnasium's expectations of one; `test_replay.py` compares it with single environments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import edgeworth
from bargaining_table import POOL, all_bits, bits_of, fixed
from edgeworth.envs.flat_action import FlatActionVectorEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import EpisodeOver, IllegalAction
from edgeworth.games.bargaining import rules

MODES = list(AutoresetMode)
OPTIONS: list[dict[str, Any]] = [{}, {"normalize": True, "reveal_partner_utilities": True}, {"min_count": 0, "partner": "random"}]


def walk_all(size: int) -> dict[str, Any]:
    return {"act_type": np.full(size, 3), "oA": np.zeros((size, 3), np.int64)}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("make", [NegotiationVectorEnv, FlatActionVectorEnv])
def test_every_observation_lies_in_its_space(make: Any, options: dict[str, Any]) -> None:
    env = make(5, **options)
    observations, _ = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(60):
        assert env.observation_space.contains(observations)
        actions = env.action_space.sample()
        assert env.action_space.contains(actions)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)


def test_it_is_what_make_vec_makes() -> None:
    env = gymnasium.make_vec("DealOrNoDialog-v0", num_envs=4, scenario="lewis")
    assert isinstance(env.unwrapped, NegotiationVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.single_observation_space == gymnasium.make("DealOrNoDialog-v0", scenario="lewis").observation_space


@pytest.mark.parametrize("mode", MODES)
def test_autoreset_modes_go_by_member_or_by_name(mode: AutoresetMode) -> None:
    assert NegotiationVectorEnv(1, autoreset_mode=mode).autoreset_mode is NegotiationVectorEnv(1, autoreset_mode=mode.value).autoreset_mode


def test_a_final_observation_shows_the_end_of_the_old_episode() -> None:
    env = NegotiationVectorEnv(3, opens="agent")
    env.reset(seed=0, options=fixed(POOL))
    actions = {"act_type": np.array([0, 3, 0]), "oA": np.array([[2, 1, 3], [0, 0, 0], [0, 1, 1]])}
    observations, rewards, terminated, _, infos = env.step(actions)
    assert terminated.tolist() == infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [False, True, True]
    assert infos["final_obs"]["turns_remaining"][1:].tolist() == [9, 8]
    assert infos["final_obs"]["counts"][1:].tolist() == [[2, 1, 3], [2, 1, 3]]
    assert observations["turns_remaining"].tolist() == [8, 10, 10]
    ending = infos["final_info"]
    assert ending["_outcome"].tolist() == ending["_deal"].tolist() == ending["_partner_reward"].tolist() == [False, True, True]
    assert [edgeworth.Outcome(o).name for o in ending["outcome"][1:]] == ["AGENT_WALKED", "PARTNER_AGREED"]
    assert ending["deal"][2].tolist() == [0, 1, 1] and (rewards[2], ending["partner_reward"][2]) == (6.0, 6.0)


def test_a_final_observation_lies_in_the_space_of_observations() -> None:
    for env, walk in ((NegotiationVectorEnv(2), walk_all(2)), (FlatActionVectorEnv(2), np.full(2, 251))):
        env.reset(seed=0)
        *_, infos = env.step(walk)
        assert infos["_final_obs"].all()
        assert env.observation_space.contains(infos["final_obs"])


def test_a_step_in_which_nothing_ends_has_no_endings() -> None:
    env = NegotiationVectorEnv(2, opens="agent")
    env.reset(seed=0, options=fixed(POOL))
    *_, infos = env.step({"act_type": np.zeros(2, int), "oA": np.tile([2, 1, 3], (2, 1))})
    assert sorted(infos) == ["action_mask", "history", "my_last_offer", "oA_max", "partner_has_spoken"]


@pytest.mark.parametrize("mode", MODES)
def test_the_history_holds_the_moves_of_this_episode_only(mode: AutoresetMode) -> None:
    env = NegotiationVectorEnv(4, partner="linear", autoreset_mode=mode)
    observations, infos = env.reset(seed=0)
    for step in range(1, 30):
        lines = infos["history"]
        made = 10 - observations["turns_remaining"]
        unmade = np.arange(lines.shape[1]) >= made[:, None]
        assert not lines[unmade].any()
        actions = env.random_actions() if step % 7 else walk_all(4)
        observations, _, terminated, _, infos = env.step(actions)
        if mode is AutoresetMode.DISABLED and terminated.any():
            observations, infos = env.reset(options={"reset_mask": terminated})


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_add_up(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(NegotiationVectorEnv(4, partner="random", autoreset_mode=mode), buffer_length=10_000)
    plain = env.unwrapped
    env.reset(seed=0)
    total = 0.0
    for _ in range(100):
        _, rewards, terminated, _, infos = env.step(plain.random_actions())
        total += rewards.sum()
        if terminated.any():
            assert infos["_episode"].tolist() == terminated.tolist()
        if mode is AutoresetMode.DISABLED and terminated.any():
            env.reset(options={"reset_mask": terminated.copy()})
    assert len(env.return_queue) > 20
    assert sum(env.return_queue) <= total + 1e-9


def test_gymnasiums_own_vectorisation_plays_the_same_game() -> None:
    ours = NegotiationVectorEnv(3, autoreset_mode=AutoresetMode.SAME_STEP)
    theirs = gymnasium.make_vec(
        "DealOrNoDialog-v0", num_envs=3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    mine, _ = ours.reset(seed=5)
    other, _ = theirs.reset(seed=5)
    for _ in range(40):
        for key in mine:
            np.testing.assert_array_equal(mine[key], other[key])
        actions = ours.random_actions()
        mine, rewards, terminated, _, _ = ours.step(actions)
        other, their_rewards, their_terminated, _, _ = theirs.step(actions)
        np.testing.assert_array_equal(rewards, their_rewards)
        np.testing.assert_array_equal(terminated, their_terminated)


def test_a_reset_mask_begins_only_the_episodes_it_names() -> None:
    env = NegotiationVectorEnv(4, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(walk_all(4))
    before = env.batch.state.copy()
    env.reset(options={"reset_mask": np.array([True, False, False, True])})
    assert env.batch.state["outcome"].tolist() == [0, 5, 5, 0]
    assert bits_of(env.batch.state[1:3]) == bits_of(before[1:3])


def test_a_seed_with_a_reset_mask_reaches_only_the_episodes_it_names() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=0)
    before = env.batch.state.copy()
    env.reset(seed=50, options={"reset_mask": np.array([False, True, False])})
    assert env.batch.state["seed"].tolist() == [0, 51, 2]
    assert bits_of(env.batch.state[[0, 2]]) == bits_of(before[[0, 2]])


def test_a_list_of_seeds_names_each_and_none_keeps_its_own() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=[5, 6, 7])
    env.reset(seed=[None, 9, None])
    assert (env.batch.state["seed"].tolist(), env.batch.state["episode"].tolist()) == ([5, 9, 7], [2, 1, 2])


def test_a_step_is_all_or_nothing() -> None:
    env = NegotiationVectorEnv(3, opens="agent")
    env.reset(seed=0)
    before = all_bits(env.batch)
    with pytest.raises(IllegalAction, match="Environment 2: AGREE needs an offer"):
        env.step({"act_type": np.array([0, 0, 2]), "oA": np.zeros((3, 3), int)})
    assert all_bits(env.batch) == before


def test_without_autoreset_an_ended_episode_cannot_be_stepped() -> None:
    env = NegotiationVectorEnv(2, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(walk_all(2))
    with pytest.raises(EpisodeOver, match="Environment 0: the episode is over"):
        env.step(walk_all(2))


def test_what_is_handed_out_stays_as_it_was() -> None:
    env = NegotiationVectorEnv(3)
    observations, infos = env.reset(seed=0)
    kept = {key: value.copy() for key, value in {**observations, **infos}.items()}
    for _ in range(5):
        env.step(env.random_actions())
    for key, value in {**observations, **infos}.items():
        np.testing.assert_array_equal(value, kept[key])


@pytest.mark.parametrize("part", ["counts", "action_mask", "final_obs", "deal"])
def test_a_piece_of_what_was_handed_out_stays_as_it_was(part: str) -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=0)
    observations, _, _, _, infos = env.step(walk_all(3))
    everything = {**observations, **infos, **infos["final_info"], "final_obs": infos["final_obs"]["my_utilities"]}
    piece = everything[part][1:, 0]
    kept = piece.copy()
    del observations, infos, everything
    for _ in range(10):
        env.step(env.random_actions())
    np.testing.assert_array_equal(piece, kept)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"])
def test_a_copy_plays_on_as_the_original_does(copied: Callable[[NegotiationVectorEnv], NegotiationVectorEnv]) -> None:
    env = NegotiationVectorEnv(5)
    env.reset(seed=0)
    env.step(env.random_actions())
    twin = copied(env)
    for _ in range(6):
        actions = env.random_actions()
        np.testing.assert_equal(env.step(actions), twin.step(actions))


@pytest.mark.parametrize("order", ["every other row", "columns first", "read-only", "int32"])
def test_actions_laid_out_in_other_ways_are_played_without_compiling_anew(order: str) -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=0)
    env.step(walk_all(3))
    known = len(rules.step_batch.signatures)
    acts, shares = np.full(6, 3), np.zeros((6, 3), np.int64)
    if order == "every other row":
        acts, shares = acts[::2], shares[::2]
    else:
        acts, shares = acts[:3].copy(), shares[:3].copy()
    if order == "columns first":
        shares = np.asfortranarray(shares)
    if order == "read-only":
        acts.flags.writeable = shares.flags.writeable = False
    if order == "int32":
        acts, shares = acts.astype(np.int32), shares.astype(np.int32)
    env.step({"act_type": acts, "oA": shares})
    assert len(rules.step_batch.signatures) == known


def test_every_episode_can_be_rendered() -> None:
    env = NegotiationVectorEnv(2, render_mode="ansi")
    env.reset(seed=0, options=fixed(POOL))
    tables = env.render()
    assert tables is not None and len(tables) == 2
    assert all("whole pool: 10" in table for table in tables)


def test_features_can_be_written_into_an_array_of_ones_own() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=0)
    out = np.empty((3, 18), np.float32)
    assert env.features(out) is out
    np.testing.assert_array_equal(out, env.features())
