"""Learning curves over seeds: the histories of runs that differ only in the seed, put together; and how soon a run reaches a level.

Runs of a group are read off at common steps, interpolated between their own lines; the curve is the mean over seeds, the band reaches
from the lowest to the highest. Times are those of the run itself, saving and logging not counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.statistics import counted
from edgeworth.runlog import STEP, Line, read_config, read_history

POINTS = 200
"""Steps at which a curve is read off."""
MEASURES = ("share_of_maximum", "reward", "deal_rate")
UNIMPORTANT = ("seed", "logging", "device")
"""Settings in which runs of one group may differ."""
SMOOTHED = 5
"""Lines of a log in a running mean."""
FINAL = 0.05
"""The part of a curve, at its end, that is its final score."""


@dataclass(frozen=True)
class Curve:
    """A group of runs that differ only in the seed."""

    name: str
    seeds: tuple[int, ...]
    steps: NDArray[np.float64]
    values: dict[str, NDArray[np.float64]]
    """By measure: one row per seed."""
    seconds: NDArray[np.float64]
    """When each run was at these steps."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: mean, lowest and highest over seeds."""
        spread = {
            name: {"mean": rows.mean(0).round(6).tolist(), "low": rows.min(0).round(6).tolist(), "high": rows.max(0).round(6).tolist()}
            for name, rows in self.values.items()
        }
        seconds = self.seconds.mean(0).round(4).tolist()
        return {"name": self.name, "seeds": list(self.seeds), "steps": self.steps.round().tolist(), "seconds": seconds, **spread}


def learning_curves(folders: Sequence[Path], names: Sequence[str] = ()) -> list[Curve]:
    """One curve per group of runs, in the order of their first runs."""
    groups: dict[str, list[tuple[int, list[Line], Path]]] = {}
    for folder in folders:
        config = dict(read_config(folder))
        key = json.dumps({name: value for name, value in config.items() if name not in UNIMPORTANT}, sort_keys=True)
        lines = read_history(folder)
        if len(lines) < 2:
            raise DataError(folder, "has fewer than two lines in its history; a curve needs more.")
        groups.setdefault(key, []).append((int(config["seed"]), lines, folder))
    if len(names) > len(groups):
        raise InvalidOption(
            f"{len(names)} names were given, and the runs make {counted(len(groups), 'curve')}, since those that differ"
            " only in the seed are one; give a name for each curve, in their order."
        )
    return [_curve(group, names[number] if number < len(names) else _name(group)) for number, group in enumerate(groups.values())]


def _name(group: list[tuple[int, list[Line], Path]]) -> str:
    """What the folders of a group have in common."""
    first = group[0][2].name
    return first.rpartition("_seed")[0] or first


def _curve(group: list[tuple[int, list[Line], Path]], name: str) -> Curve:
    histories = [lines for _, lines, _ in group]
    begin = max(float(lines[0][STEP]) for lines in histories)
    end = min(float(lines[-1][STEP]) for lines in histories)
    steps = np.linspace(begin, end, POINTS)
    values = {measure: np.stack([_read_off(lines, measure, steps) for lines in histories]) for measure in MEASURES}
    seconds = np.stack([_read_off(lines, "seconds", steps) for lines in histories])
    return Curve(name, tuple(seed for seed, _, _ in group), steps, values, seconds)


def _read_off(lines: list[Line], measure: str, steps: NDArray[np.float64]) -> NDArray[np.float64]:
    there = [(float(line[STEP]), float(line[measure])) for line in lines if np.isfinite(float(line[measure]))]
    at, values = np.array(there).T if there else (np.zeros(1), np.full(1, np.nan))
    return np.asarray(np.interp(steps, at, values))


# How soon a level is reached


def smoothed(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The learning curve of a run: moves, and a running mean of the share of the maximum over the lines up to there."""
    lines = [(float(line[STEP]), float(line["share_of_maximum"])) for line in read_history(folder)]
    steps, share = np.array([line for line in lines if np.isfinite(line[1])]).reshape(-1, 2).T
    return steps, running_mean(share, SMOOTHED)


def running_mean(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The mean of every value and of those before it, `most` of them together."""
    sums = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(ends - most, 0)
    return np.asarray((sums[ends] - sums[begins]) / (ends - begins))


def final_score(folder: Path) -> float:
    """What the learning curve of a run ends with."""
    steps, share = smoothed(folder)
    return float(share[steps >= (1.0 - FINAL) * steps[-1]].mean())


def moves_to_reach(folder: Path, level: float) -> float | None:
    """The moves until the learning curve of a run first reaches a level, if it does."""
    steps, share = smoothed(folder)
    there = np.flatnonzero(share >= level)
    return float(steps[there[0]]) if there.size else None
