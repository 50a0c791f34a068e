"""A local language model in a process of its own, so that the server never waits for its arithmetic.

The process is started when the model is first needed, and again after it has died; `model_worker.py` is what runs there. Questions and
replies are lines of JSON on its standard input and output. When the server goes, however it goes, the pipe ends and the process with it.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import edgeworth
from edgeworth.agents.questions import OWN_CLIENT
from edgeworth.errors import MissingExtra, ModelUnavailable
from edgeworth.llm.client import Client, Completion, Failure, Messages, Reply, Sampling, Samplings, TokenLogprob, sampling_each

MODULE = "edgeworth.server.model_worker"
LOAD_SECONDS = 180.0
"""How long loading may take."""
GRACE_SECONDS = 5.0
"""How much longer than it was given a model may take before its process counts as hung."""
LONGEST_SECONDS = 600.0
"""How long an answer may take where nobody says."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class Ended(Exception):
    """The process is gone, or does not answer."""


class Child:
    """A running process and what it says, line by line."""

    def __init__(self, module: str) -> None:
        home = str(Path(edgeworth.__file__).resolve().parents[1])
        path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH")) if part)
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            text=True,
            encoding="utf-8",
        )
        self._said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="model process", daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(line)
        self._said.put(None)

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a question, or `Ended`."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            line = self._said.get(timeout=seconds)
        except (OSError, ValueError) as error:  # the pipe is broken, or closed
            raise Ended(self._end()) from error
        except queue.Empty as error:
            self.stop()
            raise Ended(f"did not answer within {seconds:.3g} seconds and was stopped") from error
        if line is None:
            raise Ended(self._end())
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            self.stop()
            raise Ended("said what is no answer and was stopped") from error
        return answer

    def _end(self) -> str:
        try:
            return f"ended with status {self.process.wait(GRACE_SECONDS)}"
        except subprocess.TimeoutExpired:
            self.stop()
            return "closed its output and was stopped"

    @property
    def lives(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process and wait for its end."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except OSError:
                pass  # what was not written yet has nowhere to go


class ModelProcess:
    """A model that several may ask, one after the other; any thread may call."""

    def __init__(self, client: str = OWN_CLIENT, options: Mapping[str, Any] | None = None, module: str = MODULE) -> None:
        self.client, self.options, self.module = client, dict(options or {}), module
        self.name = client
        """The client; once it is loaded, the model."""
        self.starts = 0
        """How often a process was started."""
        self._child: Child | None = None
        self._is_loaded = self._is_closed = False
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether the model can be asked at once."""
        child = self._child
        return self._is_loaded and child is not None and child.lives

    @property
    def pid(self) -> int | None:
        """The number of the process, where there is one."""
        return None if self._child is None else self._child.process.pid

    def load(self) -> None:
        """Start the process and load the model, or raise why that cannot be."""
        with self._lock:
            self._load()

    def complete(self, batch: Sequence[Messages], samplings: Sequence[Sampling], stop_at: float | None) -> list[Reply]:
        """A reply to every conversation; ModelUnavailable where the process does not live to give it."""
        with self._lock:
            child = self._load()
            within = LONGEST_SECONDS if stop_at is None else max(0.05, stop_at - time.monotonic())
            conversations = [[asdict(message) for message in messages] for messages in batch]
            question = {"conversations": conversations, "samplings": [asdict(sampling) for sampling in samplings], "within": within}
            answer = self._asked(child, question, within + GRACE_SECONDS, "while it was writing")
        return [_reply(fields) for fields in answer["replies"]]

    def _load(self) -> Child:
        if self._is_closed:
            raise ModelUnavailable("dropped", "The model has been let go: the server is stopping.")
        if self._child is not None and self.loaded:
            return self._child
        self._is_loaded = False
        if self._child is not None:
            self._child.stop()
        self._child = Child(self.module)
        self.starts += 1
        opening = {"client": self.client, "options": self.options}
        self.name = self._asked(self._child, opening, LOAD_SECONDS, "while it was loading")["name"]
        self._is_loaded = True
        return self._child

    def _asked(self, child: Child, question: Mapping[str, Any], seconds: float, when: str) -> dict[str, Any]:
        try:
            answer = child.ask(question, seconds)
        except Ended as ended:
            self._is_loaded = False
            message = f"The process of the model {self.name} {ended} {when}; it is started again for the next question."
            raise ModelUnavailable("dropped", message) from ended
        if "unavailable" in answer:
            raise ModelUnavailable(answer["unavailable"], answer["message"])
        if "missing" in answer:
            raise MissingExtra(*answer["missing"])
        return answer

    def open(self) -> None:
        """Allow a process to be started again after `close`."""
        self._is_closed = False

    def close(self) -> None:
        """End the process, also under a question that is being answered."""
        self._is_closed, self._is_loaded = True, False
        if self._child is not None:
            self._child.stop()


def _reply(fields: dict[str, Any]) -> Reply:
    if "reason" in fields:
        return Failure(**fields)
    if fields["logprobs"] is not None:
        fields["logprobs"] = tuple(TokenLogprob(*pair) for pair in fields["logprobs"])
    return Completion(**fields)


class Apart(Client):
    """A client of a model in another process; several may share the process, each with a time limit of its own."""

    def __init__(self, process: ModelProcess) -> None:
        self.process = process
        self.stop_at: float | None = None
        """Until when replies are wanted, on the monotonic clock."""

    @property
    def name(self) -> str:
        return self.process.name

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        stop_at = self.stop_at if within is None else time.monotonic() + within
        return self.process.complete(batch, sampling_each(batch, sampling), stop_at)

    def check(self) -> None:
        self.process.load()
