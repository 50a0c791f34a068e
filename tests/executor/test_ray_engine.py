"""The executor on Ray: the same values as here, and what a killed worker, a killed driver or a lost node costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import errands
import pytest
from errands import broken, carried_out, killed_always, killed_once, squares
from test_executor import check_going_on, killed_half_way

from edgeworth.errors import InvalidOption
from edgeworth.executor.execution import HERE, executor
from edgeworth.executor.on_ray import connect
from edgeworth.executor.tasks import Task, packed

ray: Any = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def _errands_travel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ray's workers cannot import a module of the tests, so its functions are sent whole."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.cloudpickle.register_pickle_by_value(errands)
    yield
    ray.cloudpickle.unregister_pickle_by_value(errands)
    ray.shutdown()


def test_ray_gives_the_values_of_one_process_and_survives_a_killed_worker(tmp_path: Path) -> None:
    tasks = [Task("dies", killed_once, (tmp_path, 100)), Task("broken", broken), *squares(tmp_path, 6)]
    with executor("ray", 2, folder=tmp_path / "kept") as run:
        found = run(tasks)
    assert [packed(value) for value in list(found.values.values())[1:]] == [packed(v) for v in HERE(squares(tmp_path, 6)).whole()]
    assert found.values["dies"] == 100 and [failure.reason for failure in found.failures] == ["ZeroDivisionError: nothing to divide by"]
    assert carried_out(tmp_path).count(100) == 2


def test_without_an_address_no_cluster_that_happens_to_run_here_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(ray, "init", lambda **options: asked.append(options))
    assert connect(2, None) and asked[0]["address"] == "local"


def test_a_killed_actor_that_asks_a_model_costs_its_own_task_alone(tmp_path: Path) -> None:
    tasks = [Task("dies", killed_once, (tmp_path, 100), asks=True), *squares(tmp_path, 6, 0.2)]
    shown: list[str] = []
    with executor("ray", 2, folder=tmp_path / "kept") as run:
        found = run(tasks, lambda words, done, total: shown.append(words))
    assert "0 of 7 done, 2 running" in shown and shown[-1] == "7 of 7 done"
    assert not found.failures and found.values["dies"] == 100
    assert carried_out(tmp_path).count(100) == 2 and set(carried_out(tmp_path)) == {0, 1, 2, 3, 4, 5, 100}


def test_a_task_that_kills_every_actor_is_given_up_and_the_rest_goes_on(tmp_path: Path) -> None:
    with executor("ray", 2) as run:
        found = run([Task("deadly", killed_always, (tmp_path,), asks=True), *squares(tmp_path, 4, 0.2)])
    assert [failure.name for failure in found.failures] == ["deadly"] and "died 3 times" in found.failures[0].reason
    assert len(found.values) == 4 and set(carried_out(tmp_path)) == {0, 1, 2, 3}
    assert carried_out(tmp_path).count(0) >= 4  # three tries beside the square of 0; six where a square was given up with it at first


def test_a_killed_driver_costs_only_the_tasks_under_way_on_ray(tmp_path: Path) -> None:
    killed_half_way("ray", tmp_path)
    check_going_on("ray", tmp_path)


def test_a_node_that_is_lost_costs_only_its_tasks(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    removed = []

    def remove(words: str, done: int, total: int) -> None:
        if done >= 3 and not removed:
            assert "2 running" in words  # one task on each node
            removed.append(time.monotonic())
            cluster.remove_node(second, allow_graceful=False)

    try:
        with executor("ray", address=cluster.address) as run:
            values = run(squares(tmp_path, 16, 0.3), remove).whole()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert removed and [packed(value) for value in values] == [packed(v) for v in HERE(squares(tmp_path, 16)).whole()]


@pytest.mark.parametrize("address", ["nowhere", "auto", "127.0.0.1:1", "no.such.host:6379"])
def test_an_address_without_a_cluster_is_refused_at_once(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidOption, match=rf"No Ray cluster answers at --address {address} \("), executor("ray", address=address):
        pass
    assert time.monotonic() - began < 30.0
