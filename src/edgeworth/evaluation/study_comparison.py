"""What the cells of a study differ by: against their baseline, seed by seed, and with other hints than those they learnt with.

The baseline of a cell is the one that differs from it only in the values that the study names, such as no hints. Differences pair runs of
the same training seed; intervals are Student's over these pairs. How quickly a cell learns is measured by the moves until its learning
curve, a running mean, first reaches a part of what the baseline's curves end with; a ratio below 1 is quicker than the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.evaluation.statistics import over_seeds
from edgeworth.evaluation.study_file import Study
from edgeworth.runlog import STEP, read_history

REACHED_AT = 0.95
"""The part of the baseline's final score that counts as reached."""
SMOOTHED = 5
"""Lines of a log in a running mean."""
FINAL = 0.05
"""The part of a curve, at its end, that is its final score."""

Row = dict[str, Any]


def add_comparisons(study: Study, rows: Sequence[Row], folders: Mapping[str, Sequence[Path]]) -> None:
    """Write into the rows of a study's result what they differ by; `folders` are the runs of every cell."""
    by_name = {row["name"]: row for row in rows}
    for cell, row in zip(study.cells, rows, strict=True):
        other = study.baseline_of(cell)
        base = None if other is None else by_name[other.name]
        if base is not None:
            row["over_baseline"] = {"baseline": base["name"], **_difference(shares(row), shares(base))}
            row["reaching"] = _reaching(folders[row["name"]], folders[base["name"]])
        elif study.baseline and study.baseline.items() <= cell.values.items():
            row["reaching"] = _reaching(folders[row["name"]], folders[row["name"]])
        if "played_with" in row["seeds"][0]:
            row["played_with"] = {hint: _played(row, hint, base) for hint in study.play_with}


def shares(row: Row) -> list[float]:
    """The share of the maximum of every seed."""
    return [float(run["share_of_maximum"]["value"]) for run in row["seeds"]]


def _difference(values: Sequence[float], others: Sequence[float]) -> Row:
    return over_seeds([value - other for value, other in zip(values, others, strict=True)]).as_dict()


def _played(row: Row, hint: str, base: Row | None) -> Row:
    """The scores with another provider's hints, less those with the own, and less the baseline's."""
    played = [float(run["played_with"][hint]) for run in row["seeds"]]
    found = {"share_of_maximum": over_seeds(played).as_dict(), "over_own_hints": _difference(played, shares(row))}
    return found if base is None else {**found, "over_baseline": _difference(played, shares(base))}


def _reaching(folders: Sequence[Path], baseline: Sequence[Path]) -> Row:
    """How many moves it took, and how many times those of the baseline; neither where some seed never came there."""
    level = REACHED_AT * float(np.mean([final_score(folder) for folder in baseline]))
    moves, before = ([moves_to_reach(folder, level) for folder in runs] for runs in (folders, baseline))
    there = [number for number in moves if number is not None]
    pairs = [(number, other) for number, other in zip(moves, before, strict=True) if number is not None and other is not None]
    return {
        "level": round(level, 5),
        "reached": len(there),
        "moves": over_seeds(there).as_dict() if len(there) == len(moves) else None,
        "ratio": over_seeds([number / other for number, other in pairs]).as_dict() if len(pairs) == len(moves) else None,
    }


def smoothed(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The learning curve of a run: moves, and a running mean of the share of the maximum over the lines up to there."""
    lines = [(float(line[STEP]), float(line["share_of_maximum"])) for line in read_history(folder)]
    steps, share = np.array([line for line in lines if np.isfinite(line[1])]).reshape(-1, 2).T
    sums = np.cumsum(np.concatenate([[0.0], share]))
    ends = np.arange(1, len(share) + 1)
    begins = np.maximum(ends - SMOOTHED, 0)
    return steps, (sums[ends] - sums[begins]) / (ends - begins)


def final_score(folder: Path) -> float:
    """What the learning curve of a run ends with."""
    steps, share = smoothed(folder)
    return float(share[steps >= (1.0 - FINAL) * steps[-1]].mean())


def moves_to_reach(folder: Path, level: float) -> float | None:
    """The moves until the learning curve of a run first reaches a level, if it does."""
    steps, share = smoothed(folder)
    there = np.flatnonzero(share >= level)
    return float(steps[there[0]]) if there.size else None
