"""The model that is trained: from the package, a folder, a run or the hub; with adapters (LoRA, Hu et al. 2021) or whole.

A folder can hold a whole model or an adapter, which names its base. A folder with whole weights and an `adapter_config.json` left over from
before they were merged, as the published repository has it, is a whole model; a note says that the leftover was ignored.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from edgeworth.errors import MissingExtra, ModelUnavailable
from edgeworth.llm.huggingface import POCKET_FOLDER
from edgeworth.llm.local.hub import find_model
from edgeworth.llm.local.loading import chosen_device, load_tokenizer, without_bars
from edgeworth.training.designer.settings import TuningSettings

POCKET = "pocket"
MODEL = "model"
"""The folder within a run's folder that holds what was trained."""
ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class Found:
    """Where a model is."""

    name: str
    """What errors and cards call it."""
    base: Path
    adapter: Path | None = None
    notes: tuple[str, ...] = ()


def find(model: str, revision: str | None = None) -> Found:
    """The folders of a model: `pocket`, a folder, a run's folder, or a name on the hub."""
    if model == POCKET:
        return Found(POCKET, POCKET_FOLDER)
    folder = Path(model).expanduser()
    if (folder / MODEL).is_dir():
        folder = folder / MODEL
    if not (folder / ADAPTER).is_file():
        return Found(model, find_model(str(folder), revision) if folder.is_dir() else find_model(model, revision))
    if (folder / "config.json").is_file() and any(folder.glob("model*.safetensors")):
        note = f"{folder} holds whole weights, so its leftover {ADAPTER} is ignored."
        return Found(model, find_model(str(folder), None), notes=(note,))
    return Found(model, _base_of(folder), adapter=folder)


def _base_of(adapter: Path) -> Path:
    """The base model that an adapter names."""
    try:
        base = json.loads((adapter / ADAPTER).read_text(encoding="utf-8"))["base_model_name_or_path"]
    except (ValueError, KeyError) as error:
        raise ModelUnavailable("unknown_model", f"{adapter / ADAPTER} names no base model; expected base_model_name_or_path.") from error
    try:
        return POCKET_FOLDER if base == POCKET else find_model(str(base), None)
    except ModelUnavailable as error:
        raise ModelUnavailable(error.reason, f"The base of the adapter {adapter}: {error}") from error


def load_student(found: Found, tuning: TuningSettings, device: str = "auto") -> tuple[Any, Any]:
    """The model, ready to be trained, and its tokenizer."""
    place = chosen_device(device)
    tokenizer = load_tokenizer(found.base, found.name)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = load_weights(found.base, found.name, _precision(tuning, place), quantized(place) if tuning.four_bit else None)
    model.config.name_or_path = POCKET if found.base == POCKET_FOLDER else str(found.base)
    if found.adapter is not None:
        model = with_adapter(model, found.adapter, trainable=tuning.method == "lora")
        if tuning.method == "full":
            model = model.merge_and_unload()
    elif tuning.method == "lora":
        model = with_new_adapters(model, tuning)
    return model.to(place) if not tuning.four_bit else model, tokenizer


def load_weights(folder: Path, name: str, dtype: torch.dtype, quantization: Any = None) -> Any:
    """A whole model from a folder."""
    try:
        with without_bars():
            return AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=dtype,
                quantization_config=quantization,
                local_files_only=True,
                use_safetensors=True,
                attn_implementation="sdpa",
            )
    except Exception as error:  # a folder from outside can be wrong in every way
        reason = " ".join(str(error).split())[:200]
        raise ModelUnavailable("unknown_model", f"{name} cannot be loaded as a causal language model: {reason}") from error


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


# Adapters


def peft() -> Any:
    """The library of adapters."""
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("Training adapters", "peft", "designer") from error
    return peft


def with_new_adapters(model: Any, tuning: TuningSettings) -> Any:
    """A model with untrained adapters on all its linear layers but the last."""
    config = peft().LoraConfig(
        r=tuning.rank, lora_alpha=tuning.alpha, lora_dropout=tuning.dropout, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return peft().get_peft_model(model, config)


def with_adapter(model: Any, folder: Path, trainable: bool = False) -> Any:
    """A model with the adapter of a folder."""
    try:
        return peft().PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except MissingExtra:
        raise
    except Exception as error:  # shapes or layers that the base does not have
        reason = " ".join(str(error).split())[:160]
        raise ModelUnavailable(
            "bad_request",
            f"The adapter {folder} does not fit the model {model.config.name_or_path}; load the base that it was trained on ({reason}).",
        ) from error


def base_of(model: Any) -> Any:
    """The transformers model within a model that may have adapters."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def parameter_counts(model: Any) -> dict[str, int]:
    """All parameters, and those that are trained."""
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }
