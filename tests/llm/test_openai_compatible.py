"""Clients over HTTP: the real SDK against a real server on loopback that fails in every way servers fail."""

from __future__ import annotations

import builtins
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conversations import GREEDY, ask, only_failure, texts
from fault_server import KEY, FaultServer

from edgeworth.errors import EdgeworthError, InvalidOption, MissingExtra, ModelUnavailable, UnknownName
from edgeworth.llm.cache import Cache
from edgeworth.llm.client import Completion, Failure, Reason, Sampling, TokenLogprob
from edgeworth.llm.openai_compatible import VLLM, Groq, LlamaCpp, Ollama, OpenAI, OpenAICompatible
from edgeworth.llm.retry import Retry

CLIENTS = [Groq, LlamaCpp, Ollama, OpenAI, VLLM]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nobody has set up anything, except a key that must never be seen."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_BASE_URL",
        "VLLM_API_KEY",
        "OLLAMA_API_KEY",
        "LLAMA_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GROQ_API_KEY", KEY)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as open_server:
        yield open_server


def groq(server: FaultServer, model: str = "small-1", **options: Any) -> Groq:
    return Groq(model, base_url=server.base_url, **{"timeout": 5.0, **options})


# Good replies


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_client_gets_a_reply_from_its_server(
    kind: type[OpenAICompatible], server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kind.provider.key_variable, KEY)
    with kind("small-1", base_url=server.base_url) as client:
        client.check()
        (reply,) = client.complete(ask("hello"), GREEDY)
    assert isinstance(reply, Completion) and reply.seconds > 0
    assert (reply.text, reply.finish_reason, reply.model, reply.cached) == ("reply to hello", "stop", "small-1", False)
    assert (reply.prompt_tokens, reply.completion_tokens, reply.logprobs) == (11, 7, None)
    assert client.name == f"{kind.provider.name}/small-1"


def test_replies_come_in_the_order_of_the_prompts_and_never_too_many_at_a_time(server: FaultServer) -> None:
    server.pause = 0.02
    prompts = [str(n) for n in range(24)]
    replies = groq(server, in_flight=4).complete(ask(*prompts), GREEDY)
    assert texts(replies) == [f"reply to {prompt}" for prompt in prompts]
    assert 1 < server.most_in_flight <= 4


def test_an_empty_batch_asks_nothing(server: FaultServer) -> None:
    assert groq(server).complete([], GREEDY) == [] and server.requests == []


def test_a_request_says_what_the_sampling_says_and_no_more(server: FaultServer) -> None:
    client = groq(server)
    client.complete(ask("a"), Sampling(temperature=None, max_tokens=9))
    client.complete(ask("b"), Sampling(0.5, 9, ("\n",), 3, 0.9))
    plain, full = server.requests
    message = {"model": "small-1", "max_completion_tokens": 9}
    assert plain == {**message, "messages": [{"role": "user", "content": "a"}]}
    assert full == {**message, "messages": [{"role": "user", "content": "b"}], "temperature": 0.5, "stop": ["\n"], "seed": 3, "top_p": 0.9}


def test_every_prompt_of_a_batch_may_have_its_own_sampling(server: FaultServer) -> None:
    groq(server).complete(ask("a", "b"), [Sampling(seed=1), Sampling(seed=2)])
    assert {request["messages"][0]["content"]: request["seed"] for request in server.requests} == {"a": 1, "b": 2}


def test_servers_that_know_only_the_older_word_for_length_hear_it(server: FaultServer) -> None:
    Ollama("small-1", base_url=server.base_url).complete(ask("a"), Sampling(max_tokens=9))
    assert server.requests[0]["max_tokens"] == 9


