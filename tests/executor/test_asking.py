"""Language models asked by several workers: the same replies in the cache, and the same scores of a designer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import errands
import pytest

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.agents.hints.plan_fill import ask_apart, different_sides, fill, keep_replies
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.designer_evaluation import Cell, Entrant, ModelOptions, evaluate, evaluate_apart
from edgeworth.executor.execution import executor
from edgeworth.llm.cache import ReplyStore

ray: Any = pytest.importorskip("ray")
GAME = BargainingConfig.from_options("lewis", max_turns=4)


def provider(cache: Path | None) -> LanguageModelHints:
    return LanguageModelHints("scripted", cache=cache, as_plan=True, client_options={"replies": errands.answer})


def replies(path: Path) -> list[Any]:
    """What a cache holds, in an order that does not depend on when it was asked."""
    return sorted((record.messages[-1].content, record.reply.text) for record in ReplyStore(path).records())


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[Any]]:
    """What one process asks, and the replies in its cache."""
    path = tmp_path_factory.mktemp("alone") / "replies.sqlite"
    return fill(provider(path), GAME, at_once=8, limit=24), replies(path)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_workers_fill_the_cache_with_the_same_replies(alone: tuple[Any, list[Any]], tmp_path: Path, engine: str) -> None:
    path = tmp_path / "replies.sqlite"
    ray.cloudpickle.register_pickle_by_value(errands)
    try:
        with executor(engine, 2) as run:
            found = fill(provider(path), GAME, at_once=8, limit=24, run=run)
    finally:
        ray.cloudpickle.unregister_pickle_by_value(errands)
    assert found == alone[0] and replies(path) == alone[1]
    assert fill(provider(path), GAME, at_once=24, limit=24).calls == 0


def test_a_machine_without_the_cache_sends_its_replies_back(alone: tuple[Any, list[Any]], tmp_path: Path) -> None:
    settings = {**provider(None).__getstate__(), "cache": tmp_path / "elsewhere" / "replies.sqlite"}
    sent = ask_apart(settings, GAME, different_sides(GAME)[:6])
    assert not (tmp_path / "elsewhere").exists() and len(sent["replies"]) == sent["calls"] > 0
    keep_replies(provider(tmp_path / "here.sqlite"), [sent])
    assert replies(tmp_path / "here.sqlite") == sorted((asked[-1][1], json.loads(reply)["text"]) for _, _, asked, reply in sent["replies"])


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_language_model_designs_the_same_on_workers(tmp_path: Path, engine: str) -> None:
    options = {"client": "scripted", "cache": tmp_path / "replies.sqlite", "replies": errands.mechanism}
    model = ModelOptions(options)
    entrant = Entrant("script", model.designer, 260, (Cell("stages", 4),), slow=True, model=model)
    ray.cloudpickle.register_pickle_by_value(errands)
    try:
        with executor(engine, 2) as run:
            apart = evaluate_apart([entrant], entrant.cells, 260, 11, run)[0]
    finally:
        ray.cloudpickle.unregister_pickle_by_value(errands)
    alone = evaluate([entrant], entrant.cells, 260, 11)[0]
    assert list(alone.played) == list(apart.played)
    for name, played in alone.played.items():
        assert played.scores.tobytes() == apart.played[name].scores.tobytes() and played.reasons == apart.played[name].reasons
