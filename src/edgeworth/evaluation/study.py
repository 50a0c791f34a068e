"""Studies: agents trained with several settings and several seeds each, then played on the same episodes and put side by side.

A study is a YAML file in `configs/studies/`: cells, each of them a settings file with changes, the seeds, and the episodes to play. Every
run has a folder of its own, so that a study which was interrupted goes on where it stopped, and one that is finished is only read. The
likeliest moves of the last checkpoint are played. Means over seeds come with a t interval over seeds, which are few; single seeds with the
bootstrap interval over episodes.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig, build, config_folder, load_yaml
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.episodes import Episodes, play_episodes
from edgeworth.evaluation.learning_curves import learning_curves
from edgeworth.evaluation.negotiators import Ends, play_ends
from edgeworth.evaluation.statistics import mean, over_seeds, ratio
from edgeworth.runlog import (
    CHECKPOINTS,
    LAST,
    METRICS,
    STEP,
    Checkpoint,
    read_checkpoint,
    read_config,
    read_history,
    write_checkpoint,
)
from edgeworth.training.curriculum import stages_of
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, as_mapping, load_settings, merged

Progress = Callable[[str, int, int], None]

QUANTITY = (
    "share_of_maximum: sum of rewards / sum of the agent's maxima, likeliest moves of the last checkpoint; below_bayes: that of the"
    " blind Bayes plan less that of the agent, on the first episodes; means over seeds with 95 % t intervals over seeds"
)
CURVE_POINTS = 50
TAIL = 4_000
"""Bytes at the end of a log of numbers that surely hold its last line."""


@dataclass(frozen=True)
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
    box: str | None = None
    """The name under which its first seed's network goes into the box, where a box is named."""

    def settings(self, seed: int, steps: int | None = None) -> TrainSettings:
        """The settings of one of its runs."""
        shorter = {} if steps is None else {"num_train_steps": steps}
        return load_settings(config_folder() / self.config, merged(self.change, {"seed": seed, **shorter}))


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        if not self.cells or not self.seeds:
            raise InvalidOption(f"The study has {len(self.cells)} cells and {len(self.seeds)} seeds; it needs one of each at least.")
        names = [folder_name(cell.name) for cell in self.cells]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InvalidOption(f"Two cells of the study have the name {min(twice)}; runs are kept by name, so give each its own.")


def load_study(path: Path, only: Sequence[str] = (), **changes: Any) -> Study:
    """A study from its file; only some of its cells, or with other numbers, where that is asked for."""
    given = {**load_yaml(path), **{name: value for name, value in changes.items() if value is not None}}
    cells = tuple(build(Cell, cell, "a cell of the study") for cell in given.pop("cells", None) or ())
    names = [cell.name for cell in cells]
    for name in only:
        if name not in names:
            raise UnknownName("cell of the study", name, names)
    chosen = tuple(cell for cell in cells if not only or cell.name in only)
    study: Study = build(Study, {**given, "cells": chosen, "seeds": tuple(given.get("seeds", Study.seeds))}, "the study")
    return study


