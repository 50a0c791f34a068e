"""Stopping a run: the work under way is ended where it is short, and left where it is not."""

from __future__ import annotations

import signal
import time

import pytest

from edgeworth.training.run_loop import stopping_gracefully


@pytest.mark.parametrize(("number", "leaves"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_work_that_takes_too_long_is_left(number: signal.Signals, leaves: type[BaseException]) -> None:
    with pytest.raises(leaves), stopping_gracefully(patience=0.05):
        signal.raise_signal(number)
        time.sleep(60.0)


def test_once_the_work_has_ended_saving_may_take_its_time() -> None:
    with stopping_gracefully(patience=0.05) as stop:
        signal.raise_signal(signal.SIGTERM)
        stop.cancel_deadline()
        time.sleep(0.2)
    assert stop.signal == signal.SIGTERM


def test_nothing_is_left_behind_when_a_run_is_over() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    with stopping_gracefully():
        signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
