"""The soak, in short: workers are killed under load, and the report says what it must."""

from __future__ import annotations

import pytest
from benchmarks import soak
from benchmarks.soak import recovery_seconds, run


def test_no_acknowledged_step_is_lost_whoever_is_killed() -> None:
    report = run(minutes=0.2, kills=10, workers=3, sessions=12, seed=27, pause=0.03)
    assert report["clean"], report
    assert report["kills"] == 10 and report["processes_killed"] >= 10
    assert report["steps_acknowledged"] >= 10 * soak.STEPS_BETWEEN
    assert report["checked_in_the_store"]["steps"] == report["steps_acknowledged"] + report["steps_carried_out_unheard"]
    assert (report["steps_lost"], report["steps_doubled"], report["mismatches"], report["faults_in_the_log"]) == (0, 0, 0, 0)
    assert {"one worker", "all workers"} <= set(report["kills_by_kind"])


@pytest.mark.slow
def test_no_acknowledged_step_is_lost_in_postgresql_either(postgres_url: str) -> None:
    report = run(minutes=0.5, kills=12, workers=3, sessions=12, seed=2, store=postgres_url)
    assert report["clean"] and report["steps_lost"] == 0, report


def test_recovery_counts_from_a_kill_to_the_answer_of_a_step_that_was_sent_after_it() -> None:
    heard = [(0.0, 0.5), (0.9, 1.2), (1.5, 1.75), (1.4, 3.0)]
    found = recovery_seconds([(1.0, "one worker"), (9.0, "everything")], heard)
    assert found == {"one worker": {"median": 0.75, "longest": 0.75, "counted": 1}}
