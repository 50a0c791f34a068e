"""A local language model in a process of its own, so that the server never waits for its arithmetic.

The process starts when the model is first needed, with one thread and a lower priority, and again after it has died. It reads batches
from a pipe and writes replies to it; when the server ends, however it ends, the pipe closes and the process ends too.
"""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from edgeworth.agents.designers.language_model import bundled_designer
from edgeworth.agents.questions import HUB_CLIENT, OWN_CLIENT
from edgeworth.errors import EdgeworthError, MissingExtra, ModelUnavailable
from edgeworth.executor.local import ONE_THREAD
from edgeworth.llm.client import Client, Messages, Reply, Sampling, Samplings, sampling_each
from edgeworth.llm.stack import make_client
from edgeworth.server.settings import secrets_hidden

SPAWN = multiprocessing.get_context("spawn")
LOAD_SECONDS = 180.0
"""How long loading may take."""
GRACE_SECONDS = 5.0
"""How much longer than its time limit a model may take before its process counts as hung."""
LONGEST_SECONDS = 600.0
"""The time limit of a batch without one."""
NICENESS = 5


class ModelProcess:
    """A model in another process; any thread may call, one call at a time is served."""

    def __init__(self, name: str, make_client: Callable[[], Client]) -> None:
        """`make_client` is pickled and called in the process; `name` is shown until the model is loaded and has its own."""
        self.name, self.make_client = name, make_client
        self.trained_on: Mapping[str, Any] = {}
        """What the model was trained on, once it is loaded."""
        self.starts = 0
        """How often a process was started."""
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._is_loaded = False
        self._lock = threading.Lock()
        atexit.register(self.close)  # before `multiprocessing` tells the process to stop, and waits for it

    @property
    def loaded(self) -> bool:
        """Whether the model can answer without loading first."""
        process = self._process
        return self._is_loaded and process is not None and process.is_alive()

    @property
    def pid(self) -> int | None:
        """The process id, where a process was started."""
        return None if self._process is None else self._process.pid

    def load(self) -> None:
        """Start the process and load the model, or raise the reason why that fails."""
        with self._lock:
            self._load()

    def complete(self, batch: Sequence[Messages], samplings: Sequence[Sampling], stop_at: float | None) -> list[Reply]:
        """A reply to every conversation; ModelUnavailable where the process dies or hangs."""
        with self._lock:
            self._load()
            within = LONGEST_SECONDS if stop_at is None else max(0.05, stop_at - time.monotonic())
            replies: list[Reply] = self._call((batch, samplings, within), within + GRACE_SECONDS, "while it was writing")
            return replies

    def close(self) -> None:
        """End the process, even in the middle of a batch; a later call starts another one."""
        self._is_loaded, process = False, self._process
        if process is not None:
            process.kill()
            process.join()

    def _load(self) -> None:
        if self.loaded:
            return
        self._stop()
        self._pipe, theirs = SPAWN.Pipe()  # ours, and the end that the process is given
        process = SPAWN.Process(target=serve, args=(theirs, self.make_client), name="language model", daemon=True)
        with secrets_hidden():  # model code of others may run there
            process.start()
        theirs.close()
        self._process, self.starts = process, self.starts + 1
        self.name, self.trained_on = self._call(None, LOAD_SECONDS, "while it was loading")
        self._is_loaded = True

    def _call(self, request: Any, seconds: float, when: str) -> Any:
        """The process's answer to a request, or the error that it reports."""
        assert self._pipe is not None
        try:
            if request is not None:
                self._pipe.send(request)
            if not self._pipe.poll(seconds):
                raise self._dropped(f"did not answer within {seconds:.3g} seconds and was stopped", when)
            answer, error = self._pipe.recv()
        except (EOFError, OSError) as broken:
            raise self._dropped("ended with status {status}", when) from broken
        if error is not None:
            kind, arguments = error
            raise kind(*arguments)
        return answer

    def _dropped(self, ended: str, when: str) -> ModelUnavailable:
        """Stop the process; the error that says how it ended."""
        ended = ended.format(status=self._stop())
        message = f"The process of the model {self.name} {ended} {when}; it is started again for the next request."
        return ModelUnavailable("dropped", message)

    def _stop(self) -> int | None:
        """End the process if there is one; its exit status."""
        self._is_loaded, process, self._process = False, self._process, None
        if process is None:
            return None
        process.join(0.5)  # a process that has just closed its pipe is about to end by itself
        process.kill()
        process.join()
        if self._pipe is not None:
            self._pipe.close()
        return process.exitcode


def serve(pipe: Connection, make_client: Callable[[], Client]) -> None:
    """Runs in the process: load the model, then answer batches until the pipe closes."""
    for sig in (signal.SIGTERM, signal.SIGINT):  # which may come to all processes of the server, and it finishes its requests first
        signal.signal(sig, signal.SIG_IGN)
    os.environ.update(ONE_THREAD)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    try:
        client, error = _tried(_loaded, make_client)
        pipe.send((client and (client.name, client.trained_on), error))
        while client is not None:
            pipe.send(_tried(client.complete, *pipe.recv()))
    except (EOFError, OSError):
        return  # the server has ended


def _loaded(make_client: Callable[[], Client]) -> Client:
    client = make_client()
    client.check()
    return client


def _tried(work: Callable[..., Any], *arguments: Any) -> tuple[Any, Any]:
    """The result and no error, or no result and the error as its class and arguments, since our errors cannot be pickled."""
    try:
        return work(*arguments), None
    except MissingExtra as error:
        return None, (MissingExtra, ("A local language model", "an optional package", error.extra))
    except ModelUnavailable as error:
        return None, (ModelUnavailable, (error.reason, str(error)))
    except EdgeworthError as error:
        return None, (ModelUnavailable, ("bad_request", str(error)))


class ProcessClient(Client):
    """A client of a model in another process; several may share the process, each with a time limit of its own."""

    def __init__(self, process: ModelProcess) -> None:
        self.process = process
        self.stop_at: float | None = None
        """When replies are no longer wanted, on the monotonic clock."""

    @property
    def name(self) -> str:
        return self.process.name

    @property
    def trained_on(self) -> Mapping[str, Any]:
        return self.process.trained_on

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        stop_at = self.stop_at if within is None else time.monotonic() + within
        return self.process.complete(batch, sampling_each(batch, sampling), stop_at)

    def check(self) -> None:
        self.process.load()


def designer_process(pocket: ModelProcess) -> ModelProcess:
    """The process of the bundled language model that was trained to design markets; the pocket model's where there is none."""
    model = bundled_designer()
    return pocket if model is None else ModelProcess(model, functools.partial(make_client, HUB_CLIENT, model=model))


def pocket_process() -> ModelProcess:
    """The process of the bundled language model."""
    return ModelProcess(OWN_CLIENT, functools.partial(make_client, OWN_CLIENT))
