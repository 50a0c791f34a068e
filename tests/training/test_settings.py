"""Settings of a run: the published ones, files and flags, and what mistakes are answered with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgeworth.config import config_folder
from edgeworth.errors import DataError, InvalidOption, UnknownName
from edgeworth.training.changes import merged
from edgeworth.training.settings import TrainSettings, as_mapping, load_settings, settings_of

CONFIGS = config_folder()


def test_the_published_settings_are_the_defaults() -> None:
    assert load_settings(CONFIGS / "ppo_config.yaml").ppo == TrainSettings().ppo
    assert load_settings(CONFIGS / "reinforce_config.yaml").reinforce == TrainSettings().reinforce
    ppo = TrainSettings().ppo
    assert (ppo.learning_rate, ppo.gamma, ppo.gae_lambda, ppo.clip, ppo.epochs) == (3e-4, 0.99, 0.95, 0.2, 4)
    assert (ppo.minibatch, ppo.entropy, ppo.value, ppo.gradient_norm, ppo.rollout) == (64, 0.0, 0.5, 0.5, 128)
    reinforce = TrainSettings().reinforce
    assert (reinforce.learning_rate, reinforce.gamma, reinforce.entropy) == (3e-4, 0.99, 0.01)


@pytest.mark.parametrize("name", ["ppo_config", "reinforce_config", "ppo_fast", "reinforce_fast"])
def test_every_file_of_settings_is_read_and_written_back_without_loss(name: str) -> None:
    settings = load_settings(CONFIGS / f"{name}.yaml")
    assert settings_of(yaml.safe_load(yaml.safe_dump(as_mapping(settings)))) == settings
    assert settings.game.max_turns == 10


def test_what_is_given_changes_what_is_in_the_file_and_leaves_the_rest() -> None:
    settings = load_settings(CONFIGS / "ppo_fast.yaml", {"seed": 3, "ppo": {"clip": 0.1}, "env": {"discount": 0.9}})
    assert (settings.seed, settings.ppo.clip, settings.ppo.entropy, settings.game.discount) == (3, 0.1, 0.01, 0.9)


def test_another_scenario_takes_the_place_of_the_whole_game() -> None:
    settings = load_settings(CONFIGS / "ppo_config.yaml", {"env": {"scenario": "one_shot"}})
    assert settings.game.max_turns == 3


def test_another_partner_or_hint_comes_with_options_of_its_own() -> None:
    given = {"env": {"partner_options": {"counter": "keep_all"}}, "hints": {"mode": "llm", "options": {"max_tokens": 9}}}
    changed = load_settings(None, given)
    assert changed.hints.options == {"max_tokens": 9}
    other = settings_of(merged(as_mapping(changed), {"env": {"partner": "linear"}, "hints": {"mode": "random"}}))
    assert other.game.partner_options == {} and other.hints.options == {}


def test_options_left_empty_in_a_file_are_none(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("hints:\n  mode: random\n  options:\n")
    for changes in ({}, {"hints": {"mode": "random"}}, {"hints": {"mode": "bayes"}}, {"hints": {"k": 2, "options": None}}):
        assert load_settings(tmp_path / "run.yaml", changes).hints.options == {}


def test_an_infinite_setting_is_written_and_read_back() -> None:
    settings = settings_of({"ppo": {"gradient_norm": float("inf")}})
    for back in (yaml.safe_load(yaml.safe_dump(as_mapping(settings))), json.loads(json.dumps(as_mapping(settings)))):
        assert settings_of(back) == settings


def test_a_number_without_a_point_is_a_number() -> None:
    assert settings_of({"ppo": {"learning_rate": "6e-4"}}).ppo.learning_rate == 6e-4


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"ppo": {"learning_rat": 1e-3}}, UnknownName, "Unknown setting of ppo 'learning_rat'.*Did you mean 'learning_rate'"),
    ({"pppo": {}}, UnknownName, "Did you mean 'ppo'"),
    ({"ppo": {"learning_rate": "fast"}}, InvalidOption, "learning_rate is 'fast'; expected a number"),
    ({"ppo": {"learning_rate": -1.0}}, InvalidOption, "learning_rate is -1.0; expected more than 0"),
    ({"ppo": {"gamma": 1.5}}, InvalidOption, "gamma is 1.5; expected 0.0 to 1.0"),
    ({"ppo": {"target_kl": -1}}, InvalidOption, "target_kl is -1.0; expected more than 0"),
    ({"ppo": {"clip_value": -0.2}}, InvalidOption, "clip_value is -0.2; expected more than 0"),
    ({"reinforce": {"reward_scale": 0}}, InvalidOption, "reward_scale is 0.0; expected more than 0"),
    ({"ppo": {"entropy": float("nan")}}, InvalidOption, "entropy is not a number"),
    ({"hints": {"options": 3}}, InvalidOption, "options: expected a mapping of settings, got 3"),
    ({"ppo": {"epochs": 2.5}}, InvalidOption, "epochs is 2.5; expected a whole number"),
    ({"ppo": {"minibatch": 10_000}}, InvalidOption, "minibatch is 10000, more than the 64 × 128 samples"),
    ({"ppo": 3}, InvalidOption, "ppo: expected a mapping of settings, got 3"),
    ({"reinforce": {"baseline": "learnt"}}, UnknownName, "Did you mean 'learned'"),
    ({"algo": "pp"}, UnknownName, "Did you mean 'ppo'"),
    ({"backend": "fuse"}, UnknownName, "Did you mean 'fused'"),
    ({"device": "gpu"}, UnknownName, "Unknown device 'gpu'. Known: auto, cpu, cuda"),
    ({"seed": -1}, InvalidOption, "seed is -1"),
    ({"num_train_steps": 0}, InvalidOption, "num_train_steps is 0; expected more than 0"),
    ({"env": {"scenario": "clasic"}}, UnknownName, "Unknown scenario 'clasic'.*Did you mean 'classic'"),
    ({"env": {"max_turn": 4}}, UnknownName, "Did you mean 'max_turns'"),
    ({"env": {"id": "Daedalus-v0"}}, UnknownName, "Unknown environment for a negotiator 'Daedalus-v0'"),
    ({"hints": {"mode": "lm"}}, UnknownName, "Unknown hint provider 'lm'.*Did you mean 'llm'"),
    ({"hints": {"k": 0}}, InvalidOption, "k is 0; expected 1 to 50"),
    ({"logging": {"save_every": 0}}, InvalidOption, "save_every is 0; expected more than 0"),
]


@pytest.mark.parametrize(("given", "kind", "message"), BAD, ids=[str(given) for given, _, _ in BAD])
def test_a_mistake_is_answered_with_what_was_expected(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        settings_of(given)


def test_a_file_that_is_missing_or_no_yaml_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere.yaml: cannot be read"):
        load_settings(tmp_path / "nowhere.yaml")
    (tmp_path / "broken.yaml").write_text("ppo: [1,")
    with pytest.raises(DataError, match=r"broken.yaml, line \d: is not valid YAML"):
        load_settings(tmp_path / "broken.yaml")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"lr": 0.1}, "ppo.learning_rate"),
        ({"ppo": {"lr": 0.1}}, "learning_rate"),
        ({"ppo": {"lam": 0.9}}, "gae_lambda"),
        ({"ppo": {"clip_eps": 0.2}}, "clip"),
        ({"ppo": {"ent": 0.1}}, "entropy"),
        ({"ppo": {"vf": 0.1}}, "value"),
        ({"ppo": {"grad_norm": 1.0}}, "gradient_norm"),
        ({"hints": {"cadence_k": 2}}, "k"),
        ({"hints": {"provider": "groq"}}, "options.client"),
        ({"env": {"use_dataset": True}}, "contexts: dataset"),
        ({"env": {"dataset_mode": "selfplay"}}, "context_options.part"),
        ({"cadence_k": 2}, "hints.k"),
        ({"use_dataset": True}, "env.contexts: dataset"),
    ],
)
def test_a_published_name_is_answered_with_ours(given: dict[str, Any], meant: str) -> None:
    with pytest.raises(InvalidOption, match=f"Did you mean '{meant}'"):
        settings_of(given)
