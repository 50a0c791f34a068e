"""A prefix that all rows of a batch share, such as a system message: read once, with gradients, and attended to by every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache


def read_prefix(backbone: Any, tokens: torch.Tensor, rows: int) -> DynamicCache:
    """The cache of a prefix, one copy in memory for all rows; `backbone` is the model without its head."""
    from transformers import DynamicCache

    head = backbone(input_ids=tokens[None], use_cache=True).past_key_values
    cache = DynamicCache()
    for number, layer in enumerate(head.layers):
        cache.update(layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1), number)
    return cache
