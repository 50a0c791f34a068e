"""The pocket model: our own small language model, in the package, offline; trained to write hints and mechanisms.

It is what a language model is by default: nothing to download, no key, no server, and quick on one core.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import edgeworth.llm as home
from edgeworth.errors import ModelUnavailable
from edgeworth.llm.huggingface import Dtype, HuggingFace

FOLDER = Path(home.__path__[0]).parent / "checkpoints" / "pocket"


class Pocket(HuggingFace):
    """The model in the box, or another of its kind in a folder."""

    def __init__(
        self, model: str | Path | None = None, device: str = "auto", dtype: Dtype = "auto", batch_size: int = 16, threads: int = 1
    ) -> None:
        """`model` is a folder that `edgeworth pocket train` has written; None is the one in the package."""
        super().__init__(FOLDER if model is None else model, None, device, dtype, batch_size, threads)

    @cached_property
    def name(self) -> str:
        """The model by a digest of its content, wherever the package is installed."""
        if self.model != str(FOLDER):
            return self._name("pocket/")
        return self._name("") if FOLDER.is_dir() else "pocket"

    def _find(self) -> Path:
        if not Path(self.model).is_dir():
            raise ModelUnavailable(
                "unknown_model",
                f"There is no pocket model at {self.model}; install the package whole, or train one with `edgeworth pocket train`.",
            )
        return super()._find()

    def _called(self) -> str:
        return "the pocket model"
