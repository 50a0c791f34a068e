"""Benchmarks as commands, in small: what they measure, print, write and refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from benchmarks import env, exact, gpu, market, scaling, time_to_quality, train
from benchmarks.command import start
from benchmarks.measuring import target

from edgeworth.config import config_folder
from edgeworth.training.ppo import PPO
from edgeworth.training.settings import load_settings

WORDS = ("--repeats", "1", "--seconds", "0.01")


class Run(NamedTuple):
    """What a command left behind; line breaks count as spaces."""

    status: int
    out: str
    err: str


Called = Callable[..., Run]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """`python -m` a benchmark with these words."""

    def call(module: ModuleType, *words: str) -> Run:
        monkeypatch.setattr(sys, "argv", [str(module.__file__), *words])
        with pytest.raises(SystemExit) as ended:
            start(module.main)
        printed = capsys.readouterr()
        return Run(int(ended.value.code or 0), " ".join(printed.out.split()), " ".join(printed.err.split()))

    return call


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same measurements with a few moves each, and a quality that is reached at once."""
    monkeypatch.setattr(train, "PUBLISHED", replace(train.PUBLISHED, num_envs=16, rollout=32))
    monkeypatch.setattr(train, "SHARE_ITERATIONS", 2)
    monkeypatch.setattr(train, "MATRIX", 128)
    monkeypatch.setattr(time_to_quality, "PLATEAU_MOVES", 2_048)
    monkeypatch.setattr(time_to_quality, "OF_PLATEAU", 0.5)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our torch learner in the place of Stable-Baselines3, which the tests' environment need not have."""
    peer: Any = ModuleType("benchmarks.sb3_ppo")
    peer.SB3PPO, peer.VERSION = PPO, "stand-in"
    monkeypatch.setitem(sys.modules, "benchmarks.sb3_ppo", peer)
    monkeypatch.setattr(train, "find_spec", lambda name: name)


@pytest.mark.usefixtures("small", "stand_in")
def test_every_trainer_is_measured_and_every_target_has_its_row(called: Called, tmp_path: Path) -> None:
    run = called(train, *WORDS, "--out", str(tmp_path / "x.json"))
    assert run.status == 0, run.err
    result = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert result["command"].startswith("python -m benchmarks.train --repeats 1") and result["repeats"] == 1 and result["seed"] == 0
    assert list(result["entries"]) == list(train.LABELS)
    assert len(result["targets"]) == 10 and {target["target"] for target in result["targets"]} == {80, 60, 50, 30, 2, 0.15, 0.25, 5, 2.5}
    assert all(entry["median"] > 0 for entry in result["entries"].values())
    quality = result["quality"]
    assert 0 < quality["plateau"] < 1 and quality["goal"] == pytest.approx(0.5 * quality["plateau"])
    assert {name: entry["reached"] for name, entry in quality["entries"].items()} == {
        "published": [True] * 3,
        "fast": [True] * 3,
        "sb3": [True],
    }
    assert result["machine"]["stable_baselines3"] == "stand-in" and "torch" in result["machine"]
    for words in ("times SB3", "Stable-Baselines3, PPO", "of the plateau", "3 of 3", ">= 80"):
        assert words in run.out


@pytest.mark.usefixtures("small", "stand_in")
def test_without_the_long_part_the_peer_is_not_trained_to_the_goal(called: Called) -> None:
    result = json.loads(called(train, *WORDS, "--no-peer-quality", "--json").out)
    assert list(result["quality"]["entries"]) == ["published", "fast"] and len(result["targets"]) == 9


@pytest.mark.usefixtures("small")
def test_the_command_runs_with_stable_baselines3(called: Called) -> None:
    peer = pytest.importorskip("stable_baselines3", reason="needs the `bench` extra")
    result = json.loads(called(train, *WORDS, "--no-peer-quality", "--json").out)
    assert result["machine"]["stable_baselines3"] == peer.__version__ and result["entries"]["sb3"]["median"] > 0


def test_the_fast_settings_are_those_of_their_file() -> None:
    assert train.fast_settings() == load_settings(config_folder() / "ppo_fast.yaml").ppo != train.PUBLISHED


def test_exact_evaluation_is_measured_and_does_not_depend_on_the_order_of_the_types(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "GAME", exact.SMALL)
    run = called(exact, "--repeats", "2", "--out", str(tmp_path / "x.json"))
    assert run.status == 0, run.err
    result = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    shares = {name: entry["share_of_maximum"] for name, entry in result["entries"].items()}
    assert list(shares) == list(exact.LABELS) and shares["every_order"] == pytest.approx(shares["learned"]) != shares["generalist"]
    assert result["negotiations"] == 2 * 11**3 * 11**3
    assert [row["met"] for row in result["targets"]] == [True] * 3 and all(len(row["values"]) == 2 for row in result["targets"])
    assert "3,543,122 negotiations" in run.out and "<= 60" in run.out


def test_a_missing_peer_is_reported_before_anything_is_measured(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setattr(train, "run", lambda *options: pytest.fail("it was measured"))
    run = called(train, *WORDS)
    assert run.status != 0 and "Comparing trainers needs stable-baselines3 (the extra `bench`); install it with: pip" in run.err


def test_a_gpu_is_measured_only_where_there_is_one(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    run = called(gpu)
    assert run.status == 2 and "torch sees none here" in run.err


def test_a_revision_that_is_not_there_is_refused(called: Called, tmp_path: Path) -> None:
    run = called(market, "--before", str(tmp_path))
    assert run.status == 2 and "expected the src folder of a checkout" in run.err


@pytest.mark.slow
def test_what_scale_costs_is_measured_on_both_engines_and_stores(called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EMPTY": 4, "WORK": 2, "SECONDS": 0.05, "SESSIONS": 20, "STEPS": 500, "NODES": (2,)}.items():
        monkeypatch.setattr(scaling, name, value)
    run = called(scaling, "--repeats", "1", "--out", str(tmp_path / "x.json"))
    assert run.status == 0, run.err
    found = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert list(found["executor"]) == ["local 1", "local 2", "ray 1", "ray 2"]
    assert all(value > 0.0 for row in [*found["executor"].values(), found["store_bytes_per_step"]] for value in row.values())
    stores = ["sqlite"] if "PostgreSQL is not measured" in run.err else ["sqlite", "postgresql"]
    assert list(found["store_bytes_per_step"]) == stores and 0.0 < found["simulated_cluster"]["2"]["efficiency"] <= 1.0


def test_a_ratio_without_a_target_is_only_reported() -> None:
    wanted = {name: number for name, _, _, number in env.RATIO_TARGETS}
    assert wanted["single / plain, step only"] is None
    assert target("it", [1.0, 2.0, 3.0], ">=", None, "")["met"] is None and target("it", [1.0], ">=", 1.0, "")["met"] is True
