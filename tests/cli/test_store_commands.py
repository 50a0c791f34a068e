"""`edgeworth store`: a copy, a check and a vacuum while a server plays in the store."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from edgeworth.server.openings import opening_of
from edgeworth.server.store import Store
from running_servers import MECHANISM, client_of, settings_in

Called = Callable[..., Any]


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'sessions.sqlite'}"


def opened(client: TestClient, name: str) -> None:
    assert client.post("/reset", json={"session_id": name, "seed": 1, "episode_length": 1_000}).status_code == 200


def step(client: TestClient, name: str) -> int:
    steps: int = client.post("/step", json={"session_id": name, "action": MECHANISM}).json()["steps"]
    return steps


@contextlib.contextmanager
def stepping(client: TestClient) -> Iterator[list[int]]:
    """While inside, a session is stepped without a pause; the steps that were acknowledged."""
    opened(client, "busy")
    acknowledged, over, begun = [0], threading.Event(), threading.Event()

    def play() -> None:
        while not over.is_set():
            acknowledged.append(step(client, "busy"))
            begun.set()

    player = threading.Thread(target=play)
    player.start()
    assert begun.wait(30.0)
    try:
        yield acknowledged
    finally:
        over.set()
        player.join(30.0)


def filled(folder: Path, sessions: int = 40, steps: int = 100) -> list[str]:
    """Generations of long sessions in a store."""
    store, found = Store(url(folder)), []
    for k in range(sessions):
        assert store.bring("local", f"old{k}", opening_of("auction", {}, k), [({**MECHANISM, "k": "x" * 500}, False)] * steps)
        stored = store.find("local", f"old{k}")
        assert stored is not None
        found.append(stored.generation)
    store.close()
    return found


def emptied(folder: Path, sessions: list[str]) -> None:
    store = Store(url(folder))
    assert all(store.forget(session) for session in sessions)
    store.close()


def test_a_copy_made_while_steps_are_made_holds_all_that_were_acknowledged_before(tmp_path: Path, called: Called) -> None:
    copy = tmp_path / "elsewhere" / "sessions.sqlite"
    copy.parent.mkdir()
    with client_of(settings_in(tmp_path)) as client, stepping(client) as acknowledged:
        before = acknowledged[-1]
        assert called("store", "backup", str(copy), "--store", url(tmp_path)).status == 0
        assert called("store", "check", "--store", url(copy.parent)).status == 0
    with client_of(settings_in(copy.parent)) as client:
        assert client.get("/state", params={"session_id": "busy"}).json()["steps"] >= before
        assert step(client, "busy") > before
    assert sorted(path.name for path in copy.parent.iterdir()) == ["sessions.sqlite"]


def test_a_copy_overwrites_nothing(tmp_path: Path, called: Called) -> None:
    Store(url(tmp_path)).close()
    (tmp_path / "copy").write_text("mine")
    run = called("store", "backup", str(tmp_path / "copy"), "--store", url(tmp_path))
    assert run.status == 2 and "exists already" in run.err and (tmp_path / "copy").read_text() == "mine"


def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path: Path, called: Called) -> None:
    Store(url(tmp_path)).close()
    run = called("store", "backup", str(tmp_path / "nowhere" / "copy"), "--store", url(tmp_path))
    assert run.status == 1 and "Traceback" not in run.err and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("command", [("backup", "copy"), ("check",), ("vacuum",)])
def test_a_mistyped_store_is_not_made(tmp_path: Path, called: Called, command: tuple[str, ...]) -> None:
    run = called("store", *command, "--store", url(tmp_path))
    assert run.status == 2 and "no store at" in run.err and list(tmp_path.iterdir()) == []


def test_a_file_of_another_program_is_no_store(tmp_path: Path, called: Called) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as connection:
        connection.execute("CREATE TABLE other (id)")
    run = called("store", "check", "--store", url(tmp_path))
    assert run.status == 2 and "no store of a known version" in run.err


def test_a_check_reads_a_store_in_use_and_finds_nothing(tmp_path: Path, called: Called) -> None:
    with client_of(settings_in(tmp_path)) as client, stepping(client) as acknowledged:
        before = acknowledged[-1]
        run = called("store", "check", "--store", url(tmp_path), "--json")
        found = json.loads(run.out)
    assert run.status == 0 and (found["sessions"], found["problems"]) == (1, []) and found["steps"] >= before


DAMAGE = {
    "UPDATE edgeworth_openings SET opening = '{' WHERE id = 'old1'": "'old1' cannot be read",
    "UPDATE edgeworth_log SET action = '{' WHERE number = 3": "'old1' cannot be read",
    "DELETE FROM edgeworth_log WHERE number = 3": "step 3 is missing",
    "DELETE FROM edgeworth_openings WHERE id = 'old1'": "10 steps belong to no session",
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_check_names_what_is_damaged(tmp_path: Path, called: Called, statement: str) -> None:
    filled(tmp_path, 2, 10)
    with contextlib.closing(sqlite3.connect(tmp_path / "sessions.sqlite")) as connection, connection:
        connection.execute(statement)
    run = called("store", "check", "--store", url(tmp_path))
    assert run.status == 1 and DAMAGE[statement] in run.out


def test_a_check_finds_damaged_pages(tmp_path: Path, called: Called) -> None:
    filled(tmp_path)
    file = tmp_path / "sessions.sqlite"
    with file.open("r+b") as stream:
        stream.seek(file.stat().st_size // 2)
        stream.write(b"\xa5" * 40_000)
    run = called("store", "check", "--store", url(tmp_path), "--json")
    assert run.status == 1 and json.loads(run.out)["problems"]


@pytest.mark.parametrize("layout", ["ours", "older"])
def test_a_vacuum_gives_space_back_while_steps_are_made(tmp_path: Path, called: Called, layout: str) -> None:
    file = tmp_path / "sessions.sqlite"
    if layout == "older":
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.executescript("PRAGMA auto_vacuum = NONE; CREATE TABLE other (id);")
    emptied(tmp_path, filled(tmp_path))
    with client_of(settings_in(tmp_path)) as client, stepping(client) as acknowledged:
        before = acknowledged[-1]
        run = called("store", "vacuum", "--store", url(tmp_path), "--json")
        found = json.loads(run.out)
        assert run.status == 0 and found["bytes_after"] < found["bytes_before"] / 4
        assert step(client, "busy") > before
    assert file.stat().st_size < found["bytes_before"] / 4
    assert called("store", "check", "--store", url(tmp_path)).status == 0
