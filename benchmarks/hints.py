"""What hints cost: the vector environment with the injector and random hints over the same environment without, in one run.

Both play random legal actions; the ratio of their times is taken within each round, and the part above 1 is what the injector costs. Rounds
are short and many, since the machine may be shared.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from benchmarks.command import Repeats, Seconds, rates_page, report, start
from benchmarks.measuring import Measure, entries, machine_facts, measure_rates, ratios, repeated, target
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.envs.hint_injector import HintInjectorVectorEnv
from edgeworth.progress import Progress, silent

SIZE = 1024
TARGET = 0.15
LABELS = {"bare": f"vector environment, N={SIZE}", "hinted": f"with random hints at every step, N={SIZE}"}


def run(repeats: int = 101, seconds: float = 0.02, seed: int = 0, progress: Progress = silent) -> dict[str, Any]:
    """How much longer a step takes with random hints, as a share of the step without."""
    rates = measure_rates({"bare": play(seed, hinted=False), "hinted": play(seed, hinted=True)}, repeats, seconds, progress, LABELS)
    longer = [ratio - 1.0 for ratio in ratios(rates, "bare", "hinted")]
    return {
        "quantity": "environment steps per CPU second of one core, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds_per_repeat": seconds,
        "machine": machine_facts(),
        "entries": entries(rates, LABELS),
        "targets": [target("injector with random hints over the bare vector environment", longer, "<=", TARGET, "")],
    }


def play(seed: int, hinted: bool) -> Measure:
    """Random legal play, with hints or without."""
    env: Any = gymnasium.make_vec("DealOrNoDialog-v0", num_envs=SIZE)
    random_actions = env.unwrapped.random_actions
    if hinted:
        env = HintInjectorVectorEnv(env, "random")
    env.reset(seed=seed)

    def step() -> int:
        env.step(random_actions())
        return SIZE

    return repeated(step)


def main(repeats: Repeats = 101, seconds: Seconds = 0.02, seed: Seed = 0, out_file: OutFile = None, as_json: AsJson = False) -> None:
    """Measure what random hints cost the vector environment.

    Example: python -m benchmarks.hints
    """
    page = rates_page("Steps per CPU second, one core", "steps/s", "bare", "of the bare environment's")
    report(lambda progress: run(repeats, seconds, seed, progress), page, as_json, out_file)


if __name__ == "__main__":
    start(main)
