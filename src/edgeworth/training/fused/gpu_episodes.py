"""Episodes on a GPU: the compiled rules with one thread for each slot of the batch, on the stream that torch works on.

The rules are not written twice. Numba builds the functions that a CPU runs for the GPU as well, and a step is one kernel between those of
the network, so that a whole iteration can be recorded and replayed without Python in between. Numba needs NVIDIA's NVVM for it, which
comes with the CUDA toolkit or as the package `nvidia-cuda-nvcc-cu12`.
"""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from edgeworth.agents.network.heads import move_uniforms
from edgeworth.agents.network.layers import Sizes
from edgeworth.agents.network.reading import read_row
from edgeworth.compiled import Array, Int, Real, compiled_within
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.state import BASE_FEATURES, EPISODE
from edgeworth.games.bargaining.views import write_situation
from edgeworth.games.bargaining.vocabulary import AGENT
from edgeworth.training.fused.rollout import Game, play_slot
from edgeworth.training.practice import Flags, Metrics, Practice, episode_metrics
from edgeworth.training.torch_learner import Episodes, Situations

THREADS = 64
"""In a block; episodes are many and short, so that small blocks fill a GPU evenly."""
TOOLKIT = Path("nvidia") / "cuda_nvcc"
"""Where the package with NVVM is installed, beside the others."""


# One slot, as a thread runs it


class Seen(NamedTuple):
    """What the network reads of every slot; each an array over the slots."""

    inputs: Any
    """32-bit floats."""
    legal: Any
    """The five acts, as 0 and 1 of 8 bits."""
    caps: Any
    """The pool in the order of reading, 32 bits."""
    orders: Any
    """Which item type is read first, second and third, 32 bits."""
    uniforms: Any
    """Four numbers in [0, 1) for the next move, 32-bit floats."""


class Results(NamedTuple):
    """What moves paid, and the episodes so far; each an array over the slots."""

    rewards: Any
    """Of the last step, scaled, 32-bit floats."""
    ended: Any
    """Whether it was the episode's last, as 0 and 1, 32-bit floats."""
    returns: Any
    """Points so far in the episode, 64-bit floats."""
    moves: Any
    """Moves of the agent so far in it, 64 bits."""
    totals: Any
    """Over the episodes that ended, five columns as in `EpisodeProgress.totals`, 64-bit floats."""


@compiled_within
def show_slot(game: Game, sizes: Sizes, seen: Seen, slot: Int) -> None:
    """Write what the network reads of a slot, what is legal there, and the numbers that will decide its move."""
    e = np.uint64(slot)
    s, row, order = game.state[e], seen.inputs[e], seen.orders[e]
    write_situation(s, game.rules[0], AGENT, sizes.unhinted > BASE_FEATURES, row)
    read_row(row, order, sizes)
    write_mask(s, AGENT, seen.legal[e])
    for k in range(3):
        seen.caps[e, k] = s.counts[np.uint64(order[k])]
    for_act, for_a, for_b, for_c = move_uniforms(s, AGENT)
    seen.uniforms[e, 0], seen.uniforms[e, 1] = for_act, for_a
    seen.uniforms[e, 2], seen.uniforms[e, 3] = for_b, for_c


@compiled_within
def step_slot(game: Game, sizes: Sizes, seen: Seen, results: Results, moves: Array, scale: Real, slot: Int) -> None:
    """The move of a slot's agent (act and share, in the order of reading), the reply, what it paid, and a new episode after an end."""
    e = np.uint64(slot)
    reward, ended = play_slot(game, moves[e], seen.orders[e], results.returns, results.moves, results.totals[e], e)
    results.rewards[e] = reward * scale
    results.ended[e] = 1.0 if ended else 0.0
    show_slot(game, sizes, seen, slot)


@functools.cache
def kernels() -> tuple[Callable[..., None], Callable[..., None]]:
    """The two kernels: what the networks read, and a step."""
    cuda = _numba_cuda()

    def show(game: Game, sizes: Sizes, seen: Seen) -> None:
        e = cuda.grid(1)
        if e < game.state.shape[0]:
            show_slot(game, sizes, seen, e)

    def step(game: Game, sizes: Sizes, seen: Seen, results: Results, moves: Any, scale: float) -> None:
        e = cuda.grid(1)
        if e < game.state.shape[0]:
            step_slot(game, sizes, seen, results, moves, scale, e)

    return cuda.jit(show), cuda.jit(step)


