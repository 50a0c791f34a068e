"""The pocket model itself: in the package, offline, and always with a legal reply."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from conversations import texts
from local_prompts import hint_moments, mechanism_moments

from edgeworth.llm.client import Completion, Sampling
from edgeworth.llm.pocket import Pocket
from edgeworth.protocol import Accepted, parse_reply

MOMENTS = [*hint_moments(16, 2), *mechanism_moments(4)]


@pytest.fixture(scope="module")
def pocket() -> Iterator[Pocket]:
    with Pocket() as client:
        client.check()
        yield client


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_constrained_reply_is_legal(pocket: Pocket, temperature: float) -> None:
    samplings = [Sampling(temperature, 200, seed=1, json_schema=moment.json_schema) for moment in MOMENTS]
    for moment, reply in zip(MOMENTS, pocket.complete([moment.messages for moment in MOMENTS], samplings), strict=True):
        assert isinstance(reply, Completion) and reply.finish_reason == "stop"
        assert isinstance(parse_reply(reply.text, moment.schema), Accepted)


def test_free_replies_are_mostly_what_constrained_ones_are(pocket: Pocket) -> None:
    batch = [moment.messages for moment in MOMENTS]
    free = pocket.complete(batch, Sampling(max_tokens=200))
    accepted = [isinstance(parse_reply(text, moment.schema), Accepted) for text, moment in zip(texts(free), MOMENTS, strict=True)]
    assert sum(accepted) >= 0.9 * len(accepted)


def test_prompts_with_long_histories_fit_into_the_context(pocket: Pocket) -> None:
    loaded = pocket._loaded
    assert loaded is not None
    lengths = [len(tokens) for tokens in loaded.encode([loaded.conversation(moment.messages) for moment in MOMENTS])]
    assert max(lengths) + 200 <= loaded.context


def test_the_first_hint_comes_without_a_network() -> None:
    code = (
        "import socket; socket.socket.connect = lambda *_: (_ for _ in ()).throw(OSError('no network'))\n"
        "from edgeworth.llm.client import Message, Sampling; from edgeworth.llm.stack import open_client\n"
        "client = open_client('pocket'); client.check()\n"
        "print(client.complete([[Message('user', 'hello')]], Sampling(max_tokens=4))[0].finish_reason)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() in ("stop", "length")
