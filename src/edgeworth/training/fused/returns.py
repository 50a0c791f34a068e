"""What a move was worth: advantages and returns from the rewards of a rollout.

PPO: generalised advantage estimation (Schulman et al. 2016) across the ends of episodes, with the value of the situation after the last
step. REINFORCE: discounted Monte-Carlo returns of whole episodes, less a baseline that was fixed before the episode was played.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, Real, compiled_bare, compiled_within
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, TURN_LIMIT
from edgeworth.training.fused.rollout import RolloutBuffer
from edgeworth.training.fused.two_seats import Seats

BASELINE_RATE = 0.1
"""How far the running baseline moves towards the mean of an iteration."""
MOST_MOVES = TURN_LIMIT // 2 + 1
"""An agent's moves in the longest episode that there can be, and none."""
VALUE, ADVANTAGE, PAID, GOES_ON = range(4)
"""What is carried backwards along each side's trajectory in self-play."""


@compiled_bare
def estimate_advantages(buffer: RolloutBuffer, slots: Int, steps: Int, gamma: Real, gae_lambda: Real) -> None:
    """δ = r + γ V' (1 - end) - V, A = δ + γ λ (1 - end) A', R = A + V."""
    for i in range(slots):
        advantage = 0.0
        following = np.float64(buffer.values[np.uint64(steps * slots + i)])
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            goes_on = 0.0 if buffer.ended[row] else 1.0
            value = np.float64(buffer.values[row])
            delta = np.float64(buffer.rewards[row]) + gamma * following * goes_on - value
            advantage = delta + gamma * gae_lambda * goes_on * advantage
            buffer.advantages[row] = advantage
            buffer.returns[row] = advantage + value
            buffer.baselines[row] = value
            following = value


@compiled_within
def carry(carried: Array, side: Int, value: Real, advantage: Real, paid: Real, goes_on: Real) -> None:
    """Remember what follows a side's earlier move."""
    carried[VALUE, side], carried[ADVANTAGE, side], carried[PAID, side], carried[GOES_ON, side] = value, advantage, paid, goes_on


@compiled_bare
def estimate_both(buffer: RolloutBuffer, seats: Seats, slots: Int, steps: Int, gamma: Real, gae_lambda: Real) -> None:
    """δ = r + γ V' (1 - end) - V and A = δ + γ λ (1 - end) A' along each side's own moves; R = A + V.

    The last step's own advantages are not known and count as 0: what comes before it is judged by the value there.
    """
    ahead = seats.carried
    for i in range(slots):
        last = np.uint64(steps * slots + i)
        carry(ahead, AGENT, 0.0, 0.0, 0.0, 0.0)
        carry(ahead, PARTNER, 0.0, 0.0, 0.0, 0.0)
        carry(ahead, buffer.sides[last], np.float64(buffer.values[last]), 0.0, 0.0, 1.0)
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            side, value, advantage = buffer.sides[row], np.float64(buffer.values[row]), 0.0
            if buffer.ended[row]:
                carry(ahead, side, 0.0, 0.0, 0.0, 0.0)
                carry(ahead, 1 - side, 0.0, 0.0, np.float64(seats.other_paid[row]), 0.0)
            if back > 0:
                goes_on = ahead[GOES_ON, side]
                delta = np.float64(buffer.rewards[row]) + ahead[PAID, side] + gamma * ahead[VALUE, side] * goes_on - value
                advantage = delta + gamma * gae_lambda * goes_on * ahead[ADVANTAGE, side]
            buffer.advantages[row] = advantage
            buffer.returns[row] = advantage + value
            buffer.baselines[row] = value
            carry(ahead, side, value, advantage, 0.0, 1.0)


@compiled_bare
def add_up_returns(buffer: RolloutBuffer, slots: Int, steps: Int, gamma: Real) -> None:
    """G = r + γ (1 - end) G', over whole episodes; slots that rest have none."""
    for i in range(slots):
        total = 0.0
        for back in range(steps):
            row = np.uint64((steps - 1 - back) * slots + i)
            if buffer.played[row]:
                total = np.float64(buffer.rewards[row]) + (0.0 if buffer.ended[row] else gamma * total)
                buffer.returns[row] = total


def subtract_baseline(buffer: RolloutBuffer, rows: int, baseline: str) -> None:
    """Advantages as returns less the value that the network gave the situation (`learned`), or less nothing (`none`)."""
    buffer.baselines[:rows] = buffer.values[:rows] if baseline == "learned" else 0.0
    buffer.advantages[:rows] = buffer.returns[:rows] - buffer.baselines[:rows]


class RunningBaseline:
    """A running mean of returns for each number of moves that the agent has made; the first iteration that has a number sets it."""

    def __init__(self) -> None:
        self.mean, self.seen = np.zeros(MOST_MOVES), np.zeros(MOST_MOVES, np.bool_)

    def of(self, made: NDArray[np.int64], returns: NDArray[np.float32]) -> NDArray[np.float32]:
        """The baseline of every sample of an iteration; afterwards the means move towards those of the iteration."""
        counts = np.bincount(made, minlength=MOST_MOVES)
        now, found = np.bincount(made, returns, minlength=MOST_MOVES) / np.maximum(counts, 1), counts > 0
        new = found & ~self.seen
        self.mean[new] = now[new]
        self.seen |= found
        baselines = self.mean[made].astype(np.float32)
        self.mean[found] += BASELINE_RATE * (now[found] - self.mean[found])
        return baselines


def subtract_running_means(buffer: RolloutBuffer, rows: int, baseline: RunningBaseline) -> None:
    """Advantages as returns less their running mean by the number of moves made before."""
    played = np.flatnonzero(buffer.played[:rows])
    returns = buffer.returns[played]
    buffer.baselines[played] = baseline.of(buffer.made[played], returns)
    buffer.advantages[played] = returns - buffer.baselines[played]


def explained_variance(buffer: RolloutBuffer, rows: NDArray[np.int64]) -> float:
    """1 - Var(return - baseline) / Var(return) over some rows; not a number where all returns are equal."""
    results, errors = buffer.returns[rows], buffer.returns[rows] - buffer.baselines[rows]
    spread = float(np.var(results, dtype=np.float64))
    return 1.0 - float(np.var(errors, dtype=np.float64)) / spread if spread > 0.0 else nan
