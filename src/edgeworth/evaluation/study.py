"""Studies: agents trained with several settings and several seeds each; what a study is, and the training of its runs.

A study is a YAML file in `configs/studies/`. Its cells, the kinds of agents, are written one by one, or as a grid.

A cell is a settings file with changes. A grid is a cross product: every value of an axis has changes of its own, and a cell takes one value
of every axis, in their order. An axis that makes no difference to some cells is left out there (`without`), so that these are trained
once. A cell of a grid is named after its values. Every run has its own folder, so an interrupted study goes on where it stopped, and a
finished one is only read.

    grid:
      change: {num_train_steps: 1000000}
      axes:
        algo: {PPO: {config: ppo_fast.yaml}, REINFORCE: {config: reinforce_fast.yaml}}
        hints: {none: {}, bayes: {hints: {mode: bayes}}}
        cadence: {k = 1: {hints: {k: 1}}, k = 3: {hints: {k: 3}}}
      without: {cadence: {hints: [none]}}
"""

from __future__ import annotations

import dataclasses
import itertools
import platform
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from edgeworth import catalog
from edgeworth.config import BargainingConfig, config_folder, load_yaml
from edgeworth.errors import InvalidOption, RunStopped, UnknownName
from edgeworth.executor.execution import HERE, Executor, Failure
from edgeworth.executor.tasks import Task
from edgeworth.progress import Progress, silent
from edgeworth.runlog import CHECKPOINTS, LAST, METRICS, STEP, SUFFIX, read_config, read_history
from edgeworth.training.changes import merged
from edgeworth.training.curriculum import stages_of
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, as_mapping, load_settings
from edgeworth.validation import build, settings

CONFIG = "config"
TAIL = 4_000
"""Bytes at the end of a log that surely hold its last line."""


@settings
class Cell:
    """One kind of agent."""

    name: str
    config: str
    """A file in `configs/`."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What is changed in it."""
    at_least: float | None = None
    """The share of the maximum that it should reach."""
    below_bayes: float | None = None
    """How far below the blind Bayes plan it may stay, in shares of the maximum."""
    bundle: str | None = None
    """The name under which its first seed's network is bundled, where a folder for that is named."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Its place in a grid: the value of every axis."""

    def settings(self, seed: int, steps: int | None = None) -> TrainSettings:
        """The settings of one of its runs."""
        shorter = {} if steps is None else {"num_train_steps": steps}
        return load_settings(config_folder() / self.config, merged(self.change, {"seed": seed, **shorter}))


@settings
class Grid:
    """Cells as a cross product."""

    axes: Mapping[str, Any]
    """By axis and value: the changes that make it, and where it is chosen there, the settings file (`config`)."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """Axes that some cells do without: by axis, another axis and those of its values."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What is changed in every cell."""

    def __post_init__(self) -> None:
        for axis, values in self.axes.items():
            if not isinstance(values, Mapping) or not values:
                raise InvalidOption(f"The axis {axis} of the grid is {values!r}; expected its values, each with what it changes.")
        for axis, others in self.without.items():
            self._check(axis)
            if not isinstance(others, Mapping):
                raise InvalidOption(f"without {axis} is {others!r}; expected another axis with a list of its values.")
            for other, values in others.items():
                self._check(other, values)

    def _check(self, axis: str, values: Sequence[str] = ()) -> None:
        if axis not in self.axes:
            raise UnknownName("axis of the grid", axis, self.axes)
        for value in values:
            if value not in self.axes[axis]:
                raise UnknownName(f"value of the axis {axis}", value, self.axes[axis])

    def cells(self) -> list[Cell]:
        """Every combination that differs from the others."""
        found: dict[tuple[tuple[str, str], ...], Cell] = {}
        for combination in itertools.product(*self.axes.values()):
            values = dict(zip(self.axes, (str(value) for value in combination), strict=True))
            values = {axis: value for axis, value in values.items() if not self._left_out(axis, values)}
            if tuple(values.items()) not in found:
                found[tuple(values.items())] = self._cell(values)
        return list(found.values())

    def _left_out(self, axis: str, values: Mapping[str, str]) -> bool:
        return any(values[other] in those for other, those in self.without.get(axis, {}).items())

    def _cell(self, values: dict[str, str]) -> Cell:
        name, change = ", ".join(values.values()), dict(self.change)
        for axis, value in values.items():
            change = merged(change, self.axes[axis][value] or {})
        if not isinstance(change.get(CONFIG), str):
            raise InvalidOption(f"The cell {name} of the grid has no settings file; give `config` to the values of one axis.")
        return Cell(name, change.pop(CONFIG), change, values=values)


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

    def baseline_of(self, cell: Cell) -> Cell | None:
        """The cell that it is compared with: with the values of the baseline, and in all else like it."""
        for other in self.cells if self.baseline else ():
            like = {**cell.values, **self.baseline}
            if other is not cell and self.baseline.items() <= other.values.items() <= like.items():
                return other
        return None


def load_study(path: Path, only: Sequence[str] = (), **changes: Any) -> Study:
    """A study from its file; only some of its cells, or with other numbers, where that is asked for.

    `only` names cells, or values of a grid with commas between, which mean all cells that have them.
    """
    given = {**load_yaml(path), **{name: value for name, value in changes.items() if value is not None}}
    cells = [build(Cell, cell, "a cell of the study") for cell in given.pop("cells", None) or ()]
    if "grid" in given:
        cells += build(Grid, given.pop("grid"), "the grid of the study").cells()
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
