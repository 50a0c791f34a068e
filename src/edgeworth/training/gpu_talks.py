"""Talks on a GPU: the compiled rules with one thread for each episode, on the stream that torch works on.

The rules are not written twice. Numba builds the functions that a CPU runs for the GPU as well, and a step is one kernel between those of
the network, so that a whole iteration can be recorded and replayed without a word from Python. Numba needs NVIDIA's NVVM for it, which
comes with the CUDA toolkit or as the package `nvidia-cuda-nvcc-cu12`.
"""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from edgeworth.agents.network.forward import Sizes
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.state import EPISODE
from edgeworth.training.fused.rollout import DEALS, EPISODES, MAXIMUM, REWARD, TURNS, Game
from edgeworth.training.fused.slots import Ledger, Sight, show_slot, step_slot
from edgeworth.training.learner import Metrics, State
from edgeworth.training.practice import Practice
from edgeworth.training.talks import Situations

THREADS = 64
"""In a block; episodes are many and short, so that small blocks fill a GPU evenly."""
TOOLKIT = Path("nvidia") / "cuda_nvcc"
"""Where the package with NVVM is installed, beside the others."""


class GpuTalks:
    """Episodes whose records live on a GPU."""

    def __init__(self, practice: Practice, scale: float, device: torch.device) -> None:
        if practice.feed is not None or practice.batch.outside is not None:
            raise InvalidOption("Hints and partners from outside the rules are asked in Python; such talks are stepped on the CPU.")
        self._show, self._step = kernels()
        self._cuda = _numba_cuda()
        self.practice, self.scale, self.device = practice, scale, device
        size, shape = practice.size, practice.shape

        def room(*width: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros((size, *width), dtype=dtype, device=device)

        whole = torch.int32
        self.sight = Sight(room(shape.inputs), room(5, dtype=torch.int8), room(3, dtype=whole), room(3, dtype=whole), room(4))
        self.ledger = Ledger(room(), room(), room(dtype=torch.float64), room(dtype=torch.int64), room(5, dtype=torch.float64))
        self._moves, self._sizes = room(4, dtype=torch.int64), Sizes.of(shape)
        table = practice.batch.table if len(practice.batch.table) else np.zeros((1, 9), np.int16)  # a GPU has no empty arrays
        there = self._cuda.to_device
        batch = practice.batch
        self._records = there(batch.state)
        self._game = Game(self._records, there(batch.rules), there(batch.partners), there(table), there(batch.reports))
        self._seen, self._noted, self._made = self._lent(self.sight), self._lent(self.ledger), self._cuda.as_cuda_array(self._moves)
        self._fetch()

    def look(self) -> Situations:
        return self.sight.inputs, self.sight.legal, self.sight.caps

    def uniforms(self) -> Tensor:
        uniforms: Tensor = self.sight.uniforms
        return uniforms

    def step(self, acts: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        self._moves[:, 0] = acts
        self._moves[:, 1:] = shares
        self._launch(self._step, self._game, self._sizes, self._seen, self._noted, self._made, self.scale)
        return self.ledger.rewards, self.ledger.ended

    def report(self) -> Metrics:
        totals = self.ledger.totals.sum(0).tolist()
        self.ledger.totals.zero_()
        ended = totals[EPISODES]
        names = {"reward": REWARD, "share_of_maximum": REWARD, "deal_rate": DEALS, "episode_length": TURNS}
        over = {name: totals[MAXIMUM] if name == "share_of_maximum" else ended for name in names}
        means = {name: totals[column] / over[name] if over[name] else np.nan for name, column in names.items()}
        return {**means, "episodes": int(ended)}

    def state(self) -> State:
        """The talks as arrays, brought back to the CPU."""
        practice = self.practice
        practice.batch.state[:] = self._records.copy_to_host()
        practice.reward[:], practice.moves[:] = self.ledger.returns.cpu().numpy(), self.ledger.moves.cpu().numpy()
        return practice.state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.practice.load_state(state)
        self._fetch()

    def _fetch(self) -> None:
        """Take over the talks of the practice, and look at them."""
        practice = self.practice
        self._records.copy_to_device(np.ascontiguousarray(practice.batch.state, EPISODE))
        self.ledger.returns.copy_(torch.from_numpy(practice.reward))
        self.ledger.moves.copy_(torch.from_numpy(practice.moves))
        self.ledger.totals.zero_()
        self._launch(self._show, self._game, self._sizes, self._seen)

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        """Run a kernel for all slots where torch's next kernel would run."""
        stream = self._cuda.external_stream(torch.cuda.current_stream(self.device).cuda_stream)
        blocks = -(-self.practice.size // THREADS)
        kernel[blocks, THREADS, stream](*arguments)

    def _lent(self, tensors: Any) -> Any:
        """The same memory, as arrays that Numba takes."""
        return type(tensors)(*(self._cuda.as_cuda_array(tensor) for tensor in tensors))


@functools.cache
def kernels() -> tuple[Callable[..., None], Callable[..., None]]:
    """The two kernels: what the networks read, and a step."""
    cuda = _numba_cuda()

    def show(game: Game, sizes: Sizes, sight: Sight) -> None:
        e = cuda.grid(1)
        if e < game.state.shape[0]:
            show_slot(game, sizes, sight, e)

    def step(game: Game, sizes: Sizes, sight: Sight, ledger: Ledger, moves: Any, scale: float) -> None:
        e = cuda.grid(1)
        if e < game.state.shape[0]:
            step_slot(game, sizes, sight, ledger, moves, scale, e)

    return cuda.jit(show), cuda.jit(step)


def _numba_cuda() -> Any:
    """Numba's side for GPUs, told where NVVM is if it came as a package."""
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
