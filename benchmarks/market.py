"""How fast the auction game is: designs per second, against the same source uncompiled and against the research prototype.

A design is one step of the designer: a mechanism, five sales, eight bidders. Everything runs on one core and is timed in CPU seconds; the
contenders take turns, one short measurement each per round, so that a slow minute hits all of them, and a ratio is taken within each
round. Mechanisms are random over their whole ranges. The uncompiled market is the package itself in a process of its own with
NUMBA_DISABLE_JIT=1, which plays a piece whenever it is asked to, so that it takes its turn like everybody else. The prototype is measured
when its file is named.

An earlier revision is measured when the `src` folder of a checkout of it is named: another process, which plays the same populations under
mechanisms of the same kind whenever it is asked to.

Two threads against one are wall-clock, over whole episodes; on a busy machine that ratio says more about the neighbours than about us.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.command import Repeats, Seconds, rates_page, report, start
from benchmarks.measuring import Measure, Rates, entries, machine_facts, measure_rates, ratios, repeated, target
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator

STAGES = ("0", "1", "2", "3", "4", "mixed")
BATCH = 1000
STEPS = 10
THREADED = 4000

LABELS = {
    **{f"batch_{stage}": f"batch, stage {stage}" for stage in STAGES},
    "single": "single Gymnasium environment, mixed",
    "uncompiled": "same source uncompiled, mixed",
    **{f"prototype_{stage}": f"prototype, stage {stage}" for stage in STAGES},
    **{f"before_{stage}": f"earlier revision, stage {stage}" for stage in STAGES},
}

UNCOMPILED = """
import json, sys, time
import numpy as np
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.seeding import generator

batch = MarketBatch(AuctionConfig(episode_length=10_000), 2)
batch.seed(int(sys.argv[1]))
batch.reset()
rng = generator(int(sys.argv[1]))
for line in sys.stdin:
    steps, begin = 0, time.process_time()
    while (elapsed := time.process_time() - begin) < float(line):
        batch.step(random_mechanisms(rng, 2))
        steps += 2
    print(json.dumps(steps / elapsed), flush=True)
"""


EARLIER = """
import json, sys, time
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.seeding import generator

seed, size, steps = map(int, sys.argv[1:])
batches = {}
for line in sys.stdin:
    stage, seconds = line.split()
    if stage not in batches:
        batches[stage] = MarketBatch(AuctionConfig(stage=stage), size)
        batches[stage].seed(seed)
        batches[stage].reset()
        batches[stage].play_constant(random_mechanisms(generator(seed), size))
    batch, mechanisms, played = batches[stage], random_mechanisms(generator(seed), size), 0
    begin = time.process_time()
    while (elapsed := time.process_time() - begin) < float(seconds):
        batch.reset()
        batch.play_constant(mechanisms)
        played += size * steps
    print(json.dumps(played / elapsed), flush=True)
"""


def run(
    repeats: int = 5,
    seconds: float = 0.5,
    seed: int = 0,
    prototype: Path | None = None,
    before: Path | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Measure everything."""
    table: dict[str, Measure] = {f"batch_{stage}": batch_play(stage, seed) for stage in STAGES}
    table["single"] = single_play(seed)
    with contextlib.ExitStack() as stack:
        uncompiled = stack.enter_context(Other(UNCOMPILED, [seed], NUMBA_DISABLE_JIT="1"))
        table["uncompiled"] = uncompiled.measure("")
        if prototype is not None:
            table.update(prototype_play(prototype, seed))
        if before is not None:
            earlier = stack.enter_context(Other(EARLIER, [seed, BATCH, STEPS], PYTHONPATH=str(before.resolve())))
            table.update({f"before_{stage}": earlier.measure(f"{stage} ") for stage in STAGES})
        rates = measure_rates(table, repeats, seconds, progress, LABELS)
    threads = thread_ratios(seed, repeats, progress)
    return {
        "quantity": "designs (five sales, eight bidders) per CPU second of one core, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds_per_repeat": seconds,
        "machine": machine_facts(),
        "entries": entries(rates, LABELS),
        "targets": targets(rates, threads),
    }


def batch_play(stage: str, seed: int) -> Measure:
    """Whole episodes of a batch, one random mechanism per market."""
    batch = MarketBatch(AuctionConfig(stage=stage), BATCH)
    batch.seed(seed)
    mechanisms = random_mechanisms(generator(seed), BATCH)

    def play() -> int:
        batch.reset()
        batch.play_constant(mechanisms)
        return BATCH * STEPS

    return repeated(play)


