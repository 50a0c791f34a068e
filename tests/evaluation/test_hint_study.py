"""The study of hints: its grid, what cells are compared with, how quickly they learn, and what is left when hints are taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.cli import app
from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation import learning_curves
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.evaluation.learning_curves import final_score, moves_to_reach
from edgeworth.evaluation.study import Study, game_of_cell, load_study, run_folder
from edgeworth.evaluation.study_cells import Grid
from edgeworth.evaluation.study_report import run_study
from replies import asks_for_everything

SMALL = {"hidden": 8, "num_envs": 8, "rollout": 16, "minibatch": 32}
GRID: dict[str, Any] = {
    "change": {"num_train_steps": 512, "logging": {"tensorboard": False}, "env": {"scenario": "one_shot"}},
    "axes": {
        "algo": {"PPO": {"config": "ppo_fast.yaml", "ppo": SMALL}, "REINFORCE": {"config": "reinforce_fast.yaml", "reinforce": SMALL}},
        "scenario": {"one shot": None},
        "hints": {"none": {}, "random": {"hints": {"mode": "random"}}, "Bayes": {"hints": {"mode": "bayes"}}},
        "cadence": {"k = 1": {"hints": {"k": 1}}, "k = 3": {"hints": {"k": 3}}},
    },
    "without": {"cadence": {"hints": ["none"]}},
}
NUMBERS = {
    "about": "A trial.",
    "seeds": [0, 1],
    "episodes": 60,
    "yardstick_episodes": 20,
    "baseline": {"hints": "none"},
    "play_with": ["none", "random"],
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "trial.yaml"
    path.write_text(yaml.safe_dump({**NUMBERS, "grid": GRID, **changes}, sort_keys=False), encoding="utf-8")
    return path


# The grid


def test_a_grid_is_every_combination_and_an_axis_that_makes_no_difference_is_left_out() -> None:
    cells = Grid(**GRID).cells()
    names = [cell.name for cell in cells]
    assert len(names) == len(set(names)) == 2 * (1 + 2 * 2) and names[:3] == [
        "PPO, one shot, none",
        "PPO, one shot, random, k = 1",
        "PPO, one shot, random, k = 3",
    ]
    last = cells[-1]
    assert last.values == {"algo": "REINFORCE", "scenario": "one shot", "hints": "Bayes", "cadence": "k = 3"}
    settings = last.settings(4)
    assert (settings.algo, settings.hints.mode, settings.hints.k, settings.seed) == ("reinforce", "bayes", 3, 4)
    assert settings.num_train_steps == 512 and settings.env["scenario"] == "one_shot"


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"without": {"cadenc": {"hints": ["none"]}}}, UnknownName, "Unknown axis of the grid 'cadenc'.*Did you mean 'cadence'"),
        ({"without": {"cadence": {"hint": ["none"]}}}, UnknownName, "Unknown axis of the grid 'hint'.*Did you mean 'hints'"),
        ({"without": {"cadence": {"hints": ["nothing"]}}}, UnknownName, "Unknown value of the axis hints 'nothing'"),
        ({"without": {"cadence": "none"}}, InvalidOption, "expected another axis with a list of its values"),
        ({"axes": {"hints": {}}}, InvalidOption, "axis hints of the grid is {}; expected its values"),
        ({"axes": {"hints": {"none": {}}}}, InvalidOption, "The cell none of the grid has no settings file; give `config`"),
    ],
    ids=str,
)
def test_mistakes_in_a_grid_are_answered(tmp_path: Path, changes: dict[str, Any], error: type[Exception], sentence: str) -> None:
    grid = {**GRID, **changes} if "axes" not in changes else changes
    with pytest.raises(error, match=sentence):
        load_study(written(tmp_path, grid=grid))


def test_two_cells_of_one_name_and_unknown_hints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="Two cells of the study have the name ppo_one_shot_none"):
        load_study(written(tmp_path, cells=[{"name": "PPO, one shot, none", "config": "ppo_fast.yaml"}]))
    with pytest.raises(UnknownName, match="Unknown hint provider 'non'"):
        load_study(written(tmp_path, play_with=["non"]))


def test_cells_are_chosen_by_name_or_by_their_values(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert len(load_study(path, ["PPO"]).cells) == 5 and len(load_study(path, ["PPO, Bayes", "REINFORCE, random, k = 3"]).cells) == 3
    assert [cell.name for cell in load_study(path, ["PPO, one shot, none"]).cells] == ["PPO, one shot, none"]
    with pytest.raises(UnknownName, match="PPO, one shot, none"):
        load_study(path, ["PPO, one shot, non"])


def test_every_cell_is_compared_with_the_one_that_has_no_hints(tmp_path: Path) -> None:
    study = load_study(written(tmp_path))
    for cell in study.cells:
        other = study.baseline_of(cell)
        assert (other is None) == (cell.values["hints"] == "none")
        assert other is None or (other.values["hints"], other.values["algo"]) == ("none", cell.values["algo"])
    assert load_study(written(tmp_path), ["Bayes"]).baseline_of(study.cells[3]) is None, "a baseline that is not trained is none"


def test_the_study_of_ours_has_its_270_runs_and_one_network() -> None:
    study = load_study(config_folder() / "studies" / "hints.yaml")
    assert len(study.cells) * len(study.seeds) == 270
    settings = [cell.settings(0) for cell in study.cells]
    assert {(s.learner.hidden, s.learner.layers, s.learner.reading, s.num_train_steps) for s in settings} == {(64, 2, "ordered", 1_000_000)}
    assert {s.hints.mode for s in settings} == {"none", "random", "expert", "bayes", "llm"}
    assert all(s.hints.options["as_plan"] for s in settings if s.hints.mode == "llm")


# How quickly


def curve(folder: Path, shares: list[float]) -> Path:
    folder.mkdir(parents=True)
    lines = [{"steps": 100 * (i + 1), "share_of_maximum": share} for i, share in enumerate(shares)]
    (folder / "training_history.json").write_text(json.dumps(lines), encoding="utf-8")
    return folder


def test_moves_to_a_level_are_read_off_a_running_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_curves, "SMOOTHED", 2)
    folder = curve(tmp_path / "run", [0.0, 0.2, 0.8, 0.2, 0.6, 0.6, 0.6])
    assert final_score(folder) == pytest.approx(0.6)
    assert moves_to_reach(folder, 0.5) == 300 and moves_to_reach(folder, 0.55) == 600 and moves_to_reach(folder, 0.7) is None


# What is left


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("study")
    study = load_study(written(folder), ["PPO"])
    return study, folder, run_study(study, folder / "runs")


def test_hints_taken_away_are_neutral_features(finished: tuple[Study, Path, dict[str, Any]]) -> None:
    study, folder, result = finished
    json.dumps(result, allow_nan=False)
    for cell, row in zip(study.cells, result["cells"], strict=True):
        if cell.values["hints"] == "none":
            assert "played_with" not in row and "over_baseline" not in row and row["reaching"]["ratio"]["value"] == 1.0
            continue
        for seed, run in zip(study.seeds, row["seeds"], strict=True):
            agent = Learned(run_folder(folder / "runs", cell, seed), hint="none")
            assert agent.provider is None
            episodes = play_episodes(game_of_cell(cell), agent, study.episodes, study.evaluation_seed)
            assert run["played_with"]["none"] == pytest.approx(episodes.reward.sum() / episodes.maximum.sum())
        for hint in ("none", "random"):
            played = [run["played_with"][hint] for run in row["seeds"]]
            own = [run["share_of_maximum"]["value"] for run in row["seeds"]]
            found = row["played_with"][hint]
            assert found["share_of_maximum"]["value"] == pytest.approx(np.mean(played)) and found["share_of_maximum"]["n"] == 2
            assert found["over_own_hints"]["value"] == pytest.approx(np.mean(played) - np.mean(own))


def test_differences_are_those_of_the_same_seeds(finished: tuple[Study, Path, dict[str, Any]]) -> None:
    _, _, result = finished
    base, *others = result["cells"]
    without = [run["share_of_maximum"]["value"] for run in base["seeds"]]
    for row in others:
        own = [run["share_of_maximum"]["value"] for run in row["seeds"]]
        assert row["over_baseline"]["baseline"] == base["name"]
        assert row["over_baseline"]["value"] == pytest.approx(np.mean(own) - np.mean(without))
        assert row["over_baseline"]["n"] == 2 and row["over_baseline"]["low"] <= row["over_baseline"]["value"]


def test_the_time_of_hints_is_told_apart(finished: tuple[Study, Path, dict[str, Any]]) -> None:
    _, _, result = finished
    rows = {row["name"]: row["seeds"][0] for row in result["cells"]}
    assert "hint_milliseconds" not in rows["PPO, one shot, none"] and rows["PPO, one shot, none"]["cpu_seconds"] > 0.0
    hinted, seldom = rows["PPO, one shot, Bayes, k = 1"], rows["PPO, one shot, Bayes, k = 3"]
    assert hinted["hint_milliseconds"] > 0 and hinted["hint_given"] > seldom["hint_given"]


def test_the_command_draws_both_figures(finished: tuple[Study, Path, dict[str, Any]]) -> None:
    _, folder, _ = finished
    path = written(folder, figure="edgeworth.evaluation.hint_figures:draw_hint_study")
    asked = ["study", str(path), "--only", "PPO", "--workers", "1", "--runs", str(folder / "runs"), "--figure", str(folder / "r.png")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "over" in done.output and all((folder / name).stat().st_size > 20_000 for name in ("r.png", "r_scores.png"))


def test_plans_are_asked_for_beforehand_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "replies.sqlite"
    monkeypatch.setattr("edgeworth.llm.huggingface.Pocket.complete", lambda self, batch, sampling, within=None: answered(batch))
    for calls in (16, 0):
        asked = ["hints", "fill", "--scenario", "lewis", "--set", "max_turns=3", "--set", "opens=agent"]
        done = CliRunner().invoke(app, [*asked, "--cache", str(path), "--limit", "8", "--batch-size", "3", "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert (found["own_sides"], found["hints"], found["calls"], found["rejected"]) == (8, 16, calls, 0)


def answered(batch: Any) -> Any:
    from edgeworth.llm.client import Completion

    return [Completion(asks_for_everything(messages)) for messages in batch]
