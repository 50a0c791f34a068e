"""`edgeworth self-play`: the whole report in small, and one run that is stopped and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.trained_network import read_network
from edgeworth.config import config_folder

TINY = ("--steps", "3000", "--response-steps", "3000", "--episodes", "40", "--contexts", "2", "--workers", "1")


@pytest.mark.slow
def test_agents_are_trained_exploited_drawn_and_written_for_bundling(called: Callable[..., Any], tmp_path: Path) -> None:
    files = {name: tmp_path / f"result.{name}" for name in ("json", "png")}
    runs, bundle = tmp_path / "runs", tmp_path / "bundle"
    where = ("--runs", str(runs), "--out", str(files["json"]), "--figure", str(files["png"]), "--bundle", str(bundle))
    run = called("self-play", "--seed", "5", "--seed", "6", *TINY, *where, "--json")
    assert run.status == 0, run.err
    result = json.loads(files["json"].read_text(encoding="utf-8"))
    assert json.loads(run.out) == result and result["training_seeds"] == [5, 6]
    classic, short = result["games"]
    assert classic["kinds"]["pool"]["exploitability_exact"] is None and classic["pool_less_naive"]["against"].keys() > {"heuristic"}
    for kind in ("pool", "naive"):
        found = short["kinds"][kind]
        assert found["exploitability_exact"]["n"] == 2 and found["exploitability_exact"]["value"] > 0.1
        assert found["seeds"][0]["exact_by_role"].keys() == {"opener", "responder"}
    network = read_network(bundle)
    assert network.facts["card"]["seed"] == 5 and "self-play" in network.facts["card"]["command"]
    assert files["png"].stat().st_size > 20_000
    again = called("self-play", "--seed", "5", "--seed", "6", *TINY, "--runs", str(tmp_path / "runs"))
    assert "exact response" in again.out and "another_seed" in again.out


def test_one_run_by_train_goes_on_where_it_stopped(called: Callable[..., Any], tmp_path: Path) -> None:
    words = ("train", "--config", str(config_folder() / "self_play.yaml"), "--out", str(tmp_path / "run"))
    small = ("--set", "ppo.num_envs=16", "--set", "logging.tensorboard=false", "--set", "self_play.snapshot_every=1000")
    assert called(*words, *small, "--steps", "2000").status == 0
    run = called("train", "--out", str(tmp_path / "run"), "--resume", "--steps", "4000", "--json")
    assert run.status == 0, run.err
    assert json.loads(run.out)["steps"] >= 4000 and json.loads(run.out)["best_share_of_maximum"] is None


def test_an_empty_pool_is_a_wrong_call(called: Callable[..., Any], tmp_path: Path) -> None:
    run = called("train", "--config", str(config_folder() / "self_play.yaml"), "--set", "self_play.past_selves=0", "--out", str(tmp_path))
    assert run.status == 2 and "The pool is empty" in run.err


@pytest.mark.parametrize("name", ["human_clone", "self_play"])
def test_bundled_networks_play_by_name(called: Callable[..., Any], name: str) -> None:
    run = called("evaluate", "--agent", name, "--partner", "self_play", "--episodes", "20", "--sampled", "--json")
    assert run.status == 0, run.err
    assert json.loads(run.out)["agents"][0]["agent"] == name
