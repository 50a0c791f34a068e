"""The request queue: batches, bounds, deadlines, failures and closing."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from edgeworth.errors import CannotPlay, IllegalAction, ModelUnavailable
from edgeworth.server.model_queue import Ending, RequestQueue, failure
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import QueueLimits

Queue = RequestQueue[Any, Any]


class Doubler:
    """Doubles numbers; a text is an error, and a gate holds every answer back until it is open."""

    def __init__(self) -> None:
        self.loaded, self.gathers, self.batches = False, True, []
        self.gate = threading.Event()
        self.gate.set()
        self.faults: list[Exception] = []

    def load(self) -> None:
        if self.faults:
            raise self.faults.pop()
        self.loaded = True

    def answer(self, batch: Sequence[Any], stop_at: float) -> list[Any]:
        self.batches.append(list(batch))
        assert self.gate.wait(10)
        return [ValueError("text") if isinstance(asked, str) else 2 * asked for asked in batch]


class Tally:
    def __init__(self) -> None:
        self.endings: Counter[Ending] = Counter()
        self.sizes: list[int] = []

    def ended(self, queue: str, ending: Ending) -> None:
        self.endings[ending] += 1

    def taken(self, queue: str, waited: Sequence[float]) -> None:
        self.sizes.append(len(waited))


def with_queue(use: Callable[[Queue, Doubler, Tally], Coroutine[Any, Any, None]], **limits: Any) -> None:
    """Use a queue and close it."""
    worker, tally = Doubler(), Tally()

    async def used() -> None:
        queue: Queue = RequestQueue("doubler", worker, QueueLimits(**{"gather_seconds": 0.05, **limits}), threads, tally)
        try:
            await use(queue, worker, tally)
        finally:
            worker.gate.set()
            await queue.close()

    with ThreadPoolExecutor() as threads:
        asyncio.run(used())


async def until(condition: Callable[[], bool]) -> None:
    stop = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < stop
        await asyncio.sleep(0.002)


def test_requests_that_arrive_together_are_one_batch() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        assert await asyncio.gather(*(queue.ask(number) for number in range(20))) == [2 * number for number in range(20)]
        assert worker.batches == [list(range(20))] and tally.sizes == [20] and tally.endings == {"answered": 20}

    with_queue(use)


def test_a_batch_is_no_larger_than_allowed_and_the_rest_follows() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        await asyncio.gather(*(queue.ask(number) for number in range(10)))
        assert [len(batch) for batch in worker.batches] == [4, 4, 2]

    with_queue(use, batch=4)


def test_a_full_queue_is_refused_at_once_with_retry_after() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        first = asyncio.create_task(queue.ask(0))
        await until(lambda: queue.in_progress == 1)
        waiting = [asyncio.create_task(queue.ask(number)) for number in (1, 2)]
        await until(lambda: queue.waiting == 2)
        with pytest.raises(Refused) as refused:
            await queue.ask(3)
        assert (refused.value.status, refused.value.code) == (503, "busy") and refused.value.retry_after >= 1
        worker.gate.set()
        assert await asyncio.gather(first, *waiting) == [0, 2, 4]
        assert tally.endings == {"full": 1, "answered": 3}

    with_queue(use, queue=2, batch=1)


def test_one_owner_fills_only_a_share_of_the_queue() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        first = asyncio.create_task(queue.ask(0, "alice"))
        await until(lambda: queue.in_progress == 1)
        waiting = [asyncio.create_task(queue.ask(number, "alice")) for number in (1, 2)]
        await until(lambda: queue.waiting == 2)
        with pytest.raises(Refused) as refused:
            await queue.ask(3, "alice")
        assert (refused.value.status, refused.value.code) == (429, "too_many_questions") and refused.value.retry_after >= 1
        waiting += [asyncio.create_task(queue.ask(number, "bob")) for number in (3, 4)]
        await until(lambda: queue.waiting == 4)
        with pytest.raises(Refused) as refused:
            await queue.ask(5, "carol")
        assert (refused.value.status, refused.value.code) == (503, "busy")
        worker.gate.set()
        assert await asyncio.gather(first, *waiting) == [0, 2, 4, 6, 8]
        assert tally.endings == {"full": 2, "answered": 5} and await queue.ask(6, "alice") == 12

    with_queue(use, queue=4, per_owner=2, batch=1)


def test_cancelled_requests_take_no_room() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        first = asyncio.create_task(queue.ask(0, "alice"))
        await until(lambda: queue.in_progress == 1)
        kept, left = (asyncio.create_task(queue.ask(number, "alice")) for number in (1, 2))
        await until(lambda: queue.waiting == 2)
        left.cancel()
        await asyncio.wait({left})
        later = asyncio.create_task(queue.ask(3, "alice"))
        await asyncio.sleep(0.05)
        worker.gate.set()
        assert await asyncio.gather(first, kept, later) == [0, 2, 6]

    with_queue(use, queue=2, per_owner=2, batch=1)


def test_a_deadline_is_kept_and_requests_that_still_wait_are_never_computed() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        outcomes = await asyncio.gather(queue.ask(1), queue.ask(2), return_exceptions=True)
        assert [(outcome.status, outcome.code) for outcome in outcomes] == [(504, "deadline")] * 2
        worker.gate.set()
        assert await queue.ask(3) == 6
        assert worker.batches == [[1], [3]] and tally.endings == {"late": 2, "answered": 1}

    with_queue(use, batch=1, deadline_seconds=0.3)


def test_a_cancelled_request_is_never_computed() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        first = asyncio.create_task(queue.ask(1))
        await until(lambda: queue.in_progress == 1)
        left = asyncio.create_task(queue.ask(2))
        await until(lambda: queue.waiting == 1)
        left.cancel()
        await asyncio.wait({left})
        worker.gate.set()
        assert (await first, await queue.ask(3)) == (2, 6)
        assert worker.batches == [[1], [3]] and tally.endings["gone"] == 1

    with_queue(use, batch=1)


def test_a_failed_request_does_not_affect_the_rest_of_its_batch() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        good, bad = await asyncio.gather(queue.ask(1), queue.ask("x"), return_exceptions=True)
        assert good == 2 and (bad.status, bad.code, bad.facts) == (502, "failed", {"who": "doubler"})
        assert "ValueError" in bad.message and "text" not in bad.message  # what an unforeseen error says may be anybody's

    with_queue(use)


def test_a_worker_that_cannot_be_loaded_says_why_and_is_tried_again() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        assert queue.state == "cold"
        worker.faults.append(ModelUnavailable("unknown_model", "There is no such model."))
        with pytest.raises(Refused) as refused:
            await queue.ask(1)
        assert refused.value.status == 503 and "There is no such model." in refused.value.message and queue.state == "failed"
        assert worker.batches == [] and await queue.ask(1) == 2 and queue.state == "loaded" and queue.fault is None

    with_queue(use)


def test_warming_up_loads_without_a_request() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        queue.warm_up()
        assert queue.state in ("loading", "loaded")
        await until(lambda: queue.state == "loaded")
        assert worker.batches == []

    with_queue(use)


def test_closing_answers_what_waits_and_takes_no_more() -> None:
    async def use(queue: Queue, worker: Doubler, tally: Tally) -> None:
        worker.gate.clear()
        asked = [asyncio.create_task(queue.ask(number)) for number in range(3)]
        await until(lambda: queue.in_progress == 1 and queue.waiting == 2)
        closing = asyncio.create_task(queue.close())
        await asyncio.sleep(0.05)
        with pytest.raises(Refused, match="stopping"):
            await queue.ask(9)
        worker.gate.set()
        assert await asyncio.gather(*asked) == [0, 2, 4]
        await closing
        queue.open()
        assert await queue.ask(5) == 10

    with_queue(use, batch=1)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ModelUnavailable("dropped", "gone"), 503, "model_unavailable"),
        (IllegalAction("a reply that is no mechanism", "reserve_price"), 502, "failed"),
        (CannotPlay("bayes", "its partner talks"), 422, "invalid_option"),
        (Refused(504, "deadline", "late", "again"), 504, "deadline"),
        (ZeroDivisionError(), 502, "failed"),
    ],
)
def test_a_worker_error_is_a_client_error_only_where_the_client_caused_it(error: Exception, status: int, code: str) -> None:
    refused = failure("somebody", error)
    assert (refused.status, refused.code) == (status, code)


def test_the_traceback_of_a_failure_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    try:
        1 / 0  # noqa: B018 - the failure of a worker
    except ZeroDivisionError as error:
        failure("somebody", error)
    line = json.loads(capfd.readouterr().err)
    assert line["event"] == "worker_failed" and "ZeroDivisionError: division by zero" in line["traceback"]
