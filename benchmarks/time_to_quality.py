"""Time to quality: CPU seconds until a learner earns 95 % of the plateau, measured alike for every trainer.

Quality is the share of the maximum over the episodes of training, smoothed over iterations. The plateau is where a run of 20 million moves
of the fused trainer at the published settings stands in its last million. Learning curves keep rising slowly, and the time to 95 % depends
on where the plateau is put, so it is part of the result.

Time is that of the iterations alone, from the first; making the learner and compiling are outside. A learner that has not arrived within
`MOST_MOVES` is reported as such, with the time it took.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.measuring import summary, target
from edgeworth.progress import Progress

PLATEAU_MOVES = 20_000_000
LAST_PART = 0.05
"""The part of the long run over which the plateau is taken."""
OF_PLATEAU = 0.95
SMOOTHING = 0.2
"""Weight of the newest iteration."""
MOST_MOVES = 6_000_000


class Trainee(Protocol):
    """A learner that trains an iteration at a time and reports its share of the maximum."""

    steps: int

    def iterate(self) -> dict[str, float]:
        """Play and learn once; returns the metrics."""
        ...


@dataclass(frozen=True)
class Arrival:
    """When a learner reached the goal, or how long it was trained without."""

    seconds: float
    moves: int
    reached: bool


def plateau_of(learner: Trainee, progress: Progress, moves: int) -> float:
    """The mean share of the maximum over the last part of a run of so many moves."""
    shares = []
    while learner.steps < moves:
        progress("where a long run ends", learner.steps, moves)
        share = learner.iterate()["share_of_maximum"]
        if learner.steps > (1.0 - LAST_PART) * moves:
            shares.append(share)
    return sum(shares) / len(shares)


def arrival(learner: Trainee, goal: float, name: str, progress: Progress, most: int) -> Arrival:
    """Train until the smoothed share of the maximum reaches the goal."""
    seconds, share = 0.0, None
    while learner.steps < most:
        progress(f"{name} to {goal:.3f}" + ("" if share is None else f", now {share:.3f}"), learner.steps, most)
        begin = time.process_time()
        now = learner.iterate()["share_of_maximum"]
        seconds += time.process_time() - begin
        share = now if share is None else share + SMOOTHING * (now - share)
        if share >= goal:
            return Arrival(seconds, learner.steps, reached=True)
    return Arrival(seconds, learner.steps, reached=False)


def entry(label: str, arrivals: Iterable[Arrival]) -> dict[str, Any]:
    """CPU seconds of several runs as an entry of a result."""
    runs = list(arrivals)
    moves, reached = [run.moves for run in runs], [run.reached for run in runs]
    return {"label": label, **summary(run.seconds for run in runs), "moves": moves, "reached": reached}


def seconds_target(name: str, entry: dict[str, Any], wanted: float) -> dict[str, Any]:
    """CPU seconds to the goal; the target is met only if every run arrived."""
    row = target(name, entry["values"], "<=", wanted, "s")
    return {**row, "met": row["met"] and all(entry["reached"])}


def less_target(name: str, slow: dict[str, Any], fast: dict[str, Any], wanted: float) -> dict[str, Any]:
    """How many times less CPU time one needs than another; a slow one that never arrived makes this a lower bound."""
    row = target(name, [slow["median"] / seconds for seconds in fast["values"]], ">=", wanted, "times")
    return {**row, "met": row["met"] and all(fast["reached"])}
