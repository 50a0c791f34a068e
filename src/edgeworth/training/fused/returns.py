"""What a move was worth: advantages and returns from the rewards on a tape.

PPO: generalised advantage estimation (Schulman et al. 2016) across the ends of episodes, with the value of the situation after the last
step. REINFORCE: discounted Monte-Carlo returns of whole episodes, less a baseline that was fixed before the episode was played.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Real, compiled_apart, compiled_bare
from edgeworth.training.fused.rollout import Tape

BASELINE_RATE = 0.1
"""How far the running baseline moves towards the mean of an iteration."""


@compiled_bare
def estimate_advantages(
    tape: Tape, slots: Int, steps: Int, gamma: Real, gae_lambda: Real, advantages: Array, returns: Array, baselines: Array
) -> None:
    """δ = r + γ V' (1 - end) - V, A = δ + γ λ (1 - end) A', R = A + V."""
    for i in range(slots):
        advantage = 0.0
        following = np.float64(tape.values[np.uint64(steps * slots + i)])
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            goes_on = 0.0 if tape.ended[row] else 1.0
            value = np.float64(tape.values[row])
            delta = np.float64(tape.rewards[row]) + gamma * following * goes_on - value
            advantage = delta + gamma * gae_lambda * goes_on * advantage
            advantages[row] = advantage
            returns[row] = advantage + value
            baselines[row] = value
            following = value


@compiled_bare
def add_up_returns(tape: Tape, slots: Int, steps: Int, gamma: Real, returns: Array) -> None:
    """G = r + γ (1 - end) G', over whole episodes; slots that rest have none."""
    for i in range(slots):
        total = 0.0
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            if tape.played[row]:
                total = np.float64(tape.rewards[row]) + (0.0 if tape.ended[row] else gamma * total)
                returns[row] = total


@compiled_bare
def subtract_values(tape: Tape, rows: Int, returns: Array, baselines: Array, advantages: Array) -> None:
    """Baseline: the value that the network gave the situation when it was played."""
    for i in range(rows):
        row = np.uint64(i)
        baselines[row] = tape.values[row]
        advantages[row] = returns[row] - tape.values[row]


@compiled_bare
def subtract_nothing(tape: Tape, rows: Int, returns: Array, baselines: Array, advantages: Array) -> None:
    """No baseline."""
    for i in range(rows):
        row = np.uint64(i)
        baselines[row] = np.float32(0.0)
        advantages[row] = returns[row]


@compiled_apart
def subtract_running_means(tape: Tape, rows: Int, returns: Array, baselines: Array, advantages: Array, means: Array, seen: Array) -> None:
    """Baseline: the running mean of returns by the number of moves made before; afterwards it moves towards the new ones.

    A number of moves that was never seen before begins with the mean of now.
    """
    sums, counts = np.zeros(means.shape[0]), np.zeros(means.shape[0])
    for i in range(rows):
        row = np.uint64(i)
        if tape.played[row]:
            sums[tape.made[row]] += np.float64(returns[row])
            counts[tape.made[row]] += 1.0
    for k in range(means.shape[0]):
        if counts[k] > 0.0 and not seen[k]:
            means[k] = sums[k] / counts[k]
            seen[k] = True
    for i in range(rows):
        row = np.uint64(i)
        if tape.played[row]:
            baselines[row] = means[tape.made[row]]
            advantages[row] = returns[row] - baselines[row]
    for k in range(means.shape[0]):
        if counts[k] > 0.0:
            means[k] += BASELINE_RATE * (sums[k] / counts[k] - means[k])
