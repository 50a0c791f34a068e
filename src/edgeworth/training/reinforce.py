"""REINFORCE for negotiators (Williams 1992), in torch: the readable reference, read top to bottom.

An iteration plays whole episodes, and every move is made likelier in proportion to what the rest of its episode paid, less a baseline.
Subtracting one that does not depend on the move leaves the expected gradient as it is and takes most of the noise out. There are three:

- `learned`: the network's value of the situation, fitted to the returns at the same time;
- `running`: a mean of returns over the iterations so far, one for each number of moves that the agent has made in its episode;
- `none`: nothing.

Every slot plays `rollout` moves and then on to the end of the episode it is in; the slots that are done rest. So every return is that of a
finished episode and nothing has to be estimated; and since a slot stops where an episode ends, whichever way it ends, no kind of episode is
favoured. Each sample is used once, for one step of the optimizer with its minibatch: what it would teach a second time would no longer be
the gradient of this policy. (PPO exists to use it again.)

Masks, the scale of rewards, statistics and the fused backend are those of `ppo.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Policy
from edgeworth.training.fused.order import shuffled
from edgeworth.training.fused.returns import RunningBaseline
from edgeworth.training.ppo import end_iteration, normalised
from edgeworth.training.practice import Metrics, State
from edgeworth.training.settings import ReinforceSettings
from edgeworth.training.torch_learner import Samples, TorchLearner

# Returns


def returns_of(rewards: NDArray[np.float32], ended: NDArray[np.float32], gamma: float) -> NDArray[np.float32]:
    """What every move and those after it in its episode paid, (T, N): G_t = r_t + γ G_{t+1}, cut where the episode ended."""
    returns = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1], np.float32)
    for t in range(len(rewards) - 1, -1, -1):
        returns[t] = following = rewards[t] + np.float32(gamma) * (1.0 - ended[t]) * following
    return returns


# The loss


def reinforce_loss(policy: Policy, settings: ReinforceSettings, samples: Samples, bonus: float | Tensor) -> tuple[Tensor, list[Tensor]]:
    """The loss of a minibatch, whose gradient is that of the expected return with its sign reversed; and its statistics."""
    outlook = policy(samples.features, samples.legal, samples.caps)
    log_probs = policy.log_prob(outlook, samples.acts, samples.shares)
    advantages = normalised(samples.advantages) if settings.normalize_advantages else samples.advantages
    policy_loss = -(advantages * log_probs).mean()
    value_loss = 0.5 * (outlook.values - samples.returns).square().mean()
    entropies = policy.entropies(outlook)
    entropy = entropies.move.mean()
    weight = settings.value if settings.baseline == "learned" else 0.0
    loss = policy_loss + weight * value_loss - bonus * entropy
    log_ratio = (log_probs - samples.log_probs).detach()
    approx_kl = ((log_ratio.exp() - 1.0) - log_ratio).mean()  # how far the updates of this iteration have moved the policy
    parts = [part.mean() for part in entropies.parts]
    return loss, [policy_loss, value_loss, entropy, *parts, approx_kl, torch.zeros_like(approx_kl)]


# The learner


class Reinforce(TorchLearner):
    """Plays episodes to their ends, and learns from them once."""

    settings: ReinforceSettings

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.baseline = RunningBaseline()

    def longest_rollout(self) -> int:
        """The moves of a rollout, and then those of the longest episode."""
        return self.settings.rollout + (self.game.max_turns + 1) // 2

    def iterate(self) -> Metrics:
        """One rollout of whole episodes and one pass of updates over it; returns the metrics."""
        rate = self.begin_iteration()
        rewards, ended, made, valid = self.rollout()
        places = np.flatnonzero(valid)
        returns = returns_of(rewards, ended, self.settings.gamma)
        where, outcomes = (torch.from_numpy(array).to(self.device) for array in (places, returns.ravel()[places]))
        baseline = self.baselines(made.ravel()[places], returns.ravel()[places], where)
        self.samples.returns.view(-1)[where] = outcomes
        self.samples.advantages.view(-1)[where] = outcomes - baseline
        order = torch.from_numpy(shuffled(self.seed, self.iteration, 0, len(places))).to(self.device)
        statistics = torch.stack(self.learn(where[order])).cpu().numpy()
        return end_iteration(self, rate, statistics, len(places), baseline, outcomes)

    @torch.no_grad()
    def rollout(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64], NDArray[np.bool_]]:
        """Fill the samples; rewards, ends, own moves made before, and which entries are samples, all (T, N)."""
        most, episodes = self.samples.acts.shape
        rewards, ended = np.zeros((most, episodes), np.float32), np.zeros((most, episodes), np.float32)
        made, valid = np.zeros((most, episodes), np.int64), np.zeros((most, episodes), np.bool_)
        playing = np.ones(episodes, np.bool_)
        for t in range(most):
            made[t], valid[t] = self.practice.moves, playing
            points, over = self.make_moves(t, None if playing.all() else playing)
            rewards[t], ended[t] = points.cpu().numpy(), over.cpu().numpy()
            if t >= self.settings.rollout - 1:
                playing = playing & (ended[t] == 0.0)
            if not playing.any():
                break
        return rewards, ended, made, valid

    def baselines(self, made: NDArray[np.int64], returns: NDArray[np.float32], where: Tensor) -> Tensor:
        """The baseline of every sample."""
        if self.settings.baseline == "learned":
            return self.samples.values.flatten()[where]
        if self.settings.baseline == "running":
            return torch.from_numpy(self.baseline.of(made, returns)).to(self.device)
        return torch.zeros(len(where), device=self.device)

    def loss(self, samples: Samples) -> tuple[Tensor, list[Tensor]]:
        """The loss of a minibatch, and its statistics."""
        return reinforce_loss(self.policy, self.settings, samples, self.bonus)

    def state(self) -> State:
        return {**super().state(), "baseline_mean": self.baseline.mean.copy(), "baseline_seen": self.baseline.seen.copy()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state(state)
        self.baseline.mean[:], self.baseline.seen[:] = state["baseline_mean"], state["baseline_seen"]
