"""Adam with a clipped gradient over the network's flat vector, and work that a GPU records as a graph of kernels.

Adam's moments are kept in the layout of the parameters (`PolicyShape`), under the names that both backends use in a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.policy import Policy
from edgeworth.errors import DataError
from edgeworth.training.fused import adam
from edgeworth.training.learner import State, not_finite

ADAM_EPSILON = adam.ADAM_EPSILON
WARM_UPS = 3
"""How often work is done before it is recorded, on a side stream, so that every library has allocated what it needs."""


class FlatAdam:
    """`torch.optim.Adam` on a network, with gradients no longer than a given norm."""

    def __init__(self, policy: Policy, learning_rate: float, longest: float) -> None:
        self.policy, self.longest = policy, longest
        self.tensors = [policy.get_parameter(name) for name in policy.shape.tensors()]
        on_gpu = self.tensors[0].device.type == "cuda"
        rate: Any = torch.tensor(learning_rate, device=self.tensors[0].device) if on_gpu else learning_rate
        self.optimizer = torch.optim.Adam(self.tensors, rate, eps=ADAM_EPSILON, fused=True, capturable=on_gpu)
        for tensor in self.tensors:
            count = torch.zeros((), dtype=torch.float32, device=tensor.device)
            moments = {"exp_avg": torch.zeros_like(tensor), "exp_avg_sq": torch.zeros_like(tensor)}
            self.optimizer.state[tensor] = {"step": count, **moments}
        self._kept = [tensor.detach().clone() for tensor in self._everything()]

    @property
    def learning_rate(self) -> float:
        """The length of a step."""
        return float(self.optimizer.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        group = self.optimizer.param_groups[0]
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)  # in place, because a recorded graph reads it
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
        """Parameters, moments and counts, as they are."""
        parts = (self.optimizer.state[tensor] for tensor in self.tensors)
        return [*(tensor.detach() for tensor in self.tensors), *(part for parts_of_one in parts for part in parts_of_one.values())]

    def keep(self) -> None:
        """Remember everything as it is now, for `check` to go back to."""
        torch._foreach_copy_(self._kept, self._everything())

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
        shape = self.policy.shape
        for name in ("parameters", "first_moment", "second_moment"):
            if state[name].shape != (shape.size,):
                raise DataError("The checkpoint", f"holds {state[name].size} {name}; a network of {shape} has {shape.size}.")
        self.policy.load_vector(state["parameters"])
        for moment, name in (("exp_avg", "first_moment"), ("exp_avg_sq", "second_moment")):
            for tensor, values in zip(self.tensors, shape.split(state[name]).values(), strict=True):
                self.optimizer.state[tensor][moment].copy_(torch.from_numpy(values))
        for tensor in self.tensors:
            self.optimizer.state[tensor]["step"].fill_(int(state["updates"]))

    def check(self, noted: NDArray[np.float32], iteration: int) -> None:
        """Where an iteration's statistics, a row for each update, are not all finite: go back to what was kept, and stop the run."""
        sound = np.isfinite(noted).all(axis=1)
        if not sound.all():
            torch._foreach_copy_(self._everything(), self._kept)
            raise not_finite(self.updates + int(np.argmin(sound)) + 1, iteration)


class Recorded:
    """Work on fixed tensors that is done again and again: called as it is on a CPU; on a GPU recorded once as a graph of kernels and
    replayed, since launching them one by one takes longer than running them.
    """

    def __init__(self, work: Callable[[], Tensor], device: torch.device) -> None:
        self.work, self.on_gpu = work, device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None
        self._noted = torch.zeros(0)
        self._runs = 0

    def __call__(self) -> Tensor:
        """Do the work; returns what it notes."""
        if not self.on_gpu:
            return self.work()
        if self._graph is None:
            self._runs += 1
            if self._runs <= WARM_UPS:
                return self._on_side_stream()
            self._record()
        assert self._graph is not None
        self._graph.replay()
        return self._noted.clone()

    def _on_side_stream(self) -> Tensor:
        """Work off the main stream, as recording demands of what comes before it; it counts like any other."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            noted = self.work()
        torch.cuda.current_stream().wait_stream(stream)
        return noted

    def _record(self) -> None:
        """Record the work without doing it."""
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._noted = self.work()


class UpdateGraph:
    """An update on a minibatch, recorded on a GPU. A minibatch of another size, the last of a pass, is not replayed but run."""

    def __init__(self, update: Callable[..., Tensor], device: torch.device) -> None:
        self.update, self.on_gpu = update, device.type == "cuda"
        self._samples: tuple[Tensor, ...] = ()
        self._recorded = Recorded(lambda: self.update(*self._samples), device)

    def __call__(self, *samples: Tensor) -> Tensor:
        """Update on these samples; returns its statistics."""
        if not self.on_gpu:
            return self.update(*samples)
        if not self._samples:
            self._samples = tuple(torch.empty_like(array) for array in samples)
        if len(samples[0]) != len(self._samples[0]):
            return self.update(*samples)
        for place, array in zip(self._samples, samples, strict=True):
            place.copy_(array)
        return self._recorded()
