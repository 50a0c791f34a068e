"""`edgeworth clone`: from a folder of dialogues to a network that plays; the dialogues here are invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.trained_network import read_network
from synthetic_dialogues import write_dialogues

QUICK = ("--set", "epochs=2", "--set", "hidden=8", "--episodes", "20")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_dialogues(tmp_path / "elsewhere" / "deal_or_no_dialog")


def test_a_clone_is_trained_measured_and_written_for_bundling(called: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    folder, result_file, bundle = tmp_path / "run", tmp_path / "result.json", tmp_path / "bundle" / "clone"
    files = ("--out", str(folder), "--result", str(result_file), "--bundle", str(bundle))
    words = ("clone", "--data", f"{data}/", "--test", "--seed", "3", *files)
    run = called(*words, "--json", *QUICK)
    assert run.status == 0, run.err
    result = json.loads(result_file.read_text(encoding="utf-8"))
    assert json.loads(run.out) == result and result["held_out"].keys() == {"val", "test"} and result["seed"] == 3
    assert "elsewhere" not in result_file.read_text(encoding="utf-8") and "--data deal_or_no_dialog --test" in result["command"]
    assert "elsewhere" not in (folder / "run.json").read_text(encoding="utf-8")
    network = read_network(bundle)
    assert network.facts["algo"] == "behaviour_cloning" and "CC BY-NC 4.0" in network.facts["card"]["licence"]
    assert "elsewhere" not in json.dumps(network.facts)
    assert (Learned(folder).network.parameters == network.parameters).all()
    assert {"reward", "deal_rate", "pareto_rate"} <= result["play"]["agents"]["sampled"].keys()


def test_likelihoods_and_play_are_shown_and_the_test_dialogues_stay_unread(called: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    (data / "test.txt").unlink()
    run = called("clone", "--data", str(data), "--out", str(tmp_path / "run"), *QUICK)
    assert run.status == 0, run.err
    assert "log-likelihood per move: clone" in run.out and "majority (PROPOSE)" in run.out and "sampled" in run.out


def test_an_error_about_a_missing_folder_says_where_the_data_are(called: Callable[..., Any], tmp_path: Path) -> None:
    run = called("clone", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path / "run"))
    assert run.status == 1 and "facebookresearch/end-to-end-negotiator" in run.err and "CC BY-NC 4.0" in run.err
    assert not (tmp_path / "run").exists()


def test_a_mistyped_setting_gets_a_suggestion(called: Callable[..., Any], data: Path) -> None:
    run = called("clone", "--data", str(data), "--set", "epoch=3")
    assert run.status == 2 and "epochs" in run.err
