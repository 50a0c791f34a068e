"""The talks of a learner in torch, as tensors where its network is: stepped by the compiled rules on the CPU, or on the GPU itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.training.learner import Metrics, State
from edgeworth.training.practice import Practice

Situations = tuple[Tensor, Tensor, Tensor]
"""Inputs (N, inputs), legal acts (N, 5) and pools (N, 3) of all episodes."""


class Talks(Protocol):
    """Episodes side by side, each followed by the next."""

    def look(self) -> Situations:
        """What the network reads now."""
        ...

    def uniforms(self) -> Tensor:
        """Four numbers in [0, 1) for every episode's next move, (N, 4)."""
        ...

    def step(self, acts: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        """A move of all agents and the replies; rewards in the learner's unit and ends, as 0 and 1, (N,)."""
        ...

    def report(self) -> Metrics:
        """Means over the episodes that ended since the last report."""
        ...

    def state(self) -> State:
        """The talks as arrays."""
        ...

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up talks again."""
        ...


class SteppedTalks:
    """Talks that the compiled rules step on the CPU; what the network needs of them goes to where it is."""

    def __init__(self, practice: Practice, scale: float, device: torch.device) -> None:
        self.practice, self.scale, self.device = practice, scale, device

    def look(self) -> Situations:
        practice = self.practice
        return self._there(practice.inputs), self._there(practice.legal), self._there(practice.caps)

    def uniforms(self) -> Tensor:
        return self._there(self.practice.uniforms()).float()

    def step(self, acts: Tensor, shares: Tensor, chosen: NDArray[np.bool_] | None = None) -> tuple[Tensor, Tensor]:
        """The same; with `chosen`, only of those agents."""
        points, ended = self.practice.step(acts.cpu().numpy(), shares.cpu().numpy(), chosen)
        return self._there((points * self.scale).astype(np.float32)), self._there(ended.astype(np.float32))

    def report(self) -> Metrics:
        return self.practice.report()

    def state(self) -> State:
        return self.practice.state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.practice.load_state(state)

    def _there(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)
