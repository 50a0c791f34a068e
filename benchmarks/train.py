"""How fast negotiators are trained: moves per CPU second, and CPU seconds to a quality, at the published settings.

Contenders learn the same game with the same network and settings, each on one thread, and take turns within a round, so that only
ratios within a round count: the fused backend, the torch backend, the torch backend written with distribution objects as most PPO
code is (`distribution_ppo.py`), and PPO of Stable-Baselines3 (`sb3_ppo.py`). Speed is that of whole iterations, playing and learning.
The update's share of the processor is its floating-point work over the rate of a large matrix product measured in turns with it.

How soon they are good is measured in `time_to_quality.py`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from importlib.util import find_spec
from math import prod
from statistics import median
from typing import Annotated, Any

import numpy as np
import scipy  # type: ignore[import-untyped]
import torch
import typer
from rich.console import RenderableType
from scipy.linalg import cython_blas  # type: ignore[import-untyped]
from scipy.linalg.blas import sgemm  # type: ignore[import-untyped]

from benchmarks import time_to_quality as quality
from benchmarks.command import Repeats, Seconds, rates_table, report, start, targets_table
from benchmarks.distribution_ppo import DistributionPPO
from benchmarks.measuring import Measure, Rates, entries, machine_facts, measure_rates, ratios, repeated, target
from benchmarks.time_to_quality import Trainee
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.cli.console import table
from edgeworth.cli.options import AsJson, OutFile, Seed
from edgeworth.config import BargainingConfig, config_folder
from edgeworth.errors import MissingExtra
from edgeworth.progress import Progress, silent
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.learner import shape_of, torch_device
from edgeworth.training.ppo import PPO
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings, load_settings

GAME = BargainingConfig()
PUBLISHED = PPOSettings()
REMEMBERS = replace(PUBLISHED, memory="history")
"""The published settings, with every offer of both sides among the inputs."""
FAST = "ppo_fast"
"""Our own settings, in `configs/`."""
LABELS = {
    "fused": "fused, PPO",
    "fused_256": "fused, PPO, minibatch 256",
    "fused_hints": "fused, PPO with random hints",
    "fused_memory": "fused, PPO with memory",
    "fused_reinforce": "fused, REINFORCE",
    "torch": "torch, PPO",
    "distributions": "torch with distribution objects, PPO",
    "sb3": "Stable-Baselines3, PPO",
    "sb3_memory": "Stable-Baselines3, PPO with memory",
}
QUALITY_LABELS = {"published": "fused, published settings", "fast": f"fused, {FAST}", "sb3": "Stable-Baselines3, published settings"}
RATIO_TARGETS = [
    ("fused / Stable-Baselines3", "fused", "sb3", 80.0),
    ("fused / Stable-Baselines3, both with memory", "fused_memory", "sb3_memory", 50.0),
    ("fused / torch with distribution objects", "fused", "distributions", 60.0),
    ("fused / torch", "fused", "torch", 30.0),
    ("REINFORCE / PPO, fused", "fused_reinforce", "fused", 2.0),
]
SECONDS_TARGETS = [("published", 5.0), ("fast", 2.5)]
TIMES_LESS = 60.0
MATRIX = 1024
SHARE_ITERATIONS = 20
RUNS = 3
"""Seeds of the fused trainer on the way to the goal."""


def run(repeats: int = 5, seconds: float = 1.0, seed: int = 0, peer_quality: bool = True, progress: Progress = silent) -> dict[str, Any]:
    """Measure all trainers; with `peer_quality`, also how long Stable-Baselines3 needs to the goal."""
    from benchmarks.sb3_ppo import VERSION  # an extra, which the command checks before anything is loaded

    torch_device("cpu")
    rates = measure_rates(contenders(seed), repeats, seconds, progress, LABELS)
    shares = update_shares(seed, repeats, progress)
    reached = measure_quality(seed, peer_quality, progress)
    return {
        "quantity": "moves played and learnt from per CPU second of one core, median of the repeats; ratios within a repeat",
        "seed": seed,
        "repeats": repeats,
        "seconds_per_repeat": seconds,
        "settings": {"published": asdict(PUBLISHED), FAST: asdict(fast_settings())},
        "machine": {
            **machine_facts(),
            "scipy": scipy.__version__,
            "torch": torch.__version__,
            "stable_baselines3": VERSION,
            "kernels": kernels(),
        },
        "entries": entries(rates, LABELS),
        "quality": reached,
        "targets": [*rate_targets(rates), update_target(shares), *quality_targets(reached)],
    }


# Speed


def contenders(seed: int) -> dict[str, Measure]:
    """All trainers, ready to take turns."""
    shape, hints, reinforce = shape_of(GAME, PUBLISHED), HintSettings("random"), ReinforceSettings()
    made: dict[str, Trainee] = {
        "fused": FusedLearner(GAME, PUBLISHED, shape, seed),
        "fused_256": FusedLearner(GAME, replace(PUBLISHED, minibatch=256), shape, seed),
        "fused_hints": FusedLearner(GAME, PUBLISHED, shape_of(GAME, PUBLISHED, hints), seed, hints),
        "fused_memory": FusedLearner(GAME, REMEMBERS, shape_of(GAME, REMEMBERS), seed),
        "fused_reinforce": FusedLearner(GAME, reinforce, shape, seed),
        "torch": PPO(GAME, PUBLISHED, shape, seed),
        "distributions": DistributionPPO(GAME, PUBLISHED, shape, seed),
        "sb3": sb3_learner(seed),
        "sb3_memory": sb3_learner(seed, REMEMBERS),
    }
    return {name: repeated(iteration_of(learner)) for name, learner in made.items()}


def sb3_learner(seed: int, settings: PPOSettings = PUBLISHED) -> Trainee:
    """The peer, at the published settings or others."""
    from benchmarks.sb3_ppo import SB3PPO

    return SB3PPO(GAME, settings, shape_of(GAME, settings), seed)


def fused_learner(settings: PPOSettings, seed: int, moves: int) -> Trainee:
    """Ours, for a run of at most so many moves."""
    return FusedLearner(GAME, settings, shape_of(GAME, settings), seed, total_steps=moves)


def fast_settings() -> PPOSettings:
    """Our own settings, from their file."""
    return load_settings(config_folder() / f"{FAST}.yaml").ppo


def iteration_of(learner: Trainee) -> Callable[[], int]:
    """One iteration, and how many moves it took."""

    def iterate() -> int:
        before = learner.steps
        learner.iterate()
        return learner.steps - before

    return iterate


# The update


def update_shares(seed: int, repeats: int, progress: Progress) -> list[float]:
    """The floating-point rate of the update over that of a large matrix product, several times."""
    shares = []
    for lap in range(repeats):
        progress("update against a matrix product", lap, repeats)
        shares.append(update_share(seed))
    return shares


def update_share(seed: int) -> float:
    """The same once: products, iterations and rollouts in turns; what an iteration takes beyond its rollout is the update."""
    learner = FusedLearner(GAME, PUBLISHED, shape_of(GAME, PUBLISHED), seed)
    learner.iterate()
    matrix = np.asfortranarray(np.ones((MATRIX, MATRIX), np.float32))
    product, update = 0.0, 0.0
    for _ in range(SHARE_ITERATIONS):
        product += cpu_seconds(lambda: sgemm(1.0, matrix, matrix))
        whole = cpu_seconds(learner.iterate)
        update += whole - cpu_seconds(learner._play)
    samples = PUBLISHED.epochs * PUBLISHED.num_envs * PUBLISHED.rollout
    return (update_work(learner.shape) * samples / update) / (2.0 * MATRIX**3 / product)


def update_work(shape: PolicyShape) -> float:
    """Floating-point operations of the matrix products of one sample, forward and backward; the inputs need no gradient."""
    weights = [prod(size) for name, size in shape.tensors().items() if name.endswith("weight")]
    return 2.0 * (3 * sum(weights) - weights[0])


def kernels() -> str | None:
    """The processor that SciPy's linear algebra library has chosen its kernels for, if it tells."""
    ask = getattr(ctypes.CDLL(cython_blas.__file__), "scipy_openblas_get_corename", None)
    if ask is None:
        return None
    ask.restype = ctypes.c_char_p
    return str(ask().decode())


