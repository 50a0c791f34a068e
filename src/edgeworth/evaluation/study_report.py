"""The report of a study: its agents played on the same episodes, put side by side, and compared with their baselines.

The likeliest moves of the last checkpoint are played. Means over the few training seeds come with a t interval over seeds, single seeds
with a bootstrap interval over episodes. An exact study plays every context of its games instead, agents and yardsticks alike.

The baseline of a cell differs from it only in the values that the study names, such as no hints. Differences pair runs of the same training
seed. How quickly a cell learns is measured by the moves until its learning curve, a running mean, first reaches 95 % of what the
baseline's curves end with; a ratio below 1 is quicker than the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import Episodes, play_episodes
from edgeworth.evaluation.exact import exact_ends
from edgeworth.evaluation.learning_curves import final_score, learning_curves, moves_to_reach
from edgeworth.evaluation.negotiators import play_ends
from edgeworth.evaluation.partner_yardstick import partner_yardstick, share_against
from edgeworth.evaluation.statistics import exactly, mean, over_seeds, ratio, within_one
from edgeworth.evaluation.study import Study, checkpoint_of, game_of_cell, run_folder, run_name, tasks_of, train_all, training_facts
from edgeworth.evaluation.study_cells import Cell
from edgeworth.evaluation.whole_population import ExactPlay, play_population
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.progress import Progress, silent
from edgeworth.runlog import Checkpoint, read_checkpoint, read_history, write_checkpoint

QUANTITY = (
    "share_of_maximum: sum of rewards / sum of the agent's maxima, likeliest moves of the last checkpoint; below_bayes: that of the"
    " blind Bayes plan less that of the agent, on what both played; means over seeds with 95 % t intervals over seeds"
)
CURVE_POINTS = 40
REACHED_AT = 0.95
"""The part of the baseline's final score that counts as reached."""

Row = dict[str, Any]


def play_one(study: Study, cell: Cell, seed: int, runs: Path, hint: str | None = None) -> Episodes:
    """Play the trained agent on the episodes of the study, with the hints it learnt with or with others."""
    agent = Learned(checkpoint_of(runs, cell, seed), hint=hint)
    try:
        return play_episodes(game_of_cell(cell), agent, study.episodes, study.evaluation_seed)
    finally:
        agent.close()


def play_whole(cell: Cell, seed: int, runs: Path, hint: str | None = None) -> ExactPlay:
    """Play the trained agent over every context of its game, with the hints it learnt with or with others."""
    agent = Learned(checkpoint_of(runs, cell, seed), hint=hint)
    try:
        return play_population(game_of_cell(cell), agent)
    finally:
        agent.close()


def run_study(study: Study, runs: Path, run: Executor = HERE, progress: Progress = silent) -> dict[str, Any]:
    """Train, play and compare; a dictionary for JSON. Runs that failed are left out of the means and listed with their reasons."""
    failures = list(train_all(study, runs, run, progress))
    lost = {failure.name for failure in failures}
    jobs = [(cell, seed) for cell in study.cells for seed in study.seeds if run_name(cell, seed) not in lost]
    games = {repr(game): game for game in map(game_of_cell, study.cells)}
    head = None if study.exact else min(study.episodes, study.yardstick_episodes)
    scales = [Task(f"yardsticks: {key}", play_scale, (game, head, study.evaluation_seed)) for key, game in games.items()]
    possible = {name: game_of_cell(study.cells[0], name) for name in study.partners}
    bounds = [Task(f"bounds: {name}", partner_yardstick, ("", game, study.own_sides, 0)) for name, game in possible.items()]
    played = run([*scales, *bounds, *tasks_of(study, measure_run, runs, jobs)], progress)
    failures += played.failures
    rows, folders = [], {}
    for cell in study.cells:
        measured = [row for seed in study.seeds if (row := played.values.get(run_name(cell, seed))) is not None]
        scale = played.values.get(f"yardsticks: {game_of_cell(cell)!r}")
        if measured and scale is not None:
            folders[cell.name] = {row["seed"]: run_folder(runs, cell, row["seed"]) for row in measured}
            rows.append(measure_cell(study, cell, measured, list(folders[cell.name].values()), scale))
    add_comparisons(study, rows, folders)
    return {
        "about": study.about,
        "quantity": QUANTITY,
        "training_seeds": list(study.seeds),
        **study.extent(),
        **({"scales": [found for task in bounds if (found := played.values.get(task.name))]} if bounds else {}),
        "cells": rows,
        **({"failures": [failure.as_dict() for failure in failures]} if failures else {}),
    }


def play_scale(game: BargainingConfig, episodes: int | None, seed: int) -> dict[str, Any]:
    """The shares of both ends of a game's scale, and what the upper one earned on these episodes, or on average over every context."""
    if episodes is None:
        whole = exact_ends(game)
        return {"shares": whole.shares(), "bayes_reward": whole.bayes, "note": whole.note}
    ends = play_ends(game, episodes, seed)
    return {"shares": ends.shares(), "bayes_reward": None if ends.bayes is None else ends.bayes.reward.sum(), "note": ends.note}


