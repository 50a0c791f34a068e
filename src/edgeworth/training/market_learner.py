"""Auction design for PPO: samples of mechanisms, markets as tensors, and the learner.

The algorithm is that of `ppo.py`; the network is `market_network.py`, the markets are `market_practice.py`. A step's reward is its score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.agents.policy_layout import first_parameters
from edgeworth.games.auction.action import FIELDS
from edgeworth.training.market_network import DesignerNetwork
from edgeworth.training.market_practice import MarketMix, MarketPractice
from edgeworth.training.ppo import GamePPO
from edgeworth.training.practice import Metrics
from edgeworth.training.settings import PPOSettings


class MarketSamples(NamedTuple):
    """Mechanisms with all that learning from them needs: (T, N) after a rollout, flat in an update."""

    features: Tensor
    levels: Tensor
    log_probs: Tensor
    """Of the mechanisms, by the network that chose them."""
    values: Tensor
    advantages: Tensor
    returns: Tensor

    @classmethod
    def empty(cls, steps: int, markets: int, features: int) -> MarketSamples:
        """Room for a rollout."""
        rest = (torch.zeros(steps, markets) for _ in range(4))
        return cls(torch.zeros(steps, markets, features), torch.zeros(steps, markets, len(FIELDS), dtype=torch.int64), *rest)

    @property
    def situation(self) -> tuple[Tensor]:
        """What the network read."""
        return (self.features,)

    @property
    def move(self) -> tuple[Tensor]:
        """What it chose."""
        return (self.levels,)


class MarketEpisodes:
    """The markets of a learner as tensors."""

    def __init__(self, practice: MarketPractice, scale: float) -> None:
        self.practice, self.scale = practice, scale

    def look(self) -> tuple[Tensor]:
        """The features of every market."""
        return (torch.from_numpy(self.practice.features()),)

    def uniforms(self) -> Tensor:
        """Eleven numbers in [0, 1) for every market's next mechanism."""
        return torch.from_numpy(self.practice.uniforms()).float()

    def step(self, levels: Tensor, chosen: Any = None) -> tuple[Tensor, Tensor]:
        """Post mechanisms in all markets: scaled scores, and ends as 0 and 1, (N,)."""
        scores, ended = self.practice.step(levels.numpy())
        return torch.from_numpy((scores * self.scale).astype(np.float32)), torch.from_numpy(ended.astype(np.float32))

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""
        return self.practice.report()

    def download(self) -> None:
        """The practice is always up to date."""

    def upload(self) -> None:
        """The practice is what is played."""


class MarketPPO(GamePPO[MarketSamples]):
    """PPO for designers."""

    practice: MarketPractice

    def __init__(self, mix: MarketMix, settings: PPOSettings, shape: DesignerShape, seed: int, total_steps: int | None = None) -> None:
        super().__init__(MarketPractice(mix, settings.num_envs, seed, shape), settings, seed, total_steps)
        self.shape = shape
        policy = DesignerNetwork(shape, first_parameters(shape, seed))
        samples = MarketSamples.empty(settings.rollout, settings.num_envs, shape.inputs)
        self.equip(policy, MarketEpisodes(self.practice, settings.reward_scale or 1.0), samples, torch.device("cpu"))

    @property
    def parameters(self) -> NDArray[np.float32]:
        return self.policy.vector()
