"""A run of the policy designer: learning, stopping and going on, checkpoints, and what is refused."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.policy import Policy, read_player
from edgeworth.config import AuctionConfig, config_folder
from edgeworth.errors import DataError, InvalidOption, UnknownKey
from edgeworth.runlog import read_checkpoint
from edgeworth.training.market_run import DesignerSettings, MarketRun, as_mapping, load_settings, settings_of
from networks import write_network

SMALL: dict[str, Any] = {
    "num_train_steps": 1_200,
    "markets": {"lengths": [3, 7]},
    "network": {"reserve_levels": 5, "penalty_levels": 4, "cosines": 2},
    "ppo": {"num_envs": 20, "rollout": 10, "minibatch": 100, "hidden": 8, "lr_schedule": "linear", "entropy": 0.01},
    "validation": 10,
    "logging": {"tensorboard": False, "save_every": 2},
}


def begun(folder: Path, **changes: Any) -> MarketRun:
    return MarketRun.begin(settings_of({**SMALL, **changes}), folder, "")


def test_the_settings_in_the_package_are_read_and_survive_a_round_trip() -> None:
    settings = load_settings(config_folder() / "policy_designer.yaml")
    assert settings_of(as_mapping(settings)) == settings
    assert not any(name.startswith("held_out") for name in settings.markets.populations)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"markets": {"populations": {"held_out": 1.0}}}, InvalidOption, "never for training"),
        ({"markets": {"population": {}}}, UnknownKey, "populations"),
        ({"network": {"reserve_levels": 1}}, InvalidOption, "2 to 1000"),
        ({"seed": -1}, InvalidOption, "seed"),
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        settings_of(given)


def test_a_run_writes_its_scores_and_keeps_the_best_network(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    last = run.train()
    run.close()
    scores = [line["validation"] for line in run.log.lines if "validation" in line]
    assert last["steps"] == 1_200 and len(scores) == 3 and run.progress.best == max(scores)
    facts = read_checkpoint(tmp_path / "run").facts
    assert facts["game"] == "auction" and facts["progress"]["best"] == max(scores)
    assert settings_of(facts["settings"]) == run.settings


def test_the_checkpoint_plays_as_the_network_did(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    run.train()
    run.close()
    player, _ = read_player(tmp_path / "run" / "checkpoints" / "last")
    seen = run.learner.practice.features()  # type: ignore[attr-defined]
    likeliest = [logs.argmax(2) for logs in run.learner.policy(torch.from_numpy(seen)).fields]  # type: ignore[attr-defined]
    assert np.array_equal(player.choose(seen), torch.cat(likeliest, 1).numpy())
    scores = play(Policy(tmp_path / "run"), AuctionConfig(stage="stages", n_agents=3, episode_length=2), 4, seed=0)
    assert scores.shape == (4, 2)


def test_a_run_that_was_stopped_goes_on_to_the_last_bit(tmp_path: Path) -> None:
    whole = begun(tmp_path / "whole")
    whole.train()
    part = begun(tmp_path / "part")

    def stop(line: Any) -> None:
        if line["iteration"] == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        part.train(stop)
    again = MarketRun.resume(part.settings, tmp_path / "part")
    again.train()
    assert again.learner.parameters.tobytes() == whole.learner.parameters.tobytes()
    assert [line["validation"] for line in again.log.lines if "validation" in line] == [
        line["validation"] for line in whole.log.lines if "validation" in line
    ]


def test_a_folder_with_a_run_is_not_written_over(tmp_path: Path) -> None:
    begun(tmp_path / "run").close()
    with pytest.raises(InvalidOption, match="exists already"):
        begun(tmp_path / "run")


def test_a_negotiator_is_no_designer(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not of a designer"):
        Policy(write_network(tmp_path / "negotiator"))


def test_defaults_are_the_usual_market() -> None:
    assert DesignerSettings().markets.sizes(400) == (300, 25, 25, 25, 25)
