"""What goes into a client and what comes out: messages, sampling, replies, and the scripted client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversations import GREEDY, ask, texts

from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.llm import client
from edgeworth.llm.client import Completion, Failure, Message, Sampling, sampling_each
from edgeworth.llm.scripted import Scripted


def test_a_script_is_read_from_top_to_bottom() -> None:
    speaker = Scripted(["one", "two", "three"])
    assert texts(speaker.complete(ask("a", "b"), GREEDY)) == ["one", "two"]
    assert texts(speaker.complete(ask("c"), GREEDY)) == ["three"]


def test_a_script_that_has_ended_says_so() -> None:
    speaker = Scripted(["one"])
    with pytest.raises(InvalidOption, match="holds 1 replies and was asked for one more"):
        speaker.complete(ask("a", "b"), GREEDY)


def test_a_scripted_function_is_asked_for_every_conversation() -> None:
    speaker = Scripted(lambda messages: messages[-1].content.upper())
    assert texts(speaker.complete(ask("a", "b"), GREEDY)) == ["A", "B"]


def test_a_scripted_client_remembers_what_it_was_asked() -> None:
    speaker = Scripted(lambda messages: "yes")
    speaker.complete(ask("a", "b"), GREEDY)
    speaker.complete(ask("c"), GREEDY)
    assert speaker.calls == 2 and speaker.asked == ask("a", "b", "c")


def test_one_dead_prompt_does_not_lose_the_batch() -> None:
    speaker = Scripted(["good", Failure("timeout", "It took too long."), "good"])
    assert texts(speaker.complete(ask("a", "b", "c"), GREEDY)) == ["good", "timeout", "good"]


def test_a_whole_completion_can_be_scripted() -> None:
    reply = Completion("yes", "length", 3, 4)
    assert Scripted([reply]).complete(ask("a"), GREEDY) == [reply]


def test_a_client_is_shown_by_its_name() -> None:
    assert repr(Scripted([], model="parrot")) == "<Scripted parrot>"


def test_a_role_that_no_conversation_has_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"Unknown role 'asistant'.*Did you mean 'assistant'"):
        Message("asistant", "hello")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": -0.1}, "temperature is -0.1; expected 0.0 to 2.0"),
        ({"temperature": float("nan")}, "temperature is not a number"),
        ({"max_tokens": 0}, "max_tokens is 0; expected 1 or more"),
        ({"top_p": 0.0}, "top_p is 0.0; expected more than 0.0"),
        ({"stop": "END"}, "stop is 'END'; expected a list of texts"),
        ({"stop": [""]}, "expected a list of texts"),
    ],
    ids=str,
)
def test_a_sampling_that_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        Sampling(**options)


def test_the_leaf_loads_neither_the_sdk_nor_compiled_code() -> None:
    modules = [path.stem for path in Path(client.__file__).parent.glob("[a-z]*.py") if path.stem not in ("retry", "stack")]
    code = f"import sys; import {', '.join(f'edgeworth.llm.{m}' for m in modules)}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"openai", "httpx", "httpx2", "torch", "numba", "transformers"}.isdisjoint(loaded)


def test_a_batch_has_one_sampling_for_all_or_one_for_each() -> None:
    two = [Sampling(seed=1), Sampling(seed=2)]
    assert sampling_each(ask("a", "b"), GREEDY) == [GREEDY, GREEDY] and sampling_each(ask("a", "b"), two) == two
    with pytest.raises(InvalidOption, match="2 samplings for 3 conversations"):
        sampling_each(ask("a", "b", "c"), two)
