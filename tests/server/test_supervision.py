"""Workers under their supervisor: they drain, are replaced one by one, wait for a database, and no stalled reader of the log stops them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from benchmarks.server_process import free_port

from running_servers import Server, has_ended, read_to_the_end, served, wait_for

AS_PROCESS_ONE = """
import os, pathlib, signal, subprocess, sys, time
from edgeworth.server.serving import leave_process_one
leave_process_one()
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append("SIGTERM"))
orphan = subprocess.run(["sh", "-c", "sleep 0.2 >/dev/null & echo $!"], stdout=subprocess.PIPE, text=True).stdout.strip()
os.kill(1, signal.SIGTERM)
until = time.monotonic() + 30.0
while (not told or pathlib.Path("/proc", orphan).exists()) and time.monotonic() < until:
    time.sleep(0.05)
sys.exit(5 if told == ["SIGTERM"] and not pathlib.Path("/proc", orphan).exists() else 1)
"""

STORE_AWAY_TWICE = """
import sys
from edgeworth.server import app, database, serving
from edgeworth.server.settings import ServerSettings
tried = []
def create_app(settings):
    tried.append(settings)
    if len(tried) < 3:
        raise database.StoreUnavailable("The store does not answer: too many clients.")
    return "the application"
app.create_app = create_app
assert serving.application(ServerSettings(store=sys.argv[1], workers=2)) == "the application"
sys.exit(len(tried))
"""

APPLICATION_BROKEN = """
import sys
from edgeworth.server import serving
from edgeworth.server.settings import ServerSettings
sys.modules["edgeworth.server.app"] = None
serving.application(ServerSettings(store=sys.argv[1], workers=2))
"""


def events(server: Server, name: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in list(server.log) if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "group"])
def test_a_signal_to_the_process_or_its_group_drains_and_an_interrupt_ends_the_drain(tmp_path: Path, workers: str, send: Any) -> None:
    with served(tmp_path, "--drain-seconds", "600", "--workers", workers) as server:
        base = server.address()

        def draining() -> bool:
            answers = [httpx.get(f"{base}/ready", timeout=20.0) for _ in range(10)]  # of both workers
            return all((ready.status_code, ready.json().get("code")) == (503, "draining") for ready in answers)

        for _ in range(2):
            send(server.process.pid, signal.SIGTERM)
            wait_for(draining)
        assert httpx.get(f"{base}/sessions", timeout=20.0).status_code == 200
        os.killpg(server.process.pid, signal.SIGINT)
        assert server.process.wait(60.0) == (130 if workers == "1" else 0)  # interrupted; or ended by its supervisor


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_drain_lasts_as_long_as_it_was_told(tmp_path: Path, workers: str) -> None:
    with served(tmp_path, "--drain-seconds", "2", "--workers", workers) as server:
        server.address()
        told = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - told >= 2.0


def test_a_server_that_is_replacing_its_workers_stops_when_it_is_told(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "3") as server:
        server.address()
        wait_for(lambda: len(events(server, "worker_started")) == 3)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: len(events(server, "worker_started")) == 4)
        assert server.stop() == 0
        assert len(events(server, "worker_started")) <= 5  # not all three were replaced first
    assert all(has_ended(int(str(event["pid"]))) for event in events(server, "worker_started"))


def test_workers_are_replaced_on_sighup_without_refusing_a_request(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        base, over, answers = server.address(), threading.Event(), list[int]()

        def ask() -> None:
            while not over.is_set():
                answers.append(httpx.get(f"{base}/sessions", timeout=60.0).status_code)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            asking = pool.submit(ask)
            before = [event["pid"] for event in events(server, "worker_started")]
            server.process.send_signal(signal.SIGHUP)
            try:
                wait_for(lambda: len(events(server, "worker_started")) == 4 and not any(Path(f"/proc/{pid}").exists() for pid in before))
            finally:
                over.set()
            asking.result(60.0)
        assert set(answers) == {200} and len(before) == 2
        assert server.stop() == 0


def waiting_connections(port: int) -> int:
    """Connections to a port that no process has accepted yet."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(line[4].partition(":")[2], 16) for line in lines if line[1].endswith(f":{port:04X}") and line[3] == "0A")


