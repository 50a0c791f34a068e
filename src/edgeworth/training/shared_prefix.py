"""A prefix that all rows of a batch share, such as a system message: read once, with gradients, and attended to by every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache, PreTrainedModel


def read_prefix(backbone: Any, tokens: torch.Tensor, rows: int) -> DynamicCache:
    """The cache of a prefix, one copy in memory for all rows; `backbone` is the model without its head."""
    from transformers import DynamicCache

    head = backbone(input_ids=tokens[None], use_cache=True).past_key_values
    cache = DynamicCache()
    for number, layer in enumerate(head.layers):
        cache.update(layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1), number)
    return cache


def attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, scaling: float | None = None, **_: Any
) -> tuple[torch.Tensor, None]:
    """Attention in which the last query sees all keys, the one before all but one: what a shared beginning needs, and no mask in memory."""
    from torch.nn.functional import scaled_dot_product_attention

    precision = attention_precision(value)
    query, key, value = query.to(precision), key.to(precision), value.to(precision)
    if query.shape[2] == key.shape[2]:
        seen = scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling, enable_gqa=True)
    else:
        from torch.nn.attention.bias import causal_lower_right

        bias = causal_lower_right(query.shape[2], key.shape[2])
        seen = scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scaling, enable_gqa=True)
    return seen.transpose(1, 2).contiguous(), None


def attention_precision(value: torch.Tensor) -> torch.dtype:
    """Half precision under autocast, where rotated and cached tensors are single: the GPU's own attention takes no other."""
    import torch

    kind = value.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else value.dtype


def use_plain_causal_attention(model: PreTrainedModel) -> None:
    """Let a model use `attend`, which a GPU computes without a mask for every row in its memory."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(attend.__name__, attend)
    AttentionMaskInterface.register(attend.__name__, lambda *_, **__: None)
    model.set_attn_implementation(attend.__name__)
