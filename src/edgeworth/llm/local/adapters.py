"""Adapters (LoRA, Hu et al. 2021) through PEFT: put onto a model to be trained further, or merged into its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.errors import MissingExtra, ModelUnavailable


def peft() -> Any:
    """The library of adapters."""
    try:
        import peft
    except ImportError as error:
        raise MissingExtra("A model with an adapter", "peft", "designer") from error
    return peft


def with_adapter(model: Any, folder: Path, trainable: bool = False) -> Any:
    """A model with the adapter of a folder."""
    library = peft()
    try:
        return library.PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except Exception as error:  # shapes or layers that the base does not have
        reason = " ".join(str(error).split())[:160]
        raise ModelUnavailable(
            "bad_request",
            f"The adapter {folder} does not fit the model {model.config.name_or_path}; load the base that it was trained on ({reason}).",
        ) from error


def with_merged(model: Any, folder: Path) -> Any:
    """A model whose weights have taken in the adapter of a folder."""
    merged = with_adapter(model, folder).merge_and_unload()
    merged.config.name_or_path = model.config.name_or_path
    return merged
