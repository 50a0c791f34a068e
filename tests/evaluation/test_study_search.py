"""Hyper-parameter search: the block of a study, and a whole search with Ray Tune whose best settings train."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from edgeworth.config import config_folder, load_yaml
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation import study_search
from edgeworth.evaluation.study import load_study
from edgeworth.evaluation.study_cells import Search
from edgeworth.evaluation.study_search import nested, reporter, run_search, show_trials
from edgeworth.training.settings import load_settings

pytest.importorskip("ray")
SMALL = {"ppo": {"hidden": 8, "num_envs": 8, "rollout": 16, "minibatch": 32}, "logging": {"tensorboard": False}, "num_train_steps": 1024}
STUDY = {
    "about": "A search.",
    "cells": [{"name": "PPO", "config": "ppo_config.yaml", "change": {**SMALL, "env": {"scenario": "one_shot"}}}],
    "search": {
        "space": {"ppo.learning_rate": {"log_uniform": [0.0001, 0.01]}, "ppo.epochs": {"choice": [1, 2]}},
        "trials": 4,
        "grace": 256,
        "reduction": 2,
    },
}


def test_settings_by_dotted_names_become_sections() -> None:
    assert nested({"ppo.entropy": 0.1, "ppo.clip": 0.2, "seed": 3}) == {"ppo": {"entropy": 0.1, "clip": 0.2}, "seed": 3}


def test_a_trial_reports_means_over_the_moves_since_the_report_before() -> None:
    reports: list[dict[str, float]] = []
    note = reporter(reports.append, 200, 500)
    for steps, score in ((100, 0.1), (200, 0.3), (300, float("nan")), (400, 0.5), (500, 0.7)):
        note({"steps": steps, "share_of_maximum": score})
    assert [(report["moves"], round(report["share_of_maximum"], 6)) for report in reports] == [(200, 0.2), (400, 0.5), (500, 0.7)]


def test_mistakes_in_a_search_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"The space of ppo.clip is .* expected one of choice, uniform"):
        Search({"ppo.clip": {"normal": [0, 1]}})
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, "search": {**STUDY["search"], "cell": "PP0"}}), encoding="utf-8")  # type: ignore[dict-item]
    with pytest.raises(UnknownName, match="Did you mean 'PPO'"):
        load_study(path).searched()
    with pytest.raises(InvalidOption, match="no block `search`"):
        load_study(config_folder() / "studies" / "experts.yaml").searched()


def test_progress_counts_trials_that_are_done_running_and_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, int, int]] = []
    monkeypatch.setattr(study_search, "_SHOWN", [(lambda *state: shown.append(state), 6)])
    statuses = ("TERMINATED", "TERMINATED", "ERROR", "RUNNING", "PENDING")
    show_trials(None, 3, [SimpleNamespace(status=status) for status in statuses])
    assert shown == [("2 of 6 trials done, 1 running, 1 failed", 3, 6)]


def test_the_page_shows_the_search_of_its_file() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
    (shown,) = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert shown["search"] == load_yaml(config_folder() / "studies" / "ppo_search.yaml")["search"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The file of a study with a search."""
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    return path


def test_a_search_writes_the_best_settings_and_repeats_nothing(called: Callable[..., Any], study: Path) -> None:
    best, runs, shown = study.with_name("best.yaml"), study.with_name("runs"), list[str]()
    found = run_search(load_study(study), runs, 1, progress=lambda words, done, total: shown.append(words))
    assert len(found["trials"]) == 4 and 0 < found["stopped_early"] < 4 and shown[-1] == "4 of 4 trials done, 0 running"
    finished = [row["moves"] >= 1024 for row in found["trials"]]
    shares = [row["share_of_maximum"] for row, whole in zip(found["trials"], finished, strict=True) if whole]
    assert finished == sorted(finished, reverse=True) and found["best"]["share_of_maximum"] == shares[0] == max(shares)
    before = {folder.name for folder in (runs / "search").iterdir() if folder.is_dir()}
    again = called("study", "search", str(study), "--best", str(best), "--runs", str(runs), "--workers", "1", "--json")
    assert again.status == 0 and {**json.loads(again.out), "command": ""} == {**found, "command": ""}
    assert {folder.name for folder in (runs / "search").iterdir() if folder.is_dir()} == before
    settings = load_settings(best)
    assert settings.ppo.hidden == 8 and 0.0001 <= settings.ppo.learning_rate <= 0.01 and settings.ppo.epochs in (1, 2)


@pytest.mark.slow
def test_a_search_that_is_interrupted_says_so_and_is_continued(called: Callable[..., Any], study: Path) -> None:
    best, runs = study.with_name("best.yaml"), study.with_name("runs")
    longer = {**STUDY["search"], "trials": 12}  # type: ignore[dict-item]
    study.write_text(yaml.safe_dump({**STUDY, "search": longer}), encoding="utf-8")  # so that it is not over before the signal comes
    words = ("study", "search", str(study), "--best", str(best), "--runs", str(runs), "--workers", "1")
    driver = subprocess.Popen([sys.executable, "-m", "edgeworth", *words], stderr=subprocess.PIPE, text=True, process_group=0)
    until = time.monotonic() + 120.0
    while not list(runs.glob("search/*/result.json")):
        assert driver.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGINT)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130 and "Stopped; the same command continues the search." in said and not best.exists()
    assert called(*words).status == 0 and best.is_file()
