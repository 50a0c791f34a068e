"""Counters: how often a language model was asked, what came back, how long it took and what it cost in tokens.

One object per run, shared by threads; `snapshot` is a plain dictionary for the run log. `Counted` belongs outside every other wrapper,
where a cached reply and one that took three tries are one prompt each; tokens and seconds are counted only where a model was asked.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from edgeworth.llm.client import Client, Completion, Messages, Reply, Samplings, Wrapper

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
LATENCIES_KEPT = 4096
"""Quantiles are those of the latest replies, so that a long run neither grows nor remembers its first hour for ever."""


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


class Counters:
    """What happened so far; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._rejections: Counter[str] = Counter()
        self._latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)

    def observe(self, replies: Sequence[Reply]) -> None:
        """Count the replies to a batch of prompts."""
        with self._lock:
            for reply in replies:
                self._totals["prompts"] += 1
                if not isinstance(reply, Completion):
                    self._failures[reply.reason] += 1
                elif reply.cached:
                    self._totals["cache_hits"] += 1
                else:
                    self._totals["prompt_tokens"] += reply.prompt_tokens
                    self._totals["completion_tokens"] += reply.completion_tokens
                    self._latencies.append(reply.seconds)

    def retried(self, prompts: int) -> None:
        """Count prompts that were asked once more."""
        with self._lock:
            self._totals["retries"] += prompts

    def spared(self, prompts: int) -> None:
        """Count prompts that were not asked, because the server was just found dead."""
        with self._lock:
            self._totals["spared"] += prompts

    def rejected(self, reason: str) -> None:
        """Count a reply that arrived and was no legal action."""
        with self._lock:
            self._rejections[reason] += 1

    def snapshot(self) -> dict[str, Any]:
        """Everything counted so far; `calls` are the prompts that a model was asked, `latency` is in seconds per answered prompt."""
        with self._lock:
            ordered = sorted(self._latencies)
            names = ("prompts", "cache_hits", "retries", "spared", "prompt_tokens", "completion_tokens")
            totals = {name: self._totals[name] for name in names}
            return {
                **totals,
                "calls": totals["prompts"] - totals["cache_hits"] - totals["spared"] + totals["retries"],
                "failures": dict(sorted(self._failures.items())),
                "rejections": dict(sorted(self._rejections.items())),
                "latency": {name: quantile(ordered, share) for name, share in QUANTILES.items()} if ordered else {},
            }


class Counted(Wrapper):
    """Counts what passes through."""

    def __init__(self, client: Client, counters: Counters | None = None) -> None:
        super().__init__(client)
        self.counters = Counters() if counters is None else counters

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        replies = self.client.complete(batch, sampling, within)
        self.counters.observe(replies)
        return replies
