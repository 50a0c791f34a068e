"""The curriculum: when it advances, what it counts, and how the environments follow it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from designs import SANE, SANE_LEVELS
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus import DaedalusEnv, DaedalusFlatEnv, DaedalusVectorEnv
from edgeworth.envs.designed_markets import Curriculum
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.population import population_table

EASY: dict[str, Any] = {"curriculum": True, "curriculum_threshold": 0.0, "curriculum_window": 2, "episode_length": 2}


def climbing(threshold: float = 0.5, window: int = 3) -> Curriculum:
    return Curriculum(AuctionConfig(curriculum=True, curriculum_threshold=threshold, curriculum_window=window))


def test_it_begins_with_honest_bidders() -> None:
    curriculum = climbing()
    assert curriculum.stage == 0
    np.testing.assert_array_equal(curriculum.populations(), population_table("0"))


def test_it_advances_when_the_mean_of_a_full_window_reaches_the_threshold() -> None:
    curriculum = climbing()
    assert [curriculum.record(0, score) for score in (0.25, 0.5, 0.75)] == [False, False, True]
    assert curriculum.stage == 1
    np.testing.assert_array_equal(curriculum.populations(), population_table("1"))


def test_it_waits_for_a_full_window() -> None:
    curriculum = climbing()
    assert not any(curriculum.record(0, 1.0) for _ in range(2))


def test_old_scores_leave_the_window() -> None:
    curriculum = climbing()
    assert not any(curriculum.record(0, 0.0) for _ in range(10))
    assert [curriculum.record(0, 0.75) for _ in range(2)] == [False, True]


def test_it_counts_afresh_at_the_next_stage() -> None:
    curriculum = climbing(window=1)
    assert curriculum.record(0, 0.9) and not curriculum.scores
    assert not curriculum.record(1, 0.4) and curriculum.record(1, 0.6)


def test_an_episode_begun_before_the_advance_is_not_counted() -> None:
    curriculum = climbing(window=1)
    curriculum.record(0, 0.9)
    assert not curriculum.record(0, 0.9)
    assert (curriculum.stage, list(curriculum.scores)) == (1, [])


def test_it_stays_at_the_last_stage() -> None:
    curriculum = climbing(threshold=0.0, window=1)
    advances = [curriculum.record(curriculum.stage, 1.0) for _ in range(7)]
    assert advances == [True] * 4 + [False] * 3
    assert curriculum.stage == 4


@pytest.mark.parametrize("make", [DaedalusEnv, DaedalusFlatEnv])
def test_a_single_environment_climbs_stage_by_stage(make: Any) -> None:
    env = make(**EASY)
    action = SANE if make is DaedalusEnv else SANE_LEVELS
    stages = []
    for _ in range(12):
        _, info = env.reset(seed=None if stages else 0)
        terminated = False
        while not terminated:
            assert info["truth"]["stage"] == str(env.markets.curriculum.stage)
            *_, terminated, _, info = env.step(action)
        stages.append(int(info["truth"]["stage"]))
    assert stages == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4]


def test_the_population_is_that_of_the_stage() -> None:
    env = DaedalusEnv(**EASY)
    seen: dict[str, set[str]] = {}
    for episode in range(40):
        _, info = env.reset(seed=0 if not episode else None)
        for _ in range(2):
            *_, info = env.step(SANE)
        seen.setdefault(info["truth"]["stage"], set()).update(info["truth"]["types"])
    assert seen["0"] == {"truthful"} and seen["1"] == {"truthful", "shader"}
    assert "dropout" in seen["2"] and "colluder" in seen["3"] and "exploiter" in seen["4"]


def test_an_episode_that_is_broken_off_is_not_counted() -> None:
    env = DaedalusEnv(**EASY)
    for seed in range(6):
        env.reset(seed=seed)
        env.step(SANE)
    assert env.markets.curriculum is not None
    assert (env.markets.curriculum.stage, list(env.markets.curriculum.scores)) == (0, [])


def test_what_counts_is_the_mean_score_of_the_episode() -> None:
    env = DaedalusEnv(**{**EASY, "curriculum_threshold": 1.0})
    env.reset(seed=0)
    rewards = [env.step(SANE)[1] for _ in range(2)]
    assert env.markets.curriculum is not None
    assert list(env.markets.curriculum.scores) == pytest.approx([np.mean(rewards)])


def test_a_threshold_that_is_not_reached_keeps_the_stage() -> None:
    env = DaedalusVectorEnv(8, **{**EASY, "curriculum_threshold": 1.0})
    env.reset(seed=0)
    for _ in range(20):
        *_, infos = env.step(np.tile(SANE_LEVELS, (8, 1)))
    assert infos["truth"]["stage"].tolist() == ["0"] * 8


def test_a_batch_climbs_together() -> None:
    env = DaedalusVectorEnv(4, **EASY)
    _, infos = env.reset(seed=0)
    stages = [infos["truth"]["stage"].tolist()]
    for _ in range(8):
        *_, infos = env.step(np.tile(SANE_LEVELS, (4, 1)))
        stages.append(infos["truth"]["stage"].tolist())
    assert stages == [[stage] * 4 for stage in "001122334"]  # four episodes end at once, two of them are enough


def test_a_vector_of_one_climbs_as_a_single_environment_does() -> None:
    options = {**EASY, "curriculum_threshold": 0.6}
    single, vector = DaedalusFlatEnv(**options), DaedalusVectorEnv(1, **options)
    single.reset(seed=3)
    vector.reset(seed=3)
    for _ in range(60):
        _, reward, terminated, _, info = single.step(SANE_LEVELS)
        if terminated:
            _, info = single.reset()
        _, rewards, ended, _, infos = vector.step(np.array([SANE_LEVELS]))
        assert (reward, terminated, info["truth"]["stage"]) == (rewards[0], ended[0], infos["truth"]["stage"][0])
    assert int(info["truth"]["stage"]) > 0


@pytest.mark.parametrize("options", [{"stage": 3}, {"mix": {"truthful": 1.0}}], ids=str)
def test_it_chooses_the_population_itself(options: dict[str, Any]) -> None:
    env = DaedalusEnv(curriculum=True)
    env.reset(seed=0)
    with pytest.raises(InvalidOption, match="curriculum chooses the population"):
        env.reset(options=options)


def test_other_options_of_reset_go_with_it() -> None:
    env = DaedalusEnv(curriculum=True)
    observation, info = env.reset(seed=0, options={"n_agents": 3})
    assert observation["n_agents"] == 3 and info["truth"]["types"] == ("truthful",) * 3
