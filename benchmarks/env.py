"""How fast the bargaining game is, against plain Python, NumPy and OpenSpiel; and whether it is still the same game.

Everything runs in one process on one core and is timed in CPU seconds, since neighbours make wall-clock useless. Contenders take turns,
one short measurement each per round, so that a slow minute hits all of them; a ratio is taken within each round and its median reported.
A step is one move of the agent with the partner's answer, under random legal play; sampling, resets, observations and masks are included
unless an entry says "step only". The bare batch is the layer below the vector environment. OpenSpiel's steps are single moves of offers
and AGREE, without observations.

Only process starts are wall-clock seconds: from the start of the interpreter to the end of the first step of a single environment, with an
empty cache of compiled rules (cold) and with one filled by such a start (warm).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from typing import Annotated, Any

import gymnasium
import typer

from benchmarks.command import Repeats, Seconds, rates_page, report, start
from benchmarks.measuring import Measure, Rates, entries, machine_facts, measure_rates, ratios, repeated, summary, target
from benchmarks.numpy_batch import NumpyBatch
from benchmarks.oracle import cases, compare
from benchmarks.plain_env import CounterChance, PlainNegotiationEnv
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.progress import Progress, silent

ENV_ID = "DealOrNoDialog-v0"
VECTOR_SIZES = (1, 64, 1024, 16384)
NUMPY_SIZES = (1024, 16384)
INNER_SIZE = 1024
STEP_ONLY_ENVS = 64
CHECKED_TRANSITIONS = 50_000
STARTS = 3

LABELS = {
    **{f"vector_{size}": f"vector environment, N={size}" for size in VECTOR_SIZES},
    "batch_1024": "bare batch, N=1024",
    "inner_loop": f"loop inside, N={INNER_SIZE}",
    "single_step": "single, step only",
    "plain_step": "plain, step only",
    "plain_play": "plain",
    **{f"numpy_{size}": f"NumPy batch, N={size}" for size in NUMPY_SIZES},
    "openspiel": "OpenSpiel, moves",
}

RATIO_TARGETS = [
    ("vector, N=1024 / plain", "vector_1024", "plain_play", 250.0),
    ("vector / NumPy, N=1024", "vector_1024", "numpy_1024", 2.0),
    ("loop inside / plain", "inner_loop", "plain_play", 400.0),
    ("single / plain, step only", "single_step", "plain_step", None),
]
START_TARGETS = [("start to first step, warm", "warm", 2.0), ("start to first step, cold", "cold", 20.0)]

FIRST_STEP = f"""
import time, gymnasium, edgeworth
env = gymnasium.make("{ENV_ID}")
observation, info = env.reset(seed=0)
env.step({{"act_type": 0, "oA": observation["counts"]}})
print(time.time(), time.process_time())
"""


def run(repeats: int = 5, seconds: float = 0.5, seed: int = 0, check: bool = True, progress: Progress = silent) -> dict[str, Any]:
    """Measure everything; with `check`, also count mismatches against the plain environment."""
    rates = measure_rates(contenders(seed), repeats, seconds, progress, LABELS)
    starts = measure_starts(progress)
    mismatches = count_mismatches(seed, progress) if check else None
    return {
        "quantity": "environment steps per CPU second of one core, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds_per_repeat": seconds,
        "machine": machine_facts(),
        "entries": entries(rates, LABELS),
        "targets": [*ratio_targets(rates), *start_targets(starts), *mismatch_targets(mismatches)],
        "starts": starts,
        "mismatches": mismatches,
    }


def contenders(seed: int) -> dict[str, Measure]:
    """Everything that is measured, ready to play."""
    table: dict[str, Measure] = {f"vector_{size}": vector_play(size, seed) for size in VECTOR_SIZES}
    table["batch_1024"] = batch_play(1024, seed)
    table["inner_loop"] = inner_loop(seed)
    table["single_step"] = step_only([NegotiationEnv() for _ in range(STEP_ONLY_ENVS)], seed)
    table["plain_step"] = step_only([PlainNegotiationEnv(make_chance=CounterChance) for _ in range(STEP_ONLY_ENVS)], seed)
    table["plain_play"] = plain_play(seed)
    table.update({f"numpy_{size}": numpy_play(size, seed) for size in NUMPY_SIZES})
    spiel = openspiel_play(seed)
    if spiel is not None:
        table["openspiel"] = spiel
    return table


def vector_play(size: int, seed: int) -> Measure:
    """Our vector environment, as a user calls it."""
    env = gymnasium.make_vec(ENV_ID, num_envs=size)
    random_actions = env.unwrapped.random_actions  # type: ignore[attr-defined]
    env.reset(seed=seed)
    laps = max(1, 1024 // size)

    def play() -> int:
        for _ in range(laps):
            env.step(random_actions())
        return laps * size

    return repeated(play)


def batch_play(size: int, seed: int) -> Measure:
    """The batch below the vector environment."""
    batch = BargainingBatch(BargainingConfig(), size)
    batch.seed(seed)
    batch.reset()

    def play() -> int:
        acts, shares = batch.random_actions()
        batch.step(acts, shares, rules.SAME_STEP)
        return size

    return repeated(play)


def inner_loop(seed: int) -> Measure:
    """Random play with the loop over steps inside the rules."""
    batch = BargainingBatch(BargainingConfig(), INNER_SIZE)
    batch.seed(seed)
    batch.reset()
    steps = 64

    def play() -> int:
        batch.random_rollout(steps)
        return steps * INNER_SIZE

    return repeated(play)


def plain_play(seed: int) -> Measure:
    """The plain environment with sampling and resets."""
    env = PlainNegotiationEnv()
    env.reset(seed=seed)
    steps = 256

    def play() -> int:
        for _ in range(steps):
            if env.step(env.random_action())[2]:
                env.reset()
        return steps

    return repeated(play)


def numpy_play(size: int, seed: int) -> Measure:
    """The NumPy batch with sampling and autoreset."""
    batch = NumpyBatch(size, seed=seed)
    batch.reset()

    def play() -> int:
        batch.step(*batch.random_actions())
        return size

    return repeated(play)


def openspiel_play(seed: int) -> Measure | None:
    """OpenSpiel's game with random legal moves; None where it is not installed."""
    try:
        import pyspiel
    except ImportError:
        return None
    game = pyspiel.load_game("bargaining")
    instances = len(game.all_instances())
    choice, below = random.Random(seed).choice, random.Random(seed).randrange

    def play() -> int:
        moves = 0
        for _ in range(16):
            state = game.new_initial_state()
            state.apply_action(below(instances))
            while not state.is_terminal():
                state.apply_action(choice(state.legal_actions()))
                moves += 1
        return moves

    return repeated(play)


