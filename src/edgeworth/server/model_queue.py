"""Queues in front of designers and hint providers: requests that arrive together are answered as one batch.

A `RequestQueue` lives on the event loop and runs its worker in a thread, one batch at a time, so that the loop never waits for arithmetic.
Requests beyond a full queue get 503, those beyond an owner's share 429, those without an answer by their deadline 504. Cancelled and late
requests that still wait are never computed. A worker's failure is reported to whoever asked; no other worker answers in its place.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from fastapi import Request as Incoming
from prometheus_client import Counter, Histogram

from edgeworth.errors import EdgeworthError, IllegalAction, ModelUnavailable
from edgeworth.server.monitoring import Metrics, note
from edgeworth.server.refusals import Refused, refusal_of
from edgeworth.server.settings import LOCAL, QueueLimits

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
State = Literal["cold", "loading", "loaded", "failed"]
Ending = Literal["answered", "failed", "full", "late", "gone"]
"""How a request ends: answered, failed, refused by a full queue, not answered by its deadline, or cancelled by a client that left."""
TEMPORARY = frozenset({"dropped", "timeout", "server_error", "rate_limited", "unreachable"})
"""A model's reasons for not answering that may have passed at the next attempt."""
RETRY_SECONDS = 2
ASK_LATER = "Ask again later, or ask another one."
LOOK_SECONDS = 0.25
"""How often a waiting request checks that its client is still connected."""
CLOSE_SECONDS = 10.0
"""How long a closing queue waits for the batch in progress."""
WAIT_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64)


class Worker(Generic[Asked, Answer]):
    """Answers requests. `load` and `answer` run in a thread, never at the same time."""

    gathers = False
    """Whether a large batch is cheaper than several small ones, so that the first request waits a moment for others."""

    @property
    def loaded(self) -> bool:
        """Whether it can answer without loading anything first."""
        raise NotImplementedError

    def load(self) -> None:
        """Load what it needs, or raise the reason why that fails."""
        raise NotImplementedError

    def answer(self, batch: Sequence[Asked], stop_at: float) -> Sequence[Answer | Exception]:
        """An answer or an error for every request; after `stop_at` on the monotonic clock none is waited for."""
        raise NotImplementedError


class QueueMetrics:
    """Prometheus metrics of all queues: how requests end, how long they wait, how large batches are, how many wait now."""

    def __init__(self, metrics: Metrics) -> None:
        registry, self._metrics = metrics.registry, metrics
        self._endings = Counter("edgeworth_queue_requests", "Requests by queue and how they ended.", ["queue", "ending"], registry=registry)
        self._waits = Histogram("edgeworth_queue_wait_seconds", "Seconds in the queue.", ["queue"], buckets=WAIT_BUCKETS, registry=registry)
        self._sizes = Histogram("edgeworth_queue_batch", "Requests answered together.", ["queue"], buckets=BATCH_BUCKETS, registry=registry)

    def ended(self, queue: str, ending: Ending) -> None:
        """Count a request."""
        self._endings.labels(queue, ending).inc()

    def taken(self, queue: str, waited: Sequence[float]) -> None:
        """Count a batch, given the seconds that each of its requests waited."""
        self._sizes.labels(queue).observe(len(waited))
        for seconds in waited:
            self._waits.labels(queue).observe(seconds)

    def watch(self, queues: Sequence[RequestQueue[Any, Any]]) -> None:
        """Show how many requests wait and are in progress, over all these queues."""
        self._metrics.watch("queue_waiting", "Requests in the queues.", lambda: sum(queue.waiting for queue in queues), everywhere=False)
        self._metrics.watch(
            "queue_in_progress", "Requests in progress.", lambda: sum(queue.in_progress for queue in queues), everywhere=False
        )


@dataclass(eq=False)
class Request(Generic[Asked, Answer]):
    """A request in the queue."""

    asked: Asked
    owner: str
    stop_at: float
    arrived: float = field(default_factory=time.monotonic)
    future: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def fail(self, error: Refused) -> None:
        """Report an error to whoever still waits."""
        if not self.future.done():
            self.future.set_exception(error)


