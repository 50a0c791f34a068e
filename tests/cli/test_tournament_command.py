"""`edgeworth tournament`, as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from networks import write_network

Called = Callable[..., Any]
FEW = ("--scenario", "lewis", "--negotiator", "greedy", "--negotiator", "agree_first", "--episodes", "20", "--seed", "5")


def test_a_table_for_people(called: Called) -> None:
    run = called("tournament", *FEW)
    assert run.status == 0 and "1 greedy 1.000±.000 1 .00 1.00 .00" in run.out
    assert "20 episodes in each" in run.out and "all scenarios" not in run.out


def test_json_files_and_figures(called: Called, tmp_path: Path) -> None:
    out, figure = tmp_path / "t.json", tmp_path / "t.png"
    run = called("tournament", *FEW, "--scenario", "one_shot", "--out", str(out), "--figure", str(figure), "--json")
    result = json.loads(run.out)
    assert result == json.loads(out.read_text(encoding="utf-8")) and result["command"].startswith("edgeworth tournament --scenario lewis")
    assert result["seeds"] == "5 to 24" and [table["scenario"] for table in result["scenarios"]] == ["lewis", "one_shot"]
    assert figure.stat().st_size > 10_000 and len(result["overall"]) == 2


def test_a_checkpoint_takes_part_by_its_path(called: Called, tmp_path: Path) -> None:
    path = str(write_network(tmp_path / "mine"))
    result = json.loads(called("tournament", *FEW, "--also", path, "--json").out)
    assert result["negotiators"] == ["greedy", "agree_first", path] and len(result["scenarios"][0]["pairs"]) == 9


def test_networks_of_further_training_seeds_give_scores_and_places_over_seeds(called: Called, tmp_path: Path) -> None:
    for seed in (1, 2):
        write_network(tmp_path / f"runs/self_play/seed{seed}/checkpoints/last", seed=seed)
    words = (*FEW, "-n", "self_play", "--trained", str(tmp_path / "runs"), "--out", str(tmp_path / "t.json"))
    run = called("tournament", *words)
    result = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert run.status == 0 and "over 3" in run.out and "with the bundled self_play" in run.out
    assert [(other["training_seed"], other["networks"]) for other in result["training_seeds"]] == [(1, ["self_play"]), (2, ["self_play"])]
    for row in result["ranking"]:
        scores = [
            row["score"],
            *(each["score"] for other in result["training_seeds"] for each in other["ranking"] if each["name"] == row["name"]),
        ]
        assert len(scores) == 3 and row["over_training_seeds"]["score"]["value"] == pytest.approx(sum(scores) / 3)


def test_who_cannot_play_is_named_with_the_reason(called: Called, tmp_path: Path) -> None:
    path = str(write_network(tmp_path / "small", units=3))
    run = called("tournament", *FEW, "--also", path)
    assert run.status == 0 and "does not take part: The network in" in run.out and "up to 3 units" in run.out


def test_mistyped_names_get_a_suggestion(called: Called) -> None:
    run = called("tournament", "--scenario", "clasic")
    assert run.status == 2 and "Did you mean 'classic'?" in run.err
    run = called("tournament", "-n", "greedy", "-n", "oracel")
    assert run.status == 2 and "Did you mean 'oracle'?" in run.err
    assert called("tournament", "-n", "greedy").status == 2
