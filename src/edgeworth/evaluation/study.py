"""Studies: agents trained with several settings and several seeds each; what a study is, and the training of its runs.

A study is a YAML file in `configs/studies/`. Its cells, the kinds of agents, are written one by one, or as a grid (`study_cells.py`). Every
run has its own folder, so an interrupted study goes on where it stopped, and a finished one is only read.
"""

from __future__ import annotations

import dataclasses
import platform
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from edgeworth import catalog
from edgeworth.config import BargainingConfig, load_yaml
from edgeworth.errors import InvalidOption, RunStopped, UnknownName
from edgeworth.evaluation.study_cells import Cell, Grid, Search
from edgeworth.executor.execution import HERE, Executor, Failure
from edgeworth.executor.tasks import Task
from edgeworth.progress import Progress, silent
from edgeworth.runlog import CHECKPOINTS, LAST, METRICS, STEP, SUFFIX, read_config, read_history
from edgeworth.training.curriculum import stages_of
from edgeworth.training.run import Run
from edgeworth.training.settings import as_mapping
from edgeworth.validation import build, settings

TAIL = 4_000
"""Bytes at the end of a log that surely hold its last line."""


@settings
class Study:
    """What is compared."""

    about: str
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    episodes: int = 20_000
    yardstick_episodes: int = 3_000
    evaluation_seed: int = 1_000_000
    """The first seed of the episodes that are played."""
    exact: bool = False
    """Whether every context that a game can draw is played instead of episodes, by agents and yardsticks alike."""
    steps: int | None = None
    """Moves per run, instead of those in the settings: for a trial."""
    baseline: Mapping[str, str] = field(default_factory=dict)
    """The values of a grid with which the cells are compared that differ in them alone."""
    play_with: tuple[str, ...] = ()
    """Hint providers that agents which learnt with hints are also played with, instead of their own; `none` takes the hints away."""
    partners: tuple[str, ...] = ()
    """Partners that every agent also meets, whatever it was trained with, beside the bounds of what is possible there."""
    own_sides: int = 160
    """Own sides with which it meets them, drawn by seed 0, each with all utilities that the partner may have."""
    figure: str = "edgeworth.evaluation.training_figures:draw_study"
    """What draws its result."""
    search: Search | None = None
    """A search for better settings of a cell (`study_search.py`)."""

    def __post_init__(self) -> None:
        if not self.cells or not self.seeds:
            raise InvalidOption(f"The study has {len(self.cells)} cells and {len(self.seeds)} seeds; it needs one of each at least.")
        names = [folder_name(cell.name) for cell in self.cells]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InvalidOption(f"Two cells of the study have the name {min(twice)}; runs are kept by name, so give each its own.")
        for provider in self.play_with:
            if provider not in catalog.HINTS:
                raise UnknownName("hint provider", provider, catalog.HINTS)

    def extent(self) -> dict[str, Any]:
        """On what the agents are played, for a result."""
        if self.exact:
            return {"exact": True}
        last = self.evaluation_seed + self.episodes - 1
        return {
            "episodes": self.episodes,
            "yardstick_episodes": min(self.episodes, self.yardstick_episodes),
            "evaluation_seeds": f"{self.evaluation_seed} to {last}",
        }

    def searched(self) -> tuple[Search, Cell]:
        """The search and the cell that it is about."""
        if self.search is None:
            raise InvalidOption("The study has no block `search`; write one with its `space`, as docs/scaling.md shows.")
        wanted = self.cells[0].name if self.search.cell is None else self.search.cell
        by_name = {cell.name: cell for cell in self.cells}
        if wanted not in by_name:
            raise UnknownName("cell of the search", wanted, by_name)
        return self.search, by_name[wanted]

    def baseline_of(self, cell: Cell) -> Cell | None:
        """The cell that it is compared with: with the values of the baseline, and in all else like it."""
        for other in self.cells if self.baseline else ():
            like = {**cell.values, **self.baseline}
            if other is not cell and self.baseline.items() <= other.values.items() <= like.items():
                return other
        return None


def extent_text(result: Mapping[str, Any]) -> str:
    """On what the agents of a study were played, in words."""
    return "every context of their games" if result.get("exact") else f"{result['episodes']:,} episodes each"


def load_study(path: Path, only: Sequence[str] = (), **changes: Any) -> Study:
    """A study from its file; only some of its cells, or with other numbers, where that is asked for.

    `only` names cells, or values of a grid with commas between, which mean all cells that have them.
    """
    given = {**load_yaml(path), **{name: value for name, value in changes.items() if value is not None}}
    cells = [build(Cell, cell, "a cell of the study") for cell in given.pop("cells", None) or ()]
    if "grid" in given:
        cells += build(Grid, given.pop("grid"), "the grid of the study").cells()
    if given.get("search") is not None:
        given["search"] = build(Search, given["search"], "the search of the study")
    chosen = [cell for cell in cells if not only or any(_meant(cell, name, cells) for name in only)]
    study: Study = build(Study, {**given, "cells": tuple(chosen)}, "the study")
    return study