class RequestQueue(Generic[Asked, Answer]):
    """A bounded queue in front of one worker; all methods are for the event loop."""

    def __init__(
        self, name: str, worker: Worker[Asked, Answer], limits: QueueLimits, threads: ThreadPoolExecutor, metrics: QueueMetrics
    ) -> None:
        self.name, self.worker, self.limits, self.threads, self.metrics = name, worker, limits, threads, metrics
        self.fault: str | None = None
        """Why the last attempt to load the worker failed."""
        self._waiting: list[Request[Asked, Answer]] = []
        self._in_progress: list[Request[Asked, Answer]] = []
        self._serving: asyncio.Task[None] | None = None
        self._is_loading = self._is_closing = False
        self._batch_seconds = 0.0

    @property
    def waiting(self) -> int:
        """How many requests wait for a batch."""
        return len(self._waiting)

    @property
    def in_progress(self) -> int:
        """How many requests are being answered."""
        return len(self._in_progress)

    @property
    def state(self) -> State:
        """Whether the worker could answer at once."""
        if self._is_loading:
            return "loading"
        if self.worker.loaded:
            return "loaded"
        return "cold" if self.fault is None else "failed"

    async def ask(self, asked: Asked, owner: str = LOCAL) -> Answer:
        """The worker's answer, in turn, or a refusal."""
        seconds = self.limits.deadline_seconds
        request = self._admitted(Request[Asked, Answer](asked, owner, time.monotonic() + seconds))
        ending: Ending = "failed"
        try:
            answer = await asyncio.wait_for(request.future, seconds)
            ending = "answered"
            return answer
        except TimeoutError:
            ending = "late"
            message = f"{self.name} did not answer within {seconds:g} seconds; it is {self.state}."
            raise Refused(504, "deadline", message, ASK_LATER, retry_after=RETRY_SECONDS, who=self.name) from None
        except asyncio.CancelledError:
            ending = "gone"
            raise
        finally:
            self.metrics.ended(self.name, ending)

    def warm_up(self) -> None:
        """Load the worker without waiting for it."""
        if not (self.worker.loaded or self._is_closing):
            self._is_loading = True
            self._serve_soon()

    def open(self) -> None:
        """Accept requests again after `close`, perhaps on another event loop."""
        self._is_closing, self._serving = False, None

    async def close(self) -> None:
        """Accept no more requests and answer those that wait; those left after CLOSE_SECONDS are refused."""
        self._is_closing = True
        if self._serving is not None:
            await asyncio.wait({self._serving}, timeout=CLOSE_SECONDS)
            self._serving.cancel()
        for request in (*self._waiting, *self._in_progress):
            request.fail(self._closing())
        self._waiting, self._in_progress, self._is_loading = [], [], False

    def _admitted(self, request: Request[Asked, Answer]) -> Request[Asked, Answer]:
        if self._is_closing:
            raise self._closing()
        self._waiting = [other for other in self._waiting if not other.future.done()]
        waiting, own = len(self._waiting), sum(other.owner == request.owner for other in self._waiting)
        if waiting >= self.limits.queue:
            raise self._full(503, "busy", f"{waiting} requests wait for {self.name}, the most that may.", ASK_LATER, waiting)
        if own >= self.limits.per_owner:
            message = f"{own} of your requests wait for {self.name}, the most that may."
            raise self._full(429, "too_many_questions", message, "Wait for their answers before you ask more.", own)
        self._waiting.append(request)
        self._serve_soon()
        return request

    def _full(self, status: int, code: str, message: str, remedy: str, waiting: int) -> Refused:
        """A refusal with the time that so many requests will take, judging by the last batch."""
        self.metrics.ended(self.name, "full")
        seconds = (1 + waiting / self.limits.batch) * self._batch_seconds
        return Refused(status, code, message, remedy, retry_after=min(60, max(1, math.ceil(seconds))), who=self.name)

    def _closing(self) -> Refused:
        return Refused(503, "closing", f"{self.name} takes no more requests: the server is stopping.", "Ask again.", retry_after=5)

    def _serve_soon(self) -> None:
        if self._serving is None or self._serving.done():
            self._serving = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        """Load the worker where needed and answer batch after batch, until no request waits."""
        try:
            await self._load()
            while self._waiting:
                if self.worker.gathers and len(self._waiting) < self.limits.batch and not self._is_closing:
                    await asyncio.sleep(self.limits.gather_seconds)
                await self._load()  # a model's process may have died since the last batch
                await self._answer_batch()
        except Exception as error:
            for request in (*self._in_progress, *self._waiting):
                request.fail(failure(self.name, error))
            self._in_progress, self._waiting = [], []

    async def _load(self) -> None:
        if self.worker.loaded:
            self._is_loading = False
            return
        self._is_loading = True
        try:
            await self._in_thread(self.worker.load)
            self.fault = None
        except Exception as error:
            self.fault = str(error) if isinstance(error, EdgeworthError) else type(error).__name__
            raise
        finally:
            self._is_loading = False

    async def _answer_batch(self) -> None:
        now = time.monotonic()
        wanted = [request for request in self._waiting if not request.future.done() and request.stop_at > now]
        self._in_progress, self._waiting = wanted[: self.limits.batch], wanted[self.limits.batch :]
        if not self._in_progress:
            return
        batch, stop_at = [request.asked for request in self._in_progress], max(request.stop_at for request in self._in_progress)
        self.metrics.taken(self.name, [now - request.arrived for request in self._in_progress])
        try:
            answers = await self._in_thread(lambda: self.worker.answer(batch, stop_at))
        except Exception as error:
            answers = [error] * len(batch)
        self._batch_seconds = time.monotonic() - now
        for request, answer in zip(self._in_progress, answers, strict=True):
            if isinstance(answer, Exception):
                request.fail(failure(self.name, answer))
            elif not request.future.done():
                request.future.set_result(answer)
        self._in_progress = []

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)


async def while_connected(request: Incoming, asking: Coroutine[Any, Any, Result]) -> Result:
    """The answer; the request is cancelled when its client disconnects."""
    task = asyncio.ensure_future(asking)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                raise Refused(400, "gone", "The client went away before there was an answer.", "Ask again.")
        return task.result()
    finally:
        task.cancel()


def failure(who: str, error: Exception) -> Refused:
    """A worker's error as a client sees it; an unforeseen one is logged with its traceback."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ModelUnavailable):
        again = RETRY_SECONDS if error.reason in TEMPORARY else None
        facts: dict[str, Any] = {"who": who, "reason": error.reason}
        return Refused(503, "model_unavailable", f"{who}: {error}", ASK_LATER, retry_after=again, **facts)
    if isinstance(error, EdgeworthError) and not isinstance(error, IllegalAction):
        return refusal_of(error)
    note(logging.ERROR, "worker_failed", error, who=who)
    reason = str(error) if isinstance(error, IllegalAction) else type(error).__name__
    return Refused(502, "failed", f"{who} failed: {reason}", "Ask another one.", who=who)
