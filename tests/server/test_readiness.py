"""A store that cannot take a write makes the server unready, with the reason; metrics are answered all the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import psycopg
import pytest
from benchmarks.soak_disturbances import file_locked
from fastapi.testclient import TestClient

from edgeworth.server import readiness
from edgeworth.server.readiness import Readiness
from edgeworth.server.store import Store
from running_servers import MECHANISM, client_of, no_longer_file, served, served_in_thread, settings_in

STORE, NOBODY = "sessions.sqlite", 65_534


@pytest.fixture(autouse=True)
def always_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", 0.0)


def refused(client: TestClient) -> str:
    """Why the server is not ready; its metrics have to say so too."""
    answer, metrics = client.get("/ready"), client.get("/metrics")
    assert (answer.status_code, answer.json()["code"], metrics.status_code) == (503, "no_store", 200)
    assert "edgeworth_store_writable 0.0" in metrics.text and "edgeworth_sessions NaN" in metrics.text
    assert client.get("/health").status_code == 200
    return str(answer.json()["message"])


def is_ready(client: TestClient) -> bool:
    assert "edgeworth_store_writable 1.0" in client.get("/metrics").text
    return client.get("/ready").json() == {"status": "ready"}


def delete(file: Path) -> None:
    file.unlink()


def delete_log(file: Path) -> None:
    file.with_name(f"{file.name}-wal").unlink()


def delete_index(file: Path) -> None:
    file.with_name(f"{file.name}-shm").unlink()


def replace(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    sqlite3.connect(file).execute("CREATE TABLE other (id)").connection.close()


def garble(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xa5" * (file.stat().st_size - 100))


def drop_a_table(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE edgeworth_log")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        *((gone, "deleted or replaced") for gone in (delete, delete_log, delete_index, replace)),
        (garble, "malformed"),
        (drop_a_table, "no such table"),
    ],
)
def test_a_file_that_is_no_store_any_more_is_not_ready(tmp_path: Path, harm: Callable[[Path], None], said: str) -> None:
    with client_of(settings_in(tmp_path)) as client:
        assert client.post("/reset", json={"session_id": "s"}).status_code == 200 and is_ready(client)
        harm(tmp_path / STORE)
        why = refused(client)
    assert said in why and str(tmp_path) not in why


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4_096))
    yield
    filler.unlink()


@contextlib.contextmanager
def read_only_files(folder: Path) -> Iterator[None]:
    """The files may only be read, by us as we are meanwhile: not root, who may write to everything."""
    person = os.geteuid()
    _change_modes(folder, 0o555, 0o444)
    os.seteuid(person or NOBODY)
    try:
        yield
    finally:
        os.seteuid(person)
        _change_modes(folder, 0o755, 0o644)


def _change_modes(folder: Path, own: int, files: int) -> None:
    folder.chmod(own)
    for file in folder.iterdir():
        file.chmod(files)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of the test's own, where the test may mount one."""
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", tmp_path], check=False).returncode:
        pytest.skip("mounting a disk takes root")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def check_trouble(folder: Path, trouble: Callable[[Path], AbstractContextManager[None]], said: str) -> None:
    with client_of(settings_in(folder)) as client:
        assert client.post("/reset", json={"session_id": "s"}).status_code == 200 and is_ready(client)
        with trouble(folder):
            assert said in refused(client)
        assert is_ready(client)
        assert client.get("/sessions").json()["sessions"][0]["session_id"] == "s"


def test_a_store_whose_file_cannot_grow_is_not_ready_until_it_can(tmp_path: Path) -> None:
    check_trouble(tmp_path, no_longer_file, "disk I/O error")


def test_a_full_disk_is_not_ready_until_there_is_room(disk: Path) -> None:
    check_trouble(disk, full_disk, "disk is full")


def test_several_workers_count_and_say_why_they_are_not_ready_where_every_disk_is_full(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(disk))
    with served(disk, "--workers", "2") as server:
        base = server.address()
        with full_disk(disk):
            for _ in range(20):  # both workers
                assert httpx.get(f"{base}/metrics", timeout=20.0).status_code == 200
            until = time.monotonic() + 20.0
            while (ready := httpx.get(f"{base}/ready", timeout=20.0)).status_code == 200 and time.monotonic() < until:
                time.sleep(0.1)  # what a worker last found is remembered for a moment
            assert (ready.status_code, ready.json()["code"]) == (503, "no_store")


