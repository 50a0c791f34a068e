"""What every language model client owes: it is made without key or network, has a name that tells models apart, and waits to be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from edgeworth import catalog
from edgeworth.llm.cache import Cache
from edgeworth.llm.client import Client, Reason, Sampling
from edgeworth.llm.stack import make_client

OPTIONS: dict[str, dict[str, Any]] = {"scripted": {"replies": []}}
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "llm.md").read_text(encoding="utf-8")
each_client = pytest.mark.parametrize("name", sorted(catalog.LLM_CLIENTS))


def made(name: str, model: str) -> Client:
    return make_client(name, model=model, **OPTIONS.get(name, {}))


@each_client
def test_a_client_is_known_by_its_model(name: str) -> None:
    assert made(name, "one").name != made(name, "two").name and "one" in repr(made(name, "one"))


@each_client
def test_a_client_answers_an_empty_batch_without_asking_anybody(name: str) -> None:
    assert made(name, "one").complete([], Sampling()) == []


@each_client
def test_a_client_can_stand_behind_a_recording_without_being_able_to_answer(name: str, tmp_path: Path) -> None:
    Cache(made(name, "one"), tmp_path / "replies.sqlite").close()
    with Cache(made(name, "one"), tmp_path / "replies.sqlite", replay=True) as replayed:
        replayed.check()
        assert replayed.complete([], Sampling()) == []


@each_client
def test_a_client_is_described_in_the_docs(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_of_a_failure_is_explained_in_the_docs(reason: str) -> None:
    assert f"| `{reason}` |" in PAGE
