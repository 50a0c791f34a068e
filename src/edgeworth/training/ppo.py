"""Proximal policy optimisation, in torch: the readable reference for both games, read top to bottom.

An iteration plays `rollout` moves in each of `num_envs` episodes, estimates how much better every move was than expected (generalised
advantage estimation, Schulman et al. 2016), and then makes several passes over these samples, in minibatches, with the clipped objective of
Schulman et al. 2017: a move's probability is pushed up or down by its advantage, until it has changed by a factor of 1 ± clip.

It serves any game that brings heads, features and a source of episodes (`game_learner.py`). Common to all:

- Masks. What was legal is stored with every sample and masks the loss as it masked the move; in bargaining, a share counts only where
  the act states one (`agents/policy.py`).
- Ends. Where an episode ends, nothing of the next one is counted towards it. The time left is part of the observation, so running out of
  it is an end like any other; only after the last move of a rollout is the network's own value used for what is still to come.
- Scale. Rewards are multiplied by a constant, so that returns are near 1; everything that is logged about them is in points.

Settings are `settings.PPOSettings`. `PPO` negotiates; its fused backend (`training/fused/`) means the same by every setting, and `gpu.py`
runs it on a GPU as a recorded graph of kernels. `market_learner.MarketPPO` designs auctions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Network
from edgeworth.training.fused.order import shuffled
from edgeworth.training.game_learner import GameLearner, Rollout, Samples
from edgeworth.training.practice import Metrics
from edgeworth.training.settings import PPOSettings
from edgeworth.training.torch_learner import Samples as NegotiationSamples
from edgeworth.training.torch_learner import TorchLearner

STATISTICS = ("policy_loss", "value_loss", "entropy", "{}", "{}", "approx_kl", "clip_fraction", "gradient_norm")
"""The statistics of every update, in this order; in between, the two parts of the entropy under the names that the heads give them."""
KL, NORM = STATISTICS.index("approx_kl"), STATISTICS.index("gradient_norm")


# Advantages


def advantages_of(rewards: Tensor, ended: Tensor, values: Tensor, last_values: Tensor, gamma: float, lam: float) -> Tensor:
    """Generalised advantages (T, N): A_t = δ_t + γλ A_{t+1} with δ_t = r_t + γ V_{t+1} − V_t, both cut where an episode ended."""
    advantages = torch.empty_like(rewards)
    following, goes_on = last_values, 1.0 - ended
    advantage = torch.zeros_like(last_values)
    for t in range(len(rewards) - 1, -1, -1):
        surprise = rewards[t] + gamma * goes_on[t] * following - values[t]
        advantage = surprise + gamma * lam * goes_on[t] * advantage
        advantages[t], following = advantage, values[t]
    return advantages


def normalised(advantages: Tensor) -> Tensor:
    """Advantages with mean 0 and deviation 1 in their minibatch."""
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)


# The loss


def ppo_loss(policy: Network, settings: PPOSettings, samples: Rollout, bonus: float | Tensor) -> tuple[Tensor, list[Tensor]]:
    """The loss of a minibatch, with this weight of the entropy, and its statistics."""
    outlook = policy(*samples.situation)
    log_ratio = policy.log_prob(outlook, *samples.move) - samples.log_probs
    ratio = log_ratio.exp()
    advantages = normalised(samples.advantages) if settings.normalize_advantages else samples.advantages
    clipped = ratio.clamp(1.0 - settings.clip, 1.0 + settings.clip)
    policy_loss = -torch.minimum(advantages * ratio, advantages * clipped).mean()
    value_loss = value_loss_of(outlook.values, samples, settings.clip_value)
    entropies = policy.entropies(outlook)
    entropy = entropies.move.mean()
    loss = policy_loss + settings.value * value_loss - bonus * entropy
    approx_kl = ((ratio - 1.0) - log_ratio).mean()  # k3 of Schulman's note on approximating KL: low variance, never negative
    clip_fraction = ((ratio - 1.0).abs() > settings.clip).float().mean()
    parts = [part.mean() for part in entropies.parts]
    return loss, [policy_loss, value_loss, entropy, *parts, approx_kl, clip_fraction]


def value_loss_of(values: Tensor, samples: Rollout, clip: float | None) -> Tensor:
    """Half the mean squared error of the values; with `clip`, the worse of that and of values that moved no further than it allows."""
    errors = (values - samples.returns).square()
    if clip is not None:
        near = samples.values + (values - samples.values).clamp(-clip, clip)
        errors = torch.maximum(errors, (near - samples.returns).square())
    return 0.5 * errors.mean()


# The learner


class GamePPO(GameLearner[Samples]):
    """Plays, and learns from what it played."""

    settings: PPOSettings

    def iterate(self) -> Metrics:
        """One rollout and several passes of updates over it; returns the metrics."""
        size = self.samples.values.numel()
        rate = self.begin_iteration()
        statistics = self.play_and_learn().cpu().numpy()
        return end_iteration(self, rate, statistics, size, self.samples.values, self.samples.returns)

    def play_and_learn(self) -> Tensor:
        """A rollout and the passes over it, which stop early at the KL divergence `target_kl`; the statistics of all updates."""
        self.play()
        statistics: list[Tensor] = []
        for epoch in range(self.settings.epochs):
            latest = self.learn(self.order(epoch))
            statistics += latest
            if self.settings.target_kl is not None and self.pass_kl(latest) > self.settings.target_kl:
                break
        return torch.stack(statistics)

    @torch.no_grad()
    def play(self) -> None:
        """Fill the samples with moves, and with how much better each was than expected."""
        samples, settings = self.samples, self.settings
        rewards, ended = torch.zeros_like(samples.values), torch.zeros_like(samples.values)
        for t in range(settings.rollout):
            rewards[t], ended[t] = self.make_moves(t)
        last_values = self.policy(*self.episodes.look()).values
        samples.advantages.copy_(advantages_of(rewards, ended, samples.values, last_values, settings.gamma, settings.gae_lambda))
        samples.returns.copy_(samples.advantages + samples.values)

    def order(self, epoch: int) -> Tensor:
        """The numbers of all samples in the random order of one pass."""
        return torch.from_numpy(shuffled(self.seed, self.iteration, epoch, self.samples.values.numel())).to(self.device)

    def loss(self, samples: Samples) -> tuple[Tensor, list[Tensor]]:
        """The loss of a minibatch, and its statistics."""
        return ppo_loss(self.policy, self.settings, samples, self.bonus)

    def pass_kl(self, statistics: list[Tensor]) -> float:
        """The KL divergence of a pass with these statistics."""
        return approx_kl(torch.stack(statistics).cpu().numpy(), minibatch_sizes(self.samples.values.numel(), self.settings.minibatch))


class PPO(TorchLearner, GamePPO[NegotiationSamples]):
    """PPO for negotiators."""

    settings: PPOSettings


# The log


def end_iteration(
    learner: GameLearner[Any], rate: float, statistics: NDArray[np.float32], samples: int, expected: Tensor, returns: Tensor
) -> Metrics:
    """Count an iteration with this learning rate, whose updates had these statistics; returns the metrics."""
    learner.adam.check(statistics, learner.iteration + 1)
    minibatch = learner.settings.minibatch
    epochs = len(statistics) // len(minibatch_sizes(samples, minibatch))
    learner.steps += samples
    learner.iteration += 1
    return {
        **learner.episodes.report(),
        **means_of(statistics, samples, minibatch, epochs, learner.policy.parts),
        "epochs": epochs,
        "explained_variance": explained_variance(expected, returns),
        "learning_rate": rate,
        "steps": learner.steps,
        "updates": learner.adam.updates,
    }


def means_of(statistics: NDArray[np.float32], samples: int, minibatch: int, epochs: int, parts: tuple[str, str]) -> Metrics:
    """Means over the samples of an iteration; of the norm, over its updates; of the KL divergence, over its last pass alone."""
    sizes = minibatch_sizes(samples, minibatch)
    means = np.average(statistics, axis=0, weights=np.tile(sizes, epochs))
    names = (*STATISTICS[:3], *parts, *STATISTICS[5:])
    named = dict(zip(names, means.tolist(), strict=True))
    norm = float(statistics[:, NORM].mean(dtype=np.float64))
    return {**named, "approx_kl": approx_kl(statistics[-len(sizes) :], sizes), "gradient_norm": norm}


def minibatch_sizes(samples: int, minibatch: int) -> NDArray[np.int64]:
    """How many samples the minibatches of a pass have; the last may have fewer."""
    return np.minimum(minibatch, samples - np.arange(0, samples, minibatch))


def approx_kl(statistics: NDArray[np.float32], sizes: NDArray[np.int64]) -> float:
    """The KL divergence of a pass: the mean over its samples."""
    return float(np.average(statistics[:, KL], weights=sizes))


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 − Var(R − V) / Var(R): 1 where the values predict every return, 0 where they are no better than a constant."""
    spread = float(returns.var(correction=0))
    return 1.0 - float((returns - values).var(correction=0)) / spread if spread > 0.0 else float("nan")
