"""The tables and the page of a study: Parquet that explains itself, and rliable's statistics against their definitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from scipy import stats

from edgeworth.cli import console
from edgeworth.errors import DataError
from edgeworth.evaluation.aggregates import STATISTICS, aggregate, interquartile_mean, probability_of_improvement
from edgeworth.evaluation.study_page import compared, write_page
from edgeworth.evaluation.study_tables import read_tables, write_tables

RNG = np.random.default_rng(0)
GAMES = {game: RNG.normal(0.7, 0.1, 5).tolist() for game in ("classic", "lewis", "one_shot")}


def cell(algo: str, scenario: str, shares: list[float]) -> dict[str, Any]:
    """A cell of a study's result."""
    runs = [{"seed": n, "share_of_maximum": {"value": s}, "reward": {"value": 10 * s}, "moves": 100} for n, s in enumerate(shares)]
    return {
        "name": f"{algo}, {scenario}",
        "values": {"algo": algo, "scenario": scenario.title()},
        "scenario": scenario,
        "config": "ppo_fast.yaml",
        "algo": algo,
        "hints": {"mode": "none"},
        "yardsticks": {"random": 0.2, "bayes": 0.7},
        "seeds": runs,
        "curve": {"steps": [50, 100], "share_of_maximum": {"mean": [0.1, 0.2], "low": [0.0, 0.1], "high": [0.2, 0.3]}},
    }


RESULT = {
    "command": "edgeworth study trial --seed 0",
    "study": "trial",
    "about": "A trial.",
    "training_seeds": [0, 1, 2],
    "episodes": 60,
    "evaluation_seeds": "0 to 59",
    "cells": [
        cell(algo, game, [base + 0.01 * n for n in range(3)])
        for algo, base in (("ppo", 0.6), ("reinforce", 0.5))
        for game in ("classic", "lewis")
    ],
    "failures": [{"name": "ppo, classic, seed 9", "reason": "The disk was full.", "log": "runs/x.log"}],
}


def test_statistics_are_those_of_the_textbooks() -> None:
    scores = np.concatenate(list(GAMES.values()))
    found = aggregate(GAMES, interquartile_mean)
    assert found.value == pytest.approx(stats.trim_mean(scores, 0.25)) and found.low < found.value < found.high and found.n == 15
    values = {name: aggregate(GAMES, statistic).value for name, statistic in STATISTICS.items()}
    means = [np.mean(scores_of_game) for scores_of_game in GAMES.values()]
    assert values["mean"] == pytest.approx(np.mean(means)) and values["median"] == pytest.approx(np.median(means))
    assert values["optimality gap"] == pytest.approx(np.maximum(0.0, 1.0 - scores).mean())


def test_the_probability_of_improvement_is_mann_and_whitneys_over_the_pairs() -> None:
    others = {game: RNG.normal(0.65, 0.1, 4).tolist() for game in GAMES}
    found = probability_of_improvement(GAMES, others)
    wanted = np.mean([stats.mannwhitneyu(GAMES[game], others[game]).statistic / 20 for game in GAMES])
    assert found is not None and found.value == pytest.approx(wanted) and 0.0 <= found.low <= found.value <= found.high <= 1.0
    same = probability_of_improvement(GAMES, GAMES)
    assert same is not None and same.value == 0.5 and probability_of_improvement(GAMES, {"other": [1.0]}) is None


def test_a_bootstrap_within_games_leaves_differences_between_games_out() -> None:
    found = aggregate({"easy": [0.9] * 5, "hard": [0.1] * 5}, STATISTICS["mean"])
    assert found.low == found.high == found.value == 0.5
    assert np.isnan(aggregate({"easy": [0.9]}, STATISTICS["mean"]).low)


def test_the_table_explains_itself_and_is_read_back(tmp_path: Path) -> None:
    write_tables(tmp_path, RESULT)
    about, runs = read_tables(tmp_path)
    assert about["command"] == RESULT["command"] and about["written_by"]["numpy"] == np.__version__ and len(runs) == 12
    assert {run["method"] for run in runs} == {"ppo", "reinforce"} and runs[0]["score"] == pytest.approx(0.8)
    assert pyarrow.parquet.read_table(tmp_path / "curves.parquet").num_rows == 8
    found = compared(about, runs)
    (group,) = found["groups"]
    assert (group["best"], found["measure"]) == ("ppo", "score") and group["methods"][1]["best beats it"]["value"] == 1.0


def test_only_methods_that_played_the_same_games_are_compared(tmp_path: Path) -> None:
    alone = {**cell("ppo, with hints", "one_shot", [0.7, 0.71, 0.72]), "values": {}}
    pair = [{**cell(algo, "classic", [base, base + 0.01]), "values": {}} for algo, base in (("reinforce", 0.4), ("ppo", 0.6))]
    write_tables(tmp_path, {**RESULT, "cells": [alone, *pair], "failures": []})
    about, runs = read_tables(tmp_path)
    hinted, classic = compared(about, runs)["groups"]
    assert hinted["games"] == ["one_shot"] and hinted["methods"][0]["best beats it"] is None
    assert [row["method"] for row in classic["methods"]] == ["ppo, classic", "reinforce, classic"]
    assert classic["methods"][1]["best beats it"]["value"] == 1.0
    write_page(tmp_path / "page.md", about, runs, compared(about, runs), "edgeworth study report")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.index("In one_shot:") < text.index("| ppo, with hints, one_shot |") < text.index("In classic:") and "By game" not in text


@pytest.mark.parametrize("suffix", ["md", "html"])
def test_the_report_is_a_page_with_commands_tables_and_a_figure(called: Callable[..., Any], tmp_path: Path, suffix: str) -> None:
    write_tables(tmp_path, RESULT)
    page = tmp_path / f"page.{suffix}"
    run = called("study", "report", str(tmp_path), "--page", str(page), "--json")
    text = page.read_text(encoding="utf-8")
    assert run.status == 0 and json.loads(run.out)["groups"][0]["best"] == "ppo" and (tmp_path / "report.png").stat().st_size > 10_000
    assert RESULT["command"] in text and f"edgeworth study report {tmp_path}" in text and "The disk was full." in text
    assert ("| ppo | 0.8" in text) if suffix == "md" else ("<td>ppo</td><td>0.8" in text)


def test_the_table_of_the_report_breaks_no_word_in_80_columns(
    called: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console.out, "width", 80)
    cells = [{**cell(algo, "classic", [0.5, 0.6]), "values": {}} for algo in ("reinforce, published settings", "ppo")]
    write_tables(tmp_path, {**RESULT, "cells": cells, "failures": []})
    words = called("study", "report", str(tmp_path)).out.split()
    assert {"interquartile", "optimality", "reinforce,", "published", "settings,"} <= set(words)


def test_a_folder_without_a_study_and_a_page_of_another_kind_are_refused(called: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no results\.parquet"):
        read_tables(tmp_path)
    write_tables(tmp_path, RESULT)
    run = called("study", "report", str(tmp_path), "--page", "page.pdf")
    assert run.status == 2 and "expected a name that ends in .md or .html" in run.err
