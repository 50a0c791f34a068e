"""Bargaining for the torch learners: samples of moves, episodes as tensors, and the learner that PPO and REINFORCE build on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.training.game_learner import GameLearner
from edgeworth.training.learner import NO_HINTS, NegotiationLearner
from edgeworth.training.practice import Flags, Metrics, Practice
from edgeworth.training.settings import HintSettings, LearnerSettings

Situations = tuple[Tensor, Tensor, Tensor]
"""Inputs (N, inputs), legal acts (N, 5) and pools (N, 3) of all episodes."""


class Samples(NamedTuple):
    """Moves with all that learning from them needs: (T, N) after a rollout, flat in an update."""

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

    @property
    def situation(self) -> Situations:
        """What the network read."""
        return self.features, self.legal, self.caps

    @property
    def move(self) -> tuple[Tensor, Tensor]:
        """What it chose."""
        return self.acts, self.shares


class Episodes:
    """The episodes of a learner as tensors on the device of its network; the compiled rules step them on the CPU."""

    def __init__(self, practice: Practice, scale: float, device: torch.device) -> None:
        self.practice, self.scale, self.device = practice, scale, device

    def look(self) -> Situations:
        """What the network reads now."""
        practice = self.practice
        return self._tensor(practice.inputs), self._tensor(practice.legal), self._tensor(practice.caps)

    def uniforms(self) -> Tensor:
        """Four numbers in [0, 1) for every episode's next move, (N, 4)."""
        return self._tensor(self.practice.uniforms()).float()

    def step(self, acts: Tensor, shares: Tensor, chosen: Flags | None = None) -> tuple[Tensor, Tensor]:
        """A move of all agents, or of the chosen ones, and the replies; scaled rewards, and ends as 0 and 1, (N,)."""
        points, ended = self.practice.step(acts.cpu().numpy(), shares.cpu().numpy(), chosen)
        return self._tensor((points * self.scale).astype(np.float32)), self._tensor(ended.astype(np.float32))

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""
        return self.practice.report()

    def download(self) -> None:
        """Bring the practice up to date, where the episodes are played elsewhere."""

    def upload(self) -> None:
        """Take up the episodes of the practice, where they are played elsewhere."""

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


class TorchLearner(GameLearner[Samples], NegotiationLearner):
    """Learns to negotiate in torch; an algorithm adds `loss` and `iterate`."""

    policy: Policy
    episodes: Episodes

    def __init__(
        self,
        game: BargainingConfig,
        settings: LearnerSettings,
        shape: PolicyShape,
        seed: int,
        hints: HintSettings = NO_HINTS,
        total_steps: int | None = None,
        device: str = "cpu",
    ) -> None:
        NegotiationLearner.__init__(self, game, settings, shape, seed, hints, total_steps)
        place = torch.device(device)
        policy = Policy(shape, first_parameters(shape, seed)).to(place)
        samples = Samples.empty(self.longest_rollout(), settings.num_envs, shape.inputs, place)
        self.equip(policy, Episodes(self.practice, self.scale, place), samples, place)

    def longest_rollout(self) -> int:
        """Most moves of a slot in one rollout."""
        return self.settings.rollout
