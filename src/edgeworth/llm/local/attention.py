"""Attention for `packing`: every packed token sees the shared beginning and what its own row remembers before it.

Scores against the beginning are one matrix product for all rows, whoever they belong to. Scores against the rows' own memories are one
batched product over a grid of rows and places, for short runs; long ones, such as prompts that are being read, go run by run, in pieces
that stay in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface

from edgeworth.llm.local.packing import PackedMemory, Placed, Step

ATTENTION = "edgeworth_packed"
"""The name under which transformers knows it."""
MOST_SCORES = 2**19
"""Scores that are held at once."""


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    s_aux: Tensor | None = None,
    memory: PackedMemory | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """What transformers calls in every layer; `memory` is handed through by `PackedMemory.run`, `s_aux` are the sinks of gpt-oss."""
    assert memory is not None and memory.step is not None, "this attention belongs to PackedMemory.run"
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    keys, values = memory.own[module.layer_idx]
    view = View(memory, memory.step, keys, values, module.layer_idx, softcap, sliding_window, s_aux)
    return view.answers(query[0] * scale).unsqueeze(0), None


AttentionInterface.register(ATTENTION, packed_attention)


@dataclass(frozen=True)
class View:
    """What one layer sees; queries are (heads, packed tokens, width), answers (packed tokens, heads, width)."""

    memory: PackedMemory
    step: Step
    keys: Tensor
    values: Tensor
    layer: int
    softcap: float | None
    window: int | None
    sinks: Tensor | None
    """For every head a score that belongs to nothing, where a model has learned any."""

    def answers(self, query: Tensor) -> Tensor:
        """What every token reads from what it sees."""
        seen = self.memory.shared + self.step.used
        if query.shape[0] * query.shape[1] * seen <= MOST_SCORES or self.step.width == 1:
            return self._together(query)
        answers = query.new_empty((query.shape[1], query.shape[0], self.values.shape[-1]))
        piece = max(1, MOST_SCORES // (query.shape[0] * seen))
        for run in self.step.runs:
            for first in range(0, run.length, piece):
                last = min(first + piece, run.length)
                answers[run.begin + first : run.begin + last] = self._of_run(query, run, first, last)
        return answers

    def _together(self, query: Tensor) -> Tensor:
        """All tokens at once."""
        step, (rows, kinds) = self.step, self.values.shape[:2]
        heads, _, width = query.shape
        grid = query.new_zeros((rows, step.width, heads, width))
        grid[step.rows, step.columns] = query.transpose(0, 1)
        asked = grid.transpose(1, 2).reshape(rows, kinds, -1, width)
        own = (asked @ self.keys[..., : step.used]).view(rows, heads, step.width, step.used)
        scores = self._scores(query, step.used)
        scores[..., self.memory.shared :] = own[step.rows, :, step.columns].transpose(0, 1)
        weights = self._weights(scores, step.hidden, step.slots)
        spread = self.memory.bench("spread", query, rows, heads, step.width, step.used).zero_()
        spread[step.rows, :, step.columns] = weights[..., self.memory.shared :].transpose(0, 1)
        read = spread.view(rows, kinds, -1, step.used) @ self.values[:, :, : step.used]
        answers = read.view(rows, heads, step.width, -1)[step.rows, :, step.columns]
        if self.memory.beginning is None:
            return answers
        return answers + self._product(weights[..., : self.memory.shared], self.memory.beginning.layers[self.layer][1]).transpose(0, 1)

    def _of_run(self, query: Tensor, run: Placed, first: int, last: int) -> Tensor:
        """A piece of one run."""
        packed = slice(run.begin + first, run.begin + last)
        end, shared = run.end - run.length + last, self.memory.shared
        scores = self._scores(query[:, packed], end)
        self._product(query[:, packed], self.keys[run.row, :, :, :end], scores[..., shared:])
        weights = self._weights(scores, self.step.hidden[packed, :end], self.step.slots[packed])
        answers = self._product(weights[..., shared:], self.values[run.row, :, :end])
        if self.memory.beginning is not None:
            answers += self._product(weights[..., :shared], self.memory.beginning.layers[self.layer][1])
        return answers.transpose(0, 1)

    def _scores(self, query: Tensor, used: int) -> Tensor:
        """Room for all scores, (heads, tokens, beginning and slots), those of the beginning in their place."""
        scores = self.memory.bench("scores", query, *query.shape[:2], self.memory.shared + used)
        if self.memory.beginning is not None:
            self._product(query, self.memory.beginning.layers[self.layer][0], scores[..., : self.memory.shared])
        return scores

    def _weights(self, scores: Tensor, hidden: Tensor, slots: Tensor) -> Tensor:
        """How much every token takes of everything that it sees."""
        if self.softcap is not None:
            scores = torch.tanh(scores / self.softcap) * self.softcap
        scores[..., self.memory.shared :].masked_fill_(hidden, -torch.inf)
        if self.window is not None and scores.shape[-1] > self.window:
            places = torch.arange(scores.shape[-1], device=scores.device)
            scores.masked_fill_(places <= slots[:, None] + self.memory.shared - self.window, -torch.inf)
        if self.sinks is not None:
            sinks = self.sinks.to(scores.dtype).view(-1, 1, 1).expand(*scores.shape[:2], 1)
            return functional.softmax(torch.cat([scores, sinks], dim=-1), dim=-1, dtype=torch.float32)[..., :-1].to(scores.dtype)
        if scores.dtype == torch.float32:
            return torch.softmax(scores, dim=-1, out=self.memory.bench("weights", scores, *scores.shape))
        return functional.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)

    def _product(self, one: Tensor, other: Tensor, out: Tensor | None = None) -> Tensor:
        """The product of (heads, tokens, …) with (kinds, …), where several heads share one kind; into `out` where that is given."""
        heads, tokens, kinds = one.shape[0], one.shape[1], other.shape[0]
        folded = one if heads == kinds else one.reshape(kinds, -1, one.shape[2])
        if out is None:
            return torch.bmm(folded, other).view(heads, tokens, -1)
        torch.bmm(folded, other, out=out if heads == kinds else out.view(kinds, -1, out.shape[2]))
        return out
