"""The Ray engine: tasks on this machine's Ray or on a cluster, by address.

Ray schedules the tasks, one CPU each, and tries one again whose worker or node was lost, `ATTEMPTS` times in all. As many tasks are handed
to Ray as it has CPUs, twice over, so that a long list needs no memory and nodes that join later get their share. Tasks that ask a language
model are batch inference with Ray Data: a pool of actors, each of which loads the model once.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import socket
import warnings
from collections.abc import Generator, Sequence
from typing import Any

from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.executor.local import ATTEMPTS, TICK, Ended, lost
from edgeworth.executor.tasks import Outcome, Task, perform

AHEAD = 2
"""Tasks that are handed over for every CPU."""


def ray_module(name: str = "ray") -> Any:
    """Ray, or one of its parts."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray", "scale") from error


def connect(workers: int | None, address: str | None) -> bool:
    """Connect this process to Ray, started here or reached by its address; returns whether it was not connected before."""
    ray = ray_module()
    if ray.is_initialized():
        return False
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    alone = {"address": "local", "num_cpus": workers, "include_dashboard": False}  # without "local", Ray would join any that runs here
    try:
        _check_listening(address or "")
        ray.init(**quiet, **(alone if address is None else {"address": address}))
    except Exception as error:  # Ray raises bare ones too
        where = "Ray does not start" if address is None else f"No Ray cluster answers at --address {address}"
        raise InvalidOption(f"{where} ({str(error).rstrip('.')}). Start one with `ray start --head`, or leave --address out.") from error
    return True


def _check_listening(address: str) -> None:
    """Raise an OSError where nobody listens at HOST:PORT, since Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=5.0).close()


def perform_in(folder: str, sent: bytes) -> Outcome:
    """Carry out a task in the driver's folder where this machine has it, so that relative paths mean the same.

    The task arrives as bytes, since arrays that Ray itself unpacks cannot be written to.
    """
    if os.path.isdir(folder):
        os.chdir(folder)
    return perform(pickle.loads(sent))


class Asker:
    """An actor that carries out tasks which ask a language model; what it loads stays with it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Carry out the tasks of a batch."""
        outcomes = [pickle.dumps(perform_in(self.folder, sent)) for sent in batch["sent"]]
        return {"number": list(batch["number"]), "outcome": outcomes}


class OnRay:
    """Tasks on Ray; `workers` at a time, or as many as there are CPUs."""

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.ray, self.workers = ray_module(), workers
        self._connected = connect(workers, address)
        self._handed: dict[Any, int] = {}
        self._asking = 0
        self._perform = self.ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(perform_in)

    @property
    def running(self) -> int:
        """How many tasks are under way, at most."""
        return self._asking or min(len(self._handed), self._cpus())

    def _cpus(self) -> int:
        there = int(self.ray.cluster_resources().get("CPU", 1))
        return there if self.workers is None else min(self.workers, there)

    def outcomes(self, tasks: Sequence[Task]) -> Generator[Ended, None, None]:
        """Carry out all tasks; what Ray cannot deliver is lost with its reason."""
        if any(task.asks for task in tasks):
            yield from self._inferred(tasks)
            return
        numbers = iter(range(len(tasks)))
        left = len(tasks)
        while left:
            room = (self.workers or AHEAD * max(1, self._cpus())) - len(self._handed)
            for _, number in zip(range(room), numbers, strict=False):  # in this order, else a number is lost
                self._handed[self._perform.remote(os.getcwd(), self.ray.cloudpickle.dumps(tasks[number]))] = number
            over, _ = self.ray.wait(list(self._handed), num_returns=1, timeout=TICK)
            if not over:
                yield None
            for reference in over:
                number, left = self._handed.pop(reference), left - 1
                try:
                    yield number, self.ray.get(reference)
                except self.ray.exceptions.RayError as error:
                    yield number, lost(str(error))

    def _inferred(self, tasks: Sequence[Task]) -> Generator[Ended, None, None]:
        """Carry out tasks that ask a language model, as a dataset whose rows go through a pool of actors."""
        data = ray_module("ray.data")
        context = data.DataContext.get_current()
        context.enable_progress_bars, context.max_errored_blocks = False, -1  # a task that is lost stops no other
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)
        self._asking = min(len(tasks), self._cpus())
        rows = [{"number": number, "sent": self.ray.cloudpickle.dumps(task)} for number, task in enumerate(tasks)]
        pool = {"concurrency": (1, self._asking), "num_cpus": 1, "num_gpus": max(task.gpus for task in tasks)}
        with warnings.catch_warnings():  # Ray 2.60 has no other way to limit retries, and without a limit it tries forever
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated", DeprecationWarning)
            inferred = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                Asker, batch_size=1, fn_constructor_args=(os.getcwd(),), max_task_retries=ATTEMPTS - 1, **pool
            )
        left, known = set(range(len(tasks))), ""
        try:
            yield None  # for the progress: as many are running
            for row in inferred.iter_rows():
                left.discard(int(row["number"]))
                yield int(row["number"]), pickle.loads(row["outcome"])
        except self.ray.exceptions.RayError as error:
            known = str(error)
        finally:
            self._asking = 0
        for number in sorted(left):
            if known or len(left) == 1:
                yield number, lost(known)
                continue
            for ended in self._inferred([tasks[number]]):  # alone: it may have waited at an actor that another task killed
                yield ended if ended is None else (number, ended[1])

    def close(self) -> None:
        """Cancel what is under way, and leave Ray if this engine connected to it."""
        for reference in self._handed:
            self.ray.cancel(reference, force=True)
        self._handed.clear()
        if self._connected:
            self.ray.shutdown()
