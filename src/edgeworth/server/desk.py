"""A desk: questions wait in a bounded queue, and whoever works there answers those that came together in one go.

The event loop only puts questions down and picks answers up; the work is done in the desk's own thread, or in a process that the thread
waits for. A question that nobody can take in time is refused at once, and so is one too many of the same owner, whom the others are not to
wait for. One that was not answered in time is called off, and what the worker fails at is told to whoever asked. Nobody else answers in
its place.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from edgeworth.errors import EdgeworthError, IllegalAction, ModelUnavailable
from edgeworth.server.logs import note
from edgeworth.server.refusals import Refused, refusal_of
from edgeworth.server.settings import LOCAL, DeskLimits

Question = TypeVar("Question")
Answer = TypeVar("Answer")
Asked = TypeVar("Asked", contravariant=True)
Given = TypeVar("Given", covariant=True)
State = Literal["cold", "loading", "loaded", "failed"]
Ending = Literal["answered", "failed", "full", "late", "gone"]
"""How a question ends: answered, failed at, refused since the queue or its owner's part of it is full, not answered in time, or called off
by a client that left."""
PASSING = frozenset({"dropped", "timeout", "server_error", "rate_limited", "unreachable"})
"""Reasons of a model that may be gone at the next attempt."""
RETRY_SECONDS = 2


class Worker(Protocol[Asked, Given]):
    """Who answers at a desk. All but `loaded` is called in the desk's thread."""

    @property
    def loaded(self) -> bool:
        """Whether it can answer at once."""
        ...

    def load(self) -> None:
        """Get ready, or raise why that cannot be."""
        ...

    def answer(self, questions: Sequence[Asked], stop_at: float) -> Sequence[Given | Exception]:
        """An answer or a reason for every question; after `stop_at` on the monotonic clock nobody waits any more."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Watcher(Protocol):
    """Who is told what happens at desks."""

    def ended(self, desk: str, ending: Ending) -> None:
        """A question ended so."""
        ...

    def took(self, desk: str, waited: Sequence[float]) -> None:
        """Questions were taken up together, after waiting so many seconds each."""
        ...


class NobodyWatches:
    """Keeps no account."""

    def ended(self, desk: str, ending: Ending) -> None:
        """Nothing."""

    def took(self, desk: str, waited: Sequence[float]) -> None:
        """Nothing."""


@dataclass(eq=False)
class Job(Generic[Question, Answer]):
    """A question on its way."""

    question: Question
    stop_at: float
    owner: str
    came: float = field(default_factory=time.monotonic)
    future: Future[Answer] = field(default_factory=Future)


class Desk(Generic[Question, Answer]):
    """A queue and a thread before one worker; the thread begins with the first question."""

    def __init__(self, name: str, worker: Worker[Question, Answer], limits: DeskLimits, watcher: Watcher | None = None) -> None:
        self.name, self.worker, self.limits = name, worker, limits
        self.watcher = watcher or NobodyWatches()
        self.fault: str | None = None
        """Why the worker could not be loaded the last time, where it could not."""
        self.in_hand = 0
        self._waiting: deque[Job[Question, Answer]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_loading = self._is_wanted_warm = self._is_closing = False
        self._batch_seconds = 0.0

    @property
    def waiting(self) -> int:
        """How many questions nobody has taken up yet."""
        return len(self._waiting)

    @property
    def state(self) -> State:
        """Whether a question would be answered at once."""
        if self._is_loading:
            return "loading"
        if self.worker.loaded:
            return "loaded"
        return "cold" if self.fault is None else "failed"

    async def ask(self, question: Question, owner: str = LOCAL) -> Answer:
        """The answer to a question, in its turn."""
        seconds = self.limits.deadline_seconds
        job = Job[Question, Answer](question, time.monotonic() + seconds, owner)
        self._put(job)
        answered = asyncio.wrap_future(job.future)
        try:
            await asyncio.wait({answered}, timeout=seconds)
        except asyncio.CancelledError:
            self.watcher.ended(self.name, "gone")
            raise
        finally:
            if not answered.done():
                answered.cancel()
        if answered.cancelled():
            self.watcher.ended(self.name, "late")
            raise self._late(seconds)
        return self._result(answered)

    def _result(self, answered: asyncio.Future[Answer]) -> Answer:
        error = answered.exception()
        if error is None:
            self.watcher.ended(self.name, "answered")
            return answered.result()
        self.watcher.ended(self.name, "failed")
        raise told(self.name, error) from error

    def _put(self, job: Job[Question, Answer]) -> None:
        with self._changed:
            if self._is_closing:
                raise Refused(503, "closing", f"{self.name} takes no more questions: the server is stopping.", "Ask again.", retry_after=5)
            if (refused := self._no_room(job.owner)) is not None:
                self.watcher.ended(self.name, "full")
                raise refused
            self._waiting.append(job)
            self._begin()

    def _no_room(self, owner: str) -> Refused | None:
        """Why an owner cannot ask now; for whoever holds the condition."""
        queue, per_owner = self.limits.queue, self.limits.per_owner
        if len(self._waiting) < min(queue, per_owner):
            return None
        self._waiting = deque(job for job in self._waiting if not job.future.cancelled())
        if len(self._waiting) >= queue:
            return self._full()
        own = sum(job.owner == owner for job in self._waiting)
        return self._too_many(own) if own >= per_owner else None

    def warm_up(self) -> State:
        """Let the worker get ready, without waiting for it."""
        with self._changed:
            if not (self.worker.loaded or self._is_closing):
                self._is_wanted_warm = self._is_loading = True
                self._begin()
        return self.state

    def _begin(self) -> None:
        """Wake the thread; for whoever holds the condition."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=f"desk {self.name}", daemon=True)
            self._thread.start()
        self._changed.notify()

    def open(self) -> None:
        """Take questions again after `close`."""
        with self._changed:
            self._is_closing = False

    def close(self, seconds: float = 10.0) -> None:
        """Take no more questions, answer those that wait, and let the worker go; what is left after so many seconds is refused."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(seconds)
        with self._changed:
            left, self._waiting, self._thread = list(self._waiting), deque(), None
        for job in left:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(Refused(503, "closing", "The server is stopping.", "Ask again.", retry_after=5))
        self.worker.close()

    # In the desk's thread

    def _serve(self) -> None:
        while (jobs := self._take()) is not None:
            wanted = [job for job in jobs if self._is_wanted(job)]
            try:
                self._load()
                if wanted:
                    self._carry_out(wanted)
            except Exception as error:
                for job in wanted:
                    if not job.future.done():
                        job.future.set_exception(error)
            self.in_hand = 0

    def _take(self) -> list[Job[Question, Answer]] | None:
        """The questions that came together; none to get ready only, None at the end."""
        with self._changed:
            while not (self._waiting or self._is_closing or self._is_wanted_warm):
                self._changed.wait()
            self._is_wanted_warm = False
            if not self._waiting:
                return None if self._is_closing else []
            until = time.monotonic() + self.limits.gather_seconds
            while len(self._waiting) < self.limits.batch and not self._is_closing and (rest := until - time.monotonic()) > 0:
                self._changed.wait(rest)
            jobs = [self._waiting.popleft() for _ in range(min(self.limits.batch, len(self._waiting)))]
            self.in_hand = len(jobs)
            return jobs

    def _is_wanted(self, job: Job[Question, Answer]) -> bool:
        """Whether somebody still waits for the answer."""
        if job.stop_at <= time.monotonic():
            job.future.cancel()
        return job.future.set_running_or_notify_cancel()

    def _load(self) -> None:
        if self.worker.loaded:
            self._is_loading = False
            return
        self._is_loading = True
        try:
            self.worker.load()
            self.fault = None
        except Exception as error:
            self.fault = str(error) if isinstance(error, EdgeworthError) else type(error).__name__
            raise
        finally:
            self._is_loading = False

    def _carry_out(self, jobs: list[Job[Question, Answer]]) -> None:
        began = time.monotonic()
        self.watcher.took(self.name, [began - job.came for job in jobs])
        answers = self.worker.answer([job.question for job in jobs], max(job.stop_at for job in jobs))
        self._batch_seconds = time.monotonic() - began
        for job, answer in zip(jobs, answers, strict=True):
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)

    def _full(self) -> Refused:
        waiting = len(self._waiting)
        message = f"{waiting} questions wait for {self.name}, which is the most that may."
        again = self._seconds_for(waiting)
        return Refused(503, "busy", message, "Ask again later, or ask another one.", retry_after=again, who=self.name)

    def _too_many(self, own: int) -> Refused:
        message = f"{own} of your questions wait for {self.name}, which is the most that may."
        again = self._seconds_for(own)
        return Refused(429, "too_many_questions", message, "Wait for their answers before you ask more.", retry_after=again, who=self.name)

    def _seconds_for(self, waiting: int) -> int:
        """How long so many questions will take, going by the last batch."""
        batches = 1 + waiting / self.limits.batch
        return min(60, max(1, math.ceil(batches * self._batch_seconds)))

    def _late(self, seconds: float) -> Refused:
        message = f"{self.name} did not answer within {seconds:g} seconds; it is {self.state}."
        return Refused(504, "deadline", message, "Ask again later, or ask another one.", retry_after=RETRY_SECONDS, who=self.name)


def told(who: str, error: BaseException) -> Refused:
    """What a worker failed at, as an answer to a client."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ModelUnavailable):
        again = RETRY_SECONDS if error.reason in PASSING else None
        facts: dict[str, Any] = {"who": who, "reason": error.reason}
        return Refused(503, "model_unavailable", f"{who}: {error}", "Ask again later, or ask another one.", retry_after=again, **facts)
    if isinstance(error, EdgeworthError) and not isinstance(error, IllegalAction):
        return refusal_of(error)
    note(logging.ERROR, "worker_failed", error, who=who)
    reason = str(error) if isinstance(error, IllegalAction) else type(error).__name__
    return Refused(502, "failed", f"{who} failed: {reason}", "Ask another one.", who=who)
