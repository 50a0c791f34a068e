"""One pass over ragged rows and a shared prefix gives what a plain model gives for every row alone, whatever the architecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from edgeworth.llm.local import attention
from edgeworth.llm.local.attention import ATTENTION
from edgeworth.llm.local.kv_cache import PackedCache, PaddedCache
from edgeworth.llm.local.loading import is_packable, kinds_of_layers

SMALL: dict[str, Any] = {
    "vocab_size": 120,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
WINDOWED = {**GROUPED, "sliding_window": 12}
OLD = {"vocab_size": 120, "n_positions": 256, "n_embd": 32, "n_layer": 3, "n_head": 4}
PACKED = {
    "Llama": GROUPED,
    "Qwen2": GROUPED,
    "Qwen3": {**GROUPED, "head_dim": 8},
    "Mistral": WINDOWED,
    "Gemma2": {**WINDOWED, "head_dim": 8, "query_pre_attn_scalar": 8},
    "GptOss": {**WINDOWED, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1},
    "GPT2": OLD,
    "GPTNeoX": SMALL,
}
PADDED = {"GPTJ": {**OLD, "rotary_dim": 8}, "Bloom": {"vocab_size": 120, "hidden_size": 32, "n_layer": 3, "n_head": 4}, "StableLm": GROUPED}


def tiny_model(kind: str, options: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(getattr(transformers, f"{kind}Config")(**options)).eval()


def tokens(count: int, seed: int) -> list[int]:
    return torch.randint(3, 119, (count,), generator=torch.Generator().manual_seed(seed)).tolist()


PREFIX = tokens(40, 0)
ENDINGS = [tokens(9, 1), tokens(3, 2), tokens(14, 3)]
RUNS = [(0, tokens(1, 4)), (1, tokens(4, 5)), (2, tokens(12, 6))]
LAST = [(0, tokens(3, 7)), (1, tokens(1, 8))]


def plain(model: Any, *prompts: list[int]) -> Tensor:
    return torch.stack([model(torch.tensor([prompt]), use_cache=False).logits[0, -1] for prompt in prompts])


def assert_agrees(kind: Any, model: Any, expected: list[Tensor]) -> None:
    """Read a prefix, share a part of it, append ragged runs, forget a row, go on."""
    cache = kind(model, None, 1)
    found = [cache.run([(0, PREFIX)])]
    cache = kind(model, cache.prefix_with(PREFIX).cut(30), 3)
    found.append(cache.run([(row, PREFIX[30:] + ending) for row, ending in enumerate(ENDINGS)]))
    found.append(cache.run(RUNS))
    cache.keep([2, 0])
    found.append(cache.run(LAST))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def expected_logits(model: Any) -> list[Tensor]:
    prompts = [PREFIX + ending for ending in ENDINGS]
    longer = [prompt + run for prompt, (_, run) in zip(prompts, RUNS, strict=True)]
    last = [longer[2] + LAST[0][1], longer[0] + LAST[1][1]]
    return [plain(model, PREFIX), plain(model, *prompts), plain(model, *longer), plain(model, *last)]


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.mark.parametrize("scores", [attention.MOST_SCORES, 512], ids=["together", "in pieces"])
@pytest.mark.parametrize("kind", PACKED)
def test_packed_rows_agree_with_the_plain_model(kind: str, scores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "MOST_SCORES", scores)
    model = tiny_model(kind, PACKED[kind])
    expected = expected_logits(model)
    assert is_packable(model)
    model.set_attn_implementation(ATTENTION)
    assert_agrees(PackedCache, model, expected)


@pytest.mark.parametrize("kind", [*PADDED, "Llama"])
def test_padded_rows_agree_with_the_plain_model(kind: str) -> None:
    model = tiny_model(kind, (PADDED | PACKED)[kind])
    assert kinds_of_layers(model) == {"full_attention"} and is_packable(model) == (kind == "Llama")
    assert_agrees(PaddedCache, model, expected_logits(model))


def test_a_cut_beginning_is_a_view_of_the_whole() -> None:
    model = tiny_model("Llama", GROUPED)
    model.set_attn_implementation(ATTENTION)
    cache = PackedCache(model, None, 1)
    cache.run([(0, PREFIX)])
    whole = cache.prefix_with(PREFIX)
    cut = whole.cut(10)
    assert (len(cut), cut.tokens) == (10, tuple(PREFIX[:10]))
    assert cut.layers[0][0].data_ptr() == whole.layers[0][0].data_ptr() and whole.cut(40) is whole
