"""What comes back from a server is data: any body at all becomes a completion or a failure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fault_server import chat_completion
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.llm.chat_format import completion_of, listed_models
from edgeworth.llm.client import Completion, Failure

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "message", "content", "usage", "logprobs", "token", "data", "id"]), inner)
    ),
)


def judged(content: Any) -> Completion | Failure:
    return completion_of(json.dumps(content), "server", 0.5)


@given(JSON)
def test_any_json_becomes_a_completion_or_a_failure(content: Any) -> None:
    assert isinstance(judged(content), Completion | Failure)
    assert isinstance(listed_models(json.dumps(content)), list | None)


@given(JSON)
def test_any_choice_becomes_a_completion_or_a_failure(content: Any) -> None:
    assert isinstance(judged({"choices": [content]}), Completion | Failure)
    assert isinstance(judged({"choices": [{"message": {"content": "x"}, "logprobs": content}], "usage": content}), Completion | Failure)


@given(st.text())
def test_any_text_becomes_a_completion_or_a_failure(body: str) -> None:
    assert isinstance(completion_of(body, "server", 0.0), Completion | Failure)


def test_a_body_nested_beyond_reason_is_a_bad_reply() -> None:
    reply = completion_of("[" * 100_000, "server", 0.0)
    assert isinstance(reply, Failure) and reply.reason == "bad_reply" and len(reply.message) < 200


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"refusal": "No."}, "refused"), ({"content": None}, "bad_reply"), ({"content": ["x"]}, "bad_reply")],
    ids=str,
)
def test_a_message_without_a_text_is_a_failure(change: dict[str, Any], reason: str) -> None:
    content = chat_completion("x", **change)
    reply = judged(content)
    assert isinstance(reply, Failure) and reply.reason == reason


def test_a_reply_that_the_filter_cut_is_a_refusal() -> None:
    content = chat_completion("half of")
    content["choices"][0]["finish_reason"] = "content_filter"
    reply = judged(content)
    assert isinstance(reply, Failure) and reply.reason == "refused"


def test_a_reply_that_went_into_reasoning_is_an_empty_text_that_was_cut_off() -> None:
    content = chat_completion("", content=None)
    content["choices"][0]["finish_reason"] = "length"
    reply = judged(content)
    assert isinstance(reply, Completion) and (reply.text, reply.finish_reason) == ("", "length")


def test_a_server_that_counts_no_tokens_is_forgiven() -> None:
    content = chat_completion("x")
    content["usage"] = None
    reply = judged(content)
    assert isinstance(reply, Completion) and (reply.prompt_tokens, reply.completion_tokens) == (0, 0)


def test_models_are_listed_by_name() -> None:
    assert listed_models('{"data": [{"id": "b"}, {"id": "a"}]}') == ["a", "b"] and listed_models("[]") is None
