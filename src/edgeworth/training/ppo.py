"""Proximal policy optimisation for negotiators, in torch: the readable reference, read top to bottom.

An iteration plays `rollout` moves in each of `num_envs` episodes, estimates how much better every move was than expected (generalised
advantage estimation, Schulman et al. 2016), and then makes several passes over these samples, in minibatches, with the clipped objective of
Schulman et al. 2017: a move's probability is pushed up or down by its advantage, until it has changed by a factor of 1 ± clip.

What this game asks for:

- Masks. The legal acts and the pool are stored with every sample and mask the loss as they masked the move. A share counts only where
  the act states one (`agents/policy.py`).
- Ends. Where an episode ends, nothing of the next one is counted towards it. The turn limit is part of the observation, so reaching it
  is an end like any other; only after the last move of a rollout does the network's own value stand in for what is still to come.
- Scale. Rewards are multiplied by a constant, so that returns are near 1; everything that is logged about them is in points.

The fused backend (`training/fused/`) means the same by every setting. On a GPU the talks are there too, and a whole iteration, from the
first move to the last update, is recorded once as a graph of kernels and replayed. Where Python has to be asked under way (hints, a
partner from outside the rules, a stop at a KL divergence) only the updates are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.training.fused.order import shuffled
from edgeworth.training.learner import Metrics, State, scheduled
from edgeworth.training.optimizer import FlatAdam, Recorded, UpdateGraph
from edgeworth.training.practice import Practice
from edgeworth.training.reward_scale import reward_scale_of
from edgeworth.training.settings import HintSettings, PPOSettings
from edgeworth.training.talks import SteppedTalks, Talks

STATISTICS = ("policy_loss", "value_loss", "entropy", "entropy_act", "entropy_share", "approx_kl", "clip_fraction", "gradient_norm")
"""What every update notes down, in this order."""


# Samples


class Samples(NamedTuple):
    """Moves with all that learning from them needs: (T, N) after a rollout, flat in the update."""

    features: Tensor
    legal: Tensor
    caps: Tensor
    acts: Tensor
    shares: Tensor
    log_probs: Tensor
    """Of the moves, by the network that made them."""
    values: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def empty(cls, moves: int, episodes: int, features: int, device: torch.device) -> Samples:
        """Room for a rollout."""

        def room(*width: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((moves, episodes, *width), dtype=dtype, device=device)

        whole = torch.int64
        moves_made = (room(dtype=whole), room(3, dtype=whole))
        return cls(room(features), room(5, dtype=torch.int8), room(3, dtype=torch.int32), *moves_made, room(), room(), room(), room())

    def minibatches(self, order: Tensor, size: int) -> Iterator[tuple[Tensor, ...]]:
        """The samples in this order (number t · N + episode), in pieces; the last may be smaller."""
        return zip(*(torch.split(array.flatten(0, 1)[order], size) for array in self), strict=True)


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


def ppo_loss(policy: Policy, settings: PPOSettings, samples: Samples, bonus: float | Tensor) -> tuple[Tensor, list[Tensor]]:
    """The loss of a minibatch, with this weight of the entropy, and what is noted about it."""
    outlook = policy(samples.features, samples.legal, samples.caps)
    log_ratio = policy.log_prob(outlook, samples.acts, samples.shares) - samples.log_probs
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
    heads = (entropies.act.mean(), entropies.shares.sum(1).mean())
    return loss, [policy_loss, value_loss, entropy, *heads, approx_kl, clip_fraction]


def value_loss_of(values: Tensor, samples: Samples, clip: float | None) -> Tensor:
    """Half the mean squared error of the values; with `clip`, the worse of that and of values that moved no further than it allows."""
    errors = (values - samples.returns).square()
    if clip is not None:
        near = samples.values + (values - samples.values).clamp(-clip, clip)
        errors = torch.maximum(errors, (near - samples.returns).square())
    return 0.5 * errors.mean()


# The learner


class PPO:
    """Plays, and learns from what it played."""

    def __init__(
        self,
        game: BargainingConfig,
        settings: PPOSettings,
        shape: PolicyShape,
        seed: int,
        hints: HintSettings | None = None,
        total_steps: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.settings, self.shape, self.seed, self.total_steps = settings, shape, seed, total_steps
        self.device = torch.device(device)
        self.practice = Practice(game, hints or HintSettings(), settings.num_envs, seed, shape)
        self.scale = reward_scale_of(game) if settings.reward_scale is None else settings.reward_scale
        self.policy = Policy(shape, first_parameters(shape, seed)).to(self.device)
        self.adam = FlatAdam(self.policy, settings.learning_rate, settings.gradient_norm)
        self.samples = Samples.empty(settings.rollout, settings.num_envs, shape.inputs, self.device)
        self.bonus = torch.tensor(settings.entropy, device=self.device)
        self.orders = torch.zeros((settings.epochs, settings.rollout * settings.num_envs), dtype=torch.int64, device=self.device)
        self.steps, self.iteration = 0, 0
        self.talks, self.unbroken = self._seat()
        self._update = UpdateGraph(self._update_on, self.device)
        self._iteration = Recorded(self._play_and_learn, self.device)

    def _seat(self) -> tuple[Talks, bool]:
        """The talks, and whether Python has no say in an iteration."""
        practice = self.practice
        if self.device.type != "cuda" or practice.feed is not None or practice.batch.outside is not None:
            return SteppedTalks(practice, self.scale, self.device), False
        from edgeworth.training.gpu_talks import GpuTalks

        return GpuTalks(practice, self.scale, self.device), self.settings.target_kl is None

    def iterate(self) -> Metrics:
        """One rollout, several passes of updates over it, and what there is to tell."""
        settings, size = self.settings, self.settings.rollout * self.settings.num_envs
        self.adam.learning_rate = rate = scheduled(settings.learning_rate, settings.lr_schedule, self.steps, self.total_steps)
        self.bonus.fill_(scheduled(settings.entropy, settings.entropy_schedule, self.steps, self.total_steps))
        for epoch, order in enumerate(self.orders):
            order.copy_(torch.from_numpy(shuffled(self.seed, self.iteration, epoch, size)))
        noted = self._iteration() if self.unbroken else self._play_and_stop()
        statistics = noted.cpu().numpy()
        self.adam.check(statistics, self.iteration + 1)
        epochs = len(statistics) // len(minibatch_sizes(size, settings.minibatch))
        self.steps += size
        self.iteration += 1
        return {
            **self.talks.report(),
            **means_of(statistics, size, settings.minibatch, epochs),
            "epochs": epochs,
            "explained_variance": explained_variance(self.samples.values, self.samples.returns),
            "learning_rate": rate,
            "steps": self.steps,
            "updates": self.adam.updates,
        }

    def _play_and_learn(self) -> Tensor:
        """A whole iteration without a look at any number; the statistics of all updates."""
        self.adam.keep()
        self.play()
        return torch.stack([note for order in self.orders for note in self.learn(order, self._update_on)])

    def _play_and_stop(self) -> Tensor:
        """The same, with a look at the KL divergence after every pass."""
        self.adam.keep()
        self.play()
        target, statistics = self.settings.target_kl, []
        for order in self.orders:
            notes = self.learn(order, self._update)
            statistics += notes
            if (
                target is not None
                and approx_kl(torch.stack(notes).cpu().numpy(), minibatch_sizes(order.numel(), self.settings.minibatch)) > target
            ):
                break
        return torch.stack(statistics)

    @torch.no_grad()
    def play(self) -> None:
        """Fill the samples with moves, and with how much better each was than expected."""
        samples, settings, talks = self.samples, self.settings, self.talks
        rewards, ended = torch.zeros_like(samples.values), torch.zeros_like(samples.values)
        for t in range(settings.rollout):
            situation = talks.look()
            outlook = self.policy(*situation)
            acts, shares = self.policy.sample(outlook, talks.uniforms())
            shares = shares * self.policy.states_share[acts].long()[:, None]
            log_probs = self.policy.log_prob(outlook, acts, shares)
            for array, made in zip(samples[:7], (*situation, acts, shares, log_probs, outlook.values), strict=True):
                array[t] = made
            rewards[t], ended[t] = talks.step(acts, shares)
        last_values = self.policy(*talks.look()).values
        samples.advantages.copy_(advantages_of(rewards, ended, samples.values, last_values, settings.gamma, settings.gae_lambda))
        samples.returns.copy_(samples.advantages + samples.values)

    def learn(self, order: Tensor, update: Callable[..., Tensor]) -> list[Tensor]:
        """A pass over the samples in this order, every sample once; the statistics of its updates."""
        return [update(*minibatch) for minibatch in self.samples.minibatches(order, self.settings.minibatch)]

    def _update_on(self, *minibatch: Tensor) -> Tensor:
        """One step of the optimizer on a minibatch, and its statistics."""
        loss, notes = ppo_loss(self.policy, self.settings, Samples(*minibatch), self.bonus)
        norm = self.adam.descend(loss)
        return torch.stack([*notes, norm]).detach()

    @property
    def parameters(self) -> NDArray[np.float32]:
        return self.policy.vector()

    @property
    def hint_counts(self) -> dict[str, int | str]:
        return self.practice.hint_counts

    def state(self) -> State:
        progress = {"iteration": np.array(self.iteration), "steps": np.array(self.steps)}
        return {**self.adam.state(), **progress, **self.talks.state()}

    def close(self) -> None:
        self.practice.close()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.adam.load_state(state)
        self.talks.load_state(state)
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])


# The log


def means_of(statistics: NDArray[np.float32], samples: int, minibatch: int, epochs: int) -> Metrics:
    """Means over the samples of an iteration; of the norm, over its updates; of the KL divergence, over its last pass alone."""
    sizes = minibatch_sizes(samples, minibatch)
    means = np.average(statistics, axis=0, weights=np.tile(sizes, epochs))
    named = dict(zip(STATISTICS, means.tolist(), strict=True))
    norms = statistics[:, STATISTICS.index("gradient_norm")]
    return {**named, "approx_kl": approx_kl(statistics[-len(sizes) :], sizes), "gradient_norm": float(norms.mean(dtype=np.float64))}


def minibatch_sizes(samples: int, minibatch: int) -> NDArray[np.int64]:
    """How many samples the minibatches of a pass have; the last may have fewer."""
    return np.minimum(minibatch, samples - np.arange(0, samples, minibatch))


def approx_kl(statistics: NDArray[np.float32], sizes: NDArray[np.int64]) -> float:
    """The KL divergence of a pass: the mean over its samples."""
    return float(np.average(statistics[:, STATISTICS.index("approx_kl")], weights=sizes))


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 − Var(R − V) / Var(R): 1 where the values foresee every return, 0 where they are no better than a constant."""
    spread = float(returns.var(correction=0))
    return 1.0 - float((returns - values).var(correction=0)) / spread if spread > 0.0 else float("nan")