def cpu_seconds(work: Callable[[], Any]) -> float:
    """How long some work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


# Quality


def measure_quality(seed: int, peer: bool, progress: Progress) -> dict[str, Any]:
    """The plateau, and how long everybody needs to 95 % of it: the fused trainer with several seeds, the peer with one."""
    most = quality.MOST_MOVES
    plateau = quality.plateau_of(fused_learner(PUBLISHED, seed, quality.PLATEAU_MOVES), progress, quality.PLATEAU_MOVES)
    goal = quality.OF_PLATEAU * plateau
    found = {}
    for name, settings in (("published", PUBLISHED), ("fast", fast_settings())):
        label = QUALITY_LABELS[name]
        runs = [quality.arrival(fused_learner(settings, seed + lap, most), goal, label, progress, most) for lap in range(RUNS)]
        found[name] = quality.entry(label, runs)
    if peer:
        label = QUALITY_LABELS["sb3"]
        found["sb3"] = quality.entry(label, [quality.arrival(sb3_learner(seed), goal, label, progress, most)])
    return {"plateau": plateau, "plateau_moves": quality.PLATEAU_MOVES, "goal": goal, "most_moves": most, "entries": found}


# Targets


def rate_targets(rates: Rates) -> list[dict[str, Any]]:
    """How many times faster, round by round, and what hints cost."""
    rows = [target(name, ratios(rates, fast, slow), ">=", wanted, "times") for name, fast, slow, wanted in RATIO_TARGETS]
    cost = [ratio - 1.0 for ratio in ratios(rates, "fused", "fused_hints")]
    return [*rows, target("what random hints cost, fused", cost, "<=", 0.15, "")]


def update_target(shares: list[float]) -> dict[str, Any]:
    """The update's rate against that of a matrix product, which is about what the processor can do."""
    return target(f"update / matrix product, operations per second, minibatch {PUBLISHED.minibatch}", shares, ">=", 0.25, "")


