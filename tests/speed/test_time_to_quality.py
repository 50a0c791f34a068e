"""Time to quality: the same judgement for every learner, and an honest word where the goal was not reached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.time_to_quality import SMOOTHING, Arrival, arrival, entry, less_target, plateau_of, seconds_target

MOVES = 100


def silent(what: str, done: int, total: int) -> None:
    """Nobody watches."""


class Scripted:
    """Earns the shares it was given, one per iteration."""

    def __init__(self, *shares: float) -> None:
        self.steps = 0
        self.shares: Iterator[float] = iter(shares)

    def iterate(self) -> dict[str, float]:
        self.steps += MOVES
        return {"share_of_maximum": next(self.shares)}


def test_the_plateau_is_the_mean_of_the_last_twentieth_of_a_run() -> None:
    assert plateau_of(Scripted(*[0.0] * 38, 0.6, 0.8), silent, 40 * MOVES) == pytest.approx(0.7)


def test_one_lucky_iteration_is_not_yet_quality() -> None:
    reached = arrival(Scripted(0.0, 1.0, 0.0, 1.0, 1.0, 1.0), 0.5, "it", silent, 10 * MOVES)
    smoothed = 0.0
    for share in (1.0, 0.0, 1.0, 1.0):
        smoothed += SMOOTHING * (share - smoothed)
    assert smoothed < 0.5 and reached.moves == 6 * MOVES and reached.reached


def test_a_learner_that_does_not_arrive_is_told_with_the_time_it_had() -> None:
    tried = arrival(Scripted(0.1, 0.1, 0.1), 0.5, "it", silent, 3 * MOVES)
    assert tried.moves == 3 * MOVES and tried.seconds >= 0.0 and not tried.reached


def test_a_run_that_does_not_arrive_misses_the_mark_however_short_it_was() -> None:
    good, bad = Arrival(1.0, MOVES, True), Arrival(1.0, MOVES, False)
    assert seconds_target("it", entry("it", [good, good, good]), 5.0)["met"]
    assert not seconds_target("it", entry("it", [good, bad, good]), 5.0)["met"]
    assert not seconds_target("it", entry("it", [good, good, good]), 0.5)["met"]


def test_a_slow_learner_that_does_not_arrive_is_a_lower_bound_and_a_fast_one_none() -> None:
    slow, fast, lost = Arrival(100.0, MOVES, False), Arrival(1.0, MOVES, True), Arrival(1.0, MOVES, False)
    assert less_target("it", entry("slow", [slow]), entry("fast", [fast]), 60.0)["met"]
    assert not less_target("it", entry("slow", [slow]), entry("fast", [lost]), 60.0)["met"]
