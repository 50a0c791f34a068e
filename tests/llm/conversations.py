"""Conversations for tests: prompts by their text, and replies by theirs."""

from __future__ import annotations

from collections.abc import Sequence

from edgeworth.llm.client import Client, Completion, Failure, Message, Messages, Reply, Sampling

GREEDY = Sampling()


def ask(*prompts: str) -> list[Messages]:
    """A batch of one-message conversations."""
    return [(Message("user", prompt),) for prompt in prompts]


def texts(replies: Sequence[Reply]) -> list[str]:
    """What came back: the text of a completion, the reason of a failure."""
    return [reply.text if isinstance(reply, Completion) else reply.reason for reply in replies]


def only_failure(client: Client, prompt: str = "hello", within: float | None = None) -> Failure:
    """The failure that one prompt ends in."""
    (reply,) = client.complete(ask(prompt), GREEDY, within)
    assert isinstance(reply, Failure), reply
    return reply