def _numba_cuda() -> Any:
    """Numba's compiler for GPUs, with the path of NVVM set if it came as a package."""
    packaged = Path(sysconfig.get_paths()["purelib"]) / TOOLKIT
    if "CUDA_HOME" not in os.environ and packaged.is_dir():
        os.environ["CUDA_HOME"] = str(packaged)
    from numba import cuda
    from numba.cuda.cudadrv.nvvm import is_available

    if not is_available():  # type: ignore[no-untyped-call]
        raise InvalidOption(
            "A GPU is asked for, but NVIDIA's NVVM, which builds the rules of the game for it, is not here: pip install"
            " 'edgeworth[gpu]', or set CUDA_HOME to a CUDA toolkit."
        )
    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # type: ignore[attr-defined]  # as many threads as there are episodes
    return cuda


# The episodes


class GpuEpisodes(Episodes):
    """Episodes whose records live on a GPU."""

    def __init__(self, practice: Practice, scale: float, device: torch.device) -> None:
        if practice.feed is not None or practice.batch.outside is not None:
            raise InvalidOption("Hints and partners from outside the rules are asked in Python; such episodes are stepped on the CPU.")
        self._show, self._step = kernels()
        self._cuda = _numba_cuda()
        super().__init__(practice, scale, device)
        size, shape = practice.size, practice.shape

        def room(*width: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((size, *width), dtype=dtype, device=device)

        whole = torch.int32
        self.seen = Seen(room(shape.inputs), room(5, dtype=torch.int8), room(3, dtype=whole), room(3, dtype=whole), room(4))
        self.results = Results(room(), room(), room(dtype=torch.float64), room(dtype=torch.int64), room(5, dtype=torch.float64))
        self._moves, self._sizes = room(4, dtype=torch.int64), Sizes.of(shape)
        table = practice.batch.table if len(practice.batch.table) else np.zeros((1, 9), np.int16)  # a GPU has no empty arrays
        there = self._cuda.to_device
        batch = practice.batch
        self._records = there(batch.state)
        self._game = Game(self._records, there(batch.rules), there(batch.partners), there(table), there(batch.reports))
        self._seen, self._results = self._shared(self.seen), self._shared(self.results)
        self._made = self._cuda.as_cuda_array(self._moves)
        self.upload()

    def look(self) -> Situations:
        return self.seen.inputs, self.seen.legal, self.seen.caps

    def uniforms(self) -> Tensor:
        uniforms: Tensor = self.seen.uniforms
        return uniforms

    def step(self, acts: Tensor, shares: Tensor, chosen: Flags | None = None) -> tuple[Tensor, Tensor]:
        """A move of all agents, and the replies; `chosen` is for episodes on the CPU."""
        self._moves[:, 0] = acts
        self._moves[:, 1:] = shares
        self._launch(self._step, self._game, self._sizes, self._seen, self._results, self._made, self.scale)
        return self.results.rewards, self.results.ended

    def report(self) -> Metrics:
        totals = self.results.totals.sum(0).tolist()
        self.results.totals.zero_()
        return episode_metrics(int(totals[0]), *totals[1:])

    def download(self) -> None:
        """Copy the episodes to the practice."""
        practice = self.practice
        practice.batch.state[:] = self._records.copy_to_host()
        practice.reward[:], practice.moves[:] = self.results.returns.cpu().numpy(), self.results.moves.cpu().numpy()

    def upload(self) -> None:
        """Copy the episodes of the practice to the GPU, and look at them."""
        practice = self.practice
        self._records.copy_to_device(np.ascontiguousarray(practice.batch.state, EPISODE))
        self.results.returns.copy_(torch.from_numpy(practice.reward))
        self.results.moves.copy_(torch.from_numpy(practice.moves))
        self.results.totals.zero_()
        self._launch(self._show, self._game, self._sizes, self._seen)

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel for all slots where torch's next kernel would run."""
        stream = self._cuda.external_stream(torch.cuda.current_stream(self.device).cuda_stream)
        blocks = -(-self.practice.size // THREADS)
        kernel[blocks, THREADS, stream](*arguments)

    def _shared(self, tensors: Any) -> Any:
        """Tensors as arrays of Numba over the same memory."""
        return type(tensors)(*(self._cuda.as_cuda_array(tensor) for tensor in tensors))
