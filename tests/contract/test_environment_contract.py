"""What every registered environment and every scenario owes: Gymnasium is content, and it plays."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import edgeworth  # noqa: F401 - registers the environments
from edgeworth import catalog
from edgeworth.config import BargainingConfig, config_folder, load_scenario, scenario_names
from edgeworth.envs.negotiation import NegotiationEnv

PAGES = config_folder().parent / "docs" / "games"


class Game(NamedTuple):
    """What the environments of one game have in common."""

    page: str
    longest: int
    """Steps of an episode at most."""
    options: dict[str, Any]
    """Options that change what is observed."""


GAMES = {
    "Daedalus": Game("auction.md", 10, {"curriculum": True, "n_agents": 3, "episode_length": 4}),
    "DealOrNoDialog": Game("bargaining.md", 5, {"normalize": True, "contexts": "lewis", "reveal_partner_utilities": True}),
}


def game_of(name: str) -> Game:
    return GAMES[name.removesuffix("-v0").removesuffix("Flat")]


every_environment = pytest.mark.parametrize("name", sorted(catalog.ENVIRONMENTS))
every_scenario = pytest.mark.parametrize("scenario", scenario_names())
with_options = [(name, options) for name in sorted(catalog.ENVIRONMENTS) for options in ({}, game_of(name).options)]


@pytest.mark.parametrize(("name", "options"), with_options, ids=str)
def test_gymnasium_checks_it_without_a_warning(name: str, options: dict[str, Any]) -> None:
    env = gymnasium.make(name, disable_env_checker=True, **options).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


@every_environment
def test_gymnasium_vectorises_it(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3)
    envs.action_space.seed(0)
    observations, _ = envs.reset(seed=0)
    for _ in range(20):
        assert envs.observation_space.contains(observations)
        observations, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
        assert rewards.shape == terminated.shape == truncated.shape == (3,)
    envs.close()


@every_environment
def test_the_wrappers_of_make_let_it_play_to_the_end(name: str) -> None:
    env = gymnasium.make(name)
    env.action_space.seed(0)
    for seed in range(5):
        env.reset(seed=seed)
        steps, terminated = 0, False
        while not terminated:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            steps += 1
            assert not truncated and steps <= game_of(name).longest


@every_environment
def test_its_class_says_what_it_is(name: str) -> None:
    assert catalog.resolve("environment", name).__doc__


@every_environment
def test_it_is_mentioned_on_the_page_of_the_game(name: str) -> None:
    target = catalog.ENVIRONMENTS[name].partition(":")[2]
    page = (PAGES / game_of(name).page).read_text(encoding="utf-8")
    assert name in page or target in page


@every_scenario
def test_a_scenario_loads_and_plays(scenario: str) -> None:
    env = NegotiationEnv(scenario=scenario)
    env.action_space.seed(0)
    for seed in range(20):
        env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, reward, terminated, _, info = env.step(env.action_space.sample())
        assert np.isfinite(reward) and info["outcome"]


@every_scenario
def test_a_scenario_says_what_it_is_for_and_is_documented(scenario: str) -> None:
    assert (config_folder() / "scenarios" / f"{scenario}.yaml").read_text(encoding="utf-8").startswith("# ")
    assert f"| `{scenario}` |" in (PAGES / "bargaining.md").read_text(encoding="utf-8")


@every_scenario
def test_a_scenario_names_only_what_differs_from_the_defaults(scenario: str) -> None:
    defaults, config = BargainingConfig(), BargainingConfig.from_options(scenario)
    for option in load_scenario(scenario):
        if option != "partner_options":
            assert getattr(config, option) != getattr(defaults, option)


def test_the_scenario_classic_is_the_default() -> None:
    assert BargainingConfig.from_options("classic") == BargainingConfig()
