"""The same result to the last bit, whether a command computes alone or on two workers, of this machine or of Ray."""

from __future__ import annotations

import json
import shlex
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


COMMANDS = (
    "evaluate --agent greedy --agent learned --scenario one_shot --episodes 100 --yardstick-episodes 20",
    "evaluate --agent learned --scenario lewis --set opens=agent --exact",
    "compare learned agree_first --scenario one_shot --episodes 100 --yardstick-episodes 20",
    "tournament --scenario one_shot -n bayes -n greedy -n random --episodes 40",
    "yardstick --scenario one_shot --contexts 100 --plan-contexts 20",
    "yardstick --scenario lewis --partner linear --own-sides 10",
    "designer search --stage 1 --effort 0.002",
    "designer evaluate --cell stages:8 --episodes 20 --model-episodes 0 --free-episodes 0",
    "hints fill --scenario one_shot --cache REPLIES --limit 4 --batch-size 1",
    "study negotiators --only 'REINFORCE, classic' --seed 0 --steps 10000 --episodes 40 --yardstick-episodes 10 --runs RUNS",
    "self-play --seed 0 --steps 3000 --response-steps 3000 --episodes 40 --contexts 2 --runs RUNS",
)
LONG = ("hints", "study", "self-play")
"""Commands that take more than some seconds."""


def timeless(result: Any) -> Any:
    """A result without what a clock measured, and without the command."""
    if isinstance(result, dict):
        return {key: timeless(value) for key, value in result.items() if "seconds" not in key and key != "command"}
    return [timeless(value) for value in result] if isinstance(result, list) else result


def results(called: Any, folder: Path, words: str, *ways: tuple[str, ...]) -> list[Any]:
    """What a command computes in each of these ways, each time from the beginning."""
    found = []
    for number, way in enumerate(ways):
        places = words.replace("RUNS", str(folder / f"runs{number}")).replace("REPLIES", str(folder / f"{number}.sqlite"))
        run = called(*shlex.split(places), *way, "--json")
        assert run.status == 0, run.err
        found.append(timeless(json.loads(run.out)))
    return found


def named(words: str) -> str:
    return " ".join(words.split()[:2])


@pytest.mark.parametrize("words", [pytest.param(w, marks=[pytest.mark.slow] * w.startswith(LONG), id=named(w)) for w in COMMANDS])
def test_a_command_prints_the_same_with_two_workers(called: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = results(called, tmp_path, words, (), ("--workers", "2"))
    assert one == other and not (tmp_path / "runs" / "cells").exists()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Ray cluster of two nodes."""
    made = pytest.importorskip("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    made.add_node(num_cpus=1)
    yield made.address
    made.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=named)
def test_a_command_prints_the_same_on_a_ray_cluster(
    called: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = results(called, tmp_path, words, (), ("--engine", "ray", "--address", cluster))
    assert one == other and not (tmp_path / "runs" / "cells").exists()


def test_ctrl_c_says_that_the_command_can_be_continued(called: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("edgeworth.cli.evaluate.play_all", interrupted)
    run = called("evaluate", "--agent", "greedy")
    assert run.status == 130 and "Stopped; what was finished is kept, and the same command continues from there." in run.err
