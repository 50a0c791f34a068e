"""The model that is trained: from the package, a folder, a run or the hub (`llm/local/folders.py`); with adapters or whole."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from edgeworth.errors import ModelUnavailable
from edgeworth.llm.local.adapters import peft, with_adapter, with_merged
from edgeworth.llm.local.folders import BUNDLED, Found
from edgeworth.llm.local.loading import chosen_device, load_tokenizer, load_weights, prefer_flash_attention, without_bars
from edgeworth.training.designer.settings import TuningSettings


def load_student(found: Found, tuning: TuningSettings, device: str = "auto") -> tuple[Any, Any]:
    """The model, ready to be trained, and its tokenizer."""
    place = chosen_device(device)
    prefer_flash_attention()
    tokenizer = load_tokenizer(found.base, found.name)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    options = {"quantization_config": quantized(place)} if tuning.four_bit else {}
    model = load_weights(found.base, found.name, _precision(tuning, place), attn_implementation="sdpa", **options)
    if found.adapter is not None:
        model = with_adapter(model, found.adapter, trainable=True) if tuning.method == "lora" else with_merged(model, found.adapter)
    elif tuning.method == "lora":
        model = with_new_adapters(model, tuning)
    return model.to(place) if not tuning.four_bit else model, tokenizer


def _precision(tuning: TuningSettings, place: torch.device) -> torch.dtype:
    """What the weights are kept in: single precision where they are trained, half where they only carry adapters on a GPU."""
    return torch.bfloat16 if place.type == "cuda" and tuning.method == "lora" else torch.float32


def quantized(place: torch.device) -> Any:
    """4-bit NF4 (Dettmers et al. 2023), where it is possible."""
    if place.type != "cuda":
        raise ModelUnavailable(
            "bad_request", "tuning.four_bit needs a GPU, and torch sees none here; set tuning.four_bit to false to train without it."
        )
    if importlib.util.find_spec("bitsandbytes") is None:
        raise ModelUnavailable(
            "bad_request",
            "tuning.four_bit needs the package bitsandbytes; install it (pip install bitsandbytes), or set tuning.four_bit to false"
            " to train in bf16.",
        )
    config: Any = importlib.import_module("transformers").BitsAndBytesConfig
    return config(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True)


def with_new_adapters(model: Any, tuning: TuningSettings) -> Any:
    """A model with untrained adapters on all its linear layers but the last."""
    config = peft().LoraConfig(
        r=tuning.rank, lora_alpha=tuning.alpha, lora_dropout=tuning.dropout, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return peft().get_peft_model(model, config)


def save_weights(model: Any, folder: Path) -> None:
    """Keep adapters, or a whole model in half precision; adapters of a bundled model name it as such, wherever it is installed."""
    if base_of(model) is model:
        torch.nn.Module.to(model, torch.bfloat16)
    else:
        for config in model.peft_config.values():
            names = {str(path): name for name, path in BUNDLED.items()}
            config.base_model_name_or_path = names.get(config.base_model_name_or_path, config.base_model_name_or_path)
    with without_bars():
        model.save_pretrained(folder)


def base_of(model: Any) -> Any:
    """The transformers model within a model that may have adapters."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def parameter_counts(model: Any) -> dict[str, int]:
    """All parameters, and those that are trained."""
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
