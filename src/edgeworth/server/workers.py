"""The supervisor of several workers: it starts them, replaces whoever dies, and stops them together.

A worker that is killed is replaced at once; one that cannot even start would fail again, so the supervisor gives up and says so. Workers
whose supervisor is gone leave by themselves.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

from edgeworth.server import logs
from edgeworth.server.metrics import SHARED

START_FAILED = (1, 3)
"""Exit statuses of a worker whose application does not start: an error of ours, or uvicorn's word for it."""
START_SECONDS = 60.0
"""A worker that ends like that later than so long after its start had started."""
SPAWN = multiprocessing.get_context("spawn")


class Supervisor:
    """Keeps a number of workers alive."""

    def __init__(self, work: Callable[[], None], count: int, stop_seconds: float) -> None:
        self.work, self.count, self.stop_seconds = work, count, stop_seconds
        self.workers: list[SpawnProcess] = []
        self._born: dict[str, float] = {}
        self._stopping = False

    def run(self) -> bool:
        """Until a signal comes; whether the workers could start."""
        logs.set_up()
        folder = tempfile.mkdtemp(prefix="edgeworth-metrics-")
        os.environ[SHARED] = folder
        for sig in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sig, self._stop)
        try:
            self.workers = [self._started() for _ in range(self.count)]
            started = self._watch()
            self._dismiss()
        finally:
            del os.environ[SHARED]
            shutil.rmtree(folder, ignore_errors=True)
        return started

    def _stop(self, sig: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _started(self) -> SpawnProcess:
        worker = SPAWN.Process(target=_worker, args=(self.work,))
        worker.start()
        self._born[worker.name] = time.monotonic()
        logs.note(logging.INFO, "worker_started", pid=worker.pid)
        return worker

    def _watch(self) -> bool:
        """Replace the dead, until it is time to stop or nobody can start."""
        while not self._stopping:
            wait([worker.sentinel for worker in self.workers], timeout=0.25)
            for place, worker in enumerate(self.workers):
                if worker.exitcode is None or self._stopping:
                    continue
                logs.note(logging.WARNING, "worker_died", pid=worker.pid, exitcode=worker.exitcode)
                if worker.exitcode in START_FAILED and time.monotonic() - self._born[worker.name] < START_SECONDS:
                    return False
                self.workers[place] = self._started()
        return True

    def _dismiss(self) -> None:
        """Let all workers finish what they have in hand, and end those that do not."""
        for worker in self.workers:
            worker.terminate()
        until = time.monotonic() + self.stop_seconds + 5.0
        for worker in self.workers:
            worker.join(max(0.0, until - time.monotonic()))
            if worker.exitcode is None:
                logs.note(logging.WARNING, "worker_killed", pid=worker.pid)
                worker.kill()
                worker.join()


def _worker(work: Callable[[], None]) -> None:
    """A worker, and beside it somebody who watches the supervisor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_the_supervisor, daemon=True).start()
    work()


def _leave_with_the_supervisor() -> None:
    supervisor = multiprocessing.parent_process()
    if supervisor is not None:
        wait([supervisor.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
