"""Progress: the time that is left for slow tasks, and lines where there is no terminal."""

from __future__ import annotations

import pytest

from edgeworth.cli import console
from edgeworth.progress import Pace


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def noted(clock: Clock, *moments: tuple[float, float]) -> Pace:
    """A pace after these moments, each a time and a share."""
    pace = Pace(clock)
    for clock.now, share in moments:
        pace.note(share)
    return pace


def test_the_time_left_is_known_from_the_first_slow_part_on() -> None:
    clock = Clock()
    pace = noted(clock, (0.0, 0.0), (100.0, 0.25))
    assert pace.left() == 300.0
    clock.now = 150.0
    assert pace.left() == 250.0


def test_parts_that_a_cache_holds_do_not_make_the_rest_look_quick() -> None:
    cached = [(0.01 * part, part / 26) for part in range(21)]
    assert noted(Clock(), *cached, (10.0, 20 / 26)).left() is None
    assert noted(Clock(), *cached, (18.0, 21 / 26)).left() == pytest.approx(5 * 18.0, rel=0.02)


def test_parts_that_end_together_count_as_the_long_ones_they_are() -> None:
    assert noted(Clock(), (0.0, 0.0), (100.0, 0.25), (100.5, 0.5)).left() == pytest.approx(100.5)


def test_before_anything_is_done_the_time_is_unknown_and_a_new_phase_begins_anew() -> None:
    assert noted(Clock(), (0.0, 0.0), (60.0, 0.0)).left() is None and noted(Clock(), (0.0, 0.0), (9.0, 1.0)).left() == 0.0
    assert noted(Clock(), (0.0, 0.0), (10.0, 1.0), (20.0, 0.0), (40.0, 0.5)).left() == 20.0


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    monkeypatch.setattr(console, "Pace", lambda: Pace(clock))
    with console.progress() as task:
        show = task("study")
        for clock.now, done in ((0.0, 0), (30.0, 1), (60.0, 2), (90.0, 3)):
            show(f"{done} of 4 done, 2 running", done, 4)
    assert capsys.readouterr().err == "study: 2 of 4 done, 2 running, 50%, 0:01:00 left\n"
