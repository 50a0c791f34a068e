"""The soak, in short: kills, restarts, outages and hostile clients under load, and the report says what it must."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from benchmarks import soak
from benchmarks.nginx_process import NGINX
from benchmarks.server_process import LoggedProcess, ServerProcess
from benchmarks.soak import Plan, run
from benchmarks.soak_checks import check_store, recovery_seconds
from benchmarks.soak_disturbances import OUTAGE_SECONDS, STEPS_BETWEEN
from benchmarks.soak_hostile import ATTACKS
from benchmarks.soak_players import OPTIONS, OWNER, Answer, Episode, Ledger, Player
from typer.testing import CliRunner

from designs import SANE
from edgeworth.server.live import open_live
from edgeworth.server.openings import opening_of
from edgeworth.server.store import Store


def assert_nothing_was_lost(report: dict[str, Any]) -> None:
    assert report["clean"], report
    assert report["checked_in_the_store"]["steps"] == report["steps_acknowledged"] + report["steps_carried_out_unheard"]
    assert (report["steps_lost"], report["steps_doubled"], report["mismatches"], report["server_errors"]) == (0, 0, 0, 0)
    assert 0 < report["memory"]["final"] <= report["memory"]["worst"] <= report["memory"]["bound"]
    assert 0.0 < report["step_seconds"]["p50"] <= report["step_seconds"]["p99"]


def test_no_acknowledged_step_is_lost_whoever_is_killed() -> None:
    report = run(Plan(minutes=0.2, kills=10, restarts=0, outages=0, hostile=0, workers=3, sessions=12, seed=27, pause=0.03))
    assert_nothing_was_lost(report)
    assert report["kills"] == 10 and report["processes_killed"] >= 10 and not report["faults_in_the_log"]
    assert report["steps_acknowledged"] >= 10 * STEPS_BETWEEN
    assert {"one worker", "all workers"} <= set(report["kills_by_kind"])


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nor_while_workers_are_killed_and_replaced_the_store_is_locked_and_hostile_clients_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OUTAGE_SECONDS, "sqlite", (1.0, 2.0))
    report = run(Plan(minutes=0.15, kills=3, restarts=2, outages=1, hostile=24, workers=2, sessions=12, seed=4, pause=0.03))
    assert_nothing_was_lost(report)
    assert (report["kills"], report["restarts"], report["outages"]) == (3, 2, 1)
    assert set(report["restarts_by_kind"]) == {"rolling restart", "drain"}
    assert set(report["hostile_by_kind"]) == set(ATTACKS) and report["hostile_connections_held"] == 0


def test_nor_in_postgresql_while_the_database_refuses_everybody_and_workers_are_killed(postgres_url: str) -> None:
    report = run(
        Plan(minutes=0.15, kills=3, restarts=1, outages=2, hostile=0, workers=2, sessions=12, seed=2, pause=0.03, store=postgres_url)
    )
    assert_nothing_was_lost(report)
    assert report["outages"] == 2 and report["recovery_seconds"]["an outage"]["counted"] == 2
    assert report["answers_by_code"]["503 store_unavailable"] > 0


def test_a_step_that_the_store_does_not_have_is_found_missing(tmp_path: Path) -> None:
    url, opening = f"sqlite:///{tmp_path / 'sessions.sqlite'}", opening_of("auction", {"episode_length": 5}, 1)
    episode, store = Episode("s", opening, open_live(opening)), Store(url)
    stored = store.open(OWNER, "s", opening)
    for number in range(3):
        episode.live.step(SANE)
        episode.actions.append(orjson.dumps(episode.live.logged()))
        if number < 2:
            assert store.advance(stored.generation, number, episode.live.logged(), False)
    store.close()
    found = check_store(url, Ledger(episodes=[episode]))
    assert (found["steps"], found["missing"], found["replays_that_differ"]) == (2, 1, 1)


class SilentLine:
    """A connection on which steps get no answer, and the state says that they were not made."""

    def __init__(self, episode: Episode) -> None:
        self.live, self.sent = episode.live, list[Any]()

    async def step_on_socket(self, name: str, action: Any) -> Answer:
        self.sent.append((action, None))
        return 0, {}

    async def ask(self, method: str, path: str, body: Any = None) -> Answer:
        if method == "POST":
            self.sent.append((body["action"], body["expected"]))
            return 0, {}
        live = self.live
        return 200, {"steps": live.steps, "done": live.done, "observation": live.observation(), "info": live.info()}


def test_a_step_that_may_still_be_under_way_is_sent_again_for_the_same_number() -> None:
    opening = opening_of("bargaining", OPTIONS["bargaining"], 1)
    episode = Episode("s", opening, open_live(opening))
    player, line = Player(11, 0, 1, 0.0, Ledger()), SilentLine(episode)
    assert player.over_socket and player.game == "bargaining"
    player.line = line  # type: ignore[assignment]
    for _ in range(3):
        asyncio.run(player.step(episode))
    (first, _), *later = line.sent
    assert later == [(first, 0)] * 2


def test_a_traceback_is_reported_by_the_line_that_names_its_error() -> None:
    words = "import sys; sys.stderr.write('fine\\n'); sys.stderr.flush(); import no_such_module"
    with subprocess.Popen([sys.executable, "-c", words], stderr=subprocess.PIPE, text=True) as process:
        server = ServerProcess.__new__(ServerProcess)
        LoggedProcess.__init__(server, process)
        server._reader.join(30.0)
    assert server.failures() == ["ModuleNotFoundError: No module named 'no_such_module'\n"]


@pytest.mark.parametrize(("clean", "status"), [(True, 0), (False, 1)])
def test_the_command_fails_unless_everything_held(monkeypatch: pytest.MonkeyPatch, clean: bool, status: int) -> None:
    monkeypatch.setattr(soak, "run", lambda plan, progress: {"clean": clean})
    command = typer.Typer()
    command.command()(soak.main)
    assert CliRunner().invoke(command, ["--json"]).exit_code == status


def test_recovery_counts_from_a_kill_to_the_answer_of_a_step_that_was_sent_after_it() -> None:
    heard = [(0.0, 0.5), (0.9, 1.2), (1.5, 1.75), (1.4, 3.0)]
    found = recovery_seconds([(1.0, "one worker"), (9.0, "everything")], heard)
    assert found == {"one worker": {"median": 0.75, "longest": 0.75, "counted": 1}}
