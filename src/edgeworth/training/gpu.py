"""PPO and REINFORCE on a GPU: work is recorded once as a CUDA graph and replayed, which is faster than launching kernels one by one.

PPO plays its episodes on the GPU too, and a whole iteration, from the first move to the last update, is one graph. Where Python is needed
within an iteration (hints, a partner outside the rules, a stop at a KL divergence), and in REINFORCE, only the updates are recorded.
Losses, advantages and updates are those of `ppo.py` and `reinforce.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from edgeworth.training.fused.gpu_episodes import GpuEpisodes
from edgeworth.training.ppo import PPO
from edgeworth.training.reinforce import Reinforce

WARM_UPS = 3
"""How often work is run before it is recorded, on a side stream, so that every library has allocated what it needs."""


class Recorded:
    """Work on fixed tensors, recorded as a graph of kernels at its fourth call and replayed from then on."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self.work = work
        self.recording = True
        """False to launch kernel by kernel."""
        self.graph: torch.cuda.CUDAGraph | None = None
        self._result = torch.zeros(0)
        self._runs = 0

    def __call__(self) -> Tensor:
        """Do the work; returns its result."""
        if not self.recording:
            return self.work()
        if self.graph is None:
            self._runs += 1
            if self._runs <= WARM_UPS:
                return self._on_side_stream()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # records the work without doing it
                self._result = self.work()
        self.graph.replay()
        return self._result.clone()

    def _on_side_stream(self) -> Tensor:
        """Work off the main stream, as recording demands of what comes before it; it counts like any other."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self.work()
        torch.cuda.current_stream().wait_stream(stream)
        return result


class RecordedUpdate:
    """An update on a minibatch, recorded; one of another size, the last of a pass, is run instead."""

    def __init__(self, update: Callable[..., Tensor]) -> None:
        self.update = update
        self._samples: tuple[Tensor, ...] = ()
        self._recorded = Recorded(lambda: update(*self._samples))

    def __call__(self, *samples: Tensor) -> Tensor:
        """Update on these samples; returns the statistics."""
        if not self._samples:
            self._samples = tuple(torch.empty_like(array) for array in samples)
        if len(samples[0]) != len(self._samples[0]):
            return self.update(*samples)
        for place, array in zip(self._samples, samples, strict=True):
            place.copy_(array)
        return self._recorded()


class GpuPPO(PPO):
    """PPO whose iterations, or updates, are replayed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        inside = self.practice.feed is None and self.practice.batch.outside is None
        if inside:
            self.episodes = GpuEpisodes(self.practice, self.scale, self.device)
        self.unbroken = inside and self.settings.target_kl is None
        """Whether a whole iteration is one graph."""
        self.orders = torch.zeros((self.settings.epochs, self.samples.acts.numel()), dtype=torch.int64, device=self.device)
        self.recorded_iteration = Recorded(super().play_and_learn)
        self._recorded_update = RecordedUpdate(super().update)

    def play_and_learn(self) -> Tensor:
        """A rollout and the passes over it; the statistics of all updates."""
        for epoch, order in enumerate(self.orders):
            order.copy_(super().order(epoch))
        return self.recorded_iteration() if self.unbroken else super().play_and_learn()

    def order(self, epoch: int) -> Tensor:
        """The numbers of all samples in the random order of one pass, where a recorded graph reads them."""
        return self.orders[epoch]

    def update(self, *minibatch: Tensor) -> Tensor:
        """One step of the optimizer on a minibatch, and its statistics."""
        return super().update(*minibatch) if self.unbroken else self._recorded_update(*minibatch)


class GpuReinforce(Reinforce):
    """REINFORCE whose updates are replayed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._recorded_update = RecordedUpdate(super().update)

    def update(self, *minibatch: Tensor) -> Tensor:
        """One step of the optimizer on a minibatch, and its statistics."""
        return self._recorded_update(*minibatch)
