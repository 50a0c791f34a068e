"""What hints cost: the vector environment with the injector and random hints over the same environment without, in one run.

Both play random legal actions; the ratio of their times is taken within each round, and the part above 1 is what the injector costs. Rounds
are short and many, since the machine may be shared.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from benchmarks.measuring import Measure, Progress, mark, measure_rates, repeated
from edgeworth.envs.hint_injector import HintInjectorVectorEnv

SIZE = 1024
MARK = 0.15
LABELS = {"bare": f"vector environment, N={SIZE}", "hinted": f"with random hints at every step, N={SIZE}"}


def injector_mark(repeats: int = 101, seconds: float = 0.02, seed: int = 0, progress: Progress = lambda *_: None) -> dict[str, Any]:
    """How much longer a step takes with random hints, as a share of the step without."""
    rates = measure_rates({"bare": play(seed, hinted=False), "hinted": play(seed, hinted=True)}, repeats, seconds, progress, LABELS)
    longer = [bare / hinted - 1.0 for bare, hinted in zip(rates["bare"], rates["hinted"], strict=True)]
    return mark("injector with random hints over the bare vector environment", longer, "<=", MARK, "")


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