def measure_run(study: Study, cell: Cell, seed: int, runs: Path) -> Row:
    """The numbers of one run."""
    hints, own = cell.settings(seed).hints, measure_play(study, cell, seed, runs)
    instead = {
        hint: (own if hint == hints.mode else measure_play(study, cell, seed, runs, hint))["share_of_maximum"]["value"]
        for hint in (study.play_with if hints.given else ())
    }
    return {
        "seed": seed,
        **own,
        **({"played_with": instead} if instead else {}),
        **({"against": meet_partners(study, cell, seed, runs)} if study.partners else {}),
        **training_facts(run_folder(runs, cell, seed)),
    }


def measure_play(study: Study, cell: Cell, seed: int, runs: Path, hint: str | None = None) -> Row:
    """How an agent plays; `first` has its rewards and maxima on what the yardsticks play too."""
    if study.exact:
        whole = play_whole(cell, seed, runs, hint)
        return {
            "share_of_maximum": exactly(whole.share_of_maximum, whole.negotiations).as_dict(),
            "reward": exactly(whole.reward, whole.negotiations).as_dict(),
            "first": [whole.share_of_maximum, 1.0],
            "deal_rate": whole.deal_rate,
            "length": whole.length,
        }
    episodes = play_one(study, cell, seed, runs, hint)
    head = episodes.first(study.yardstick_episodes)
    return {
        "share_of_maximum": ratio(episodes.reward, episodes.maximum).as_dict(),
        "reward": mean(episodes.reward).as_dict(),
        "first": [head.reward.sum(), head.maximum.sum()],
        "deal_rate": float(episodes.agreed.mean()),
        "length": float(episodes.turns.mean()),
    }


def meet_partners(study: Study, cell: Cell, seed: int, runs: Path) -> dict[str, float]:
    """The share of the maximum that a trained agent gets against each partner of the study."""
    agent = Learned(checkpoint_of(runs, cell, seed))
    return {name: share_against(game_of_cell(cell, name), agent, study.own_sides) for name in study.partners}


def measure_cell(study: Study, cell: Cell, measured: list[Row], folders: list[Path], scale: Mapping[str, Any]) -> Row:
    """The numbers of one cell, from those of its runs and of the yardsticks of its game."""
    settings = cell.settings(study.seeds[0], study.steps)
    seeds = [_with_distance(row, scale["bayes_reward"]) for row in measured]
    below = [row["below_bayes"] for row in seeds if row["below_bayes"] is not None]
    found: Row = {
        "name": cell.name,
        **({"values": dict(cell.values)} if cell.values else {}),
        "config": cell.config,
        "change": dict(cell.change),
        "moves": settings.num_train_steps,
        **({} if settings.rehearsal is None else {"negotiations": settings.rehearsal.negotiations}),
        "scenario": str(settings.env.get("scenario", "classic")),
        "algo": settings.algo,
        "hints": {"mode": settings.hints.mode, "k": settings.hints.k},
        "share_of_maximum": over_seeds([row["share_of_maximum"]["value"] for row in seeds]).as_dict(),
        "below_bayes": over_seeds(below).as_dict() if below else None,
        "deal_rate": within_one(over_seeds([row["deal_rate"] for row in seeds])).as_dict(),
        "length": over_seeds([row["length"] for row in seeds]).as_dict(),
        **_against(study, seeds),
        "yardsticks": scale["shares"],
        **({"note": scale["note"]} if scale["note"] else {}),
        "seeds": seeds,
        "targets": [],
        "curve": curve_of(folders),
    }
    if cell.at_least is not None:
        found["targets"].append(_target("share_of_maximum", found["share_of_maximum"]["value"], ">=", cell.at_least))
    if cell.below_bayes is not None and below:
        found["targets"].append(_target("below_bayes", found["below_bayes"]["value"], "<=", cell.below_bayes))
    return found


def _against(study: Study, seeds: list[Row]) -> Row:
    """The scores against each partner of the study, if there are any, over seeds."""
    found = {name: over_seeds([row["against"][name] for row in seeds]).as_dict() for name in study.partners}
    return {"against": found} if found else {}


def _target(name: str, value: float, relation: str, wanted: float) -> Row:
    met = value >= wanted if relation == ">=" else value <= wanted
    return {"name": name, "found": value, "relation": relation, "target": wanted, "met": met}


def _with_distance(row: Row, bayes_reward: float | None) -> Row:
    """The numbers of a run with its distance below the blind Bayes plan, on the episodes that both played, as a share of the maximum."""
    reward, maximum = row["first"]
    below = {"below_bayes": None if bayes_reward is None else (bayes_reward - reward) / maximum}
    return below | {key: value for key, value in row.items() if key != "first"}


