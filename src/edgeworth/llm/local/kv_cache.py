"""The key-value cache of a batch of conversations, over a prefix that they share.

Conversations differ in how many tokens they append at a time: a long prompt here, a forced run there, one sampled token elsewhere. In
`PackedCache` these are packed end to end into a single sequence, without padding. Each row keeps keys and values of its own; those of the
shared prefix exist once and are read by all, as in Hydragen (Juravsky et al. 2024): one matrix product for all rows, not one for each.
Its attention (`attention.py`) is registered with transformers, and serves every architecture that lets its attention be exchanged;
`PaddedCache` serves the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import DynamicCache

from edgeworth.llm.local.prefixes import Prefix

SPARE = 48
"""Slots by which a row's cache grows at least."""
FEW = 8
"""Tokens per run up to which runs are stored all at once, and not one by one, on a CPU; a GPU stores them all at once."""

Run = tuple[int, Sequence[int]]
"""A row, and the tokens that are appended to it."""


@dataclass(frozen=True)
class Placed:
    """Where one run is: its row, its packed place, its length, and the slots that its row has filled afterwards."""

    row: int
    begin: int
    length: int
    end: int


@dataclass(frozen=True)
class Step:
    """Where the packed tokens of one pass belong."""

    tokens: Tensor
    rows: Tensor
    """The row of every token."""
    columns: Tensor
    """Its place within the run of its row."""
    slots: Tensor
    """Its slot in the cache of its row, behind the shared prefix."""
    placed: NDArray[np.int64]
    """The runs, with the columns of `Placed`."""
    width: int
    """Tokens of the longest run."""
    used: int
    """Slots of the cache that are in use afterwards."""

    @cached_property
    def runs(self) -> list[Placed]:
        """The runs one by one, for when they are computed one by one."""
        return [Placed(*run) for run in self.placed.tolist()]

    @cached_property
    def hidden(self) -> Tensor:
        """For every token, the slots of its row that come after it."""
        return torch.arange(self.used, device=self.slots.device) > self.slots[:, None]


