"""Studies: what is trained, that an interrupted one goes on, and that their numbers are those of their runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
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
from edgeworth.evaluation.exact import exact_ends
from edgeworth.evaluation.memory_figures import draw_memory, memory_finding, upper_bound
from edgeworth.evaluation.partner_yardstick import share_against
from edgeworth.evaluation.statistics import exactly, over_seeds
from edgeworth.evaluation.study import Study, checkpoint_of, game_of_cell, load_study, run_folder, steps_made, train_one
from edgeworth.evaluation.study_cells import Cell
from edgeworth.evaluation.study_report import play_one, run_study
from edgeworth.evaluation.study_tables import read_tables
from edgeworth.evaluation.training_figures import draw_study
from edgeworth.evaluation.whole_population import play_population
from edgeworth.executor.execution import executor
from edgeworth.runlog import read_history

SMALL = {"ppo": {"hidden": 8, "num_envs": 8, "rollout": 16, "minibatch": 32}, "logging": {"tensorboard": False}, "num_train_steps": 512}
CELLS = (
    Cell("PPO, one shot", "ppo_config.yaml", {**SMALL, "env": {"scenario": "one_shot"}}, at_least=0.99),
    Cell("PPO, hinted", "ppo_config.yaml", {**SMALL, "env": {"scenario": "one_shot"}, "hints": {"mode": "random"}}, below_bayes=10.0),
)
STUDY = Study("a trial", CELLS, seeds=(3, 4), episodes=60, yardstick_episodes=20)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    runs = tmp_path_factory.mktemp("runs")
    return runs, run_study(STUDY, runs)


def test_every_cell_is_trained_with_every_seed_and_measured(finished: tuple[Path, dict[str, object]]) -> None:
    runs, result = finished
    json.dumps(result)
    assert result["training_seeds"] == [3, 4] and result["evaluation_seeds"] == "1000000 to 1000059"
    for cell, row in zip(CELLS, result["cells"], strict=True):  # type: ignore[call-overload]
        shares = []
        for seed, found in zip((3, 4), row["seeds"], strict=True):
            episodes = play_one(STUDY, cell, seed, runs)
            shares.append(episodes.reward.sum() / episodes.maximum.sum())
            assert found["share_of_maximum"]["value"] == pytest.approx(shares[-1]) and found["moves"] == 512
            assert steps_made(run_folder(runs, cell, seed)) == 512
        assert row["share_of_maximum"]["value"] == pytest.approx(np.mean(shares)) and row["share_of_maximum"]["n"] == 2
        assert 0.0 < row["yardsticks"]["bayes"] <= 1.0 and len(row["curve"]["steps"]) == len(row["curve"]["share_of_maximum"]["mean"])
    first, second = result["cells"]  # type: ignore[misc]
    assert [target["met"] for target in first["targets"] + second["targets"]] == [False, True]
    assert second["seeds"][0]["hint_given"] > 0


def test_a_finished_study_is_only_read(finished: tuple[Path, dict[str, object]]) -> None:
    runs, result = finished
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*.safetensors")}
    assert run_study(STUDY, runs) == result
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*.safetensors")} == before


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    short = Study("a trial", CELLS[:1], seeds=(0,), steps=256)
    train_one(short, CELLS[0], 0, tmp_path)
    folder = run_folder(tmp_path, CELLS[0], 0)
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    (folder / "config.yaml").write_text(yaml.safe_dump({**config, "num_train_steps": 512}), encoding="utf-8")
    train_one(Study("a trial", CELLS[:1], seeds=(0,)), CELLS[0], 0, tmp_path)
    assert [line["steps"] for line in read_history(folder)] == [128, 256, 384, 512]


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, CELLS[0], 0)
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.yaml").write_text("half", encoding="utf-8")
    train_one(STUDY, CELLS[0], 0, tmp_path)
    assert steps_made(folder) == 512


def without_times(result: Any) -> Any:
    """A result without what a clock has measured."""
    if isinstance(result, dict):
        return {key: without_times(value) for key, value in result.items() if "seconds" not in key and "latency" not in key}
    return [without_times(value) for value in result] if isinstance(result, list) else result


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_study_is_the_same_to_the_last_bit_on_two_workers(finished: tuple[Path, dict[str, object]], tmp_path: Path, engine: str) -> None:
    with executor(engine, 2, folder=tmp_path / "cells") as run:
        assert without_times(run_study(STUDY, tmp_path, run)) == without_times(finished[1])
    for cell, seed in itertools.product(CELLS, STUDY.seeds):
        one, other = (checkpoint_of(runs, cell, seed).with_suffix(".json").read_text() for runs in (finished[0], tmp_path))
        assert json.loads(one)["digest"] == json.loads(other)["digest"]
    assert not (tmp_path / "cells").exists()


def test_a_run_that_fails_is_listed_and_the_others_are_measured(tmp_path: Path) -> None:
    train_one(STUDY, CELLS[0], 4, tmp_path)
    damaged = checkpoint_of(tmp_path, CELLS[0], 4).with_suffix(".safetensors")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:100])
    with executor(folder=tmp_path / "cells") as run:
        result = run_study(STUDY, tmp_path, run)
    assert [failure["name"] for failure in result["failures"]] == ["PPO, one shot, seed 4"]
    assert Path(result["failures"][0]["log"]).read_text(encoding="utf-8").startswith("PPO, one shot, seed 4\n\nTraceback")
    assert [[row["seed"] for row in cell["seeds"]] for cell in result["cells"]] == [[3], [3, 4]]
    damaged.write_bytes(whole)
    assert "failures" not in run_study(STUDY, tmp_path)


def test_the_command_ends_with_status_1_and_names_the_run_that_failed(called: Callable[..., Any], tmp_path: Path) -> None:
    cells = [{"name": cell.name, "config": cell.config, "change": dict(cell.change)} for cell in CELLS[:1]]
    (tmp_path / "trial.yaml").write_text(yaml.safe_dump({"about": "x", "cells": cells, "episodes": 30, "yardstick_episodes": 10}))
    (tmp_path / "runs").mkdir()
    train_one(STUDY, CELLS[0], 4, tmp_path / "runs")
    checkpoint_of(tmp_path / "runs", CELLS[0], 4).with_suffix(".safetensors").write_bytes(b"damaged")
    words = ("--seed", "3", "--seed", "4", "--workers", "1", "--runs", str(tmp_path / "runs"))
    run = called("study", str(tmp_path / "trial.yaml"), *words)
    assert run.status == 1 and "1 of 2 tasks failed. PPO, one shot, seed 4" in run.err and "PPO, one" in run.out
    assert [row["seed"] for row in read_tables(tmp_path / "runs")[1]] == [3]


def test_runs_with_other_settings_are_refused_and_left_alone(tmp_path: Path) -> None:
    train_one(STUDY, CELLS[0], 3, tmp_path)
    other = Cell(CELLS[0].name, "ppo_config.yaml", {**CELLS[0].change, "hints": {"mode": "random"}})
    with pytest.raises(InvalidOption, match=r"other settings \(hints\); move it away, or name another --runs"):
        train_one(STUDY, other, 3, tmp_path)


def test_mistakes_in_a_study_are_answered(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="0 cells and 5 seeds"):
        Study("nothing", ())
    with pytest.raises(InvalidOption, match="Two cells of the study have the name ppo_one_shot"):
        Study("twice", (CELLS[0], Cell("ppo: one shot!", "ppo_config.yaml")))
    path = config_folder() / "studies" / "negotiators.yaml"
    with pytest.raises(UnknownName, match=r"Known: 'PPO, Lewis, keep all', 'PPO, classic', .* Did you mean 'PPO, classic'"):
        load_study(path, ["PPO, clasic"])
    (tmp_path / "study.yaml").write_text("about: x\nepisode: 3\ncells: [{name: a, config: ppo_config.yaml}]\n", encoding="utf-8")
    with pytest.raises(UnknownName, match="episodes"):
        load_study(tmp_path / "study.yaml")


@pytest.mark.parametrize("path", sorted((config_folder() / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_of_ours_can_begin(path: Path) -> None:
    study = load_study(path)
    for cell in study.cells:
        assert cell.settings(study.seeds[0]).seed == study.seeds[0]


def test_the_interval_over_seeds_is_students() -> None:
    found = over_seeds([0.1, 0.2, 0.3])
    assert found.value == pytest.approx(0.2) and found.high - found.value == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-6)
    assert np.isnan(over_seeds([0.5]).low)


def test_the_command_trains_compares_and_draws(tmp_path: Path) -> None:
    given = {
        "about": "A trial.",
        "cells": [{"name": cell.name, "config": cell.config, "change": dict(cell.change)} for cell in CELLS[:1]],
        "episodes": 30,
        "yardstick_episodes": 10,
    }
    (tmp_path / "trial.yaml").write_text(yaml.safe_dump(given), encoding="utf-8")
    where = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "r.json"), "--figure", str(tmp_path / "r.png")]
    done = CliRunner().invoke(app, ["study", str(tmp_path / "trial.yaml"), "--seed", "0", "--seed", "1", "--workers", "1", *where])
    assert done.exit_code == 0, done.output
    assert "PPO" in done.output and (tmp_path / "r.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "r.json").read_text())["training_seeds"] == [0, 1]
    wrong = CliRunner().invoke(app, ["study", "negotiator"])
    assert isinstance(wrong.exception, UnknownName) and "negotiators" in str(wrong.exception)


def test_an_exact_study_plays_agents_and_yardsticks_over_every_context(tmp_path: Path) -> None:
    cell = Cell(
        "Lewis", "ppo_config.yaml", {**SMALL, "env": {"scenario": "lewis", "max_turns": 3}, "hints": {"mode": "bayes"}}, below_bayes=1.0
    )
    result = run_study(Study("a trial", (cell,), seeds=(3, 4), exact=True, play_with=("none",)), tmp_path)
    json.dumps(result)
    (row,) = result["cells"]
    game = game_of_cell(cell)
    ends = exact_ends(game)
    assert result["exact"] and "episodes" not in result and row["yardsticks"] == ends.shares()
    for run in row["seeds"]:
        checkpoint = checkpoint_of(tmp_path, cell, run["seed"])
        whole, without = play_population(game, Learned(checkpoint)), play_population(game, Learned(checkpoint, hint="none"))
        assert run["share_of_maximum"] == exactly(whole.share_of_maximum, 2 * 5295).as_dict() and run["deal_rate"] == whole.deal_rate
        assert run["played_with"] == {"none": without.share_of_maximum}
        assert run["below_bayes"] == pytest.approx(ends.bayes - whole.share_of_maximum) and run["below_bayes"] > 0.0
    assert row["targets"][0]["found"] == pytest.approx(np.mean([run["below_bayes"] for run in row["seeds"]]))
    draw_study(result, tmp_path / "study.png")
    assert (tmp_path / "study.png").stat().st_size > 10_000


def test_agents_also_meet_the_partners_of_a_study_between_bounds(tmp_path: Path) -> None:
    cells = tuple(
        Cell(name, "ppo_config.yaml", {**SMALL, "env": {"max_turns": 3, "partner": partner}})
        for name, partner in (("linear", "linear"), ("generalist", "population"))
    )
    study = Study("a trial", cells, seeds=(3, 4), episodes=60, yardstick_episodes=20, partners=("linear", "boulware"), own_sides=2)
    result = run_study(study, tmp_path)
    assert [scale["partner"] for scale in result["scales"]] == ["linear", "boulware"]
    for cell, row in zip(cells, result["cells"], strict=True):
        for scale in result["scales"]:
            game, found = game_of_cell(cell, scale["partner"]), row["against"][scale["partner"]]
            shares = [share_against(game, Learned(checkpoint_of(tmp_path, cell, seed)), 2) for seed in (3, 4)]
            assert [run["against"][scale["partner"]] for run in row["seeds"]] == shares
            assert found["value"] == pytest.approx(np.mean(shares)) and max(shares) <= upper_bound(scale) + 1e-9
    draw_memory(result, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 10_000
    assert "the specialists" in memory_finding(result)
