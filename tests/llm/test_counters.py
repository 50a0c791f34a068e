"""Counters: calls, cache hits, failures, latency and tokens, as a plain dictionary."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from conversations import GREEDY, ask

from edgeworth.llm.cache import Cache
from edgeworth.llm.client import Completion, Counted, Counters, Failure, quantile
from edgeworth.llm.scripted import Scripted


def test_replies_are_counted_by_what_they_are() -> None:
    counters = Counters()
    counters.observe([Completion("a", prompt_tokens=5, completion_tokens=2, seconds=0.5), Completion("b", cached=True, prompt_tokens=9)])
    counters.observe([Failure("timeout", "Late."), Failure("timeout", "Late."), Failure("refused", "No.")])
    counters.rejected("no_json")
    assert counters.snapshot() == {
        "prompts": 5,
        "cache_hits": 1,
        "retries": 0,
        "spared": 0,
        "calls": 4,
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "failures": {"refused": 1, "timeout": 2},
        "rejections": {"no_json": 1},
        "latency": {"p50": 0.5, "p90": 0.5, "p99": 0.5},
    }


def test_a_snapshot_goes_through_json_unchanged() -> None:
    counters = Counters()
    counters.observe([Completion("a", seconds=0.25), Failure("dropped", "Gone.")])
    assert json.loads(json.dumps(counters.snapshot())) == counters.snapshot()


def test_nothing_asked_has_no_latency() -> None:
    assert Counters().snapshot()["latency"] == {}


def test_quantiles_are_those_of_the_sample() -> None:
    hundred = [float(n) for n in range(1, 101)]
    assert [quantile(hundred, share) for share in (0.0, 0.5, 0.9, 0.99, 1.0)] == [1.0, 50.0, 90.0, 99.0, 100.0]


def test_a_cached_reply_costs_no_tokens(tmp_path: Path) -> None:
    client = Counted(Cache(Scripted(lambda messages: Completion("x", prompt_tokens=10)), tmp_path / "replies.sqlite"))
    client.complete(ask("a", "a", "b"), GREEDY)
    client.complete(ask("a"), GREEDY)
    counted = client.counters.snapshot()
    assert (counted["prompts"], counted["cache_hits"], counted["calls"], counted["prompt_tokens"]) == (4, 2, 2, 20)


def test_threads_lose_no_count() -> None:
    client = Counted(Scripted(lambda messages: "x"))
    threads = [threading.Thread(target=lambda: [client.complete(ask("a", "b"), GREEDY) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.counters.snapshot()["prompts"] == 800
