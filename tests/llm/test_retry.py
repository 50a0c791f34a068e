"""Asking again: what is asked again, after how long, and when to stop. The clock is a toy, so waiting takes no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from conversations import GREEDY, ask, texts

from edgeworth.errors import InvalidOption
from edgeworth.llm.chat_format import retry_after_seconds
from edgeworth.llm.client import Client, Counters, Failure, Messages, Reason, Reply, Sampling, Samplings
from edgeworth.llm.retry import WORTH_RETRYING, Retry, backoff
from edgeworth.llm.scripted import Scripted

PASSING: list[Reason] = ["timeout", "rate_limited", "server_error", "conflict", "dropped", "unreachable"]
LASTING: list[Reason] = ["unauthorized", "unknown_model", "out_of_quota", "too_long", "bad_request", "bad_reply", "refused"]


class ToyClock:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def fail(reason: Reason = "server_error", **facts: Any) -> Failure:
    return Failure(reason, "It failed.", **facts)


def patient(client: Client, clock: ToyClock | None = None, **options: Any) -> Retry:
    clock = clock or ToyClock()
    return Retry(client, seed=1, clock=clock, sleep=clock.sleep, **options)


@pytest.mark.parametrize("reason", PASSING)
def test_a_passing_failure_is_asked_again(reason: Reason) -> None:
    assert texts(patient(Scripted([fail(reason), "good"])).complete(ask("a"), GREEDY)) == ["good"]


@pytest.mark.parametrize("reason", LASTING)
def test_a_lasting_failure_is_handed_back_at_once(reason: Reason) -> None:
    clock, client = ToyClock(), Scripted([fail(reason)])
    assert texts(patient(client, clock).complete(ask("a"), GREEDY)) == [reason]
    assert client.calls == 1 and clock.waits == []


def test_every_reason_is_either_passing_or_lasting() -> None:
    assert {*PASSING} == WORTH_RETRYING and not {*PASSING} & {*LASTING}


def test_only_the_failed_prompts_of_a_batch_are_asked_again() -> None:
    client = Scripted(["1", fail(), "3", fail(), "2", fail("refused")])
    assert texts(patient(client).complete(ask("a", "b", "c", "d"), GREEDY)) == ["1", "2", "3", "refused"]
    assert client.asked[4:] == ask("b", "d")


def test_a_prompt_keeps_its_own_sampling_when_it_is_asked_again() -> None:
    clock = ToyClock()
    client = Slow(clock, seconds=0.0)
    patient(client, clock, attempts=2).complete(ask("a", "b"), [Sampling(seed=1), Sampling(seed=2)])
    assert client.samplings == [[Sampling(seed=1), Sampling(seed=2)]] * 2


def test_the_number_of_tries_is_limited_and_told() -> None:
    client = Scripted(lambda messages: fail())
    (reply,) = patient(client, attempts=3).complete(ask("a"), GREEDY)
    assert isinstance(reply, Failure) and reply.message == "It failed. Tried 3 times." and client.calls == 3


def test_one_attempt_means_no_retry() -> None:
    clock, client = ToyClock(), Scripted([fail()])
    patient(client, clock, attempts=1).complete(ask("a"), GREEDY)
    assert client.calls == 1 and clock.waits == []


def test_waits_double_and_are_jittered_within_their_upper_half() -> None:
    clock = ToyClock()
    patient(Scripted(lambda messages: fail()), clock, attempts=5, first_wait=1.0).complete(ask("a"), GREEDY)
    assert len(clock.waits) == 4
    for wait, most in zip(clock.waits, [1.0, 2.0, 4.0, 8.0], strict=True):
        assert most / 2 <= wait < most


def test_a_wait_never_exceeds_the_longest_wait() -> None:
    assert backoff(40, 1.0, 16.0, 0.999) < 16.0


def test_the_same_seed_waits_the_same_and_every_call_differently() -> None:
    def waits(calls: int) -> list[float]:
        clock = ToyClock()
        client = patient(Scripted(lambda messages: fail()), clock, attempts=2, rest=0.0)
        for _ in range(calls):
            client.complete(ask("a"), GREEDY)
        return clock.waits

    assert waits(2) == waits(2) and len(set(waits(3))) == 3


def test_retry_after_is_respected() -> None:
    clock = ToyClock()
    client = Scripted([fail("rate_limited", retry_after=20.0), "good"])
    assert texts(patient(client, clock).complete(ask("a"), GREEDY)) == ["good"]
    assert clock.waits == [20.0]


def test_the_longest_retry_after_of_a_batch_is_respected() -> None:
    clock = ToyClock()
    client = Scripted([fail("rate_limited", retry_after=3.0), fail("rate_limited", retry_after=7.0), "good", "good"])
    patient(client, clock).complete(ask("a", "b"), GREEDY)
    assert clock.waits == [7.0]


def test_a_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    clock, client = ToyClock(), Scripted([fail("rate_limited", retry_after=3600.0)])
    assert texts(patient(client, clock, deadline=60.0).complete(ask("a"), GREEDY)) == ["rate_limited"]
    assert client.calls == 1 and clock.waits == []


class Slow(Client):
    """Takes its time to fail, and notes how much it was given."""

    name = "slow"

    def __init__(self, clock: ToyClock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.given: list[float | None] = []
        self.samplings: list[Samplings] = []

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        self.given.append(within)
        self.samplings.append(sampling)
        self.clock.now += self.seconds
        return [fail("timeout") for _ in batch]


def test_one_deadline_holds_for_all_tries_together() -> None:
    clock = ToyClock()
    client = Slow(clock, seconds=4.0)
    patient(client, clock, deadline=10.0, attempts=99).complete(ask("a"), GREEDY)
    assert clock.now <= 100.0 + 10.0 + 4.0
    assert client.given[0] == 10.0 and all(later is not None and 0 < later < 10.0 for later in client.given[1:])


def test_a_tighter_limit_of_the_caller_holds() -> None:
    clock = ToyClock()
    client = Slow(clock, seconds=1.0)
    patient(client, clock, deadline=60.0).complete(ask("a"), GREEDY, within=2.0)
    assert client.given[0] == 2.0 and clock.now < 104.0


def test_a_server_that_let_everybody_down_is_left_in_peace_for_a_while() -> None:
    clock, counters = ToyClock(), Counters()
    script = Scripted([fail("unreachable"), fail("unreachable"), "good"])
    client = patient(script, clock, attempts=1, rest=30.0, counters=counters)
    client.complete(ask("a", "b"), GREEDY)
    clock.now += 10.0
    first, second = client.complete(ask("a", "b"), GREEDY)
    assert script.calls == 1 and isinstance(first, Failure) and first == second
    assert first.reason == "unreachable" and "Not asked again for another 20 s." in first.message
    assert counters.snapshot()["spared"] == 2
    clock.now += 21.0
    assert texts(client.complete(ask("a"), GREEDY)) == ["good"]


def test_after_a_rest_one_try_tells_whether_the_server_is_back_and_if_not_the_next_rest_is_longer() -> None:
    clock, script = ToyClock(), Scripted(lambda messages: fail("unreachable"))
    client = patient(script, clock, attempts=3, rest=30.0, longest_rest=100.0)
    rests = []
    for _ in range(5):
        client.complete(ask("a"), GREEDY)
        assert client._resting is not None
        rests.append(round(client._resting[0] - clock.now))
        clock.now = client._resting[0]
    assert rests == [30, 60, 100, 100, 100] and script.calls == 3 + 4


def test_a_server_that_is_back_is_asked_as_before() -> None:
    clock = ToyClock()
    script = Scripted([fail(), "good", fail(), "b", fail(), fail()])
    client = patient(script, clock, attempts=1, rest=30.0)
    client.complete(ask("a"), GREEDY)
    clock.now += 31.0
    client.settings = replace(client.settings, attempts=2)
    assert texts(client.complete(ask("a", "b"), GREEDY)) == ["good", "b"]
    client.complete(ask("a"), GREEDY)
    assert client._resting is not None and client._resting[0] - clock.now == 30.0


@pytest.mark.parametrize("reason", ["unauthorized", "unknown_model", "out_of_quota"])
def test_a_server_that_will_serve_nobody_is_left_in_peace_too(reason: Reason) -> None:
    script = Scripted([fail(reason)])
    client = patient(script)
    for _ in range(3):
        assert texts(client.complete(ask("a"), GREEDY)) == [reason]
    assert script.calls == 1


def test_an_empty_batch_asks_nothing_and_ends_no_rest() -> None:
    script = Scripted([fail("unreachable")])
    client = patient(script, attempts=1)
    client.complete(ask("a"), GREEDY)
    assert client.complete([], GREEDY) == []
    assert texts(client.complete(ask("a"), GREEDY)) == ["unreachable"] and script.calls == 1


def test_a_server_that_answered_anybody_or_refused_for_good_is_asked_on() -> None:
    for one, other in (("good", fail()), (fail("refused"), fail())):
        client = patient(Scripted([one, other, "good"]), attempts=1)
        client.complete(ask("a", "b"), GREEDY)
        assert texts(client.complete(ask("c"), GREEDY)) == ["good"]


def test_a_pause_that_a_server_asked_for_holds_for_the_next_call_too() -> None:
    clock = ToyClock()
    script = Scripted([fail("rate_limited", retry_after=3600.0), "good"])
    client = patient(script, clock)
    client.complete(ask("a"), GREEDY)
    clock.now += 3590.0
    assert texts(client.complete(ask("a"), GREEDY)) == ["rate_limited"] and script.calls == 1


def test_a_dead_server_does_not_cost_every_call_its_deadline() -> None:
    clock = ToyClock()
    client = patient(Slow(clock, seconds=5.0), clock, deadline=20.0, rest=30.0)
    began = clock.now
    for _ in range(100):
        client.complete(ask("a"), GREEDY)
    assert clock.now - began < 30.0


def test_retries_are_counted() -> None:
    counters = Counters()
    patient(Scripted([fail(), "x", fail(), "y"]), counters=counters).complete(ask("a", "b"), GREEDY)
    assert counters.snapshot()["retries"] == 2


@pytest.mark.parametrize("options", [{"attempts": 0}, {"deadline": -1.0}, {"first_wait": float("nan")}], ids=str)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} is"):
        Retry(Scripted([]), **options)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:30 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 99 Jan 1970 00:00:30 GMT", None),
    ],
    ids=str,
)
def test_retry_after_names_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, now=60.0) == seconds
