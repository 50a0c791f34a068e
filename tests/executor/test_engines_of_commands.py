"""The same result to the last bit, whether a command computes alone or on two workers, of this machine or of Ray."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.designers.search import SearchBudget, search_mechanism
from edgeworth.agents.negotiators.learned import negotiator_of
from edgeworth.config import AuctionConfig, BargainingConfig
from edgeworth.evaluation.exact import plan_shares
from edgeworth.evaluation.negotiators import play_all
from edgeworth.evaluation.whole_population import play_population
from edgeworth.evaluation.yardstick import auction_yardstick, yardstick
from edgeworth.executor.execution import Executor, executor

LEWIS = BargainingConfig.from_options("lewis", opens="agent")
TINY = SearchBudget(
    restarts=1, candidates=8, first_markets=2, halvings=1, generations=1, parents=2, markets=4, finalists=2, final_markets=8
)


@pytest.fixture(scope="module", params=["local", "ray"])
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    """Two workers, which keep what is finished."""
    with executor(request.param, 2, folder=tmp_path_factory.mktemp("kept") / "cells") as run:
        yield run


def as_bytes(episodes: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in episodes.as_arrays().items()}


def test_evaluation_of_any_agent(two: Executor) -> None:
    agents = {name: negotiator_of(name) for name in ("learned", "bayes", "random")}
    (one, ends), (other, other_ends) = (play_all(LEWIS, agents, 5_000, 300, 7, *run) for run in ((), (two,)))
    assert {name: as_bytes(played) for name, played in one.items()} == {name: as_bytes(played) for name, played in other.items()}
    assert ends.bayes is not None and other_ends.bayes is not None and as_bytes(ends.bayes) == as_bytes(other_ends.bayes)


def test_exact_values_of_a_whole_population(two: Executor) -> None:
    assert plan_shares(LEWIS, 2, two) == plan_shares(LEWIS, 2)
    assert play_population(LEWIS, negotiator_of("learned"), two) == play_population(LEWIS, negotiator_of("learned"))


def test_reference_scores_of_both_games(two: Executor) -> None:
    assert yardstick("lewis", LEWIS, 500, 300, 3, two) == yardstick("lewis", LEWIS, 500, 300, 3)
    market = AuctionConfig(stage="1", episode_length=3)
    assert auction_yardstick(market, 40, 5, budget=TINY, run=two) == auction_yardstick(market, 40, 5, budget=TINY)


def test_the_search_for_a_mechanism(two: Executor) -> None:
    market = AuctionConfig(stage="3", episode_length=3)
    alone, apart = search_mechanism(market, 5, TINY), search_mechanism(market, 5, TINY, run=two)
    assert alone.mechanisms.tolist() == apart.mechanisms.tolist()
    np.testing.assert_array_equal(alone.scores, apart.scores)


@pytest.mark.parametrize(
    "words",
    [
        (
            "evaluate",
            "--agent",
            "greedy",
            "--agent",
            "learned",
            "--scenario",
            "one_shot",
            "--episodes",
            "100",
            "--yardstick-episodes",
            "20",
        ),
        ("designer", "search", "--stage", "1", "--effort", "0.002"),
        ("yardstick", "--scenario", "one_shot", "--contexts", "100", "--plan-contexts", "20"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_commands_take_the_options_and_print_the_same(called: Any, words: tuple[str, ...], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = (json.loads(called(*words, *more, "--json").out) for more in ((), ("--workers", "2")))
    assert {**one, "command": ""} == {**other, "command": ""} and not (tmp_path / "runs" / "cells").exists()