def curve_of(folders: list[Path]) -> dict[str, Any] | None:
    """The learning curve of some runs, of the share of the maximum; none of runs that are too short for one."""
    if min(len(read_history(folder)) for folder in folders) < 2:
        return None
    curve = learning_curves(folders)[0].as_dict()
    steps = np.asarray(curve["steps"])
    chosen = np.unique(np.linspace(0, len(steps) - 1, CURVE_POINTS).round().astype(int))
    share = {name: np.asarray(values)[chosen].tolist() for name, values in curve["share_of_maximum"].items()}
    return {"steps": steps[chosen].tolist(), "seconds": np.asarray(curve["seconds"])[chosen].tolist(), "share_of_maximum": share}


# Comparisons


def add_comparisons(study: Study, rows: Sequence[Row], folders: Mapping[str, Mapping[int, Path]]) -> None:
    """Write into the rows of a study's result what they differ by; `folders` are the runs of every cell by seed."""
    by_name, cells = {row["name"]: row for row in rows}, {cell.name: cell for cell in study.cells}
    for row in rows:
        cell = cells[row["name"]]
        other = study.baseline_of(cell)
        base = None if other is None else by_name.get(other.name)
        if base is not None:
            row["over_baseline"] = {"baseline": base["name"], **_difference(shares(row), shares(base))}
            row["reaching"] = _reaching(folders[row["name"]], folders[base["name"]])
        elif study.baseline and study.baseline.items() <= cell.values.items():
            row["reaching"] = _reaching(folders[row["name"]], folders[row["name"]])
        if "played_with" in row["seeds"][0]:
            row["played_with"] = {hint: _played(row, hint, base) for hint in study.play_with}


def shares(row: Row) -> dict[int, float]:
    """The share of the maximum by seed."""
    return {run["seed"]: float(run["share_of_maximum"]["value"]) for run in row["seeds"]}


def _difference(values: Mapping[int, float], others: Mapping[int, float]) -> Row:
    """The mean difference over the seeds that both have."""
    return over_seeds([value - others[seed] for seed, value in values.items() if seed in others]).as_dict()


def _played(row: Row, hint: str, base: Row | None) -> Row:
    """The scores with another provider's hints, less those with the own, and less the baseline's."""
    played = {run["seed"]: float(run["played_with"][hint]) for run in row["seeds"]}
    found = {"share_of_maximum": over_seeds(list(played.values())).as_dict(), "over_own_hints": _difference(played, shares(row))}
    return found if base is None else {**found, "over_baseline": _difference(played, shares(base))}


def _reaching(folders: Mapping[int, Path], baseline: Mapping[int, Path]) -> Row:
    """How many moves it took, and how many times those of the baseline; neither where some seed never came there."""
    level = REACHED_AT * float(np.mean([final_score(folder) for folder in baseline.values()]))
    moves, before = ({seed: moves_to_reach(folder, level) for seed, folder in runs.items()} for runs in (folders, baseline))
    there = [number for number in moves.values() if number is not None]
    both = [seed for seed in moves if seed in before]
    ratios = [moved / other for seed in both if (moved := moves[seed]) is not None and (other := before[seed]) is not None]
    return {
        "level": round(level, 5),
        "reached": len(there),
        "moves": over_seeds(there).as_dict() if len(there) == len(moves) else None,
        "ratio": over_seeds(ratios).as_dict() if len(ratios) == len(both) > 0 else None,
    }


# Bundled networks


def write_bundled(study: Study, runs: Path, result: Mapping[str, Any], bundle: Path, command: str) -> list[Path]:
    """Write the first seed's network of every cell that is bundled, with its card, into a folder; returns the checkpoints."""
    written = []
    rows = {row["name"]: row for row in result["cells"]}
    for cell in study.cells:
        row, seed = rows.get(cell.name), study.seeds[0]
        if cell.bundle is None or row is None or row["seeds"][0]["seed"] != seed:
            continue
        first = row["seeds"][0]
        card = {
            "what": f"A negotiator, trained by {row['algo'].upper()} in the scenario {row['scenario']}.",
            "config": cell.config,
            "change": dict(cell.change),
            "command": command,
            "seed": seed,
            "moves": row["moves"],
            "cpu_seconds": first["cpu_seconds"],
            **study.extent(),
            "share_of_maximum": first["share_of_maximum"],
            "below_bayes": first["below_bayes"],
            "yardsticks": row["yardsticks"],
        }
        write_network(bundle / cell.bundle, checkpoint_of(runs, cell, seed), card)
        written.append(bundle / cell.bundle)
    return written


def write_network(path: Path, checkpoint: Path, card: Mapping[str, Any]) -> None:
    """Write the network of a checkpoint with a card, without what only training needs."""
    kept = read_checkpoint(checkpoint)
    facts = {name: value for name, value in kept.facts.items() if name not in ("progress", "digest")}
    network = {name: kept.tensors[name] for name in PolicyShape(**kept.facts["shape"]).tensors()}
    write_checkpoint(path, Checkpoint(network, {**facts, "card": dict(card)}))
