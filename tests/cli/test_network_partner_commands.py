"""A trained network across the table, in every command that takes a partner."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from networks import write_network

Called = Callable[..., Any]
TINY = [
    *("--steps", "256", "--set", "logging.tensorboard=false"),
    *("--set", "ppo.num_envs=8", "--set", "ppo.rollout=16", "--set", "ppo.hidden=16"),
]


@pytest.fixture
def box(tmp_path: Path) -> str:
    write_network(tmp_path / "box" / "classic")
    return str(tmp_path / "box")


@pytest.fixture(params=["expert", "a path"])
def partner(request: pytest.FixtureRequest, box: str) -> tuple[str, ...]:
    if request.param == "expert":
        return ("--partner", "expert", "--set", f"partner_options.folder={box}")
    return ("--partner", f"{box}/classic")


def test_it_can_be_played_with(called: Called, partner: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("propose 1 1 1\ndisagree\n"))
    run = called("play", "--seed", "4", "--set", "opens=agent", *partner)
    assert run.status == 0 and "Partner:" in run.out and "The Pareto frontier" in run.out


def test_agents_are_measured_against_it(called: Called, partner: tuple[str, ...]) -> None:
    found = json.loads(called("evaluate", "--agent", "random", "--agent", "agree_first", "--episodes", "60", *partner, "--json").out)
    assert found["partner"] == partner[1] and [row["normalised_score"] for row in found["agents"]] == [None, None]
    table = called("evaluate", "--agent", "random", "--episodes", "60", *partner)
    assert "No score against blind Bayes: The exact bounds need a partner with acceptance thresholds" in table.out + table.err


def test_a_context_is_analysed_with_it(called: Called, partner: tuple[str, ...]) -> None:
    run = called("analyse", "--seed", "3", "--set", "max_turns=4", *partner)
    assert run.status == 0 and "an agent that knew the partner could get" in run.out


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_agents_are_trained_against_it(called: Called, box: str, tmp_path: Path, backend: str) -> None:
    words = ("--backend", backend, "--partner", f"{box}/classic", "--out", str(tmp_path / "run"), "--json", *TINY)
    assert json.loads(called("train", *words).out)["steps"] == 256


def test_a_path_without_a_checkpoint_is_one_sentence(called: Called) -> None:
    run = called("evaluate", "--agent", "random", "--partner", "runs/nobody")
    assert run.status == 1 and "runs/nobody: there is no checkpoint here; expected a run folder" in run.err
