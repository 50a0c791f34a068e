"""What scale costs: the executor's overhead and speed-up, memory of environments and sessions, bytes of the store, and many small nodes.

The overhead is that of tasks that do nothing, with their values kept on disk. The speed-up is that of tasks which score mechanisms, some
tenths of a second each; numbers are medians over rounds, in each of which every engine is measured. Memory is the growth of this process's
resident set. A cluster of many nodes is simulated on this machine: Ray's own nodes, each with one CPU on paper, and tasks that only wait,
so that what is measured is the scheduling.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import RenderableType

from benchmarks.command import Repeats, report, start
from benchmarks.measuring import machine_facts
from benchmarks.postgres_process import NoPostgres, postgres_server
from benchmarks.server import MECHANISM
from edgeworth.agents.designers.search import mean_scores
from edgeworth.cli.console import say, table
from edgeworth.cli.options import AsJson, OutFile
from edgeworth.config import AuctionConfig, BargainingConfig
from edgeworth.executor.execution import executor
from edgeworth.executor.on_ray import ray_module
from edgeworth.executor.tasks import Task
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.progress import Progress
from edgeworth.seeding import generator
from edgeworth.server.openings import opening_of
from edgeworth.server.sessions import Sessions
from edgeworth.server.store import Line, Store

PLACES = (("local", 1), ("local", 2), ("ray", 1), ("ray", 2))
EMPTY, WORK = 200, 24
"""Tasks of the two measurements."""
SECONDS = 0.5
"""What a task waits in the simulated cluster."""
SESSIONS, STEPS = 1_000, 20_000
NODES = (2, 8, 32)


def main(out_file: OutFile = None, repeats: Repeats = 5, as_json: AsJson = False) -> None:
    """Measure what scale costs; about ten minutes on an idle machine."""
    report(lambda progress: measured(repeats, progress), page, as_json, out_file)


def measured(repeats: int, progress: Progress) -> dict[str, Any]:
    """All measurements; a dictionary for JSON."""
    parts: dict[str, Callable[[], Any]] = {
        "executor": lambda: executor_speeds(repeats),
        "bytes_per_environment": environment_bytes,
        "bytes_per_session": session_bytes,
        "store_bytes_per_step": store_bytes,
        "simulated_cluster": lambda: {str(nodes): cluster_speed(nodes) for nodes in NODES},
    }
    found = {"quantity": "see docs/scaling.md", "repeats": repeats, "machine": machine_facts()}  # its load before ours
    for done, (name, measure) in enumerate(parts.items()):
        progress(name.replace("_", " "), done, len(parts))
        found[name] = measure()
    return found


def nothing(number: int) -> int:
    """A task that does nothing."""
    return number


def executor_speeds(repeats: int) -> dict[str, dict[str, float]]:
    """Medians of what `executor_speed` measures, by engine and number of workers."""
    rounds = [{f"{engine} {workers}": executor_speed(engine, workers) for engine, workers in PLACES} for _ in range(repeats)]
    return {place: {key: median(each[place][key] for each in rounds) for key in measures} for place, measures in rounds[0].items()}


def executor_speed(engine: str, workers: int) -> dict[str, float]:
    """Seconds until all workers are warm, the overhead of a task whose value is kept and of one that is not, and the speed of real ones."""
    market, designs = AuctionConfig(stage="3"), random_mechanisms(generator(0), 40)
    with tempfile.TemporaryDirectory() as folder, executor(engine, workers, folder=Path(folder) / "cells") as run:
        began = time.perf_counter()
        run([Task(f"warm {n}", mean_scores, (designs, market, 100, n)) for n in range(2 * workers)]).whole()
        first = time.perf_counter()
        run([Task(f"empty {n}", nothing, (n,)) for n in range(EMPTY)]).whole()
        empty = time.perf_counter()
        run([Task(f"work {n}", mean_scores, (designs, market, 100, 100 + n)) for n in range(WORK)]).whole()
        worked = time.perf_counter()
        run([Task(f"unkept {n}", nothing, (n,), keep=False) for n in range(EMPTY)]).whole()
        unkept = time.perf_counter()
    return {
        "start_seconds": first - began,
        "overhead_ms": 1e3 * (empty - first) / EMPTY,
        "unkept_overhead_ms": 1e3 * (unkept - worked) / EMPTY,
        "tasks_per_second": WORK / (worked - empty),
    }


# Memory


def resident() -> int:
    """Bytes of this process's resident set."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def environment_bytes() -> dict[str, float]:
    """Bytes of one environment in a large batch, of both games."""
    found = {}
    for name, make, size in (
        ("bargaining", lambda n: BargainingBatch(BargainingConfig(), n), 200_000),
        ("auction", lambda n: MarketBatch(AuctionConfig(), n), 20_000),
    ):
        make(10).reset()  # compiled before memory is measured
        before = resident()
        batch = make(size)
        batch.seed(0)
        batch.reset()
        found[name] = (resident() - before) / size
        del batch
    return found


