"""Servers for tests: the application in this process, a worker in a thread, or `edgeworth serve` as a process."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from benchmarks.server_process import LoggedProcess
from fastapi.testclient import TestClient

from designs import SANE
from edgeworth.server.app import create_app
from edgeworth.server.serving import bound, uvicorn_config
from edgeworth.server.settings import ServerSettings

MECHANISM = SANE
OFFER = {"act_type": 0, "oA": [1, 1, 1]}


def settings_in(folder: Path, **changes: Any) -> ServerSettings:
    """Settings with a store of one's own and without OpenEnv, which takes seconds to load."""
    return ServerSettings(**{"store": f"sqlite:///{folder / 'sessions.sqlite'}", "openenv": False, **changes})


@contextlib.contextmanager
def client_of(settings: ServerSettings, **options: Any) -> Iterator[TestClient]:
    """A client of the application in this process, called by a name that it answers to."""
    with TestClient(create_app(settings), base_url="http://localhost", **options) as client:
        yield client


@contextlib.contextmanager
def no_longer_file(folder: Path) -> Iterator[None]:
    """No file can grow beyond the length of the store's log."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "sessions.sqlite-wal").stat().st_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def wait_for(is_so: Callable[[], Any], seconds: float = 90.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "It did not come true in time."
        time.sleep(0.05)


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


class Server(LoggedProcess):
    """`edgeworth serve` as a process."""

    def address(self, seconds: float = 120.0) -> str:
        """Where it serves, once it does."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = re.search(r"serving on (http://\S+?);", "".join(self.log))
            if found is not None:
                with contextlib.suppress(httpx.HTTPError):
                    if httpx.get(found[1] + "/ready", timeout=2.0).status_code == 200:
                        return found[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError("The server did not start:\n" + "".join(self.log))

    def stop(self, sig: int = signal.SIGTERM, seconds: float = 60.0) -> int:
        """Tell it to stop, and wait."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(seconds)

    def said(self) -> str:
        """All of its log; call it after the end."""
        self._reader.join(10.0)
        return "".join(self.log)


@contextlib.contextmanager
def served(folder: Path, *flags: str, tokens: str = "") -> Iterator[Server]:
    """A server process that is gone afterwards, whatever happens."""
    store = f"sqlite:///{folder / 'sessions.sqlite'}"
    environment = {**os.environ, "EDGEWORTH_STORE": store, "EDGEWORTH_TOKENS": tokens}
    words = [sys.executable, "-m", "edgeworth", "serve", "--port", "0", "--no-openenv", *flags]
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    process: subprocess.Popen[str] = subprocess.Popen(words, env=environment, cwd=folder, start_new_session=True, **streams)  # type: ignore[call-overload]
    server = Server(process)
    try:
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10.0)


@contextlib.contextmanager
def in_thread(settings: ServerSettings) -> Iterator[tuple[uvicorn.Server, int]]:
    """A worker in a thread of this process, on a free port."""
    listening = bound(settings)
    worker = uvicorn.Server(uvicorn_config(settings))
    thread = threading.Thread(target=worker.run, args=([listening],), daemon=True)
    thread.start()
    try:
        until = time.monotonic() + 60.0
        while not worker.started and time.monotonic() < until and thread.is_alive():
            time.sleep(0.02)
        assert worker.started
        yield worker, listening.getsockname()[1]
    finally:
        worker.should_exit = True
        thread.join(30.0)
        listening.close()


@contextlib.contextmanager
def served_in_thread(folder: Path, **changes: Any) -> Iterator[str]:
    """The address of a worker in a thread, with its store in a folder."""
    with in_thread(settings_in(folder, port=0, log_requests=False, **changes)) as (_, port):
        yield f"http://127.0.0.1:{port}"


def read_to_the_end(line: socket.socket) -> bytes:
    """All that comes until the other side closes the connection."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while chunk := line.recv(65_536):
            heard += chunk
    return heard