def test_files_that_may_only_be_read_are_not_ready_until_they_may_be_written() -> None:
    with tempfile.TemporaryDirectory() as folder:  # everybody may pass through its parents, unlike those of `tmp_path`
        check_trouble(Path(folder), read_only_files, "readonly database")


def test_a_database_that_is_read_only_or_down_is_not_ready_until_it_is_back(
    tmp_path: Path, postgres_url: str, postgres_server_url: str
) -> None:
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_server_url, autocommit=True) as outside, client_of(settings_in(tmp_path, store=postgres_url)) as client:
        assert is_ready(client)
        outside.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        assert "read-only transaction" in refused(client)
        outside.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
        assert is_ready(client)
        outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert "no connection" in (why := refused(client)) and "127.0.0.1" not in why and name not in why
        outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert is_ready(client)


def test_a_file_that_somebody_else_has_locked_keeps_only_those_waiting_who_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.5)
    with served_in_thread(tmp_path) as base, ThreadPoolExecutor(8) as pool:
        names = [f"s{k}" for k in range(4)]
        for name in names:
            assert httpx.post(f"{base}/reset", json={"session_id": name}).status_code == 200
        with file_locked(str(tmp_path / STORE)):
            steps = [
                pool.submit(httpx.post, f"{base}/step", json={"session_id": name, "action": MECHANISM}, timeout=60.0) for name in names
            ]
            opening = pool.submit(httpx.post, f"{base}/reset", json={"session_id": "new"}, timeout=60.0)
            time.sleep(0.5)
            began = time.monotonic()
            assert [httpx.get(f"{base}{path}", timeout=60.0).status_code for path in ("/health", "/sessions", "/metrics")] == [200] * 3
            assert httpx.get(f"{base}/ready", timeout=60.0).json()["code"] == "no_store"
            assert time.monotonic() - began < 9.0 and not any(waiting.done() for waiting in (*steps, opening))
        assert [step.result(60.0).json()["steps"] for step in steps] == [1] * 4 and opening.result(60.0).status_code == 200


def test_a_trial_leaves_nothing_in_the_store(store_url: str) -> None:
    store = Store(store_url)
    store.check()
    assert store.count("") == (0, 0) and store.database.row("SELECT COUNT(*) FROM edgeworth_log")[0] == 0
    store.close()


def test_all_who_ask_share_one_trial_and_do_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, tried, free = Store(f"sqlite:///{tmp_path / STORE}"), [], threading.Event()

    def hang(_: Store) -> None:
        tried.append(1)
        free.wait(30.0)

    monkeypatch.setattr(Store, "check", hang)
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.05)

    async def ask() -> list[str | None]:
        asked = Readiness(store)
        answers = await asyncio.gather(*(asked.problem() for _ in range(20)))
        free.set()
        return answers

    assert all(answer is not None and "not answered" in answer for answer in asyncio.run(ask())) and len(tried) == 1
    store.close()


@pytest.mark.parametrize("harm", [delete, delete_log, delete_index, replace])
def test_a_step_into_a_file_that_is_gone_is_not_acknowledged(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    with client_of(settings_in(tmp_path)) as client:
        assert client.post("/reset", json={"session_id": "s"}).status_code == 200
        assert client.post("/step", json={"session_id": "s", "action": MECHANISM}).status_code == 200
        harm(tmp_path / STORE)
        answer = client.post("/step", json={"session_id": "s", "action": MECHANISM})
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        assert "deleted or replaced" in answer.json()["message"]


@pytest.mark.parametrize("harm", [delete, delete_log, replace])
def test_nor_is_a_step_that_waited_for_the_file_while_it_went(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    with served_in_thread(tmp_path) as base, ThreadPoolExecutor() as pool:
        assert httpx.post(f"{base}/reset", json={"session_id": "s"}).status_code == 200
        with file_locked(str(tmp_path / STORE)):
            step = pool.submit(httpx.post, f"{base}/step", json={"session_id": "s", "action": MECHANISM}, timeout=60.0)
            time.sleep(0.5)
            harm(tmp_path / STORE)
        assert (step.result(60.0).status_code, step.result().json()["code"]) == (503, "store_unavailable")