def session_bytes() -> dict[str, float]:
    """Bytes of an open session in a server's process, of both games."""

    async def opened(game: str, folder: str) -> float:
        store = Store(f"sqlite:///{folder}/{game}.sqlite")
        sessions = Sessions(store)
        await sessions.open("somebody", game, {}, 0)
        before = resident()
        for number in range(SESSIONS):
            await sessions.open(f"owner{number}", game, {}, number)
        grown = resident() - before
        store.close()
        return grown / SESSIONS

    with tempfile.TemporaryDirectory() as folder:
        return {game: asyncio.run(opened(game, folder)) for game in ("bargaining", "auction")}


# The store


def store_bytes() -> dict[str, float]:
    """Bytes of the store for one step of a market; SQLite's file is measured closed, without its write-ahead log."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.sqlite"
        found = {"sqlite": _grown(f"sqlite:///{path}", lambda: path.stat().st_size)}
    try:
        with postgres_server() as url:
            found["postgresql"] = _grown(url, lambda: _database_size(url))
    except NoPostgres as reason:
        say(f"PostgreSQL is not measured: {reason}.")
    return found


def _database_size(url: str) -> int:
    store = Store(url)
    try:
        return int(store.database.row("SELECT pg_database_size(current_database())")[0])
    finally:
        store.close()


def _grown(url: str, size: Callable[[], int]) -> float:
    store = Store(url)
    stored = store.open("somebody", "steps", opening_of("auction", {"episode_length": 1000}, 0))
    store.close()
    before, store = size(), Store(url)
    for first in range(0, STEPS, 500):
        store.advance_all([Line(stored.generation, number, MECHANISM, False) for number in range(first, first + 500)])
    store.close()
    return (size() - before) / STEPS


# Many nodes


def cluster_speed(nodes: int) -> dict[str, float]:
    """How much of the time of so many nodes is used, when every task waits and nothing else."""
    cluster = ray_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(num_cpus=1)
        with executor("ray", address=cluster.address) as run:
            run([Task(f"warm {n}", time.sleep, (SECONDS,)) for n in range(2 * nodes)]).whole()
            began = time.perf_counter()
            run([Task(f"wait {n}", time.sleep, (SECONDS,)) for n in range(8 * nodes)]).whole()
            took = time.perf_counter() - began
    finally:
        ray_module().shutdown()
        cluster.shutdown()
    return {"tasks_per_second": 8 * nodes / took, "efficiency": 8 * SECONDS / took}


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """The tables."""
    speeds = table("engine, workers", "start, s", "overhead, ms per task", "not kept, ms", "tasks per second", title="Executor")
    for name, row in result["executor"].items():
        speeds.add_row(name, *(f"{row[key]:.3g}" for key in ("start_seconds", "overhead_ms", "unkept_overhead_ms", "tasks_per_second")))
    yield from (speeds, "")
    sizes = table("what", "bytes", title="Memory and store")
    for key in ("bytes_per_environment", "bytes_per_session", "store_bytes_per_step"):
        for name, value in result[key].items():
            sizes.add_row(f"{key.replace('_', ' ')}, {name}", f"{value:,.0f}")
    yield from (sizes, "")
    nodes = table("simulated nodes", "tasks per second", "efficiency", title=f"Tasks that wait {SECONDS} s")
    for name, row in result["simulated_cluster"].items():
        nodes.add_row(name, f"{row['tasks_per_second']:.1f}", f"{row['efficiency']:.2f}")
    yield nodes


if __name__ == "__main__":
    start(main)