def folder_name(name: str) -> str:
    """A cell's name as that of a folder."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


# Training and playing, one run per process


def run_folder(runs: Path, cell: Cell, seed: int) -> Path:
    """Where a run is kept."""
    return runs / folder_name(cell.name) / f"seed{seed}"


def train_one(study: Study, cell: Cell, seed: int, runs: Path) -> None:
    """Train one agent, or go on with it."""
    folder, settings = run_folder(runs, cell, seed), cell.settings(seed, study.steps)
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


def play_one(study: Study, cell: Cell, seed: int, runs: Path) -> Episodes:
    """Play the trained agent on the episodes of the study."""
    agent = Learned(run_folder(runs, cell, seed) / CHECKPOINTS / LAST)
    return play_episodes(game_of_cell(cell), agent, study.episodes, study.evaluation_seed)


def game_of_cell(cell: Cell) -> BargainingConfig:
    """The game that the runs of a cell end with."""
    return stages_of(cell.settings(0))[-1].game


def steps_made(folder: Path) -> int:
    """How far a run is, from the last whole line of its log."""
    try:
        with (folder / METRICS).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
        return int(lines[-1].partition(",")[0])
    except (OSError, ValueError, IndexError):
        return 0


def train_all(study: Study, runs: Path, workers: int, progress: Progress | None = None) -> None:
    """Train every run of a study, so many at a time; what one of them cannot do stops all, and the others can be taken up again."""
    jobs = [(cell, seed) for seed in study.seeds for cell in study.cells]
    wanted = {(cell.name, seed): cell.settings(seed, study.steps).num_train_steps for cell, seed in jobs}
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(train_one, study, cell, seed, runs) for cell, seed in jobs}
        try:
            while waiting:
                over, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                for future in over:
                    future.result()
                if progress is not None:
                    made = sum(min(steps_made(run_folder(runs, cell, seed)), wanted[cell.name, seed]) for cell, seed in jobs)
                    progress(f"{len(jobs) - len(waiting)} of {len(jobs)} runs", made, sum(wanted.values()))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# What came of it


def run_study(study: Study, runs: Path, workers: int, progress: Progress | None = None) -> dict[str, Any]:
    """Train, play and compare; a dictionary for JSON."""
    train_all(study, runs, workers, progress)
    ends: dict[str, Ends] = {}
    rows = []
    for number, cell in enumerate(study.cells):
        if progress is not None:
            progress(f"playing {cell.name}", number, len(study.cells))
        game = game_of_cell(cell)
        key = repr(game)
        if key not in ends:
            ends[key] = play_ends(game, min(study.episodes, study.yardstick_episodes), study.evaluation_seed)
        rows.append(measure_cell(study, cell, runs, ends[key]))
    return {
        "about": study.about,
        "quantity": QUANTITY,
        "training_seeds": list(study.seeds),
        "episodes": study.episodes,
        "yardstick_episodes": min(study.episodes, study.yardstick_episodes),
        "evaluation_seeds": f"{study.evaluation_seed} to {study.evaluation_seed + study.episodes - 1}",
        "cells": rows,
    }


def measure_cell(study: Study, cell: Cell, runs: Path, ends: Ends) -> dict[str, Any]:
    """The numbers of one cell."""
    played = {seed: play_one(study, cell, seed, runs) for seed in study.seeds}
    folders = [run_folder(runs, cell, seed) for seed in study.seeds]
    shares = [float(episodes.reward.sum() / episodes.maximum.sum()) for episodes in played.values()]
    below = [bayes_less(ends, episodes) for episodes in played.values()]
    known = [number for number in below if number is not None]
    settings = cell.settings(study.seeds[0], study.steps)
    found: dict[str, Any] = {
        "name": cell.name,
        "config": cell.config,
        "change": dict(cell.change),
        "moves": settings.num_train_steps,
        "scenario": str(settings.env.get("scenario", "classic")),
        "algo": settings.algo,
        "hints": {"mode": settings.hints.mode, "k": settings.hints.k},
        "share_of_maximum": over_seeds(shares).as_dict(),
        "below_bayes": over_seeds(known).as_dict() if known else None,
        "deal_rate": over_seeds([float(episodes.agreed.mean()) for episodes in played.values()]).as_dict(),
        "length": over_seeds([float(episodes.turns.mean()) for episodes in played.values()]).as_dict(),
        "yardsticks": ends.shares(),
        "seeds": [
            {
                "seed": seed,
                "share_of_maximum": ratio(episodes.reward, episodes.maximum).as_dict(),
                "reward": mean(episodes.reward).as_dict(),
                "below_bayes": behind,
                **training_facts(run_folder(runs, cell, seed)),
            }
            for (seed, episodes), behind in zip(played.items(), below, strict=True)
        ],
        "marks": [],
        "curve": curve_of(folders),
    }
    if cell.at_least is not None:
        found["marks"].append(_mark("share_of_maximum", found["share_of_maximum"]["value"], ">=", cell.at_least))
    if cell.below_bayes is not None and known:
        found["marks"].append(_mark("below_bayes", found["below_bayes"]["value"], "<=", cell.below_bayes))
    return found


def put_into_box(study: Study, runs: Path, result: Mapping[str, Any], box: Path, command: str) -> list[Path]:
    """Write the network of the first seed of every cell that has a place in the box, with its card; returns the checkpoints."""
    written = []
    for cell, row in zip(study.cells, result["cells"], strict=True):
        if cell.box is None:
            continue
        seed, path = study.seeds[0], box / cell.box
        kept = read_checkpoint(run_folder(runs, cell, seed) / CHECKPOINTS / LAST)
        network = PolicyShape(**kept.facts["shape"]).tensors()
        card = {
            "what": f"A negotiator, trained by {row['algo'].upper()} in the scenario {row['scenario']}.",
            "config": cell.config,
            "change": dict(cell.change),
            "command": command,
            "seed": seed,
            "moves": row["moves"],
            "seconds": row["seeds"][0]["seconds"],
            "episodes": result["episodes"],
            "evaluation_seeds": result["evaluation_seeds"],
            "share_of_maximum": row["seeds"][0]["share_of_maximum"],
            "below_bayes": row["seeds"][0]["below_bayes"],
            "yardsticks": row["yardsticks"],
        }
        facts = {name: value for name, value in kept.facts.items() if name not in ("progress", "digest")}
        write_checkpoint(path, Checkpoint({name: kept.tensors[name] for name in network}, {**facts, "card": card}))
        written.append(path)
    return written


def _mark(name: str, value: float, relation: str, mark: float) -> dict[str, Any]:
    return {"name": name, "found": value, "relation": relation, "mark": mark, "met": value >= mark if relation == ">=" else value <= mark}


def bayes_less(ends: Ends, episodes: Episodes) -> float | None:
    """How far an agent stays below the blind Bayes plan, as a share of the maximum, on the episodes that both played."""
    if ends.bayes is None:
        return None
    head = episodes.first(ends.episodes)
    return float((ends.bayes.reward.sum() - head.reward.sum()) / head.maximum.sum())


def training_facts(folder: Path) -> dict[str, Any]:
    """How long a run took, and what its hints cost."""
    last = read_history(folder)[-1]
    hints = {name: value for name, value in last.items() if name.startswith("hint_")}
    return {"moves": int(last[STEP]), "seconds": last["seconds"], **hints}


def curve_of(folders: list[Path]) -> dict[str, Any] | None:
    """The learning curve of some runs, of the share of the maximum; none of runs that are too short for one."""
    if min(len(read_history(folder)) for folder in folders) < 2:
        return None
    curve = learning_curves(folders)[0].as_dict()
    steps = np.asarray(curve["steps"])
    chosen = np.unique(np.linspace(0, len(steps) - 1, CURVE_POINTS).round().astype(int))
    share = {name: np.asarray(values)[chosen].tolist() for name, values in curve["share_of_maximum"].items()}
    return {"steps": steps[chosen].tolist(), "seconds": np.asarray(curve["seconds"])[chosen].tolist(), "share_of_maximum": share}