def _meant(cell: Cell, name: str, cells: Sequence[Cell]) -> bool:
    """Whether a name is that of the cell, or names some of its values."""
    names = [each.name for each in cells]
    if name in names:
        return cell.name == name
    wanted, known = {part.strip() for part in name.split(",")}, {value for each in cells for value in each.values.values()}
    if not wanted <= known:
        raise UnknownName("cell of the study", name, [*names, *sorted(known)])
    return wanted <= set(cell.values.values())


def folder_name(name: str) -> str:
    """A cell's name as that of a folder."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


# Training, one run per task


def run_folder(runs: Path, cell: Cell, seed: int) -> Path:
    """Where a run is kept."""
    return runs / folder_name(cell.name) / f"seed{seed}"


def checkpoint_of(runs: Path, cell: Cell, seed: int) -> Path:
    """The last checkpoint of a run."""
    return run_folder(runs, cell, seed) / CHECKPOINTS / LAST


def train_one(study: Study, cell: Cell, seed: int, runs: Path) -> None:
    """Train one agent, or go on with it; a run that was killed before its first checkpoint begins anew."""
    if not runs.is_dir():
        raise RunStopped(f"{platform.node()} does not see the folder {runs}; name one with --runs that all machines share.")
    folder, settings = run_folder(runs, cell, seed), cell.settings(seed, study.steps)
    if folder.is_dir() and not (folder / CHECKPOINTS / f"{LAST}{SUFFIX}").is_file():
        shutil.rmtree(folder)
    if folder.is_dir():
        stored, wanted = dict(read_config(folder)), as_mapping(settings)
        if stored != wanted:
            differing = sorted(key for key in {**stored, **wanted} if stored.get(key) != wanted.get(key))
            raise InvalidOption(f"{folder} holds a run with other settings ({', '.join(differing)}); move it away, or name another --runs.")
        run = Run.resume(settings, folder)
    else:
        run = Run.begin(settings, folder, f"a cell of a study: {cell.name}, seed {seed}")
    try:
        run.train()
    finally:
        run.close()


def game_of_cell(cell: Cell, partner: str | None = None) -> BargainingConfig:
    """The game that the runs of a cell end with, or the same with another partner."""
    game = stages_of(cell.settings(0))[-1].game
    return game if partner is None else dataclasses.replace(game, partner=partner, partner_options={})


def steps_made(folder: Path) -> int:
    """How far a run is, from the last whole line of its log."""
    try:
        with (folder / METRICS).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
        return int(lines[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def tasks_of(study: Study, function: Callable[..., Any], runs: Path, jobs: Sequence[tuple[Cell, int]], keep: bool = True) -> list[Task]:
    """A task for each of these cells and seeds; it is sent the study without its other cells."""
    return [
        Task(run_name(cell, seed), function, (dataclasses.replace(study, cells=(cell,), seeds=(seed,)), cell, seed, runs), keep=keep)
        for cell, seed in jobs
    ]


def run_name(cell: Cell, seed: int) -> str:
    """What a run is called."""
    return f"{cell.name}, seed {seed}"


def train_all(study: Study, runs: Path, run: Executor = HERE, progress: Progress = silent) -> tuple[Failure, ...]:
    """Train every run of a study that is not finished; returns those that failed, which the next call continues."""
    jobs = [(cell, seed) for seed in study.seeds for cell in study.cells]
    wanted = {(cell.name, seed): cell.settings(seed, study.steps).num_train_steps for cell, seed in jobs}
    runs.mkdir(parents=True, exist_ok=True)

    def made() -> tuple[int, int]:
        steps = (min(steps_made(run_folder(runs, cell, seed)), wanted[cell.name, seed]) for cell, seed in jobs)
        return sum(steps), sum(wanted.values())

    failures = run(tasks_of(study, train_one, runs, jobs, keep=False), progress, made).failures
    for failure in failures:
        if failure.refused:
            raise InvalidOption(failure.reason)
    return failures


def training_facts(folder: Path) -> dict[str, Any]:
    """How long a run took, and what its hints cost."""
    last = read_history(folder)[-1]
    hints = {name: value for name, value in last.items() if name.startswith("hint_")}
    times: dict[str, Any] = {name: last[name] for name in ("seconds", "cpu_seconds") if name in last}
    return {"moves": int(last[STEP]), **times, **hints}
