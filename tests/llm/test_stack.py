"""The usual way to a model: by name, counted, cached, retried."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversations import GREEDY, ask, texts

from edgeworth.errors import InvalidOption, ModelUnavailable, NotRecorded, UnknownKey, UnknownName
from edgeworth.llm.client import Failure
from edgeworth.llm.stack import make_client, open_client


def test_a_client_is_opened_by_name_with_everything_around_it(tmp_path: Path) -> None:
    script = [Failure("server_error", "It hurts.", retry_after=0.0), "good"]
    client = open_client("scripted", cache=tmp_path / "replies.sqlite", replies=script, seed=1)
    assert texts(client.complete(ask("a"), GREEDY)) == texts(client.complete(ask("a"), GREEDY)) == ["good"]
    counted = client.counters.snapshot()
    assert (counted["prompts"], counted["cache_hits"], counted["retries"], counted["calls"]) == (2, 1, 1, 2)


def test_a_recording_is_replayed_by_name(tmp_path: Path) -> None:
    with open_client("scripted", cache=tmp_path / "replies.sqlite", replies=["good"]) as client:
        client.complete(ask("a"), GREEDY)
    replayed = open_client("scripted", cache=tmp_path / "replies.sqlite", replay=True, replies=[])
    assert texts(replayed.complete(ask("a"), GREEDY)) == ["good"]
    with pytest.raises(NotRecorded):
        replayed.complete(ask("b"), GREEDY)


def test_a_check_goes_through_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="GROQ_API_KEY"):
        open_client("groq", model="m").check()


def test_replay_needs_a_recording() -> None:
    with pytest.raises(InvalidOption, match="replay needs the path of a cache"):
        open_client("scripted", replay=True, replies=[])


def test_a_wrong_name_or_option_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"Unknown language model client 'grok'.*Did you mean 'groq'"):
        make_client("grok", model="m")
    with pytest.raises(UnknownKey, match=r"Unknown option of groq 'modell'.*Did you mean 'model'"):
        make_client("groq", modell="m")
    with pytest.raises(InvalidOption, match="The client groq needs the option 'model'"):
        make_client("groq")