class PackedCache(DynamicCache):
    """The cache of a batch without padding; the model hands its keys and values to `update`, the attention reads them."""

    def __init__(self, model: Any, prefix: Prefix | None, rows: int) -> None:
        super().__init__()
        self.model = model
        self.prefix = prefix
        self.shared = len(prefix) if prefix is not None else 0
        self.lengths = np.zeros(rows, np.int64)
        self.own: list[tuple[Tensor, Tensor]] = []
        """For every layer the rows' keys (rows, heads, width, slots) and values (rows, heads, slots, width)."""
        self.step: Step | None = None
        self._workspaces: dict[str, Tensor] = {}

    def workspace(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """Room for an intermediate result, the same for all layers, so that it stays in the processor's cache; it is not cleared."""
        size = math.prod(shape)
        if name not in self._workspaces or self._workspaces[name].numel() < size:
            self._workspaces[name] = like.new_empty(size + size // 4)
        return self._workspaces[name][:size].view(shape)

    def run(self, runs: Sequence[Run]) -> Tensor:
        """Append the runs, and return the logits after the last token of each."""
        self.step = self._placed(runs)
        device = self.step.slots.device
        answer = self.model(
            input_ids=self.step.tokens[None],
            attention_mask=torch.zeros((1, 1, 1, 1), device=device, dtype=self.model.dtype),  # what is seen is decided by our attention
            position_ids=self.step.slots[None] + self.shared,
            past_key_values=self,
            use_cache=True,
            logits_to_keep=torch.from_numpy(self.step.placed[:, 1] + self.step.placed[:, 2] - 1).to(device),
            packed_cache=self,
        )
        logits: Tensor = answer.logits[0]
        return logits.float()

    def _placed(self, runs: Sequence[Run]) -> Step:
        """Find a place for every token."""
        rows, lengths = np.array([row for row, _ in runs]), np.array([len(run) for _, run in runs])
        tokens = np.fromiter(itertools.chain.from_iterable(run for _, run in runs), np.int64)
        known, begins = self.lengths[rows], lengths.cumsum() - lengths
        self.lengths[rows] = ends = known + lengths
        columns = np.arange(len(tokens)) - begins.repeat(lengths)
        packed = np.stack([tokens, rows.repeat(lengths), columns, columns + known.repeat(lengths)])
        placed = np.stack([rows, begins, lengths, ends], axis=1)
        tokens_at, rows_at, columns_at, slots = torch.from_numpy(packed).to(self.model.device)
        return Step(tokens_at, rows_at, columns_at, slots, placed, int(lengths.max()), int(ends.max()))

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Keep the new keys and values, which are (1, heads, packed tokens, width)."""
        step = self.step
        assert step is not None
        if layer_idx == len(self.own):
            room = (len(self.lengths), key_states.shape[1], step.used + SPARE)
            own = key_states.new_zeros((*room[:2], key_states.shape[3], room[2])), value_states.new_zeros((*room, value_states.shape[3]))
            self.own.append(own)
        keys, values = self.own[layer_idx]
        if values.shape[2] < step.used:
            more = max(step.used - values.shape[2] + SPARE, values.shape[2] // 4)
            keys, values = functional.pad(keys, (0, more)), functional.pad(values, (0, 0, 0, more))
            self.own[layer_idx] = keys, values
        if step.width <= FEW or keys.device.type != "cpu":
            keys[step.rows, :, :, step.slots] = key_states[0].transpose(0, 1)
            values[step.rows, :, step.slots] = value_states[0].transpose(0, 1)
        else:
            for run in step.runs:
                packed, slots = slice(run.begin, run.begin + run.length), slice(run.end - run.length, run.end)
                keys[run.row, :, :, slots] = key_states[0, :, packed].transpose(1, 2)
                values[run.row, :, slots] = value_states[0, :, packed]
        return key_states, value_states

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, which are then numbered from 0; one that is named several times is copied."""
        chosen = torch.tensor(rows, device=self.model.device)
        self.own = [(keys.index_select(0, chosen), values.index_select(0, chosen)) for keys, values in self.own]
        self.lengths = self.lengths[list(rows)]

    def prefix_with(self, tokens: Sequence[int]) -> Prefix:
        """The shared prefix, lengthened by what the first row has read."""
        layers, length = [], int(self.lengths[0])
        for layer, (keys, values) in enumerate(self.own):
            new_keys, new_values = keys[0, :, :, :length], values[0, :, :length]
            if self.prefix is not None:
                old_keys, old_values = self.prefix.layers[layer]
                new_keys, new_values = torch.cat([old_keys, new_keys], dim=2), torch.cat([old_values, new_values], dim=1)
            layers.append((new_keys.contiguous(), new_values.contiguous()))
        return Prefix(tuple(tokens), tuple(layers))


class PaddedCache:
    """The cache of a batch for architectures whose attention cannot be exchanged: rows padded to one length, the prefix copied into each.

    Slower than `PackedCache`, but it needs nothing of a model beyond an attention mask, explicit positions and a cache that grows.
    """

    def __init__(self, model: Any, prefix: Prefix | None, rows: int) -> None:
        self.model = model
        self.prefix = prefix
        self.shared = len(prefix) if prefix is not None else 0
        self.lengths = [0] * rows
        self.cache = DynamicCache()
        self.seen = torch.ones((rows, self.shared), dtype=torch.long, device=model.device)
        for layer, (keys, values) in enumerate(prefix.layers if prefix is not None else ()):
            keys = keys.transpose(1, 2)
            self.cache.update(keys.expand(rows, *keys.shape), values.expand(rows, *values.shape), layer)

    def run(self, runs: Sequence[Run]) -> Tensor:
        """Append the runs, and return the logits after the last token of each."""
        device, rows = self.model.device, len(self.lengths)
        width = max(len(tokens) for _, tokens in runs)
        tokens = torch.zeros((rows, width), dtype=torch.long)
        seen, positions = torch.zeros_like(tokens), torch.zeros_like(tokens)
        for row, run in runs:
            tokens[row, : len(run)] = torch.tensor(run)
            seen[row, : len(run)] = 1
            begin = self.shared + self.lengths[row]
            positions[row] = torch.arange(begin, begin + width).clamp(max=begin + len(run) - 1)
            self.lengths[row] += len(run)
        self.seen = torch.cat([self.seen, seen.to(device)], dim=1)
        answer = self.model(
            input_ids=tokens.to(device),
            attention_mask=self.seen,
            position_ids=positions.to(device),
            past_key_values=self.cache,
            use_cache=True,
        )
        last = torch.tensor([[row, len(run) - 1] for row, run in runs], device=device)
        logits: Tensor = answer.logits[last[:, 0], last[:, 1]]
        return logits.float()

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, which are then numbered from 0; one that is named several times is copied."""
        chosen = torch.tensor(rows, device=self.model.device)
        self.cache.batch_select_indices(chosen)
        self.seen = self.seen.index_select(0, chosen)
        self.lengths = [self.lengths[row] for row in rows]

    def prefix_with(self, tokens: Sequence[int]) -> Prefix:
        """The shared prefix, lengthened by what the first row has read."""
        layers: Any = self.cache.layers
        return Prefix(tuple(tokens), tuple((layer.keys[0].transpose(1, 2), layer.values[0]) for layer in layers))


KeyValueCache: TypeAlias = PackedCache | PaddedCache
