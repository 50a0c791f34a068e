"""Hyper-parameter search of a study's cell with Ray Tune: random settings, and ASHA, which stops the worse ones early (Li et al. 2020).

A study says in its block `search` which cell is searched and from where its settings are drawn:

    search:
      cell: PPO, classic
      space:
        ppo.learning_rate: {log_uniform: [0.0001, 0.003]}
        ppo.entropy: {choice: [0.0, 0.01, 0.03]}
      trials: 16
      grace: 100000

A trial is a training run in a folder of its own. Every `grace` moves it reports the mean share of the maximum since the report before, and
ASHA compares it with trials that came as far. Which settings are tried depends on the seed alone; which are stopped early also depends on
which trials ended first.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.errors import InvalidOption
from edgeworth.evaluation.study import Study
from edgeworth.evaluation.study_cells import Cell, Search
from edgeworth.executor.on_ray import connect, ray_module
from edgeworth.progress import Progress, silent
from edgeworth.runlog import CHECKPOINTS, LAST, SUFFIX, Line
from edgeworth.training.changes import merged
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, as_mapping

SCORE, MOVES = "share_of_maximum", "moves"
NAME = "search"


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """`{"ppo.entropy": 0.1}` as `{"ppo": {"entropy": 0.1}}`."""
    found: dict[str, Any] = {}
    for name, value in flat.items():
        for part in reversed(name.split(".")):
            value = {part: value}
        found = merged(found, value)
    return found


def tried(cell: Cell, drawn: Mapping[str, Any], seed: int, steps: int | None) -> TrainSettings:
    """The settings of a trial."""
    return Cell(cell.name, cell.config, merged(cell.change, nested(drawn))).settings(seed, steps)


def train_trial(drawn: Mapping[str, Any], cell: Cell, search: Search, steps: int | None) -> None:
    """Train with settings that were drawn, and report now and then; a trial that is tried again goes on where it stopped."""
    tune = ray_module("ray.tune")
    settings, folder = tried(cell, drawn, search.seed, steps), Path(tune.get_context().get_trial_dir()) / "run"
    begun = (folder / CHECKPOINTS / f"{LAST}{SUFFIX}").is_file()
    run = Run.resume(settings, folder) if begun else Run.begin(settings, folder, f"a trial of a search: {cell.name}")
    try:
        run.train(reporter(tune.report, search.grace, settings.num_train_steps))
    finally:
        run.close()


def reporter(report: Callable[[dict[str, float]], None], every: int, last: int) -> Callable[[Line], None]:
    """What a run calls after each iteration: reports the mean score over every so many moves, and at the end."""
    scores: list[float] = []
    due = every

    def note(line: Line) -> None:
        nonlocal due
        score = float(line[SCORE])
        if not np.isnan(score):
            scores.append(score)
        if scores and (int(line["steps"]) >= due or int(line["steps"]) >= last):
            report({SCORE: float(np.mean(scores)), MOVES: int(line["steps"])})
            scores.clear()
            due = int(line["steps"]) + every

    return note


def run_search(
    study: Study, runs: Path, workers: int | None = None, address: str | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Search, or go on with a search that was interrupted; a dictionary for JSON, whose `settings` are the best ones."""
    search, cell = study.searched()
    connected, tune = connect(workers, address), ray_module("ray.tune")
    moves = cell.settings(search.seed, study.steps).num_train_steps
    trainable = functools.partial(train_trial, cell=cell, search=search, steps=study.steps)
    place = runs.absolute() / NAME
    progress(f"{search.trials} trials of {moves:,} moves at most", 0, 1)
    _SHOWN.append((progress, search.trials))
    try:
        if tune.Tuner.can_restore(str(place)):
            tuner = tune.Tuner.restore(str(place), trainable, resume_errored=True, param_space=_space(tune, search))
        else:
            tuner = tune.Tuner(
                trainable,
                param_space=_space(tune, search),
                tune_config=tune.TuneConfig(
                    metric=SCORE,
                    mode="max",
                    num_samples=search.trials,
                    search_alg=tune.search.BasicVariantGenerator(random_state=search.seed, max_concurrent=workers or 0),
                    scheduler=tune.schedulers.ASHAScheduler(
                        time_attr=MOVES, max_t=moves, grace_period=min(search.grace, moves), reduction_factor=search.reduction
                    ),
                ),
                run_config=tune.RunConfig(
                    name=NAME,
                    storage_path=str(runs.absolute()),
                    verbose=0,
                    failure_config=tune.FailureConfig(max_failures=2),
                    callbacks=[type("Shown", (tune.Callback,), {"on_step_end": show_trials})()],
                ),
            )
        with contextlib.redirect_stdout(sys.stderr):  # where Ray Tune reports
            grid = tuner.fit()
        if len(grid) < search.trials or any(each.error is None and not (each.metrics or {}).get("done") for each in grid):
            raise KeyboardInterrupt  # Ray Tune takes a Ctrl-C for the end of the search
        return _found(study, search, cell, moves, grid)
    finally:
        _SHOWN.pop()
        if connected:
            ray_module().shutdown()


_SHOWN: list[tuple[Progress, int]] = []
"""The progress of the search under way, and its number of trials; here, since Ray Tune writes its callbacks to disk."""


def show_trials(callback: Any, iteration: int, trials: list[Any], **_: Any) -> None:
    """Ray Tune's callback: show how many trials are done, running and failed."""
    progress, total = _SHOWN[-1]
    count = Counter(str(trial.status) for trial in trials)
    failed = f", {count['ERROR']} failed" if count["ERROR"] else ""
    over = count["TERMINATED"] + count["ERROR"]
    progress(f"{count['TERMINATED']} of {total} trials done, {count['RUNNING']} running{failed}", over, total)


def _space(tune: Any, search: Search) -> dict[str, Any]:
    """The space as Ray Tune draws from it."""
    kinds = {"choice": tune.choice, "uniform": tune.uniform, "log_uniform": tune.loguniform, "integer": _integers(tune)}
    return {
        name: kinds[kind](values) if kind == "choice" else kinds[kind](*map(float, values))
        for name, given in search.space.items()
        for kind, values in given.items()
    }


def _integers(tune: Any) -> Callable[[float, float], Any]:
    return lambda low, high: tune.randint(int(low), int(high) + 1)


def _found(study: Study, search: Search, cell: Cell, moves: int, grid: Any) -> dict[str, Any]:
    trials = []
    for result in grid:
        metrics = result.metrics or {}
        score = {SCORE: metrics.get(SCORE), MOVES: metrics.get(MOVES, 0), "folder": str(result.path)}
        trials.append({"settings": dict(result.config), **score, **({} if result.error is None else {"failed": str(result.error)})})
    scored = [row for row in trials if row[SCORE] is not None]
    finished = [row for row in scored if row[MOVES] >= moves] or scored
    if not finished:
        raise InvalidOption(f"All {len(trials)} trials failed; the first: {trials[0].get('failed', 'no report')}")
    best = max(finished, key=lambda row: float(row[SCORE]))
    trials.sort(key=lambda row: (row[MOVES] < moves, -(row[SCORE] or 0.0)))
    return {
        "about": study.about,
        "quantity": f"{SCORE}: mean over the last {search.grace:,} moves of training or fewer",
        "cell": cell.name,
        "seed": search.seed,
        "best": best,
        "stopped_early": sum(row[MOVES] < moves for row in scored),
        "trials": trials,
        "settings": as_mapping(tried(cell, best["settings"], search.seed, study.steps)),
    }
