"""How fast negotiators are trained: moves per CPU second, and CPU seconds to a quality, at the published settings.

Contenders learn the same game with the same network, settings and meaning, each on one thread, and take turns within a round, so that only
ratios within a round count: the fused backend, the torch backend, and the torch backend written with distribution objects as most PPO
code is. The update's share of the processor is its floating-point work over the rate of a large matrix product measured in the same round.

Quality is the share of the maximum over the episodes of training, smoothed; its mark is 95 % of where long runs end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg.blas import sgemm  # type: ignore[import-untyped]

from benchmarks.distribution_ppo import DistributionPPO
from benchmarks.measuring import Measure, Progress, machine_facts, mark, measure_rates, repeated, summary
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.training.fused.learner import FusedLearner, shape_of
from edgeworth.training.learner import Learner
from edgeworth.training.ppo import PPO
from edgeworth.training.run import torch_device
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings

GAME = BargainingConfig()
PUBLISHED = PPOSettings()
FAST = PPOSettings(learning_rate=6e-4, entropy=0.01)
LABELS = {
    "fused": "fused, PPO",
    "fused_256": "fused, PPO, minibatch 256",
    "fused_hints": "fused, PPO with random hints",
    "fused_reinforce": "fused, REINFORCE",
    "torch": "torch, PPO",
    "distributions": "torch with distribution objects, PPO",
}
MATRIX = 1024
SMOOTHING = 0.2
PLATEAU = 0.625
"""Share of the maximum at which long runs of PPO end on `classic`; 95 % of it is the mark of quality."""


def run(
    repeats: int = 5, seconds: float = 1.0, seed: int = 0, progress: Progress = lambda *_: None, quality: bool = True
) -> dict[str, Any]:
    """Measure everybody, and compare with the marks."""
    torch_device("cpu")
    rates = measure_rates(contenders(seed), repeats, seconds, progress, LABELS)
    shares = [update_share(seed) for _ in range(repeats)]
    fused = rates["fused"]
    marks = [
        mark("fused over torch", ratios(fused, rates["torch"]), ">=", 30.0, "x"),
        mark("fused over torch with distribution objects", ratios(fused, rates["distributions"]), ">=", 60.0, "x"),
        mark("REINFORCE over PPO, fused", ratios(rates["fused_reinforce"], fused), ">=", 2.0, "x"),
        mark("what random hints cost", [a / b - 1.0 for a, b in zip(fused, rates["fused_hints"], strict=True)], "<=", 0.15, ""),
        mark("update over the rate of a matrix product, minibatch 64", shares, ">=", 0.25, ""),
    ]
    result: dict[str, Any] = {"machine": machine_facts(), "rates": {name: summary(values) for name, values in rates.items()}}
    if quality:
        goal = 0.95 * PLATEAU
        result["quality"] = {"share_of_maximum": goal}
        for name, settings, wanted in (("published settings", PUBLISHED, 5.0), ("ppo_fast", FAST, 2.5)):
            times = [seconds_to(goal, settings, seed + number) for number in range(3)]
            marks.append(mark(f"CPU seconds to {goal:.3f} of the maximum, {name}", times, "<=", wanted, "s"))
    return {**result, "marks": marks}


def contenders(seed: int) -> dict[str, Measure]:
    """Everybody who takes a turn."""
    shape, hints, reinforce = shape_of(GAME, PUBLISHED), HintSettings("random"), ReinforceSettings()
    made: dict[str, Learner] = {
        "fused": FusedLearner(GAME, PUBLISHED, shape, seed),
        "fused_256": FusedLearner(GAME, replace(PUBLISHED, minibatch=256), shape, seed),
        "fused_hints": FusedLearner(GAME, PUBLISHED, shape_of(GAME, PUBLISHED, hints), seed, hints),
        "fused_reinforce": FusedLearner(GAME, reinforce, shape, seed),
        "torch": PPO(GAME, PUBLISHED, shape, seed),
        "distributions": DistributionPPO(GAME, PUBLISHED, shape, seed),
    }
    return {name: repeated(iteration_of(learner)) for name, learner in made.items()}


def iteration_of(learner: Learner) -> Callable[[], int]:
    """One iteration, and how many moves it took."""

    def iterate() -> int:
        before = learner.steps
        learner.iterate()
        return learner.steps - before

    return iterate


def ratios(numerators: list[float], denominators: list[float]) -> list[float]:
    """Ratios within rounds."""
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


def update_share(seed: int, iterations: int = 20) -> float:
    """The floating-point rate of the update over that of a large matrix product."""
    learner = FusedLearner(GAME, PUBLISHED, shape_of(GAME, PUBLISHED), seed)
    learner.iterate()
    matrix = np.asfortranarray(np.ones((MATRIX, MATRIX), np.float32))
    product, update = 0.0, 0.0
    for _ in range(iterations):
        product += cpu_seconds(lambda: sgemm(1.0, matrix, matrix))
        whole = cpu_seconds(learner.iterate)
        update += whole - cpu_seconds(learner._play)
    samples = PUBLISHED.epochs * PUBLISHED.num_envs * PUBLISHED.rollout
    return (update_work(learner.shape) * samples / update) / (2.0 * MATRIX**3 / product)


def update_work(shape: PolicyShape) -> float:
    """Floating-point operations of the matrix products of one sample, forward and backward; the inputs need no gradient."""
    weights = sum(int(np.prod(size)) for name, size in shape.tensors().items() if name.endswith("weight"))
    return 2.0 * (3 * weights - shape.hidden * shape.features)


def cpu_seconds(work: Callable[[], Any]) -> float:
    """How long some work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def seconds_to(goal: float, settings: PPOSettings, seed: int, most: int = 6_000_000) -> float:
    """CPU seconds until the smoothed share of the maximum reaches the goal; infinite where it does not within so many moves."""
    learner = FusedLearner(GAME, settings, shape_of(GAME, settings), seed, total_steps=most)
    begin, share = time.process_time(), 0.0
    while learner.steps < most:
        now = learner.iterate()["share_of_maximum"]
        share = now if learner.iteration == 1 else share + SMOOTHING * (now - share)
        if share >= goal:
            return time.process_time() - begin
    return float("inf")
