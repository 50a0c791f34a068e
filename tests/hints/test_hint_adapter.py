"""`HintAdapter`: the base features of the batch, from what an environment returns, and the hint's behind them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import edgeworth
from edgeworth.agents.features import HintAdapter
from edgeworth.envs.hint_injector import HintInjectorEnv, HintInjectorVectorEnv
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import InvalidOption

OPTIONS: list[dict[str, Any]] = [
    {},
    {"scenario": "lewis"},
    {"normalize": True, "reveal_partner_utilities": True},
    {"normalize": True, "max_turns": 7},
    {"min_count": 0, "max_count": 7, "reveal_partner_utilities": True},
    {"partner": "random", "disagree": "passes", "on_illegal": "penalty"},
]
every_game = pytest.mark.parametrize("options", OPTIONS, ids=str)


@every_game
def test_the_base_features_of_a_single_environment_are_those_of_the_batch(options: dict[str, Any]) -> None:
    env = NegotiationEnv(**options)
    adapter = HintAdapter.of(env)
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            assert adapter.base(observation, info).tobytes() == env.batch.features()[0].tobytes()
            acts, shares = env.batch.random_actions()
            observation, _, terminated, _, info = env.step({"act_type": acts[0], "oA": shares[0]})
        assert adapter.base(observation, info).tobytes() == env.batch.features()[0].tobytes()


@every_game
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_base_features_of_a_vector_environment_are_those_of_the_batch(options: dict[str, Any], mode: AutoresetMode) -> None:
    env = NegotiationVectorEnv(30, autoreset_mode=mode, **options)
    adapter = HintAdapter.of(env)
    observations, infos = env.reset(seed=3)
    for _ in range(20):
        assert adapter.base(observations, infos).tobytes() == env.features().tobytes()
        observations, _, terminated, _, infos = env.step(env.random_actions())
        if mode is AutoresetMode.DISABLED and terminated.any():
            assert adapter.base(observations, infos).tobytes() == env.features().tobytes()
            observations, infos = env.reset(options={"reset_mask": terminated.copy()})


@pytest.mark.parametrize("options", [options for options in OPTIONS if options.get("partner") != "random"], ids=str)
def test_the_observation_alone_is_enough_unless_the_first_word_of_the_partner_is_disagree(options: dict[str, Any]) -> None:
    env = NegotiationVectorEnv(50, **options)
    adapter = HintAdapter.of(env)
    observations, _ = env.reset(seed=4)
    for _ in range(20):
        assert adapter.base(observations).tobytes() == env.features().tobytes()
        observations = env.step(env.random_actions())[0]


def test_the_features_of_the_hint_follow() -> None:
    env = HintInjectorEnv(NegotiationEnv(), "random")
    adapter = HintAdapter.of(env)
    observation, info = env.reset(seed=0)
    features = adapter(observation, info)
    assert features.shape == (adapter.size,) == (28,) and features.dtype == np.float32
    assert features[18:].tolist() == info["hint_features"].tolist() and features[27] == 1.0


def test_a_batch_has_a_row_for_each_episode_and_the_age_where_it_is_wanted() -> None:
    env = HintInjectorVectorEnv(NegotiationVectorEnv(6), "random", k=3, hold_last=True, age=True)
    adapter = HintAdapter.of(env)
    observations, infos = env.reset(seed=0)
    assert adapter(observations, infos).shape == (6, adapter.size) == (6, 29)
    assert adapter(observations, infos)[:, 18:].tobytes() == infos["hint_features"].tobytes()


def test_without_hints_the_hint_features_are_neutral() -> None:
    env = NegotiationEnv()
    observation, info = env.reset(seed=0)
    for features in (HintAdapter()(observation, info), HintAdapter()(observation)):
        assert features.shape == (28,) and not features[18:].any()


def test_features_of_another_width_are_refused() -> None:
    env = HintInjectorEnv(NegotiationEnv(), "random", age=True)
    observation, info = env.reset(seed=0)
    with pytest.raises(InvalidOption, match=r"shape \(11,\); expected \(10,\) \(see the option `age`\)"):
        HintAdapter()(observation, info)


def test_it_finds_its_settings_below_the_wrappers_of_make() -> None:
    env = gymnasium.make("DealOrNoDialog-v0", max_turns=6, max_count=7)
    assert HintAdapter.of(env) == HintAdapter(max_count=7, max_turns=6)
    assert edgeworth.HintAdapter is HintAdapter


def test_it_refuses_the_environments_of_the_other_game() -> None:
    with pytest.raises(InvalidOption, match="DealOrNoDialog-v0"):
        HintAdapter.of(gymnasium.make("Daedalus-v0"))
