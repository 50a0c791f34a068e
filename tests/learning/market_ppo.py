"""A small PPO on the vector market, for the tripwire: does a learner find what the market forgives?

Two hidden layers of 64 units, one categorical choice per field, advantages over whole episodes, a minute or two on one core. It is here
to be let loose on the rules, not to be a good designer.
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from edgeworth.envs.daedalus_spaces import LEVEL_COUNTS

MARKETS, STEPS, EPOCHS, MINIBATCHES = 512, 10, 4, 8
DISCOUNT, LAMBDA, CLIP, RATE = 0.97, 0.95, 0.2, 1e-3


class Policy(nn.Module):
    """Features in; a logit for every level of every field, and a value, out."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.logits, self.value = nn.Linear(64, sum(LEVEL_COUNTS)), nn.Linear(64, 1)
        nn.init.orthogonal_(self.logits.weight, 0.01)

    def forward(self, seen: torch.Tensor) -> tuple[list[torch.distributions.Categorical], torch.Tensor]:
        hidden = self.body(seen)
        choices = [torch.distributions.Categorical(logits=part) for part in self.logits(hidden).split(LEVEL_COUNTS, dim=-1)]
        return choices, self.value(hidden).squeeze(-1)


def log_prob(choices: list[torch.distributions.Categorical], levels: torch.Tensor) -> torch.Tensor:
    """Log-probability of the levels of all fields together."""
    return torch.stack([choice.log_prob(levels[..., k]) for k, choice in enumerate(choices)]).sum(dim=0)


def train(stage: str, seconds: float, seed: int = 0) -> Policy:
    """Learn on a population for so many CPU seconds."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    env = gymnasium.make_vec("Daedalus-v0", num_envs=MARKETS, stage=stage)
    seen, _ = env.reset(seed=1_000_000 * (seed + 1))
    policy = Policy(seen.shape[1])
    optimizer = torch.optim.Adam(policy.parameters(), lr=RATE)
    begin = time.process_time()
    while (spent := (time.process_time() - begin) / seconds) < 1.0:
        rollout: list[tuple[torch.Tensor, ...]] = []
        for _ in range(STEPS):
            looked = torch.from_numpy(seen)
            with torch.no_grad():
                choices, value = policy(looked)
                levels = torch.stack([choice.sample() for choice in choices], dim=-1)
            seen, reward, *_ = env.step(levels.numpy())
            rollout.append((looked, levels, log_prob(choices, levels), value, torch.from_numpy(reward).float()))
        looked, levels, old, value, reward = (torch.stack(part) for part in zip(*rollout, strict=True))
        advantage, following = torch.zeros_like(reward), torch.zeros(MARKETS)
        for t in range(STEPS - 1, -1, -1):  # a rollout is one whole episode of every market
            ahead = value[t + 1] if t + 1 < STEPS else torch.zeros(MARKETS)
            following = reward[t] + DISCOUNT * ahead - value[t] + DISCOUNT * LAMBDA * following
            advantage[t] = following
        update(
            policy, optimizer, (looked, levels, old, advantage, advantage + value), entropy=0.01 * (1.0 - spent), rate=RATE * (1.0 - spent)
        )
    return policy


def update(policy: Policy, optimizer: torch.optim.Adam, batch: tuple[torch.Tensor, ...], entropy: float, rate: float) -> None:
    """Some epochs of clipped policy gradient on one rollout."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    flat = [part.flatten(0, 1) for part in batch]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(flat[0])).chunk(MINIBATCHES):
            looked, levels, old, advantage, target = (part[rows] for part in flat)
            choices, value = policy(looked)
            ratio = (log_prob(choices, levels) - old).exp()
            scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.minimum(ratio * scaled, ratio.clamp(1 - CLIP, 1 + CLIP) * scaled).mean()
            spread = torch.stack([choice.entropy() for choice in choices]).sum(dim=0).mean()
            loss = -gain - entropy * spread + 0.5 * (value - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


def scores(policy: Policy, stage: str, episodes: int, seed: int) -> NDArray[np.float64]:
    """The mean score of each of these episodes, the likeliest level chosen everywhere."""
    env = gymnasium.make_vec("Daedalus-v0", num_envs=episodes, stage=stage)
    seen, _ = env.reset(seed=seed)
    total = np.zeros(episodes)
    for _ in range(STEPS):
        with torch.no_grad():
            choices, _ = policy(torch.from_numpy(seen))
        seen, reward, *_ = env.step(torch.stack([choice.probs.argmax(dim=-1) for choice in choices], dim=-1).numpy())
        total += reward
    return total / STEPS
