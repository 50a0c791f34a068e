"""The local engine: tasks in worker processes of this machine, or in this process where one worker is enough.

Every worker is a process pool of its own with a single process, so that a worker which is killed costs the one task that it had under way.
That task is tried again in a new worker, and given up after `ATTEMPTS`. Workers compute on one thread each, and end when their driver does.
A Ctrl-C in a terminal reaches the driver alone, which interrupts the tasks under way, once: what saves when it is interrupted can do so.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import NamedTuple, Protocol

from edgeworth.executor.tasks import Outcome, Task, perform

ATTEMPTS = 3
"""How often a task is tried whose worker dies."""
TICK = 1.0
"""Seconds after which an engine says that nothing has ended."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables with which a new process computes on one thread."""

Ended = tuple[int, Outcome] | None
"""The number of a task and what became of it; None while all go on."""


class Engine(Protocol):
    """Where tasks are carried out."""

    @property
    def running(self) -> int:
        """How many tasks are under way."""

    def outcomes(self, tasks: Sequence[Task]) -> Generator[Ended, None, None]:
        """Carry out all tasks; yields what becomes of them in the order in which they end, and None now and then."""

    def close(self) -> None:
        """Release the workers."""


class Worker(NamedTuple):
    """A pool of one process, and the line by which its task is interrupted."""

    pool: ProcessPoolExecutor
    line: Connection


class Local:
    """Processes of this machine."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._workers: dict[int, Worker] = {}
        self._under_way: dict[Future[Outcome], tuple[int, int, int]] = {}
        """By future: its worker, the number of its task, and which attempt it is."""

    @property
    def running(self) -> int:
        """How many tasks are under way."""
        return 1 if self.workers == 1 else len(self._under_way)

    def outcomes(self, tasks: Sequence[Task]) -> Generator[Ended, None, None]:
        """Carry out all tasks, `workers` at a time."""
        if self.workers == 1:
            for number, task in enumerate(tasks):
                yield None
                yield number, perform(task)
            return
        waiting = deque((number, 1) for number in range(len(tasks)))
        while waiting or self._under_way:
            self._submit(tasks, waiting)
            over, _ = wait(self._under_way, timeout=TICK, return_when=FIRST_COMPLETED)
            if not over:
                yield None
            for future in over:
                worker, number, attempt = self._under_way.pop(future)
                try:
                    yield number, future.result()
                except BrokenProcessPool as error:
                    self._give_up(worker)
                    if attempt < ATTEMPTS:
                        waiting.appendleft((number, attempt + 1))
                    else:
                        yield number, lost(str(error))

    def _submit(self, tasks: Sequence[Task], waiting: deque[tuple[int, int]]) -> None:
        """Give every free worker a task; a worker that was killed while it waited is replaced."""
        busy = {worker for worker, _, _ in self._under_way.values()}
        for worker in range(self.workers):
            while waiting and worker not in busy:
                number, attempt = waiting[0]
                try:
                    with single_threaded():
                        future = self._pool(worker).submit(perform_apart, tasks[number])
                except BrokenProcessPool:
                    self._give_up(worker)
                    continue
                waiting.popleft()
                self._under_way[future] = worker, number, attempt
                busy.add(worker)

    def _pool(self, worker: int) -> ProcessPoolExecutor:
        if worker not in self._workers:
            told, line = multiprocessing.Pipe(duplex=False)
            self._workers[worker] = Worker(ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), heed_driver, (told,)), line)
        return self._workers[worker].pool

    def _give_up(self, worker: int) -> None:
        self._workers.pop(worker).pool.shutdown(wait=False)

    def close(self) -> None:
        """Interrupt the tasks under way, and end the workers."""
        for future, (worker, _, _) in self._under_way.items():
            if not future.done():
                with suppress(OSError):  # it has died
                    self._workers[worker].line.send(None)
        for pool, _ in self._workers.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for pool, _ in self._workers.values():
            pool.shutdown()
        self._workers.clear()
        self._under_way.clear()


def lost(log: str) -> Outcome:
    """The outcome of a task whose worker died as often as it was tried."""
    return Outcome(None, f"The worker died {ATTEMPTS} times while it was at it, killed from outside or for want of memory.", log)


def perform_apart(task: Task) -> Outcome:
    """Carry out a task in a worker; one that is asked to end leaves an outcome, and the others go on."""
    try:
        return perform(task)
    except SystemExit as error:
        return Outcome(None, f"The worker was asked to stop (exit status {error.code}).")


def heed_driver(told: Connection) -> None:
    """In a new worker: interrupt its task when the driver says so, and end at once when the driver has died."""
    os.setpgrp()
    driver = multiprocessing.parent_process()
    if driver is not None:
        threading.Thread(target=_heed, args=(told, driver.sentinel), daemon=True).start()


def _heed(told: Connection, driver: int) -> None:
    if told in wait_for([told, driver]):
        with suppress(EOFError):  # the driver has died
            told.recv()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    wait_for([driver])
    os._exit(1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Processes that are started inside compute on one thread each; many with several would wait for each other."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
