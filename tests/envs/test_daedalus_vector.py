"""Many markets per call: the same trajectories as single environments, the three ways of starting anew, masks and features."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from designs import SANE, SANE_LEVELS, all_bits
from edgeworth.envs import daedalus_features
from edgeworth.envs.daedalus import DaedalusEnv, DaedalusFlatEnv, DaedalusVectorEnv
from edgeworth.envs.daedalus_features import FEATURES, scales
from edgeworth.envs.daedalus_spaces import LEVEL_COUNTS, rows_of_levels
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.auction.action import action_of
from edgeworth.games.auction.state import DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, RULES

MODES = list(AutoresetMode)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"stage": "stages", "episode_length": 3},
    {"stage": 4, "n_agents": 16, "episode_length": 2},
    {"stage": "dirichlet", "n_agents": 2, "episode_length": 1},
]


def sane(size: int) -> np.ndarray:
    return np.tile(SANE_LEVELS, (size, 1))


def opened(size: int = 3, seed: int = 0, **options: Any) -> DaedalusVectorEnv:
    env = DaedalusVectorEnv(size, **options)
    env.reset(seed=seed)
    return env


def feature(observation: np.ndarray, name: str) -> Any:
    return observation[..., FEATURES.index(name)].tolist()


def share_played(observation: np.ndarray) -> Any:
    """How much of the episode the clock says is over."""
    return (observation[..., FEATURES.index("round_number")] / np.sqrt(12) + 0.5).round(6).tolist()


def score(observation: np.ndarray, name: str) -> Any:
    """The last step's score, out of its standardised feature."""
    centre, scale = (values[SCORES.index(name)] for values in scales())
    return (observation[..., FEATURES.index(f"{name}[-1]")] * scale + centre).tolist()


