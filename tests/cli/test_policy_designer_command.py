"""`edgeworth designer policy` as a person or a script calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.designers.policy import read_player
from edgeworth.evaluation.designer_scores import POPULATIONS

SMALL = (
    *("--set", "ppo.num_envs=20", "--set", "ppo.minibatch=100", "--set", "ppo.hidden=8", "--set", "validation=10"),
    *("--set", "logging.save_every=1", "--set", "logging.tensorboard=false", "--steps", "400", "--episodes", "5"),
)


def test_a_policy_is_trained_measured_and_bundled_with_its_card(called: Callable[..., Any], tmp_path: Path) -> None:
    folder, bundle, result = tmp_path / "run", tmp_path / "bundled", tmp_path / "result.json"
    run = called("designer", "policy", "--out", str(folder), "--seed", "3", "--bundle", str(bundle), "--result", str(result), *SMALL)
    assert run.status == 0 and "over the adaptive designer" in run.out
    found, (player, facts) = json.loads(result.read_text()), read_player(bundle)
    assert facts["card"]["scores"] == found["scores"] and set(found["scores"]["populations"]) == set(POPULATIONS)
    assert found["seed"] == 3 and [line["steps"] for line in found["curve"]] == [200, 400] and player.shape.hidden == 8


def test_a_finished_run_is_measured_again_and_a_longer_one_goes_on(called: Callable[..., Any], tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    first = called("designer", "policy", "--out", folder, "--json", *SMALL)
    again = called("designers", "policy", "--out", folder, "--resume", "--episodes", "5", "--json")
    assert "all of its steps" in again.err and json.loads(again.out) == json.loads(first.out)
    longer = called("designer", "policy", "--out", folder, "--resume", "--steps", "800", "--episodes", "5", "--json")
    assert [line["steps"] for line in json.loads(longer.out)["curve"]] == [200, 400, 600, 800]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "markets.populations.held_out=1"), "never for training"),
        (("--set", "ppo.entropi=1"), "Did you mean 'entropy'"),
        (("--resume",), "name it with --out"),
        (("--resume", "--out", "runs/none", "--seed", "1"), "leave --config, --set and --seed out"),
    ],
)
def test_a_wrong_call_says_what_to_do(called: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    run = called("designer", "policy", *words)
    assert run.status == 2 and message in run.err


def test_designers_is_another_name_of_the_group(called: Callable[..., Any]) -> None:
    assert called("designers", "list", "--json").out == called("designer", "list", "--json").out
