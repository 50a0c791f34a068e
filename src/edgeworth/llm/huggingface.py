"""A local language model: any causal model or adapter from a folder or from the Hugging Face hub, asked in batches, on CPU or GPU.

A schema is always met: replies are decoded under its grammar (`local.grammar`), what can be written in one way only is appended without
asking the model, and what the prompts of a batch share is read once (`local.prefixes`). torch and transformers (extra `llm`) are imported
when the model is first needed, so that a client can be made, named and replayed without them; `check` loads the model, and every call
after it only asks.
"""

from __future__ import annotations

import importlib.util
import json
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from edgeworth.errors import InvalidOption, MissingExtra, ModelUnavailable, UnknownName
from edgeworth.llm.client import Client, Completion, Failure, Messages, Reply, Sampling, Samplings, TokenLogprob, sampling_each
from edgeworth.llm.local.folders import BUNDLED, Found, digest, find, local_folder

if TYPE_CHECKING:
    from edgeworth.llm.local.decoding import Row
    from edgeworth.llm.local.loading import LocalModel

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
POCKET_FOLDER = BUNDLED["pocket"]
CARD, TRAINED_ON = "card.json", "trained_on"
"""The card beside a model that was trained here, and its entry on what the text had, by game."""


class HuggingFace(Client):
    """A causal language model that runs here."""

    def __init__(
        self,
        model: str | Path,
        revision: str | None = None,
        device: str = "auto",
        dtype: Dtype = "auto",
        batch_size: int = 16,
        threads: int = 1,
    ) -> None:
        """`model` is a folder (of a model, an adapter or a run), the name of a bundled model, or a name on the hub.

        `dtype` "auto" is float32 on a CPU and the model's own on a GPU.
        """
        if not isinstance(model, str | Path) or not str(model).strip():
            raise InvalidOption(f"model is {model!r}; expected a folder, or a name on the hub such as Qwen/Qwen2.5-1.5B-Instruct.")
        if dtype not in get_args(Dtype):
            raise UnknownName("dtype", dtype, get_args(Dtype))
        for option, value in (("batch_size", batch_size), ("threads", threads)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidOption(f"{option} is {value!r}; expected 1 or more.")
        self.model = str(model)
        self.revision = revision
        self.device, self.dtype = device, dtype
        self.batch_size, self.threads = batch_size, threads
        self._lock = threading.Lock()
        self._loaded: LocalModel | None = None

    @cached_property
    def name(self) -> str:
        """The model: a folder by its last name and a digest of its content, a model of the hub by its name and revision."""
        return self._name("huggingface/")

    def _name(self, family: str) -> str:
        folder = local_folder(self.model)
        if folder is not None:
            known = f"{Path(self.model).expanduser().resolve().name}@{digest(folder)}"
        else:
            known = self.model if self.revision is None else f"{self.model}@{self.revision}"
        return f"{family}{known}{'' if self.dtype == 'auto' else f' {self.dtype}'}"

    @cached_property
    def trained_on(self) -> Mapping[str, Any]:
        """By game, what its training text had, where its card says so."""
        folder = local_folder(self.model)
        try:
            card = None if folder is None else json.loads((folder / CARD).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not trained here
            return {}
        return dict(card.get(TRAINED_ON, {})) if isinstance(card, dict) else {}

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        """A reply to every conversation; the clock of `within` starts when the model is loaded."""
        each = sampling_each(batch, sampling)
        if not batch:
            return []
        with self._lock:
            loaded = self._load()
            started = time.monotonic()
            with self._threads():
                rows = self._rows(loaded, batch, each)
                stop_at = float("inf") if within is None else started + within
                loaded.decoder.write([row for row in rows if not isinstance(row, Failure)], stop_at)
            written = zip(rows, each, strict=True)
            return [row if isinstance(row, Failure) else self._reply(loaded, row, one, started) for row, one in written]

    def check(self) -> None:
        with self._lock:
            self._load()

    def close(self) -> None:
        with self._lock:
            self._loaded = None

    def _load(self) -> LocalModel:
        """The model, loaded when it is first needed."""
        if self._loaded is None:
            _need("torch", "transformers", "llguidance")
            found = self._find()  # before torch is imported, which takes seconds
            from edgeworth.llm.local.loading import load

            with self._threads():
                self._loaded = load(found, self.device, self.dtype, self.batch_size)
        return self._loaded

    def _find(self) -> Found:
        """Where the model is."""
        return find(self.model, self.revision)

    def _called(self) -> str:
        """What sentences call the model."""
        return self.model

    def _threads(self) -> Any:
        from edgeworth.llm.local.loading import threads

        return threads(self.threads)

    def _rows(self, loaded: LocalModel, batch: Sequence[Messages], each: Sequence[Sampling]) -> list[Row | Failure]:
        """What is to be written, or why not."""
        texts = [self._text(loaded, messages) for messages in batch]
        prompts = iter(loaded.encode([text for text in texts if isinstance(text, str)]))
        asked = zip(texts, each, strict=True)
        return [text if isinstance(text, Failure) else self._row(loaded, text, next(prompts), one) for text, one in asked]

    def _text(self, loaded: LocalModel, messages: Messages) -> str | Failure:
        from jinja2 import TemplateError

        try:
            return loaded.conversation(messages)
        except TemplateError as error:
            remedy = "many know no system message, or want user and assistant in turn; a prompt file without a line of --- has one message"
            return Failure("bad_request", f"The chat template of {self._called()} refuses this conversation ({error}); {remedy}.")

    def _row(self, loaded: LocalModel, text: str, prompt: list[int], sampling: Sampling) -> Row | Failure:
        from edgeworth.llm.local.decoding import Row, Sampler

        if not prompt:
            return Failure("bad_request", f"The conversation is empty; {self._called()} needs at least one message.")
        room = loaded.context - len(prompt)
        if room < 1:
            return Failure(
                "too_long",
                f"The prompt has {len(prompt):,} tokens, and {self._called()} reads at most {loaded.context:,}, reply included; "
                "shorten it or its history.",
            )
        temperature = loaded.temperature if sampling.temperature is None else sampling.temperature
        sampler = Sampler.of(temperature, sampling.top_p, sampling.seed, text)
        constraint = None if sampling.json_schema is None else loaded.constraints.begin(sampling.json_schema)
        return Row(prompt, sampler, min(sampling.max_tokens, room), constraint, sampling.stop, sampling.logprobs)

    def _reply(self, loaded: LocalModel, row: Row, sampling: Sampling, started: float) -> Reply:
        if row.finish is None:
            seconds = time.monotonic() - started
            remedy = "allow more time (`deadline`), fewer tokens (`max_tokens`) or a smaller `batch_size`"
            return Failure("timeout", f"No finished reply of {self._called()} after {seconds:.3g} s; {remedy}.", seconds=seconds)
        logprobs = None
        if sampling.logprobs:
            logprobs = tuple(TokenLogprob(loaded.text([token]), score) for token, score in zip(row.tokens, row.scores, strict=True))
        return Completion(row.text, row.finish, len(row.prompt), len(row.tokens), logprobs, self.name, seconds=row.seconds)


def _need(*packages: str) -> None:
    """Refuse to go on without these packages."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("A local language model", f"the `{package}` package", "llm")


class Pocket(HuggingFace):
    """The pocket model: our own small language model, in the package, offline; trained to write hints and mechanisms.

    It is the default language model: nothing to download, no key, no server, and quick on one core.
    """

    def __init__(
        self, model: str | Path | None = None, device: str = "auto", dtype: Dtype = "auto", batch_size: int = 16, threads: int = 1
    ) -> None:
        """`model` is a folder that `edgeworth pocket train` has written; None is the one in the package."""
        super().__init__(POCKET_FOLDER if model is None else model, None, device, dtype, batch_size, threads)

    @cached_property
    def name(self) -> str:
        """The model by a digest of its content, wherever the package is installed."""
        if self.model != str(POCKET_FOLDER):
            return self._name("pocket/")
        return self._name("") if POCKET_FOLDER.is_dir() else "pocket"

    def _find(self) -> Found:
        if not Path(self.model).is_dir():
            raise ModelUnavailable(
                "unknown_model",
                f"There is no pocket model at {self.model}; install the package whole, or train one with `edgeworth pocket train`.",
            )
        return super()._find()

    def _called(self) -> str:
        return "the pocket model"