@pytest.mark.parametrize(
    ("kind", "options", "asked_for"),
    [
        (VLLM, {}, "json_schema"),
        (Groq, {}, "json_object"),
        (Groq, {"structured": "json_schema"}, "json_schema"),
        (VLLM, {"structured": "none"}, None),
    ],
    ids=str,
)
def test_a_schema_is_asked_for_as_the_server_understands_it(
    kind: type[OpenAICompatible], options: dict[str, Any], asked_for: str | None, server: FaultServer
) -> None:
    kind("small-1", base_url=server.base_url, **options).complete(ask("a"), Sampling(json_schema=SCHEMA))
    asked = server.requests[0].get("response_format")
    assert (asked and asked["type"]) == asked_for
    if asked_for == "json_schema":
        assert asked["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}


def test_log_probabilities_are_returned_on_request(server: FaultServer) -> None:
    (reply,) = VLLM("small-1", base_url=server.base_url).complete(ask("a"), Sampling(logprobs=True))
    assert isinstance(reply, Completion) and reply.logprobs == (TokenLogprob("a", -0.5), TokenLogprob("b", 0.0))


def test_a_server_without_log_probabilities_is_not_asked_for_them(server: FaultServer) -> None:
    with pytest.raises(InvalidOption, match="groq returns no log-probabilities"):
        groq(server).complete(ask("a"), Sampling(logprobs=True))


# Failures as values


@pytest.mark.parametrize(
    ("behaviour", "reason", "status", "words"),
    [
        ("rate_limited", "rate_limited", 429, "groq limits the rate of requests"),
        ("out_of_quota", "out_of_quota", 429, "no credit left"),
        ("broken", "server_error", 500, "an error of its own"),
        ("busy_elsewhere", "conflict", 409, "beside another"),
        ("too_slow", "timeout", 408, "did not answer"),
        ("locked", "unauthorized", 401, "put a valid one into GROQ_API_KEY"),
        ("unknown_model", "unknown_model", 404, "groq has no model 'small-1'"),
        ("picky", "bad_request", 400, "does not accept the request"),
        ("too_long", "too_long", 400, "longer than the context"),
        ("garbage", "bad_reply", None, "no chat completion: '<html>502 behind"),
        ("empty", "bad_reply", None, "no chat completion: '{}'"),
        ("refusing", "refused", None, "refused to answer: 'I would rather not.'"),
        ("half", "dropped", None, "before the reply was complete"),
        ("closed", "dropped", None, "before the reply was complete"),
    ],
)
def test_whatever_a_server_does_becomes_a_failure_with_its_reason(
    behaviour: str, reason: Reason, status: int | None, words: str, server: FaultServer
) -> None:
    server.behaviours = {"bad": [behaviour]}
    good, bad, well = groq(server).complete(ask("good", "bad", "well"), GREEDY)
    assert texts([good, well]) == ["reply to good", "reply to well"], "the others are not lost"
    assert isinstance(bad, Failure) and (bad.reason, bad.status) == (reason, status)
    assert words in bad.message and bad.message.endswith(".")
    assert server.asked("bad") == 1, "the SDK does not retry by itself"


@pytest.mark.parametrize("behaviour", ["stalled", "dripping"])
def test_a_server_that_never_comes_to_the_point_is_given_up_after_the_timeout(behaviour: str, server: FaultServer) -> None:
    server.behaviours = {"slow": [behaviour]}
    started = time.monotonic()
    failure = only_failure(groq(server, timeout=0.3), "slow")
    assert failure.reason == "timeout" and 0.25 < time.monotonic() - started < 3.0


def test_a_batch_is_handed_back_when_the_time_allowed_for_it_is_over(server: FaultServer) -> None:
    server.behaviours = {f"slow {n}": ["stalled"] for n in range(6)}
    started = time.monotonic()
    replies = groq(server, in_flight=2).complete(ask("quick", *server.behaviours), GREEDY, within=0.4)
    assert texts(replies) == ["reply to quick", *["timeout"] * 6] and time.monotonic() - started < 3.0


def test_a_server_that_asks_for_a_pause_is_heard(server: FaultServer) -> None:
    server.behaviours = {"bad": ["rate_limited"]}
    server.retry_after = "17"
    assert only_failure(groq(server), "bad").retry_after == 17.0


def test_no_server_at_all_is_a_failure_with_the_remedy() -> None:
    with FaultServer() as closed:
        url = closed.base_url
    failure = only_failure(VLLM("m", base_url=url))
    assert failure.reason == "unreachable" and f"No server answers at {url}; start it with `vllm serve MODEL`" in failure.message


# Retries and the cache around a real server


def test_failed_prompts_of_a_batch_are_asked_again_until_they_are_answered(server: FaultServer) -> None:
    server.behaviours = {
        "limited": ["rate_limited", "good"],
        "faulty": ["broken", "broken", "good"],
        "cut": ["half", "closed", "good"],
        "locked": ["locked"],
    }
    client = Retry(groq(server), first_wait=0.01)
    replies = client.complete(ask("fine", *server.behaviours), GREEDY)
    assert texts(replies) == ["reply to fine", "reply to limited", "reply to faulty", "reply to cut", "unauthorized"]
    assert [server.asked(prompt) for prompt in ("fine", "limited", "faulty", "cut", "locked")] == [1, 2, 3, 3, 1]


def test_a_deadline_covers_stalls_and_retries_together(server: FaultServer) -> None:
    server.behaviours = {"dead": ["stalled"]}
    started = time.monotonic()
    failure = only_failure(Retry(groq(server, timeout=0.2), deadline=0.6, first_wait=0.01, attempts=50), "dead")
    assert failure.reason == "timeout" and time.monotonic() - started < 3.0 and server.asked("dead") > 1


def test_what_a_server_said_is_replayed_without_server_key_or_network(
    server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cache(groq(server), tmp_path / "replies.sqlite") as cache:
        cache.complete(ask("hello"), GREEDY)
    monkeypatch.delenv("GROQ_API_KEY")
    without_sdk(monkeypatch)
    with Cache(Groq("small-1"), tmp_path / "replies.sqlite", replay=True) as replayed:
        replayed.check()
        assert texts(replayed.complete(ask("hello"), GREEDY)) == ["reply to hello"]


# Before anything long starts


def test_a_check_of_a_good_setting_says_nothing_and_asks_nothing(server: FaultServer) -> None:
    groq(server).check()
    assert server.requests == []


def test_a_missing_key_is_named_before_anything_starts(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY")
    for start in (groq(server).check, lambda: groq(server).complete(ask("a"), GREEDY)):
        with pytest.raises(ModelUnavailable, match="groq needs a key; put it into the environment variable GROQ_API_KEY") as refused:
            start()
        assert refused.value.reason == "unauthorized"
    assert server.headers == []


def test_a_key_can_be_in_another_variable(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "other")
    groq(server, key_variable="OTHER_KEY").check()
    assert server.headers[0]["authorization"] == "Bearer other"


def test_a_server_that_needs_no_key_is_sent_none_of_ours(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    VLLM("small-1", base_url=server.base_url).check()
    assert KEY not in str(server.headers)


def test_a_wrong_key_is_refused_with_the_remedy(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "wrong")
    with pytest.raises(ModelUnavailable, match=r"groq does not accept the key \(HTTP 401\); put a valid one into GROQ_API_KEY"):
        groq(server).check()


def test_an_unreachable_server_is_told_by_its_address(server: FaultServer) -> None:
    with pytest.raises(ModelUnavailable, match=r"No server answers at http://127.0.0.1:9/v1; start it with `ollama serve`"):
        Ollama("m", base_url="http://127.0.0.1:9/v1").check()


def test_an_unknown_model_is_answered_with_those_that_are_there(server: FaultServer) -> None:
    with pytest.raises(
        ModelUnavailable, match=r"no model 'smal-1'.*There: large, small-1, small-2, tagged:latest.*Did you mean 'small-1'"
    ) as refused:
        groq(server, "smal-1").check()
    assert refused.value.reason == "unknown_model"


def test_a_model_of_ollama_may_be_named_without_its_tag(server: FaultServer) -> None:
    Ollama("tagged", base_url=server.base_url).check()


def test_a_server_of_one_model_may_call_it_what_it_likes(server: FaultServer) -> None:
    LlamaCpp("whatever", base_url=server.base_url).check()


def test_a_server_without_a_list_of_models_is_asked_for_one_token() -> None:
    with FaultServer({"Hello": ["good", "unknown_model"]}, lists_models=False) as server:
        groq(server).check()
        assert server.requests[0]["max_completion_tokens"] == 1
        with pytest.raises(ModelUnavailable, match="groq has no model 'small-1'"):
            groq(server).check()


def without_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which `openai` is not installed."""
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "openai":
            raise ImportError("No module named 'openai'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)


def test_without_the_sdk_the_extra_is_named(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    client = groq(server)
    without_sdk(monkeypatch)
    with pytest.raises(MissingExtra, match=r"the extra `llm`.*pip install .*'openai>=2'"):
        client.check()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": ""}, "model is ''; expected the name of a model"),
        ({"model": None}, "model is None"),
        ({"timeout": 0}, "timeout is 0; expected more than 0"),
        ({"in_flight": 0}, "in_flight is 0; expected 1 or more"),
        ({"base_url": "localhost:8000"}, "base_url is 'localhost:8000'; expected an address such as"),
        ({"base_url": "ftp://host/v1"}, "expected an address such as"),
        ({"base_url": "http://host:port/v1"}, "expected an address such as"),
        ({"base_url": 8000}, "base_url holds more than an address"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        Groq(**{"model": "m", **options})


# What is secret stays secret


BEHAVIOURS = ("rate_limited", "broken", "locked", "unknown_model", "picky", "garbage", "half", "closed", "parrot", "stalled")


def test_the_key_reaches_the_server_and_nothing_else(server: FaultServer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server.behaviours = {behaviour: [behaviour] for behaviour in BEHAVIOURS}
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    client = groq(server, timeout=0.5)
    with Cache(Retry(client, attempts=2, first_wait=0.0), tmp_path / "replies.sqlite") as cache:
        cache.check()
        replies = cache.complete(ask("fine", *BEHAVIOURS), GREEDY)
        written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "you sent Bearer [key]" in texts(replies)
    said = f"{replies!r} {client!r} {client.__dict__!r} {caplog.text} {[record.__dict__ for record in caplog.records]}"
    assert KEY not in said and KEY.encode() not in written


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} {KEY}", f"{KEY}é"], ids=["line", "space", "accent"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key: str, server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", key)
    with pytest.raises(EdgeworthError, match="The key in GROQ_API_KEY holds characters that no key has") as refused:
        groq(server).check()
    assert KEY not in repr(refused.value)


def test_white_space_around_a_key_is_forgiven(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", f" {KEY}\n")
    groq(server).check()
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url", [f"http://me:{KEY}@host/v1", f"http://host/v1?key={KEY}", f"http://host/v1#{KEY}"], ids=["user", "query", "tail"]
)
def test_an_address_that_holds_a_secret_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InvalidOption, match="base_url holds more than an address") as refused:
        Groq("m", base_url=url)
    assert KEY not in repr(refused.value)


def test_what_the_environment_holds_for_openai_is_sent_to_nobody_else(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "private")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Private: private\nAuthorization: Bearer private")
    groq(server).complete(ask("a"), GREEDY)
    assert "private" not in str(server.headers).lower() and server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_openai_itself_hears_which_organisation_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-7")
    sdk, _ = OpenAI("m")._sdk()
    assert sdk.organization == "org-7" and sdk.max_retries == 0


def test_a_mistyped_way_of_asking_for_structure_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'json_object'"):
        VLLM("m", structured="jsn_object")  # type: ignore[arg-type]