def single_play(seed: int) -> Measure:
    """Our Gymnasium environment as a user calls it: dictionaries in, dictionaries out."""
    env = DaedalusEnv()
    env.reset(seed=seed)
    actions = [action_of(row).model_dump() for row in random_mechanisms(generator(seed), STEPS)]

    def play() -> int:
        env.reset()
        for action in actions:
            env.step(action)
        return STEPS

    return repeated(play)


class Other:
    """The game in an interpreter of its own, with other settings of the environment; it plays a piece whenever it is asked to."""

    def __init__(self, program: str, arguments: list[int], **environment: str) -> None:
        self.command = [sys.executable, "-c", program, *map(str, arguments)]
        self.environment = {**os.environ, **environment}

    def __enter__(self) -> Other:
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def measure(self, what: str) -> Measure:
        """Let it play that for so long, and hear its rate."""

        def ask(seconds: float) -> float:
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.write(f"{what}{seconds}\n")
            self.process.stdin.flush()
            return float(json.loads(self.process.stdout.readline()))

        return ask


def prototype_play(path: Path, seed: int) -> dict[str, Measure]:
    """The research prototype, under the same kind of mechanisms on the same populations."""
    spec = importlib.util.spec_from_file_location("market_prototype", path)
    assert spec is not None and spec.loader is not None
    prototype = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prototype)
    prototype.set_num_threads(1)
    rng = np.random.default_rng(seed)

    def measure(stage: str) -> Measure:
        types = prototype.draw_types(stage if stage == "mixed" else int(stage), 8, rng, BATCH)
        mechanisms, scores = prototype.random_mech(rng, BATCH), np.zeros((BATCH, prototype.N_OUT))

        def play() -> int:
            prototype.run_constant(np.arange(BATCH), types, 8, mechanisms, STEPS, prototype.params(), scores)
            return BATCH * STEPS

        return repeated(play)

    return {f"prototype_{stage}": measure(stage) for stage in STAGES}


def thread_ratios(seed: int, repeats: int, progress: Progress) -> list[float]:
    """Wall-clock of one thread over that of two, over whole episodes."""
    batch = MarketBatch(AuctionConfig(), THREADED)
    batch.seed(seed)
    mechanisms = random_mechanisms(generator(seed), THREADED)
    ratios = []
    for lap in range(repeats):
        progress("threads", lap, repeats)
        walls = []
        for threads in (1, 2):
            batch.reset()
            begin = time.perf_counter()
            batch.play_constant(mechanisms, threads=threads)
            walls.append(time.perf_counter() - begin)
        ratios.append(walls[0] / walls[1])
    return ratios


def targets(rates: Rates, threads: list[float]) -> list[dict[str, Any]]:
    """The targets, with what was measured."""
    rows = [
        ("batch / uncompiled, mixed", ratios(rates, "batch_mixed", "uncompiled"), 200.0),
        ("single / uncompiled, mixed", ratios(rates, "single", "uncompiled"), 20.0),
    ]
    for stage in STAGES:
        if f"prototype_{stage}" in rates:
            rows.append((f"batch / prototype, stage {stage}", ratios(rates, f"batch_{stage}", f"prototype_{stage}"), 1.0))
        if f"before_{stage}" in rates:
            rows.append((f"batch / earlier revision, stage {stage}", ratios(rates, f"batch_{stage}", f"before_{stage}"), 0.9))
    rows.append(("two threads / one, wall-clock", threads, 1.8))
    return [target(name, values, ">=", wanted, "") for name, values, wanted in rows]


def main(
    repeats: Repeats = 5,
    seconds: Seconds = 0.5,
    seed: Seed = 0,
    prototype: Annotated[Path | None, typer.Option(help="The research prototype's file, to measure it in the same run.")] = None,
    before: Annotated[Path | None, typer.Option(help="The src folder of an earlier revision, to measure it in the same run.")] = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare the compiled market with the same source uncompiled, and with the research prototype where its file is given.

    Example: python -m benchmarks.market --repeats 5
    """
    if prototype is not None and not prototype.is_file():
        raise InvalidOption(f"--prototype {prototype}: there is no such file.")
    if before is not None and not (before / "edgeworth").is_dir():
        raise InvalidOption(f"--before {before}: expected the src folder of a checkout, with edgeworth in it.")
    page = rates_page("Designs per CPU second, one core", "designs/s", "uncompiled", "times uncompiled")
    report(
        lambda progress: run(repeats, seconds, seed, prototype, before, progress),
        page,
        as_json,
        out_file,
        *(path for path in (prototype, before) if path is not None),
    )


if __name__ == "__main__":
    start(main)
