"""Retries: exponential backoff with jitter, one deadline for the whole call, Retry-After, and a circuit breaker.

Only failures that may pass are retried (`WORTH_RETRYING`), and of a batch only the prompts that failed. The wait before try k + 1 is drawn
uniformly from the upper half of [0, first_wait · 2^(k-1)], so that clients that failed together do not come back together (Brooker,
"Exponential Backoff and Jitter", 2015; the lower half is left out so that there is always some wait). Where a server names a time, that is
the wait. A wait that would outlast the deadline is not begun: the failures are returned at once.

A server that failed a whole call is not asked for `rest` seconds, or longer if it said so; calls in that time are answered at once, with
its last failure. After a rest one try shows whether it is back; if not, the next rest is twice as long, up to `longest_rest`. So a dead
provider costs a training run one deadline now and then, ever more rarely, not one at every step.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from edgeworth.llm.client import Client, Counters, Failure, Messages, Reply, Samplings, Wrapper, sampling_each
from edgeworth.seeding import checked_seed, fresh_seed, generator
from edgeworth.validation import settings

Seconds = Annotated[float, Field(ge=0.0)]

WORTH_RETRYING = frozenset(("timeout", "rate_limited", "server_error", "conflict", "dropped", "unreachable"))
"""HTTP 408, 409, 429 and 5xx, and connections that were slow, cut or not accepted; never another 4xx."""
NOT_THE_PROMPT = WORTH_RETRYING | {"unauthorized", "unknown_model", "out_of_quota"}
"""Failures that are independent of the prompt."""


def backoff(attempt: int, first_wait: float, longest_wait: float, chance: float) -> float:
    """The wait after failed try number `attempt` (from 1), for a chance in [0, 1)."""
    most = min(longest_wait, first_wait * 2.0 ** (attempt - 1))
    return most * (0.5 + 0.5 * chance)


@settings
class RetrySettings:
    """How often a prompt is asked, and how long a server rests; times are in seconds."""

    attempts: Annotated[int, Field(ge=1)] = 5
    """Most tries of a prompt."""
    deadline: Seconds = 60.0
    """For the whole call."""
    first_wait: Seconds = 0.5
    longest_wait: Seconds = 16.0
    rest: Seconds = 30.0
    """0 for none."""
    longest_rest: Seconds = 600.0


class Retry(Wrapper):
    """Retries prompts that failed for a reason that may pass."""

    def __init__(
        self,
        client: Client,
        seed: int | None = None,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        **options: Any,
    ) -> None:
        """`seed` draws the jitter; further options are those of `RetrySettings`."""
        super().__init__(client)
        self.settings = RetrySettings(**options)
        self._seed = fresh_seed() if seed is None else checked_seed(seed)
        self._counters = Counters() if counters is None else counters
        self._clock, self._sleep = clock, sleep
        self._calls = itertools.count()
        self._resting: tuple[float, Failure] | None = None
        self._last_rest = 0.0

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        resting = self._resting
        if not batch:
            return []
        if resting is not None and self._clock() < resting[0]:
            self._counters.spared(len(batch))
            return [_not_asked(*resting, self._clock())] * len(batch)
        stop_at = self._clock() + (self.settings.deadline if within is None else min(self.settings.deadline, within))
        call, each = next(self._calls), sampling_each(batch, sampling)
        replies = self.client.complete(batch, sampling, stop_at - self._clock())
        for attempt in range(1, self.settings.attempts):
            failed = [i for i, reply in enumerate(replies) if isinstance(reply, Failure) and reply.reason in WORTH_RETRYING]
            if not failed or (self._last_rest and len(failed) == len(batch)):
                break
            wait = self._wait([replies[i] for i in failed], call, attempt)
            if self._clock() + wait >= stop_at:
                break
            self._sleep(wait)
            self._counters.retried(len(failed))
            again = self.client.complete([batch[i] for i in failed], [each[i] for i in failed], stop_at - self._clock())
            for i, reply in zip(failed, again, strict=True):
                replies[i] = _with_tries(reply, attempt + 1)
        self._resting = self._rest_after(replies)
        return replies

    def _rest_after(self, replies: Sequence[Reply]) -> tuple[float, Failure] | None:
        """Until when a server that failed every prompt of a call is not asked, and its last failure."""
        failures = [reply for reply in replies if isinstance(reply, Failure) and reply.reason in NOT_THE_PROMPT]
        if len(failures) < len(replies) or self.settings.rest == 0:
            self._last_rest = 0.0
            return None
        self._last_rest = max(self.settings.rest, min(self.settings.longest_rest, 2.0 * self._last_rest))
        return self._clock() + max([self._last_rest, *(f.retry_after or 0.0 for f in failures)]), failures[-1]

    def _wait(self, failures: Sequence[Reply], call: int, attempt: int) -> float:
        """The longest time that a server asks for, and at least the backoff."""
        chance = float(generator(self._seed, call, attempt).random())
        asked = [f.retry_after for f in failures if isinstance(f, Failure) and f.retry_after is not None]
        return max([backoff(attempt, self.settings.first_wait, self.settings.longest_wait, chance), *asked])


def _with_tries(reply: Reply, tries: int) -> Reply:
    """A failure whose message says how often it was tried."""
    if not isinstance(reply, Failure):
        return reply
    return replace(reply, message=f"{reply.message} Tried {tries} times.")


def _not_asked(until: float, failure: Failure, now: float) -> Failure:
    """The failure of a prompt that was not asked."""
    return replace(failure, message=f"{failure.message} Not asked again for another {until - now:.0f} s.", seconds=0.0)
