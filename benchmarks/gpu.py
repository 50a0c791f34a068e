"""How fast PPO trains on a GPU: a whole iteration as one recorded graph, against the same kernels launched one by one.

All contenders learn the same game with the same network and settings, many episodes at a time, and take turns within a round. Time is
wall-clock, since the CPU has little to do: the fused backend beside them is one core of the same machine.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import torch

from benchmarks.command import Repeats, Seconds, rates_page, report, start
from benchmarks.measuring import Measure, entries, machine_facts, measure_rates, ratios, repeated, target
from benchmarks.time_to_quality import Trainee
from benchmarks.train import iteration_of
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.progress import Progress, silent
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.gpu import GpuPPO
from edgeworth.training.learner import shape_of
from edgeworth.training.settings import PPOSettings
from edgeworth.training.torch_learner import Episodes

GAME = BargainingConfig()
SETTINGS = PPOSettings(num_envs=4096, rollout=16, minibatch=16384)
LABELS = {
    "graph": "GPU, the iteration as one graph",
    "eager": "GPU, kernel by kernel",
    "stepped": "GPU, talks stepped on the CPU, updates as graphs",
    "fused": "fused, one core",
}
WARM_UP = 5
"""Iterations before anything is measured: the first are run, the fourth is recorded."""


def run(repeats: int = 5, seconds: float = 2.0, seed: int = 0, progress: Progress = silent) -> dict[str, Any]:
    """Measure everybody."""
    rates = measure_rates(contenders(seed), repeats, seconds, progress, LABELS)
    return {
        "quantity": "moves played and learnt from per second on the wall, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds_per_repeat": seconds,
        "settings": asdict(SETTINGS),
        "machine": {**machine_facts(), "torch": torch.__version__, "gpu": torch.cuda.get_device_name()},
        "entries": entries(rates, LABELS),
        "targets": [target("one graph / kernel by kernel", ratios(rates, "graph", "eager"), ">=", 5.0, "times")],
    }


def contenders(seed: int) -> dict[str, Measure]:
    """Everybody who takes a turn."""
    shape = shape_of(GAME, SETTINGS)
    graph, eager, stepped = (GpuPPO(GAME, SETTINGS, shape, seed, device="cuda") for _ in range(3))
    eager.recorded_iteration.recording = False
    stepped.episodes, stepped.unbroken = Episodes(stepped.practice, stepped.scale, stepped.device), False
    made: dict[str, Trainee] = {"graph": graph, "eager": eager, "stepped": stepped, "fused": FusedLearner(GAME, SETTINGS, shape, seed)}
    for learner in made.values():
        for _ in range(WARM_UP):
            learner.iterate()
    return {name: repeated(iteration_of(learner), time.perf_counter) for name, learner in made.items()}


def main(repeats: Repeats = 5, seconds: Seconds = 2.0, seed: Seed = 0, out_file: OutFile = None, as_json: AsJson = False) -> None:
    """Compare PPO on a GPU as one recorded graph with the same kernels launched one by one, and with one core of the CPU.

    Example: python -m benchmarks.gpu --repeats 5
    """
    if not torch.cuda.is_available():
        raise InvalidOption("This benchmark needs a GPU, and torch sees none here; `python -m benchmarks.train` measures the CPU.")
    page = rates_page("Steps per second, 4,096 episodes at a time", "steps/s", "eager", "times kernel by kernel")
    report(lambda progress: run(repeats, seconds, seed, progress), page, as_json, out_file)


if __name__ == "__main__":
    start(main)