def test_a_worker_that_leaves_answers_the_connections_that_it_has_accepted(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        port = int(server.address().rpartition(":")[2])
        wait_for(lambda: len([line for line in list(server.log) if "Application startup complete" in line]) == 2)
        with contextlib.ExitStack() as stack:
            lines = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30.0)) for _ in range(20)]
            wait_for(lambda: not waiting_connections(port))  # all are accepted, by one worker or the other
            for event in events(server, "worker_started"):
                os.kill(int(str(event["pid"])), signal.SIGTERM)
            time.sleep(0.2)
            for line in lines:
                line.sendall(b"GET /sessions HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            answers = [read_to_the_end(line).lower() for line in lines]  # and the connections are closed
        assert all(answer.startswith(b"http/1.1 200") and b"connection: close" in answer for answer in answers)


def test_a_worker_waits_for_its_database_while_the_other_serves(tmp_path: Path, postgres_url: str, postgres_server_url: str) -> None:
    name = postgres_url.rpartition("/")[2]
    with (
        psycopg.connect(postgres_server_url, autocommit=True) as outside,
        served(tmp_path, "--workers", "2", "--store", postgres_url) as server,
    ):
        base = server.address()
        wait_for(lambda: len(events(server, "worker_started")) == 2)
        outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        os.kill(int(str(events(server, "worker_started")[0]["pid"])), signal.SIGKILL)
        wait_for(lambda: len(events(server, "worker_waits_for_store")) >= 2)
        assert httpx.get(f"{base}/health", timeout=30.0).status_code == 200
        outside.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        started = len([line for line in server.log if "Application startup complete" in line])
        wait_for(lambda: len([line for line in list(server.log) if "Application startup complete" in line]) > started)
        assert [httpx.post(f"{base}/reset", json={}).status_code for _ in range(6)] == [200] * 6
        assert server.stop() == 0


def test_a_worker_whose_database_goes_while_it_starts_tries_again(tmp_path: Path) -> None:
    """With any other error the supervisor would give up, and stop the workers that serve."""
    command = [sys.executable, "-c", STORE_AWAY_TWICE, f"sqlite:///{tmp_path / 'sessions.sqlite'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False)
    assert done.returncode == 3, done.stderr
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["seconds"] for line in lines if line["event"] == "worker_waits_for_store"] == [0.5, 1.0]


def test_a_worker_whose_program_cannot_be_loaded_says_so_in_the_log_and_is_given_up(tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPLICATION_BROKEN, f"sqlite:///{tmp_path / 'sessions.sqlite'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False)
    assert done.returncode == 3, done.stderr
    (failed,) = [line for line in map(json.loads, done.stderr.splitlines()) if line["event"] == "worker_failed"]
    assert "edgeworth.server.app" in failed["traceback"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_is_starting_is_not_ended_by_sighup(tmp_path: Path, workers: str) -> None:
    with served(tmp_path, "--workers", workers) as server:
        wait_for(lambda: any("serving on" in line for line in list(server.log)))
        server.process.send_signal(signal.SIGHUP)
        assert httpx.get(f"{server.address()}/sessions").status_code == 200
        assert server.stop() == 0


def test_as_process_one_it_passes_signals_on_and_reaps_orphans() -> None:
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a process namespace takes root")
    assert subprocess.run([*command, sys.executable, "-c", AS_PROCESS_ONE], timeout=60.0, check=False).returncode == 5


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_log_that_nobody_reads_stops_nobody(tmp_path: Path, workers: str) -> None:
    port = free_port()
    store = f"sqlite:///{tmp_path / 'sessions.sqlite'}"
    words = [sys.executable, "-m", "edgeworth", "serve", "--port", str(port), "--no-openenv", "--workers", workers, "--store", store]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=tmp_path)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=httpx.HTTPTransport(retries=50), timeout=60.0) as client:
            for _ in range(1_500):  # about 400 KB of lines; a pipe holds 64
                assert client.get("/sessions").status_code == 200
        process.terminate()
        assert process.wait(60.0) == 0
    finally:
        process.kill()
        process.wait(10.0)
        process.stderr.close()  # type: ignore[union-attr]