def step_only(envs: list[Any], seed: int) -> Measure:
    """Steps of many single environments with actions sampled before; resets and sampling are outside the time.

    All are reset, then all make their first step, all that go on their second, and so on: one look at the clock per wave.
    """
    episodes = [recorded_actions(seed + i) for i in range(len(envs))]
    longest = max(len(actions) for actions in episodes)

    def measure(seconds: float) -> float:
        steps, elapsed = 0, 0.0
        while elapsed < seconds:
            for i, env in enumerate(envs):
                env.reset(seed=seed + i)
            for t in range(longest):
                wave = [(env.step, actions[t]) for env, actions in zip(envs, episodes, strict=True) if t < len(actions)]
                begin = time.process_time()
                for step, action in wave:
                    step(action)
                elapsed += time.process_time() - begin
                steps += len(wave)
        return steps / elapsed

    return measure


def recorded_actions(seed: int) -> list[dict[str, Any]]:
    """Random legal actions of the first episode of a seed, the same in our environment and in the plain one."""
    env = PlainNegotiationEnv(make_chance=CounterChance)
    env.reset(seed=seed)
    actions, terminated = [], False
    while not terminated:
        actions.append(env.random_action())
        terminated = env.step(actions[-1])[2]
    return actions


def measure_starts(progress: Progress) -> dict[str, dict[str, Any]]:
    """Seconds from the start of a process to its first step, with an empty cache of compiled rules and with a full one."""
    starts: dict[str, list[tuple[float, float]]] = {"cold": [], "warm": []}
    for lap in range(STARTS):
        with tempfile.TemporaryDirectory() as cache:
            for kind, times in starts.items():  # the cold start fills the cache of the warm one
                progress(f"process start, {kind}", lap, STARTS)
                times.append(first_step_in_new_process(cache))
    return {
        kind: {"wall_seconds": summary([wall for wall, _ in times]), "cpu_seconds": summary([cpu for _, cpu in times])}
        for kind, times in starts.items()
    }


def first_step_in_new_process(cache: str) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a new interpreter until its first step is done."""
    begin = time.time()
    child = subprocess.run(
        [sys.executable, "-c", FIRST_STEP], env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=True, capture_output=True, text=True
    )
    end, cpu = (float(word) for word in child.stdout.split())
    return end - begin, cpu


def count_mismatches(seed: int, progress: Progress) -> dict[str, dict[str, Any]]:
    """Every partner and every scenario against the plain environment."""
    table = dict(cases())
    results = {}
    for done, (name, config) in enumerate(table.items()):
        progress(f"{name} against the plain environment", done, len(table))
        result = compare(config, CHECKED_TRANSITIONS, seed)
        results[name] = {"transitions": result.transitions, "episodes": result.episodes, "mismatches": result.mismatches}
    return results


def ratio_targets(rates: Rates) -> list[dict[str, Any]]:
    """How many times faster, round by round."""
    return [target(name, ratios(rates, fast, slow), ">=", wanted, "times") for name, fast, slow, wanted in RATIO_TARGETS]


def start_targets(starts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """How soon the first step is done."""
    return [target(name, starts[kind]["wall_seconds"]["values"], "<=", wanted, "s") for name, kind, wanted in START_TARGETS]


def mismatch_targets(mismatches: dict[str, dict[str, Any]] | None) -> list[dict[str, Any]]:
    """That the compiled game is still the plain one."""
    if mismatches is None:
        return []
    fewest = min(case["transitions"] for case in mismatches.values())
    total = sum(case["mismatches"] for case in mismatches.values())
    return [target(f"mismatches, {len(mismatches)} × {fewest:,}", [total], "<=", 0, "")]


def main(
    repeats: Repeats = 5,
    seconds: Seconds = 0.5,
    seed: Seed = 0,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Also count mismatches against the plain environment (a few minutes).")
    ] = True,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare the compiled bargaining game with a plain environment, a NumPy batch and OpenSpiel.

    Example: python -m benchmarks.env --repeats 5 --no-check
    """
    page = rates_page("Steps per CPU second, one core", "steps/s", "plain_play", "times plain")
    report(lambda progress: run(repeats, seconds, seed, check, progress), page, as_json, out_file)


if __name__ == "__main__":
    start(main)
