"""Hyper-parameter search: the block of a study, and a whole search with Ray Tune whose best settings train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.study import load_study
from edgeworth.evaluation.study_cells import Search
from edgeworth.evaluation.study_search import nested, reporter
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


def test_a_search_writes_the_best_settings_and_goes_on_where_it_stopped(called: Callable[..., Any], tmp_path: Path) -> None:
    path, best = tmp_path / "study.yaml", tmp_path / "best.yaml"
    path.write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    words = ("study", "search", str(path), "--best", str(best), "--runs", str(tmp_path / "runs"), "--workers", "2")
    run = called(*words)
    assert run.status == 0 and "4 trials" in run.out
    settings = load_settings(best)
    assert settings.ppo.hidden == 8 and 0.0001 <= settings.ppo.learning_rate <= 0.01 and settings.ppo.epochs in (1, 2)
    before = {folder.name for folder in (tmp_path / "runs" / "search").iterdir() if folder.is_dir()}
    again = called(*words)
    assert again.status == 0 and again.out == run.out
    assert {folder.name for folder in (tmp_path / "runs" / "search").iterdir() if folder.is_dir()} == before
