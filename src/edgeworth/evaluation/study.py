"""Studies: agents trained with several settings and several seeds each, then played on the same episodes and put side by side.

`study_file.py` says what a study is. Every run has a folder of its own, so that a study which was interrupted goes on where it stopped,
and one that is finished is only read. The likeliest moves of the last checkpoint are played. Means over seeds come with a t interval over
seeds, which are few; single seeds with the bootstrap interval over episodes. What cells differ by is in `study_comparison.py`.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import Episodes, play_episodes
from edgeworth.evaluation.learning_curves import learning_curves
from edgeworth.evaluation.negotiators import Ends, play_ends
from edgeworth.evaluation.statistics import mean, over_seeds, ratio
from edgeworth.evaluation.study_comparison import add_comparisons
from edgeworth.evaluation.study_file import Cell, Study, folder_name, load_study
from edgeworth.progress import Progress, silent
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
from edgeworth.training.settings import as_mapping

__all__ = ["Cell", "Study", "folder_name", "load_study", "play_one", "put_into_box", "run_study", "train_all", "train_one"]


QUANTITY = (
    "share_of_maximum: sum of rewards / sum of the agent's maxima, likeliest moves of the last checkpoint; below_bayes: that of the"
    " blind Bayes plan less that of the agent, on the first episodes; means over seeds with 95 % t intervals over seeds"
)
CURVE_POINTS = 40
TAIL = 4_000
"""Bytes at the end of a log of numbers that surely hold its last line."""


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


def play_one(study: Study, cell: Cell, seed: int, runs: Path, hint: str | None = None) -> Episodes:
    """Play the trained agent on the episodes of the study, with the hints it learnt with or with others."""
    agent = Learned(run_folder(runs, cell, seed) / CHECKPOINTS / LAST, hint=hint)
    try:
        return play_episodes(game_of_cell(cell), agent, study.episodes, study.evaluation_seed)
    finally:
        agent.close()


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


@contextmanager
def pool_of(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes to work in; what one of them cannot do stops all."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def train_all(study: Study, runs: Path, workers: int, progress: Progress = silent) -> None:
    """Train every run of a study, so many at a time; where one stops all, the others can be taken up again."""
    jobs = [(cell, seed) for seed in study.seeds for cell in study.cells]
    wanted = {(cell.name, seed): cell.settings(seed, study.steps).num_train_steps for cell, seed in jobs}
    with pool_of(workers) as pool:
        waiting = {pool.submit(train_one, study, cell, seed, runs) for cell, seed in jobs}
        while waiting:
            over, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in over:
                future.result()
            made = sum(min(steps_made(run_folder(runs, cell, seed)), wanted[cell.name, seed]) for cell, seed in jobs)
            progress(f"{len(jobs) - len(waiting)} of {len(jobs)} runs", made, sum(wanted.values()))


# What came of it


def run_study(study: Study, runs: Path, workers: int, progress: Progress = silent) -> dict[str, Any]:
    """Train, play and compare; a dictionary for JSON."""
    train_all(study, runs, workers, progress)
    ends: dict[str, Ends] = {}
    for game in map(game_of_cell, study.cells):
        if repr(game) not in ends:
            ends[repr(game)] = play_ends(game, min(study.episodes, study.yardstick_episodes), study.evaluation_seed)
    rows = []
    with pool_of(workers) as pool:
        measured = [_submit_measures(pool, study, cell, runs, ends[repr(game_of_cell(cell))]) for cell in study.cells]
        for number, (cell, seeds) in enumerate(zip(study.cells, measured, strict=True)):
            progress(f"playing {cell.name}", number, len(study.cells))
            rows.append(measure_cell(study, cell, [seed.result() for seed in seeds], runs, ends[repr(game_of_cell(cell))]))
    add_comparisons(study, rows, {cell.name: [run_folder(runs, cell, seed) for seed in study.seeds] for cell in study.cells})
    return {
        "about": study.about,
        "quantity": QUANTITY,
        "training_seeds": list(study.seeds),
        "episodes": study.episodes,
        "yardstick_episodes": min(study.episodes, study.yardstick_episodes),
        "evaluation_seeds": f"{study.evaluation_seed} to {study.evaluation_seed + study.episodes - 1}",
        "cells": rows,
    }


Measures = dict[str, Any]


def _submit_measures(pool: ProcessPoolExecutor, study: Study, cell: Cell, runs: Path, ends: Ends) -> list[Future[Measures]]:
    return [pool.submit(measure_run, study, cell, seed, runs, ends) for seed in study.seeds]


def measure_run(study: Study, cell: Cell, seed: int, runs: Path, ends: Ends) -> Measures:
    """The numbers of one run."""
    episodes = play_one(study, cell, seed, runs)
    others = study.play_with if cell.settings(seed).hints.given else ()
    instead = {hint: play_one(study, cell, seed, runs, hint) for hint in others}
    return {
        "seed": seed,
        "share_of_maximum": ratio(episodes.reward, episodes.maximum).as_dict(),
        "reward": mean(episodes.reward).as_dict(),
        "below_bayes": bayes_less(ends, episodes),
        "deal_rate": float(episodes.agreed.mean()),
        "length": float(episodes.turns.mean()),
        **({"played_with": {hint: float(other.reward.sum() / other.maximum.sum()) for hint, other in instead.items()}} if instead else {}),
        **training_facts(run_folder(runs, cell, seed)),
    }


def measure_cell(study: Study, cell: Cell, seeds: list[Measures], runs: Path, ends: Ends) -> Measures:
    """The numbers of one cell, from those of its runs."""
    settings = cell.settings(study.seeds[0], study.steps)
    below = [row["below_bayes"] for row in seeds if row["below_bayes"] is not None]
    found: Measures = {
        "name": cell.name,
        **({"values": dict(cell.values)} if cell.values else {}),
        "config": cell.config,
        "change": dict(cell.change),
        "moves": settings.num_train_steps,
        "scenario": str(settings.env.get("scenario", "classic")),
        "algo": settings.algo,
        "hints": {"mode": settings.hints.mode, "k": settings.hints.k},
        "share_of_maximum": over_seeds([row["share_of_maximum"]["value"] for row in seeds]).as_dict(),
        "below_bayes": over_seeds(below).as_dict() if below else None,
        "deal_rate": over_seeds([row["deal_rate"] for row in seeds]).as_dict(),
        "length": over_seeds([row["length"] for row in seeds]).as_dict(),
        "yardsticks": ends.shares(),
        "seeds": seeds,
        "marks": [],
        "curve": curve_of([run_folder(runs, cell, seed) for seed in study.seeds]),
    }
    if cell.at_least is not None:
        found["marks"].append(_mark("share_of_maximum", found["share_of_maximum"]["value"], ">=", cell.at_least))
    if cell.below_bayes is not None and below:
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
    times: dict[str, Any] = {name: last[name] for name in ("seconds", "cpu_seconds") if name in last}
    return {"moves": int(last[STEP]), **times, **hints}


def curve_of(folders: list[Path]) -> dict[str, Any] | None:
    """The learning curve of some runs, of the share of the maximum; none of runs that are too short for one."""
    if min(len(read_history(folder)) for folder in folders) < 2:
        return None
    curve = learning_curves(folders)[0].as_dict()
    steps = np.asarray(curve["steps"])
    chosen = np.unique(np.linspace(0, len(steps) - 1, CURVE_POINTS).round().astype(int))
    share = {name: np.asarray(values)[chosen].tolist() for name, values in curve["share_of_maximum"].items()}
    return {"steps": steps[chosen].tolist(), "seconds": np.asarray(curve["seconds"])[chosen].tolist(), "share_of_maximum": share}
