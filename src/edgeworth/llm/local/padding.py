"""The same as `packing` for architectures whose attention cannot be exchanged: rows padded to one length, the beginning copied into each.

Slower, but it asks nothing of a model beyond an attention mask, explicit positions and a cache that grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from edgeworth.llm.local.packing import Beginning, Run


class PaddedMemory:
    """What the rows of a batch remember, as one rectangle with holes that the mask hides."""

    def __init__(self, model: Any, beginning: Beginning | None, rows: int) -> None:
        self.model = model
        self.beginning = beginning
        self.shared = len(beginning) if beginning is not None else 0
        self.lengths = [0] * rows
        self.cache = DynamicCache()
        self.seen = torch.ones((rows, self.shared), dtype=torch.long, device=model.device)
        for layer, (keys, values) in enumerate(beginning.layers if beginning is not None else ()):
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

    def kept(self, rows: Sequence[int]) -> None:
        """Forget all rows but these, which are then counted from 0."""
        chosen = torch.tensor(rows, device=self.model.device)
        self.cache.batch_select_indices(chosen)
        self.seen = self.seen.index_select(0, chosen)
        self.lengths = [self.lengths[row] for row in rows]

    def beginning_with(self, tokens: Sequence[int]) -> Beginning:
        """What the first row has read, as a beginning to share."""
        layers: Any = self.cache.layers
        return Beginning(tuple(tokens), tuple((layer.keys[0].transpose(1, 2), layer.values[0]) for layer in layers))