def quality_targets(reached: dict[str, Any]) -> list[dict[str, Any]]:
    """How soon the goal is reached, and how much sooner than by Stable-Baselines3."""
    found, share = reached["entries"], f"{100 * quality.OF_PLATEAU:.0f} % of the plateau"
    rows = [quality.seconds_target(f"CPU time to {share}, {QUALITY_LABELS[name]}", found[name], wanted) for name, wanted in SECONDS_TARGETS]
    if "sb3" in found:
        name = f"CPU time to {share}, Stable-Baselines3 / fused"
        rows.append(quality.less_target(name, found["sb3"], found["published"], TIMES_LESS))
    return rows


# The command


def main(
    repeats: Repeats = 5,
    seconds: Seconds = 1.0,
    seed: Seed = 0,
    peer_quality: Annotated[
        bool,
        typer.Option("--peer-quality/--no-peer-quality", help="Also train Stable-Baselines3 to 95 % of the plateau (some ten minutes)."),
    ] = True,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Compare trainers: fused, torch, torch with distribution objects, Stable-Baselines3; steps per second and time to quality.

    Example: python -m benchmarks.train --repeats 5 --no-peer-quality
    """
    if find_spec("stable_baselines3") is None:
        raise MissingExtra("Comparing trainers", "stable-baselines3", "bench")
    report(lambda progress: run(repeats, seconds, seed, peer_quality, progress), page, as_json, out_file)


def page(result: dict[str, Any]) -> Iterator[RenderableType]:
    """The rates, the times to the goal, and the targets."""
    yield rates_table(result["entries"], "Steps per CPU second, one core", "steps/s", "sb3", "times SB3")
    yield ""
    reached = result["quality"]
    title = f"CPU seconds to {reached['goal']:.3f} of the maximum, 95 % of the plateau of {reached['plateau']:.3f}"
    found = table("entry", "seconds", "quartiles", "steps", "reached", title=title)
    for entry in reached["entries"].values():
        low, high = entry["interquartile_range"]
        arrived = f"{sum(entry['reached'])} of {len(entry['reached'])}"
        found.add_row(entry["label"], f"{entry['median']:,.3g}", f"{low:,.3g} – {high:,.3g}", f"{median(entry['moves']):,.0f}", arrived)
    yield found
    yield ""
    yield targets_table(result)


if __name__ == "__main__":
    start(main)
