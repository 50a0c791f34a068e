"""Servers in processes of their own: ours and the one it is compared with, each started on a free port and always stopped."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from edgeworth.errors import InvalidOption

START_SECONDS = 120.0
PORTS = 20_000, 32_000
CHECKOUT = Path(__file__).resolve().parents[1]


class LoggedProcess:
    """A process, and the lines of its standard error."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.log = process, list[str]()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)


class ServerProcess(LoggedProcess):
    """A server, its log, and its workers."""

    def __init__(self, command: Sequence[str], port: int, ready: str) -> None:
        self.port = port
        self._ready = f"http://127.0.0.1:{port}{ready}"
        super().__init__(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT))

    def wait_until_ready(self) -> None:
        """Wait until it answers; an error shows the end of its log."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError), urllib.request.urlopen(self._ready, timeout=2):
                return
            time.sleep(0.05)
        raise RuntimeError("The server did not start; its log:\n" + "".join(self.log[-40:]))

    def workers(self) -> list[int]:
        """The process ids of the workers that are alive, also of those that are still starting."""
        try:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return []
        return [int(pid) for pid in children if _is_worker(pid)]

    def cpu_seconds(self) -> float:
        """Processor time that it and its living workers have used."""
        ticks = 0
        for pid in (self.process.pid, *self.workers()):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Memory that it and its living workers hold; pages that they share count for each of them."""
        pages = 0
        for pid in (self.process.pid, *self.workers()):
            with contextlib.suppress(OSError):  # it has just ended
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def failures(self) -> list[str]:
        """Lines of the log that report an error of the server; of a traceback by itself the last, which names the error."""
        found, lines = [], iter(list(self.log))
        for line in lines:
            if line.startswith("Traceback"):
                found.append(next((later for later in lines if not later.startswith((" ", "\n"))), line))
            elif re.search(r'"level":\s*"(error|critical)"|Traceback', line):
                found.append(line)
        return found

    def kill(self) -> None:
        """Kill it and its workers at once."""
        for pid in [self.process.pid, *self.workers()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Stop it; kill what is left."""
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            pass
        self.kill()


def _is_worker(pid: str) -> bool:
    """Whether a child of a supervisor is a worker that lives, and not a helper of `multiprocessing`."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def check_platform() -> None:
    """Refuse a system on which the processor time of servers cannot be read."""
    if not Path("/proc/self/stat").is_file():
        raise InvalidOption("Servers are measured through /proc, which only Linux has.")


def free_port() -> int:
    """A port of this machine that is not in use on any of its addresses, from a range in which no outgoing connection takes one."""
    while True:
        port = PORTS[0] + secrets.randbelow(PORTS[1] - PORTS[0])
        with contextlib.suppress(OSError), socket.socket() as taken:
            taken.bind(("", port))
            return port


def our_server(store: str, port: int, workers: int = 1, *flags: str) -> ServerProcess:
    """`edgeworth serve`."""
    command = [sys.executable, "-m", "edgeworth", "serve", "--quiet", "--no-openenv", "--port", str(port), "--workers", str(workers)]
    return ServerProcess([*command, "--store", store, *flags], port, "/ready")


def echo_server(port: int) -> ServerProcess:
    """OpenEnv's own server with an environment that echoes."""
    return ServerProcess([sys.executable, "-m", "benchmarks.echo_server", str(port)], port, "/health")


@contextlib.contextmanager
def running(*servers: ServerProcess) -> Iterator[None]:
    """Servers that are ready, and gone afterwards."""
    try:
        for server in servers:
            server.wait_until_ready()
        yield
    finally:
        for server in servers:
            server.stop()