def assert_same(one: Any, other: Any) -> None:
    """Equal through nested dictionaries of arrays."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    else:
        np.testing.assert_array_equal(one, other)


# The same game


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_market_plays_what_a_single_environment_with_its_seed_plays(options: dict[str, Any]) -> None:
    size = 5
    env = DaedalusVectorEnv(size, **options)
    singles = [DaedalusFlatEnv(**options) for _ in range(size)]
    observations, infos = env.reset(seed=30)
    for slot, single in enumerate(singles):
        np.testing.assert_array_equal(observations[slot], single.reset(seed=30 + slot)[0])
    env.action_space.seed(1)
    for _ in range(13):
        actions = env.action_space.sample()
        observations, rewards, ended, truncated, infos = env.step(actions)
        for slot, single in enumerate(singles):
            seen, reward, terminated, cut, info = single.step(actions[slot])
            assert (reward, terminated, cut) == (rewards[slot], ended[slot], truncated[slot])
            if terminated:
                np.testing.assert_array_equal(infos["final_obs"][slot], seen)
                assert_same_info(infos["final_info"], slot, info)
                seen, info = single.reset()
            np.testing.assert_array_equal(observations[slot], seen)
            assert_same_info(infos, slot, info)


def assert_same_info(infos: dict[str, Any], slot: int, info: dict[str, Any]) -> None:
    assert {name: values[slot] for name, values in infos["components"].items()} == info["components"]
    truth = {name: values[slot] for name, values in infos["truth"].items()}
    assert tuple(BIDDER_TYPES[kind] for kind in truth.pop("types")) == info["truth"]["types"]
    assert truth == {name: value for name, value in info["truth"].items() if name != "types"}
    np.testing.assert_array_equal(infos["action_mask"][slot], info["action_mask"])


def test_levels_pay_what_the_mechanism_in_words_pays() -> None:
    flat, plain = DaedalusFlatEnv(stage=4), DaedalusEnv(stage=4)
    flat.reset(seed=6)
    plain.reset(seed=6)
    flat.action_space.seed(0)
    for _ in range(10):
        levels = flat.action_space.sample()
        _, reward, terminated, _, info = flat.step(levels)
        _, plain_reward, plain_terminated, _, plain_info = plain.step(action_of(rows_of_levels(levels[None])[0]))
        assert (reward, terminated) == (plain_reward, plain_terminated)
        assert info.pop("action_mask").all() and info == plain_info


@pytest.mark.parametrize("mode", MODES)
def test_gymnasiums_own_vectorisation_plays_the_same_game(mode: AutoresetMode) -> None:
    ours = DaedalusVectorEnv(3, autoreset_mode=mode, episode_length=3)
    kwargs = {"autoreset_mode": mode}
    theirs = gymnasium.make_vec("DaedalusFlat-v0", num_envs=3, vectorization_mode="sync", vector_kwargs=kwargs, episode_length=3)
    mine, _ = ours.reset(seed=5)
    other, _ = theirs.reset(seed=5)
    ours.action_space.seed(2)
    for _ in range(14):
        np.testing.assert_array_equal(mine, other)
        actions = ours.action_space.sample()
        mine, rewards, ended, _, infos = ours.step(actions)
        other, their_rewards, their_ended, _, their_infos = theirs.step(actions)
        np.testing.assert_array_equal(rewards, their_rewards)
        np.testing.assert_array_equal(ended, their_ended)
        np.testing.assert_array_equal(infos["components"]["welfare_ratio"], their_infos["components"]["welfare_ratio"])
        if "final_obs" in infos:
            np.testing.assert_array_equal(infos["final_obs"], np.stack(their_infos["final_obs"]))
        if mode is AutoresetMode.DISABLED and ended.any():
            mine, _ = ours.reset(options={"reset_mask": ended})
            other, _ = theirs.reset(options={"reset_mask": ended})


@pytest.mark.parametrize("name", ["Daedalus-v0", "DaedalusFlat-v0"])
def test_it_is_what_make_vec_makes(name: str) -> None:
    env = gymnasium.make_vec(name, num_envs=4, stage=2)
    assert isinstance(env.unwrapped, DaedalusVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    flat = gymnasium.make("DaedalusFlat-v0")
    assert (env.single_observation_space, env.single_action_space) == (flat.observation_space, flat.action_space)


# Starting anew


def test_in_the_same_step_the_next_episode_is_seen_and_the_end_of_the_old_one_kept() -> None:
    env = opened(episode_length=2)
    env.step(sane(3))
    observations, rewards, ended, truncated, infos = env.step(sane(3))
    assert ended.all() and not truncated.any() and (rewards > 0).all()
    assert share_played(observations) == [0.0] * 3 and feature(observations, "composite[-1]") == [0.0] * 3
    assert share_played(infos["final_obs"]) == [1.0] * 3
    assert score(infos["final_obs"], "composite") == pytest.approx(rewards, abs=1e-6)
    assert infos["_final_obs"].all() and infos["_final_info"].all()
    assert not infos["components"]["welfare_ratio"].any() and (infos["final_info"]["components"]["welfare_ratio"] > 0).all()
    assert env.observation_space.contains(infos["final_obs"])


def test_a_step_in_which_nothing_ends_has_no_endings() -> None:
    *_, infos = opened().step(sane(3))
    assert sorted(infos) == ["action_mask", "components", "rules", "truth"]


def test_in_the_next_step_an_ended_episode_begins_anew_whatever_is_posted() -> None:
    env = opened(episode_length=2, autoreset_mode="NextStep")
    env.step(sane(3))
    observations, _, ended, _, infos = env.step(sane(3))
    assert ended.all() and share_played(observations) == [1.0] * 3 and "final_obs" not in infos
    observations, rewards, ended, _, infos = env.step(sane(3))
    assert not ended.any() and not rewards.any() and not infos["components"]["welfare_ratio"].any()
    assert share_played(observations) == [0.0] * 3
    _, rewards, *_ = env.step(sane(3))
    assert (rewards > 0).all()


def test_in_the_next_step_markets_out_of_step_play_on_beside_each_other() -> None:
    env = opened(episode_length=2, autoreset_mode="NextStep")
    twin = DaedalusFlatEnv(episode_length=2)
    twin.reset(seed=1)
    env.step(sane(3))
    env.reset(options={"reset_mask": np.array([True, False, True])})
    env.step(sane(3))
    twin.step(SANE_LEVELS)
    twin.step(SANE_LEVELS)
    twin.reset()
    observations, rewards, ended, _, _ = env.step(sane(3))
    assert share_played(observations) == [1.0, 0.0, 1.0]
    assert ended.tolist() == [True, False, True] and (rewards > 0).tolist() == [True, False, True]
    _, rewards, ended, _, _ = env.step(sane(3))
    assert rewards[1] == twin.step(SANE_LEVELS)[1] and (rewards > 0).tolist() == [False, True, False]


def test_without_autoreset_an_ended_episode_cannot_be_stepped() -> None:
    env = opened(2, episode_length=1, autoreset_mode="Disabled")
    env.step(sane(2))
    before = all_bits(env.markets)
    with pytest.raises(EpisodeOver, match="Environment 0: the episode has played 1 of 1 steps"):
        env.step(sane(2))
    assert all_bits(env.markets) == before


@pytest.mark.parametrize("mode", MODES)
def test_episode_statistics_add_up(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(DaedalusVectorEnv(3, autoreset_mode=mode, episode_length=4), buffer_length=1_000)
    env.reset(seed=0)
    total = 0.0
    for _ in range(20):
        _, rewards, ended, _, _ = env.step(sane(3))
        total += rewards.sum()
        if mode is AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended.copy()})
    assert len(env.return_queue) >= 12 and sum(env.return_queue) == pytest.approx(total, rel=1e-6)


def test_a_reset_mask_begins_only_the_markets_it_names() -> None:
    env = opened(4)
    env.step(sane(4))
    before, lines = env.markets.batch.markets.copy(), env.markets.lines.copy()
    observations, _ = env.reset(seed=50, options={"reset_mask": np.array([True, False, False, True])})
    after = env.markets.batch.markets
    assert after["step"].tolist() == [0, 1, 1, 0] and after["seed"].tolist() == [50, 1, 2, 53]
    np.testing.assert_array_equal(after[1:3], before[1:3])
    np.testing.assert_array_equal(env.markets.lines[1:3], lines[1:3])
    assert not env.markets.lines[[0, 3]].any() and feature(observations, "played[-1]") == [0.0, 1.0, 1.0, 0.0]


def test_options_of_reset_hold_for_all_markets_and_those_that_follow() -> None:
    env = DaedalusVectorEnv(2)
    observations, infos = env.reset(seed=0, options={"stage": 0, "n_agents": 4, "episode_length": 1})
    assert feature(observations, "n_agents") == [-1.0, -1.0] and infos["truth"]["types"].shape == (2, 4)
    observations, _, ended, _, infos = env.step(sane(2))
    assert ended.all() and infos["truth"]["stage"].tolist() == ["0", "0"] and not infos["truth"]["types"].any()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"reset_mask": [True, False]}, InvalidOption, "expected 3 booleans"),
        ({"reset_mask": [0, 1, 1]}, InvalidOption, "expected 3 booleans"),
        ({"reset_masks": [True] * 3}, UnknownKey, "Did you mean 'reset_mask'"),
        ({"reset_mask": [True, False, False], "n_agents": 4}, InvalidOption, "change only for all of them at once"),
        ({"stage": "5"}, UnknownName, "Unknown stage '5'"),
    ],
    ids=str,
)
def test_a_wrong_option_of_reset_is_refused_and_changes_nothing(options: dict[str, Any], error: type[Exception], words: str) -> None:
    env = opened()
    before = all_bits(env.markets)
    with pytest.raises(error, match=words):
        env.reset(seed=4, options=options)
    assert all_bits(env.markets) == before


@pytest.mark.parametrize("seed", [-1, 2**63 - 2, "7", [1, 2], [1, 2, -3]], ids=str)
def test_a_bad_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    env = opened()
    before = all_bits(env.markets)
    with pytest.raises(InvalidOption, match="seed"):
        env.reset(seed=seed, options={"n_agents": 3})
    assert all_bits(env.markets) == before


# Actions and masks


def test_the_action_space_is_the_grid_of_levels() -> None:
    env = DaedalusVectorEnv(3)
    assert env.single_action_space.nvec.tolist() == list(LEVEL_COUNTS)
    assert env.action_space.nvec.tolist() == [list(LEVEL_COUNTS)] * 3


def test_the_mask_is_complete_and_the_same_wherever_it_is_asked_for() -> None:
    env = opened()
    *_, infos = env.step(sane(3))
    assert infos["action_mask"].shape == (3, 75) and infos["action_mask"].dtype == np.int8 and infos["action_mask"].all()
    np.testing.assert_array_equal(infos["action_mask"], env.action_masks())
    flat = DaedalusFlatEnv(locked={"auction_type": "vcg"})
    _, info = flat.reset(seed=0)
    np.testing.assert_array_equal(info["action_mask"], flat.action_masks())
    assert info["action_mask"].shape == (75,) and info["action_mask"][:3].tolist() == [0, 0, 1]


LOCKED = {"auction_type": "first_price", "reserve_price": 0.3, "reveal_reserve": True, "coalition_policy": "restrict"}


def test_samples_keep_to_what_is_locked() -> None:
    env = opened(50, locked=LOCKED)
    env.action_space.seed(0)
    actions = env.action_space.sample()
    env.step(actions)
    posted = env.markets.history.view().mechanisms
    assert (posted["auction_type"] == 0).all() and (posted["reserve_price"] == 0.3).all() and posted["reveal_reserve"].all()
    assert (posted["coalition_policy"] == 1).all() and len(np.unique(posted["shill_penalty"])) > 5


@pytest.mark.parametrize("size", [None, 40])
def test_samples_keep_to_the_mask(size: int | None) -> None:
    env: Any = DaedalusFlatEnv() if size is None else DaedalusVectorEnv(size)
    env.action_space.seed(0)
    mask = env.action_masks()
    mask[..., [0, 2]] = 0
    mask[..., 4:22] = 0
    for _ in range(20):
        actions = env.action_space.sample(mask)
        assert env.action_space.contains(actions)
        assert (actions[..., 0] == 1).all() and (actions[..., 1] == 0).all()
    if size is not None:
        assert all(len(np.unique(actions[:, k])) > 1 for k in range(2, 11))


def test_gymnasiums_own_form_of_a_mask_is_understood() -> None:
    env = DaedalusFlatEnv()
    env.action_space.seed(0)
    mask = tuple(np.eye(n, dtype=np.int8)[n - 1] for n in LEVEL_COUNTS)
    assert env.action_space.sample(mask).tolist() == [n - 1 for n in LEVEL_COUNTS]


def test_another_level_of_a_locked_field_is_refused_and_changes_nothing() -> None:
    env = opened(locked=LOCKED)
    before = all_bits(env.markets)
    with pytest.raises(IllegalAction, match=r"Environment 0: auction_type is level 2; it is locked at level 0 \(first_price\)") as refused:
        env.step(sane(3))
    assert (refused.value.rule, refused.value.env_index) == ("auction_type", 0)
    assert all_bits(env.markets) == before


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (sane(2), r"shape \(2, 11\)"),
        (sane(3).astype(float), "dtype float64"),
        (SANE, "whole numbers"),
        (None, "whole numbers"),
        (np.full((3, 11), -1), "Environment 0: auction_type is level -1"),
        (
            np.array([SANE_LEVELS, SANE_LEVELS, [*SANE_LEVELS[:7], 13, 0, 0, 0]]),
            "Environment 2: shill_penalty is level 13; expected 0 to 12",
        ),
    ],
    ids=["two rows", "floats", "a mapping", "nothing", "negative", "too high"],
)
@pytest.mark.parametrize("mode", MODES)
def test_wrong_actions_are_refused_and_change_nothing(mode: AutoresetMode, actions: Any, words: str) -> None:
    env = opened(autoreset_mode=mode, episode_length=1)
    if mode is not AutoresetMode.DISABLED:
        env.step(sane(3))
    before = all_bits(env.markets)
    with pytest.raises(IllegalAction, match=words):
        env.step(actions)
    assert all_bits(env.markets) == before


@pytest.mark.parametrize("mode", MODES)
def test_stepping_before_reset_is_refused(mode: AutoresetMode) -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\) first"):
        DaedalusVectorEnv(3, autoreset_mode=mode).step(sane(3))


@pytest.mark.parametrize("number", [0, -1, 2.5, "3", None, True], ids=str)
def test_a_wrong_number_of_environments_is_refused(number: Any) -> None:
    with pytest.raises(InvalidOption, match="number of environments"):
        DaedalusVectorEnv(number)


def test_unknown_modes_are_answered_with_their_neighbours() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'SameStep'"):
        DaedalusVectorEnv(1, autoreset_mode="same_step")
    with pytest.raises(UnknownName, match="Did you mean 'ansi'"):
        DaedalusVectorEnv(1, render_mode="ansy")
    with pytest.raises(UnknownKey, match="Did you mean 'auction_type'"):
        DaedalusVectorEnv(1, locked={"auction_tpe": "vcg"})


# Features


def test_every_number_has_a_name_of_its_own() -> None:
    assert len(FEATURES) == len(set(FEATURES)) == 153
    assert DaedalusVectorEnv(1).single_observation_space.shape == (153,)


@pytest.mark.parametrize("options", [*OPTIONS, {"model": {"exploiter": {"overbid": 50.0}}, "mix": {"exploiter": 1.0}}], ids=str)
def test_every_observation_lies_in_its_space(options: dict[str, Any]) -> None:
    env = DaedalusVectorEnv(6, **options)
    observations, _ = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(25):
        assert env.observation_space.contains(observations)
        actions = env.action_space.sample()
        assert env.action_space.contains(actions)
        observations, rewards, ended, truncated, _ = env.step(actions)
        assert (rewards.dtype, ended.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)


def test_the_features_hold_everything_that_the_dictionary_shows() -> None:
    options: dict[str, Any] = {"stage": 4, "n_agents": 6, "episode_length": 8}
    flat, plain, rng = DaedalusFlatEnv(**options), DaedalusEnv(**options), np.random.default_rng(3)
    centre, scale = scales()
    flat.reset(seed=2)
    plain.reset(seed=2)
    for step in range(1, 9):
        levels = rng.integers(0, LEVEL_COUNTS)
        seen, *_ = flat.step(levels)
        shown, *_ = plain.step(action_of(rows_of_levels(levels[None])[0]))
        steps = seen[:150].reshape(5, 30)
        unplayed = max(0, 5 - step)
        assert not steps[:unplayed].any() and (steps[unplayed:, 0] == 1.0).all()
        numbers = np.concatenate([shown["market_outcomes"], shown["recent_proxies"] / [1, 1, 1, 1, 1, 1, 1, 6]], axis=1)
        expected = np.clip((numbers - centre) / scale, -5, 5)
        np.testing.assert_allclose(steps[unplayed:, 17:], expected[unplayed:], atol=1e-5)
        for told, mechanism in zip(steps[unplayed:, 1:17], shown["recent_mechanisms"][unplayed:], strict=True):
            assert told[:3].tolist() == [mechanism[0] == place for place in range(3)]
            assert told[3:12] == pytest.approx(mechanism[1:10] / [0.9, 1, 1, 1, 1, 1, 3, 3, 3])
            assert told[12:].tolist() == [mechanism[10] == place for place in range(4)]
        assert share_played(seen) == step / 8
        assert feature(seen, "episode_length") == pytest.approx(np.log10(8) - 1) and feature(seen, "n_agents") == -0.5


def test_the_features_of_a_mechanism_go_by_the_names_of_its_fields() -> None:
    seen = opened(1).step(sane(1))[0][0]
    words = [name for name in FEATURES if "=" in name and feature(seen, name)]
    assert words == ["auction_type=vcg[-1]", "coalition_policy=penalize_confirmed[-1]"]
    assert feature(seen, "reserve_price[-1]") == pytest.approx(0.1 / 0.9)
    assert feature(seen, "withdrawal_penalty[-1]") == pytest.approx(1 / 3)
    assert (feature(seen, "reveal_reserve[-1]"), feature(seen, "reveal_competing_bids[-1]")) == (1.0, 0.0)


def test_before_the_first_step_only_the_frame_of_the_episode_is_known() -> None:
    observation, _ = DaedalusFlatEnv(n_agents=4, episode_length=100).reset(seed=0)
    assert [name for name, value in zip(FEATURES, observation, strict=True) if value] == ["round_number", "episode_length", "n_agents"]
    usual, _ = DaedalusFlatEnv().reset(seed=0)
    assert [name for name, value in zip(FEATURES, usual, strict=True) if value] == ["round_number"]


def test_scores_and_proxies_are_about_standard_under_random_mechanisms() -> None:
    """Fails where the rules have moved away from the constants; `make scales` measures them again."""
    env = DaedalusVectorEnv(2_000, stage="stages")
    env.reset(seed=10**6)
    env.action_space.seed(0)
    steps = np.concatenate([env.step(env.action_space.sample())[0][:, 120:150] for _ in range(9)])[:, 17:]
    assert np.abs(steps.mean(axis=0)).max() < 0.15
    assert np.abs(steps.std(axis=0) - 1.0).max() < 0.2


def test_the_constants_are_those_of_the_rules_in_force(tmp_path: Path) -> None:
    kept = json.loads(daedalus_features.FILE.read_text())
    assert kept["rules"] == RULES and [*kept["numbers"]] == [*SCORES, *PROXIES]
    daedalus_features.write_scales(tmp_path / "few.json", markets=50, seed=3)
    few = json.loads((tmp_path / "few.json").read_text())
    assert few.keys() == kept.keys() and few["markets"] == 50
    assert few["numbers"]["welfare_ratio"]["centre"] == pytest.approx(kept["numbers"]["welfare_ratio"]["centre"], abs=0.1)


def test_the_features_do_not_change_with_the_truth() -> None:
    env = opened(4)
    env.step(sane(4))
    twin = pickle.loads(pickle.dumps(env))
    twin.markets.batch.markets["type"] = 1
    twin.markets.stages[:] = "9"
    for name in DIAGNOSTICS:
        twin.markets.batch.outcomes[name] = 0.77
    assert not {*FEATURES} & {*DIAGNOSTICS, "types", "stage"}
    one, other = (daedalus_features.features_of(e.markets) for e in (env, twin))
    np.testing.assert_array_equal(one, other)


def test_every_market_says_which_rules_are_in_force() -> None:
    env = opened(3, episode_length=1)
    infos = env.step(sane(3))[-1]
    assert infos["rules"].tolist() == infos["final_info"]["rules"].tolist() == [RULES] * 3
    assert env.reset()[1]["rules"].tolist() == [RULES] * 3


# What is handed out


@pytest.mark.parametrize("mode", MODES)
def test_what_is_handed_out_stays_as_it_was(mode: AutoresetMode) -> None:
    env = opened(autoreset_mode=mode, episode_length=2)
    env.step(sane(3))
    handed = env.step(sane(3))
    kept = pickle.dumps(handed)
    if mode is AutoresetMode.DISABLED:
        env.reset()
    for _ in range(2):
        env.step(sane(3))
    env.reset(seed=7)
    assert pickle.dumps(handed) == kept


def test_infos_are_arrays_over_the_markets() -> None:
    env = opened(stage=3)
    *_, infos = env.step(sane(3))
    assert list(infos["components"]) == list(SCORES[:4]) and list(infos["truth"]) == ["types", "stage", *DIAGNOSTICS]
    assert all(values.shape == (3,) for values in infos["components"].values())
    assert infos["truth"]["types"].shape == (3, 8) and infos["truth"]["stage"].tolist() == ["3"] * 3


def test_every_market_can_be_rendered() -> None:
    env = DaedalusVectorEnv(2, render_mode="ansi")
    with pytest.raises(EpisodeOver, match=r"call reset\(\) before render\(\)"):
        env.render()
    env.reset(seed=0)
    env.step(sane(2))
    notices = env.render()
    assert notices is not None and len(notices) == 2 and notices[0] != notices[1]
    assert all(notice.startswith("Step 1 of 10") for notice in notices)
    assert DaedalusVectorEnv(2).render() is None
