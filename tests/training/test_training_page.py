"""The page on training says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from edgeworth.training.curriculum import check_later_stages, shape_for, stages_of
from edgeworth.training.run import Run
from edgeworth.training.settings import load_settings, settings_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_the_page_runs() -> None:
    (example,) = blocks("python")
    exec(example, {})  # the reader will do the same


def test_the_curriculum_of_the_page_is_one() -> None:
    (example,) = blocks("yaml")
    settings = settings_of(yaml.safe_load(example))
    stages = stages_of(settings)
    check_later_stages(stages)
    shape_for(settings, stages)
    assert [stage.game.partner for stage in stages] == ["heuristic", "heuristic", "population"]


def test_every_column_of_the_log_is_explained(tmp_path: Path) -> None:
    settings = load_settings(None, {"num_train_steps": 8192, "hints": {"mode": "random"}, "logging": {"tensorboard": False}})
    line = Run.begin(settings, tmp_path / "run", "").train()
    explained = set(re.findall(r"`([a-z_]+)`", PAGE))
    assert {name for name in line if not name.startswith("hint_")} <= explained
