"""The application from start to end: idle sessions expire, hooks run in order, and what the start loads is not scanned for garbage."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from edgeworth.server import clock, serving
from edgeworth.server.app import create_app
from edgeworth.server.live import GAMES, Live, open_live
from edgeworth.server.monitoring import METRICS_FOLDER
from edgeworth.server.openings import Opening, opening_of
from edgeworth.server.sessions import SWEEP_PAUSE_SECONDS, Sessions
from edgeworth.server.settings import SessionLimits
from edgeworth.server.store import Store
from running_servers import MECHANISM, client_of, settings_in, wait_for


def test_idle_sessions_expire_and_the_others_stay(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, sessions=SessionLimits(idle_seconds=3.0), sweep_seconds=0.1)
    with client_of(settings) as client:
        for name in ("idle", "busy"):
            client.post("/reset", json={"session_id": name, "episode_length": 1_000})
        until, names = time.monotonic() + 60.0, ["busy", "idle"]
        while "idle" in names and time.monotonic() < until:
            assert client.post("/step", json={"session_id": "busy", "action": MECHANISM}).status_code == 200
            names = [line["session_id"] for line in client.get("/sessions").json()["sessions"]]
            time.sleep(0.1)
        assert names == ["busy"]
        answer = client.post("/step", json={"session_id": "idle", "action": MECHANISM})
        assert answer.status_code == 404 and answer.json()["code"] == "unknown_session"


def test_a_session_without_a_name_of_its_own_expires_earlier(tmp_path: Path) -> None:
    lifetimes = SessionLimits(idle_seconds=3_600.0, unnamed_idle_seconds=0.0)
    with client_of(settings_in(tmp_path, sessions=lifetimes, sweep_seconds=0.1)) as client:
        for path, name in (("/reset", "a"), ("/bargaining/reset", "b")):
            assert [client.post(path, json=body).status_code for body in ({}, {"session_id": name})] == [200, 200]
        wait_for(lambda: [line["session_id"] for line in client.get("/sessions").json()["sessions"]] == ["a", "b"])


def filled(folder: Path, sessions: int, steps: int) -> Store:
    """A store with idle sessions, and one called `busy`."""
    store = Store(f"sqlite:///{folder / 'sessions.sqlite'}")
    for k in range(sessions):
        assert store.bring("local", f"idle{k}", opening_of("auction", {}, k), [({"padding": "x" * 500}, False)] * steps)
    with store.database.writing() as cursor:
        cursor.execute("UPDATE edgeworth_openings SET created = 0.0")
        cursor.execute("UPDATE edgeworth_log SET written = 0.0")
    return store


def test_requests_are_served_between_the_sessions_that_a_sweep_deletes(tmp_path: Path) -> None:
    store = filled(tmp_path, 30, 100)
    sessions, left = Sessions(store), []

    async def play() -> int:
        await sessions.open("local", "auction", {"episode_length": 1_000}, 1, "busy")
        sweep = asyncio.create_task(sessions.expire())
        while not sweep.done():
            await sessions.step("local", "busy", MECHANISM)
            left.append(store.count("")[0])
            await asyncio.sleep(SWEEP_PAUSE_SECONDS / 4)
        return await sweep

    assert asyncio.run(play()) == 30
    assert set(left) >= set(range(2, 31)), "some sessions were deleted together"
    store.close()


def test_a_session_that_is_read_slowly_before_it_is_deleted_keeps_no_request_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, stepped = filled(tmp_path, 1, 1), threading.Event()
    sessions, read_ahead = Sessions(store), store.read_ahead

    def slowly(generation: str) -> None:
        assert stepped.wait(20.0)
        read_ahead(generation)

    monkeypatch.setattr(store, "read_ahead", slowly)

    async def play() -> int:
        await sessions.open("local", "auction", {}, 1, "busy")
        sweep = asyncio.create_task(sessions.expire())
        await asyncio.sleep(0.1)
        await sessions.step("local", "busy", MECHANISM)
        stepped.set()
        return await sweep

    assert asyncio.run(play()) == 1
    store.close()


def test_no_part_of_a_sweep_occupies_the_event_loop_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, taken = filled(tmp_path, 20, 1_000), []
    sessions = Sessions(store)

    def timed(part: Callable[..., bool]) -> Callable[..., bool]:
        def run(*values: Any) -> bool:
            began, more = time.thread_time(), part(*values)
            taken.append(time.thread_time() - began)
            return more

        return run

    monkeypatch.setattr(store, "expire", timed(store.expire))
    monkeypatch.setattr(store.database, "give_pages_back", timed(store.database.give_pages_back))
    assert asyncio.run(sessions.expire()) == 20
    assert len(taken) > 60 and max(taken) < 0.025, "processor time of a part, in seconds; 50 ms were promised for all of it"
    store.close()


def test_a_sweep_gives_the_space_back(tmp_path: Path) -> None:
    store = filled(tmp_path, 20, 200)
    pages = store.database.row("PRAGMA page_count")[0]
    assert asyncio.run(Sessions(store).expire()) == 20
    assert store.database.row("PRAGMA page_count")[0] < pages / 10 and store.database.row("PRAGMA freelist_count")[0] == 0
    store.close()


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_clock_that_jumps_a_day_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    store, now = filled(tmp_path, 1, 1), time.time
    sessions = Sessions(store, SessionLimits(idle_seconds=3_600.0))

    async def sweep() -> int:
        await sessions.open("local", "auction", {}, 1, "before")
        monkeypatch.setattr("time.time", lambda: now() + jump)
        await sessions.open("local", "auction", {}, 1, "later")
        await sessions.step("local", "before", MECHANISM)
        return await sessions.expire()

    assert asyncio.run(sweep()) == 1  # the other session, which really is old
    assert [session.id for session in store.owned("local")] == ["before", "later"]
    store.close()


def test_a_worker_that_replaces_another_goes_by_the_clock_of_its_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []

    class Supervisor:
        processes = ()

        def __init__(self, *_: object) -> None: ...

        def run(self) -> None:
            script = "from edgeworth.server.clock import BOOT; print(repr(BOOT))"
            said.append(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)

    for variable in (METRICS_FOLDER, clock.VARIABLE):
        monkeypatch.setenv(variable, "")  # and afterwards as before: `delenv` would leave behind what is set later
    monkeypatch.setattr(serving, "Multiprocess", Supervisor)
    monkeypatch.setattr("edgeworth.server.serving.signal.signal", lambda *_: None)
    serving._supervise(None, None)  # type: ignore[arg-type]
    assert float(said[0]) == clock.BOOT


def test_a_sweep_that_fails_does_not_end_the_sweeping(tmp_path: Path) -> None:
    app = create_app(settings_in(tmp_path, sweep_seconds=0.02))
    calls = []

    async def failing() -> int:
        calls.append(time.monotonic())
        raise OSError("the store is away")

    app.state.sessions.expire = failing
    with TestClient(app, base_url="http://localhost") as client:
        wait_for(lambda: len(calls) >= 3)
        assert client.get("/health").status_code == 200


def test_hooks_start_in_order_and_stop_in_reverse(tmp_path: Path) -> None:
    app, told = create_app(settings_in(tmp_path)), []

    def hook(word: str):  # type: ignore[no-untyped-def]
        async def tell() -> None:
            told.append(word)

        return tell

    app.state.running.starts += [hook("first"), hook("second")]
    app.state.running.stops += [hook("first ends"), hook("second ends")]
    with TestClient(app, base_url="http://localhost"):
        assert told == ["first", "second"] and not app.state.running.draining
    assert told[2:] == ["second ends", "first ends"] and app.state.running.draining


def test_what_the_start_has_loaded_is_not_scanned_for_garbage(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)):
        assert gc.get_freeze_count() > len(gc.get_objects())  # the second counts what is scanned
    assert gc.get_freeze_count() == 0


def test_the_rules_of_every_game_are_loaded_before_the_first_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stepped: list[str] = []

    def watched(opening: Opening) -> Live:
        live = open_live(opening)
        step = live.step
        monkeypatch.setattr(live, "step", lambda action: (stepped.append(opening.game), step(action))[1])
        return live

    monkeypatch.setattr("edgeworth.server.app.open_live", watched)
    with client_of(settings_in(tmp_path)):
        assert sorted(stepped) == sorted(GAMES)
