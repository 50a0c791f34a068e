"""What PPO and REINFORCE share in torch: samples, episodes as tensors, Adam over the network, and everything that a checkpoint holds.

The algorithms themselves are `ppo.py` and `reinforce.py`. What belongs to the bargaining game is behind `Episodes` (what the network reads,
what is legal, how a move is made) and `Policy` (the heads).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.training.fused.update import ADAM_EPSILON
from edgeworth.training.learner import NO_HINTS, Learner, not_finite, scheduled
from edgeworth.training.practice import Flags, Metrics, Practice, State
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

    def minibatches(self, order: Tensor, size: int) -> Iterator[tuple[Tensor, ...]]:
        """The samples in this order (number t · N + episode), in pieces; the last may be smaller."""
        return zip(*(torch.split(array.flatten(0, 1)[order], size) for array in self), strict=True)


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


class FlatAdam:
    """`torch.optim.Adam` with clipped gradients, saved and loaded as the flat vectors that both backends keep in a checkpoint."""

    def __init__(self, policy: Policy, learning_rate: float, longest: float) -> None:
        self.policy, self.longest = policy, longest
        self.tensors = [policy.get_parameter(name) for name in policy.shape.tensors()]
        on_gpu = self.tensors[0].device.type == "cuda"  # there the rate is a tensor, so that a recorded graph can read it
        rate: Any = torch.tensor(learning_rate, device=self.tensors[0].device) if on_gpu else learning_rate
        self.optimizer = torch.optim.Adam(self.tensors, rate, eps=ADAM_EPSILON, fused=True, capturable=on_gpu)
        for tensor in self.tensors:
            count = torch.zeros((), dtype=torch.float32, device=tensor.device)
            moments = {"exp_avg": torch.zeros_like(tensor), "exp_avg_sq": torch.zeros_like(tensor)}
            self.optimizer.state[tensor] = {"step": count, **moments}
        self._kept: list[Tensor] = []

    def set_learning_rate(self, rate: float) -> None:
        """Change the length of the steps from now on."""
        group = self.optimizer.param_groups[0]
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate

    @property
    def updates(self) -> int:
        """Steps made so far."""
        return int(self.optimizer.state[self.tensors[0]]["step"])

    def descend(self, loss: Tensor) -> Tensor:
        """One step down the gradient of a loss; returns the gradient's norm before it was clipped."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self.tensors, self.longest)
        self.optimizer.step()
        return norm

    def _everything(self) -> list[Tensor]:
        """Parameters, moments and counts."""
        moments = [part for tensor in self.tensors for part in self.optimizer.state[tensor].values()]
        return [*(tensor.detach() for tensor in self.tensors), *moments]

    def keep(self) -> None:
        """Remember everything as it is now, for `check` to go back to."""
        self._kept = [tensor.clone() for tensor in self._everything()]

    def check(self, statistics: NDArray[np.float32], iteration: int) -> None:
        """Go back to what was kept and stop the run if an iteration's statistics, a row for each update, are not all finite."""
        sound = np.isfinite(statistics).all(axis=1)
        if not sound.all():
            for tensor, kept in zip(self._everything(), self._kept, strict=True):
                tensor.copy_(kept)
            raise not_finite(self.updates + int(np.argmin(sound)) + 1, iteration)

    def state(self) -> State:
        """Parameters and moments as flat vectors, and the number of updates."""
        return {
            "parameters": self.policy.vector(),
            "first_moment": self._flat("exp_avg"),
            "second_moment": self._flat("exp_avg_sq"),
            "updates": np.array(self.updates),
        }

    def _flat(self, name: str) -> NDArray[np.float32]:
        return torch.cat([self.optimizer.state[tensor][name].flatten() for tensor in self.tensors]).cpu().numpy()

    @torch.no_grad()
    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over parameters, moments and the number of updates."""
        self.policy.load_vector(state["parameters"])
        for moment, name in (("exp_avg", "first_moment"), ("exp_avg_sq", "second_moment")):
            for tensor, values in zip(self.tensors, self.policy.shape.split(state[name]).values(), strict=True):
                self.optimizer.state[tensor][moment].copy_(torch.from_numpy(values))
        for tensor in self.tensors:
            self.optimizer.state[tensor]["step"].fill_(int(state["updates"]))


class TorchLearner(Learner):
    """A network, its optimizer, its episodes and the samples of one rollout; an algorithm adds `loss` and `iterate`."""

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
        super().__init__(game, settings, shape, seed, hints, total_steps)
        self.device = torch.device(device)
        self.episodes = Episodes(self.practice, self.scale, self.device)
        self.policy = Policy(shape, first_parameters(shape, seed)).to(self.device)
        self.adam = FlatAdam(self.policy, settings.learning_rate, settings.gradient_norm)
        self.bonus = torch.tensor(settings.entropy, device=self.device)
        self.samples = Samples.empty(self.longest_rollout(), settings.num_envs, shape.inputs, self.device)

    def longest_rollout(self) -> int:
        """Most moves of a slot in one rollout."""
        return self.settings.rollout

    def loss(self, samples: Samples) -> tuple[Tensor, list[Tensor]]:
        """The loss of a minibatch, and its statistics."""
        raise NotImplementedError

    def begin_iteration(self) -> float:
        """Set the learning rate and the weight of the entropy to what their schedules say now; returns the learning rate."""
        settings = self.settings
        rate = scheduled(settings.learning_rate, settings.lr_schedule, self.steps, self.total_steps)
        self.adam.set_learning_rate(rate)
        self.bonus.fill_(scheduled(settings.entropy, settings.entropy_schedule, self.steps, self.total_steps))
        self.adam.keep()
        return rate

    def make_moves(self, t: int, chosen: Flags | None = None) -> tuple[Tensor, Tensor]:
        """Draw and make a move in every episode, or in the chosen ones, as the samples of time t; scaled rewards and ends, (N,)."""
        situations = self.episodes.look()
        outlook = self.policy(*situations)
        acts, shares = self.policy.sample(outlook, self.episodes.uniforms())
        log_probs = self.policy.log_prob(outlook, acts, shares)
        for array, entry in zip(self.samples[:7], (*situations, acts, shares, log_probs, outlook.values), strict=True):
            array[t] = entry
        return self.episodes.step(acts, shares, chosen)

    def learn(self, order: Tensor) -> list[Tensor]:
        """A pass over samples in this order, minibatch by minibatch; the statistics of its updates."""
        return [self.update(*minibatch) for minibatch in self.samples.minibatches(order, self.settings.minibatch)]

    def update(self, *minibatch: Tensor) -> Tensor:
        """One step of the optimizer on a minibatch, and its statistics."""
        loss, statistics = self.loss(Samples(*minibatch))
        norm = self.adam.descend(loss)
        return torch.stack([*statistics, norm]).detach()

    @property
    def parameters(self) -> NDArray[np.float32]:
        return self.policy.vector()

    def state(self) -> State:
        self.episodes.download()
        return {**super().state(), **self.adam.state()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state(state)
        self.adam.load_state(state)
        self.episodes.upload()
