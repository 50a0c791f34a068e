"""A model ready to be asked: weights, tokenizer and chat template from a folder, on the device that there is."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from edgeworth.errors import FallbackUsed, InvalidOption, ModelUnavailable
from edgeworth.llm.client import Messages
from edgeworth.llm.local.attention import ATTENTION
from edgeworth.llm.local.decoding import Decoder, Vocabulary
from edgeworth.llm.local.folders import ADAPTER, Found
from edgeworth.llm.local.grammar import Constraints
from edgeworth.llm.local.kv_cache import KeyValueCache, PackedCache, PaddedCache
from edgeworth.llm.local.prefixes import Prefix

PACKABLE = {"full_attention", "sliding_attention"}
"""Kinds of layers that `PackedCache` serves."""
UNBOUNDED = 10**9


@dataclass
class LocalModel:
    """A causal language model, its tokenizer, and what follows from both."""

    name: str
    model: Any
    tokenizer: Any
    batch_size: int
    packed: bool
    """Whether its attention is ours (`attention.py`)."""

    @cached_property
    def context(self) -> int:
        """Tokens that prompt and reply may have together."""
        config = self.model.config.get_text_config()
        limits = (getattr(config, "max_position_embeddings", None), self.tokenizer.model_max_length, UNBOUNDED)
        return min(int(limit) for limit in limits if limit)

    @cached_property
    def ends(self) -> frozenset[int]:
        """The tokens that end a reply."""
        ends = self.model.generation_config.eos_token_id
        named = ends if isinstance(ends, list) else [ends]
        return frozenset(token for token in [*named, self.tokenizer.eos_token_id] if token is not None)

    @cached_property
    def temperature(self) -> float:
        """What the model itself is set to, for samplings that leave it open."""
        settings = self.model.generation_config
        return float(settings.temperature or 1.0) if settings.do_sample else 0.0

    @cached_property
    def decoder(self) -> Decoder:
        """What writes its replies."""
        return Decoder(Vocabulary(self.ends, len(self.tokenizer), self.text), self.new_cache, self.batch_size)

    @cached_property
    def constraints(self) -> Constraints:
        """The grammars of its tokenizer."""
        end = self.tokenizer.eos_token_id
        return Constraints(self.tokenizer, min(self.ends) if end is None else end)

    def new_cache(self, prefix: Prefix | None, rows: int) -> KeyValueCache:
        """The key-value cache of a batch."""
        kind = PackedCache if self.packed else PaddedCache
        return kind(self.model, prefix, rows)

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def conversation(self, messages: Messages) -> str:
        """A conversation as the model reads it, up to where its reply begins."""
        chat = [{"role": message.role, "content": message.content} for message in messages]
        written: str = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return written

    def encode(self, conversations: Sequence[str]) -> list[list[int]]:
        """The tokens of conversations."""
        if not conversations:
            return []
        encoded: list[list[int]] = self.tokenizer(list(conversations), add_special_tokens=False)["input_ids"]
        return encoded


def load(found: Found, device: str, dtype: str, batch_size: int) -> LocalModel:
    """A model, ready to be asked; an adapter is merged into its base."""
    place, name = chosen_device(device), found.name
    tokenizer = load_tokenizer(found.base, name)
    model = load_merged(found, _dtype(dtype, place))
    model.to(place).eval().requires_grad_(False)
    packed = is_packable(model)
    if packed:
        model.set_attn_implementation(ATTENTION)
    elif kinds_of_layers(model) != {"full_attention"}:
        raise ModelUnavailable(
            "bad_request",
            f"{name} has layers that cannot be batched here ({', '.join(sorted(kinds_of_layers(model)))}); "
            "serve it, for example with vLLM, and use the client `vllm`.",
        )
    return LocalModel(name, model, tokenizer, batch_size, packed)


def load_merged(found: Found, dtype: Any) -> Any:
    """A whole model; an adapter is merged into its base."""
    model = load_weights(found.base, found.name, dtype)
    if found.adapter is None:
        return model
    from edgeworth.llm.local.adapters import with_merged

    return with_merged(model, found.adapter)


def load_weights(folder: Path, name: str, dtype: Any, **options: Any) -> Any:
    """The whole model in a folder; `name` is what errors call it."""
    try:
        with without_bars(), _without_leftover(folder) as whole:
            config = AutoConfig.from_pretrained(whole, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(
                whole, config=config, dtype=dtype, local_files_only=True, use_safetensors=True, **options
            )
    except Exception as error:  # a folder from outside can be wrong in every way
        reason = " ".join(str(error).split())[:200]
        raise ModelUnavailable("unknown_model", f"{name} cannot be loaded as a causal language model: {reason}") from error
    model.config.name_or_path = str(folder)  # with a leftover it was seen elsewhere
    return model


@contextmanager
def _without_leftover(folder: Path) -> Iterator[Path]:
    """The folder, seen without a leftover `adapter_config.json`, which transformers would follow; a warning says so."""
    if not (folder / ADAPTER).is_file():
        yield folder
        return
    warnings.warn(f"{folder} holds whole weights, so its leftover {ADAPTER} is ignored.", FallbackUsed, stacklevel=2)
    with tempfile.TemporaryDirectory() as seen:
        for path in folder.resolve().iterdir():
            if not path.name.startswith("adapter_"):
                (Path(seen) / path.name).symlink_to(path)
        yield Path(seen)


def is_packable(model: Any) -> bool:
    """Whether a model's attention can be exchanged for ours."""
    takes = inspect.signature(model.forward).parameters.keys()
    return model._supports_attention_backend and kinds_of_layers(model) <= PACKABLE and {"position_ids", "logits_to_keep"} <= takes


def kinds_of_layers(model: Any) -> set[str]:
    """How the layers of a model read earlier tokens."""
    config = model.config.get_text_config()
    if getattr(model, "_is_stateful", False):
        return {"recurrent"}
    return set(
        getattr(config, "layer_types", None) or ["sliding_attention" if getattr(config, "sliding_window", None) else "full_attention"]
    )


def chosen_device(device: str) -> torch.device:
    """The device that was asked for; `auto` is the GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise InvalidOption(f"device is {device!r}; expected auto, cpu, cuda or cuda:0.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise ModelUnavailable("unreachable", f"device is {device!r}, but torch sees no GPU here; use device='cpu' or 'auto'.")
    return place


def prefer_flash_attention() -> None:
    """Compute attention without cuDNN, which prepares itself anew for every shape of a batch and takes longer for that than to compute."""
    torch.backends.cuda.enable_cudnn_sdp(False)


def _dtype(dtype: str, place: torch.device) -> Any:
    if dtype == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    return getattr(torch, dtype)


def load_tokenizer(folder: Path, name: str) -> Any:
    """The tokenizer in a folder, which must know how to write a chat."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelUnavailable("unknown_model", f"The tokenizer of {name} cannot be loaded: {reason}") from error
    if not tokenizer.chat_template:
        raise ModelUnavailable(
            "bad_request",
            f"{name} has no chat template, so it does not know messages; use the version of it that was trained to chat "
            "(often named Instruct or chat), or put a chat_template.jinja into its folder.",
        )
    return tokenizer


@contextmanager
def without_bars() -> Iterator[None]:
    """Loading from a folder is short; it draws no bar."""
    bars: Any = logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads for torch, and afterwards as many as before."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
