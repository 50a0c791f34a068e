"""`edgeworth bench train`, in small: what it measures, prints and asks for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from edgeworth.cli import bench
from edgeworth.config import config_folder
from edgeworth.training.ppo import PPO
from edgeworth.training.settings import load_settings

Called = Callable[..., Any]
WORDS = ("bench", "train", "--repeats", "1", "--seconds", "0.01")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same measurements with a few moves each, and a quality that is reached at once."""
    module, quality = bench.load_benchmark("bench_train"), bench.load_benchmark("time_to_quality")
    monkeypatch.setattr(module, "PUBLISHED", replace(module.PUBLISHED, num_envs=16, rollout=32))
    monkeypatch.setattr(module, "SHARE_ITERATIONS", 2)
    monkeypatch.setattr(module, "MATRIX", 128)
    monkeypatch.setattr(quality, "PLATEAU_MOVES", 2_048)
    monkeypatch.setattr(quality, "OF_PLATEAU", 0.5)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our torch learner in the place of Stable-Baselines3, which the tests' environment need not have."""
    peer: Any = ModuleType("benchmarks.sb3_ppo")
    peer.SB3PPO, peer.VERSION = PPO, "stand-in"
    monkeypatch.setitem(sys.modules, "benchmarks.sb3_ppo", peer)
    monkeypatch.setattr(bench, "find_spec", lambda name: name)


@pytest.mark.usefixtures("small", "stand_in")
def test_every_trainer_is_measured_and_every_mark_has_its_row(called: Called, tmp_path: Path) -> None:
    run = called(*WORDS, "--out", str(tmp_path / "x.json"))
    assert run.status == 0, run.err
    result = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert list(result["entries"]) == ["fused", "fused_256", "fused_hints", "fused_reinforce", "torch", "distributions", "sb3"]
    assert len(result["marks"]) == 9 and {mark["mark"] for mark in result["marks"]} == {80, 60, 30, 2, 0.15, 0.25, 5, 2.5}
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
    result = json.loads(called(*WORDS, "--no-peer-quality", "--json").out)
    assert list(result["quality"]["entries"]) == ["published", "fast"] and len(result["marks"]) == 8


@pytest.mark.usefixtures("small")
def test_the_command_runs_with_stable_baselines3(called: Called) -> None:
    peer = pytest.importorskip("stable_baselines3", reason="needs the `bench` extra")
    result = json.loads(called(*WORDS, "--no-peer-quality", "--json").out)
    assert result["machine"]["stable_baselines3"] == peer.__version__ and result["entries"]["sb3"]["median"] > 0


def test_the_fast_settings_are_those_of_their_file() -> None:
    module = bench.load_benchmark("bench_train")
    assert module.fast_settings() == load_settings(config_folder() / "ppo_fast.yaml").ppo != module.PUBLISHED


def test_a_missing_peer_is_told_before_anything_is_measured(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setattr(bench, "load_benchmark", lambda name: pytest.fail(f"{name} was loaded"))
    run = called(*WORDS)
    assert run.status != 0 and "Comparing trainers needs stable-baselines3; install it with the `bench` extra" in run.err


def test_a_gpu_is_measured_only_where_there_is_one(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    run = called("bench", "gpu")
    assert run.status == 2 and "torch sees none here" in run.err
