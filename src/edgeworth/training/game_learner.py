"""What learning in torch asks of a game, and a learner of any game that answers it.

The algorithms are `ppo.py` and `reinforce.py`. A game brings three things, and no algorithm knows more of it:

- heads (`agents.policy.Network`): a situation in, an outlook out; they draw moves, and know a move's log-probability and the entropies;
- a source (`Source`): the features that the network reads now, random numbers for its draws, and a step of all episodes;
- samples (`Rollout`): room for what was read, the moves, and what learning from them needs.

Bargaining's are `agents.policy.Policy` and the classes of `torch_learner.py`; those of auction design are `market_network.py` and
`market_learner.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Network
from edgeworth.training.fused.update import ADAM_EPSILON
from edgeworth.training.learner import Learner, not_finite, scheduled
from edgeworth.training.practice import Flags, Metrics, State


class Source(Protocol):
    """The episodes of a learner as tensors on the device of its network."""

    def look(self) -> tuple[Tensor, ...]:
        """The situations that the network reads now, one row per episode in every tensor."""

    def uniforms(self) -> Tensor:
        """Numbers in [0, 1) for the draws of every episode's next move, a row each."""

    @property
    def step(self) -> Callable[..., tuple[Tensor, Tensor]]:
        """Make the moves, of all episodes or of the chosen ones: rewards in the learner's scale, and ends as 0 and 1, (N,)."""

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""

    def download(self) -> None:
        """Bring the learner's practice up to date, where the episodes are played elsewhere."""

    def upload(self) -> None:
        """Take up the episodes of the practice, where they are played elsewhere."""


class Rollout(Protocol):
    """Moves with all that learning from them needs, a named tuple of tensors: (T, N) after a rollout, flat in an update.

    What was read comes first, then the moves, then the four below, in this order.
    """

    def __init__(self, *tensors: Tensor) -> None: ...

    def __iter__(self) -> Iterator[Tensor]: ...

    @property
    def situation(self) -> tuple[Tensor, ...]:
        """What the network read."""

    @property
    def move(self) -> tuple[Tensor, ...]:
        """What it chose."""

    @property
    def log_probs(self) -> Tensor:
        """Of the moves, by the network that made them."""

    @property
    def values(self) -> Tensor:
        """What it expected."""

    @property
    def advantages(self) -> Tensor:
        """How much better the moves were than expected."""

    @property
    def returns(self) -> Tensor:
        """What the value should have been."""


Samples = TypeVar("Samples", bound=Rollout)


def minibatches(samples: Rollout, order: Tensor, size: int) -> Iterator[tuple[Tensor, ...]]:
    """Samples in this order (number t · N + episode), in pieces; the last may be smaller."""
    return zip(*(torch.split(array.flatten(0, 1)[order], size) for array in samples), strict=True)


class FlatAdam:
    """`torch.optim.Adam` with clipped gradients, saved and loaded as the flat vectors that both backends keep in a checkpoint."""

    def __init__(self, policy: Network, learning_rate: float, longest: float) -> None:
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


class GameLearner(Learner, Generic[Samples]):
    """A network, its optimizer, its episodes and the samples of one rollout; an algorithm adds `loss` and `iterate`."""

    policy: Network
    episodes: Source
    samples: Samples

    def equip(self, policy: Network, episodes: Source, samples: Samples, device: torch.device) -> None:
        """Take what belongs to the game."""
        self.policy, self.episodes, self.samples, self.device = policy, episodes, samples, device
        self.adam = FlatAdam(policy, self.settings.learning_rate, self.settings.gradient_norm)
        self.bonus = torch.tensor(self.settings.entropy, device=device)

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
        move = self.policy.sample(outlook, self.episodes.uniforms())
        log_probs = self.policy.log_prob(outlook, *move)
        for array, entry in zip(self.samples, (*situations, *move, log_probs, outlook.values), strict=False):  # advantages come later
            array[t] = entry
        return self.episodes.step(*move, chosen)

    def learn(self, order: Tensor) -> list[Tensor]:
        """A pass over samples in this order, minibatch by minibatch; the statistics of its updates."""
        return [self.update(*minibatch) for minibatch in minibatches(self.samples, order, self.settings.minibatch)]

    def update(self, *minibatch: Tensor) -> Tensor:
        """One step of the optimizer on a minibatch, and its statistics."""
        loss, statistics = self.loss(type(self.samples)(*minibatch))
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
