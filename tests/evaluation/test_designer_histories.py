"""How the training of a designer went: histories of its three trainers, their quantities and the figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.designer_histories import PANELS, designer_histories, designer_history, ends, headline, series
from edgeworth.evaluation.training_figures import draw_designer_histories, histories_finding

SFT = [{"steps": step, "seconds": 2.0 * step, "loss": 1.0 / step, "entropy": None} for step in range(1, 21)] + [
    {"steps": 20, "seconds": 41.0, "eval_loss": 0.25}
]
GRPO = [
    {"steps": step, "seconds": 60.0 * step, "reward": 0.5 + step / 100, "reward_std": 0.1, "kl": 0.0, "invalid": 0.0, "loss": 0.01}
    for step in range(1, 21)
]


def run_in(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "training_history.json").write_text(json.dumps(lines), encoding="utf-8")
    return folder


def test_a_quantity_is_read_where_it_was_logged(tmp_path: Path) -> None:
    lines = designer_history(run_in(tmp_path / "sft", SFT))["lines"]
    steps, losses = series(lines, "loss")
    assert steps.tolist() == list(range(1, 21)) and losses[1] == 0.5
    assert series(lines, "eval_loss")[0].tolist() == [20.0] and not series(lines, "entropy")[0].size and not series(lines, "reward")[0].size


def test_the_ends_of_a_quantity_are_means_of_its_first_and_last_tenth(tmp_path: Path) -> None:
    lines = designer_history(run_in(tmp_path / "grpo", GRPO))["lines"]
    assert ends(series(lines, "reward")[1]) == pytest.approx((0.515, 0.695))


def test_a_run_is_told_by_its_validation_else_its_reward_else_its_loss() -> None:
    assert headline([{"steps": 1, "reward": 0.5, "loss": 3.0}]) == ("reward", 0.5, 0.5)
    assert headline([{"steps": 1, "reward": 0.5, "validation": 0.7}]) == ("validation", 0.7, 0.7)
    assert headline([{"steps": 1, "loss": 3.0}]) == ("loss", 3.0, 3.0)
    assert headline([{"steps": 1, "entropy": 3.0}]) is None


def test_every_quantity_is_in_one_panel_and_every_reward_in_some() -> None:
    keys = [key for panel in PANELS for key in panel.labels]
    assert len(keys) == len(set(keys))
    assert {"reward", "reward_std", "reward_format", "reward_composite", "entropy", "kl", "completion_length", "invalid", "loss"} <= set(
        keys
    )


def test_the_figure_shows_several_runs_and_states_how_they_went(tmp_path: Path) -> None:
    folders = [run_in(tmp_path / "sft", SFT), run_in(tmp_path / "grpo", GRPO)]
    result = {"histories": designer_histories(folders, ["warm-up"])}
    draw_designer_histories(result, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    said = histories_finding(result)
    assert "warm-up: eval loss from 0.25 to 0.25 in 20 steps and 0.7 minutes" in said and "grpo: reward from 0.515 to 0.695" in said


@pytest.mark.parametrize(
    ("lines", "says"), [([], "fewer than two"), (GRPO[:1], "fewer than two"), ([{"steps": 1}, {"steps": 2}], "nothing in its history")]
)
def test_a_history_without_a_curve_is_refused(tmp_path: Path, lines: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        designer_history(run_in(tmp_path / "run", lines))


def test_more_names_than_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="2 names were given for 1 runs"):
        designer_histories([run_in(tmp_path / "run", GRPO)], ["a", "b"])
