"""Attention over a packed cache: every new token sees the shared prefix and the earlier tokens of its own row.

Scores against the prefix are one matrix product for the tokens of all rows. Scores against the rows' own keys are one batched product over
a grid of rows and places, for short runs; long runs, such as prompts that are being read, are computed one by one, in pieces that stay in
the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface

from edgeworth.llm.local.kv_cache import PackedCache, Placed, Step

ATTENTION = "edgeworth_packed"
"""The name under which transformers knows it."""
MOST_SCORES, MOST_ON_GPU = 2**19, 2**31
"""Scores that are held at once: as many as fit a processor's cache, or the memory of a GPU."""


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
    packed_cache: PackedCache | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """What transformers calls in every layer; `packed_cache` is passed on from `PackedCache.run`, `s_aux` are the sinks of gpt-oss."""
    assert packed_cache is not None and packed_cache.step is not None, "this attention belongs to PackedCache.run"
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    keys, values = packed_cache.own[module.layer_idx]
    view = View(packed_cache, packed_cache.step, keys, values, module.layer_idx, softcap, sliding_window, s_aux)
    return view.answers(query[0] * scale).unsqueeze(0), None


AttentionInterface.register(ATTENTION, packed_attention)


@dataclass(frozen=True)
class View:
    """What one layer sees; queries are (heads, packed tokens, width), answers (packed tokens, heads, width)."""

    cache: PackedCache
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
        seen = self.cache.shared + self.step.used
        most = MOST_SCORES if query.device.type == "cpu" else MOST_ON_GPU
        if query.shape[0] * query.shape[1] * seen <= most or self.step.width == 1:
            return self._together(query)
        answers = query.new_empty((query.shape[1], query.shape[0], self.values.shape[-1]))
        piece = max(1, most // (query.shape[0] * seen))
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
        scores[..., self.cache.shared :] = own[step.rows, :, step.columns].transpose(0, 1)
        weights = self._weights(scores, step.hidden, step.slots)
        spread = self.cache.workspace("spread", query, rows, heads, step.width, step.used).zero_()
        spread[step.rows, :, step.columns] = weights[..., self.cache.shared :].transpose(0, 1)
        read = spread.view(rows, kinds, -1, step.used) @ self.values[:, :, : step.used]
        answers = read.view(rows, heads, step.width, -1)[step.rows, :, step.columns]
        if self.cache.prefix is None:
            return answers
        return answers + self._product(weights[..., : self.cache.shared], self.cache.prefix.layers[self.layer][1]).transpose(0, 1)

    def _of_run(self, query: Tensor, run: Placed, first: int, last: int) -> Tensor:
        """A piece of one run."""
        packed = slice(run.begin + first, run.begin + last)
        end, shared = run.end - run.length + last, self.cache.shared
        scores = self._scores(query[:, packed], end)
        self._product(query[:, packed], self.keys[run.row, :, :, :end], scores[..., shared:])
        weights = self._weights(scores, self.step.hidden[packed, :end], self.step.slots[packed])
        answers = self._product(weights[..., shared:], self.values[run.row, :, :end])
        if self.cache.prefix is not None:
            answers += self._product(weights[..., :shared], self.cache.prefix.layers[self.layer][1])
        return answers.transpose(0, 1)

    def _scores(self, query: Tensor, used: int) -> Tensor:
        """Room for all scores, (heads, tokens, prefix and slots), those of the prefix in their place."""
        scores = self.cache.workspace("scores", query, *query.shape[:2], self.cache.shared + used)
        if self.cache.prefix is not None:
            self._product(query, self.cache.prefix.layers[self.layer][0], scores[..., : self.cache.shared])
        return scores

    def _weights(self, scores: Tensor, hidden: Tensor, slots: Tensor) -> Tensor:
        """How much every token takes of everything that it sees."""
        if self.softcap is not None:
            scores = torch.tanh(scores / self.softcap) * self.softcap
        scores[..., self.cache.shared :].masked_fill_(hidden, -torch.inf)
        if self.window is not None and scores.shape[-1] > self.window:
            places = torch.arange(scores.shape[-1], device=scores.device)
            scores.masked_fill_(places <= slots[:, None] + self.cache.shared - self.window, -torch.inf)
        if self.sinks is not None:
            sinks = self.sinks.to(scores.dtype).view(-1, 1, 1).expand(*scores.shape[:2], 1)
            return functional.softmax(torch.cat([scores, sinks], dim=-1), dim=-1, dtype=torch.float32)[..., :-1].to(scores.dtype)
        if scores.dtype == torch.float32:
            return torch.softmax(scores, dim=-1, out=self.cache.workspace("weights", scores, *scores.shape))
        return functional.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)

    def _product(self, one: Tensor, other: Tensor, out: Tensor | None = None) -> Tensor:
        """The product of (heads, tokens, …) with (kinds, …), where several heads share one kind; into `out` where that is given."""
        heads, tokens, kinds = one.shape[0], one.shape[1], other.shape[0]
        folded = one if heads == kinds else one.reshape(kinds, -1, one.shape[2])
        if out is None:
            return torch.bmm(folded, other).view(heads, tokens, -1)
        torch.bmm(folded, other, out=out if heads == kinds else out.view(kinds, -1, out.shape[2]))
        return out
