"""Training the pocket model, a small Llama that answers the prompts of the two games: settings, training, log.

Network and loss are in `pocket_model.py`, the text is `pocket_corpus.py`, the folder `pocket_folder.py`. Now and then the system message
is left out, so that the model does not depend on its every word.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import load_yaml
from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.files import csv_text, write_whole
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.pocket_corpus import GAMES, Corpus, CorpusSettings
from edgeworth.training.pocket_model import DeviceRows, agreement, batches, build_model, reply_loss
from edgeworth.training.run_loop import stopping_gracefully
from edgeworth.training.settings import Count
from edgeworth.training.shared_prefix import use_plain_causal_attention
from edgeworth.validation import build, settings

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM

UNJUDGED = {"hint": 5, "mechanism": 0}
"""Tokens at the end of a reply that do not count when it is compared with the teacher's: how confident a hint is (`0.4}` and the end)."""


@settings
class PocketSettings:
    """How the model is built and trained."""

    corpus: CorpusSettings = field(default_factory=CorpusSettings)
    hidden: Count = 256
    layers: int = 6
    heads: Count = 4
    key_value_heads: Count = 2
    intermediate: int = 1_024
    steps: Count = 12_000
    """Updates."""
    hint_rows: Count = 512
    """Hint exchanges in an update."""
    mechanism_rows: Count = 64
    """Mechanism exchanges in an update."""
    learning_rate: float = 1.2e-3
    warm_up: int = 300
    final_share: float = 0.02
    """Learning rate at the end, as a share of its peak; a cosine leads there."""
    weight_decay: float = 0.05
    gradient_norm: float = 1.0
    bare_steps: float = 0.8
    """Share of the updates, from the first on, without system messages: they are short, and the games are learnt sooner."""
    early_share: float = 0.0
    """Share of these updates that have the system message after all: the model meets it while it still learns fast."""
    bare_share: float = 0.1
    """Batches without the system message afterwards."""
    compiled: bool = False
    """Compile the network for updates without system messages (`torch.compile`); it takes two minutes and pays on a GPU."""
    log_every: Count = 100
    """Updates between two lines of the log."""
    keep_every: Count = 10
    """Lines of the log between two copies of the model on disk."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hidden % self.heads or self.heads % self.key_value_heads:
            raise InvalidOption(
                f"hidden is {self.hidden}, heads {self.heads}, key_value_heads {self.key_value_heads}; each must divide the one before."
            )


def load_settings(path: Path, changes: Mapping[str, Any] | None = None, seed: int | None = None) -> PocketSettings:
    """Settings from a YAML file, changed by the ones given; one seed decides the text and the training."""
    given, changes = dict(load_yaml(path)), dict(changes or {})
    corpus = {**(given.pop("corpus", None) or {}), **(changes.pop("corpus", None) or {})}
    seeds = {} if seed is None else {"seed": seed}
    return settings_of({**given, **changes, **seeds, "corpus": {**corpus, **seeds}})


def settings_of(given: Mapping[str, Any]) -> PocketSettings:
    """Settings from a mapping, checked."""
    text = build(CorpusSettings, given.get("corpus", {}), "the corpus")
    checked: PocketSettings = build(PocketSettings, {**given, "corpus": text}, "the pocket model")
    return checked


# Training


def make_optimizer(model: LlamaForCausalLM, settings: PocketSettings) -> torch.optim.AdamW:
    """AdamW, whose decay spares what is not a matrix."""
    import torch

    weights = [p for p in model.parameters() if p.ndim > 1]
    gains = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": weights, "weight_decay": settings.weight_decay}, {"params": gains, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=model.device.type == "cuda")


def learning_rate(step: int, settings: PocketSettings) -> float:
    """The learning rate of an update: a linear rise, then a cosine."""
    if step < settings.warm_up:
        return settings.learning_rate * (step + 1) / settings.warm_up
    done = (step - settings.warm_up) / max(1, settings.steps - settings.warm_up)
    share = settings.final_share + (1.0 - settings.final_share) * 0.5 * (1.0 + np.cos(np.pi * done))
    return settings.learning_rate * float(share)


def compiled_only(wanted: bool) -> Any:
    """Use what was compiled, or not: with a cache in front of the rows much would be compiled anew."""
    import torch

    return torch.compiler.set_stance("default" if wanted else "force_eager")


class Trainer:
    """A model in training: one update at a time, and all that the next update depends on.

    The order of the rows and the updates without system message are functions of the seed and the step, so that a run which was stopped
    goes on as if it had not been.
    """

    def __init__(self, corpus: Corpus, settings: PocketSettings, device: str = "auto") -> None:
        try:
            import torch
            import transformers  # noqa: F401
        except ImportError as error:
            raise MissingExtra("Training the pocket model", "torch and transformers", "llm") from error
        from edgeworth.llm.local.loading import chosen_device, prefer_flash_attention

        torch.manual_seed(settings.seed)
        self.corpus, self.settings, self.place = corpus, settings, chosen_device(device)
        self.model = build_model(settings, corpus.tokenizer)
        torch.nn.Module.to(self.model, self.place)
        if self.place.type == "cuda":
            prefer_flash_attention()
            use_plain_causal_attention(self.model)
        if settings.compiled:
            self.model.model.compile(dynamic=True)
        self.optimizer = make_optimizer(self.model, settings)
        self.systems = {game: torch.tensor(corpus.systems[game], device=self.place) for game in GAMES}
        self.rows = {game: DeviceRows.of(corpus.rows[game], self.place) for game in GAMES}
        self.step, self.seconds = 0, 0.0
        self.history: list[dict[str, float]] = []
        self.sums = dict.fromkeys(GAMES, torch.zeros((), device=self.place))
        self.orders = self._orders()

    def _orders(self) -> dict[str, Iterator[NDArray[np.int64]]]:
        """The batches of every game from the present step on."""
        sizes = {"hint": self.settings.hint_rows, "mechanism": self.settings.mechanism_rows}
        rounds = (batches(self.corpus.rows[game], sizes[game], generator(self.settings.seed, number)) for number, game in enumerate(GAMES))
        return {game: itertools.islice(order, self.step, None) for game, order in zip(GAMES, rounds, strict=True)}

    def update(self) -> None:
        """One batch of each game, one step of AdamW."""
        import torch

        settings, model, place = self.settings, self.model, self.place
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, settings)
        draws = generator(settings.seed, 9, self.step).random(len(GAMES))
        for game, draw in zip(GAMES, draws, strict=True):
            tokens, wanted = self.rows[game].padded(next(self.orders[game]), self.corpus.tokenizer.pad_token_id)
            early = self.step < settings.bare_steps * settings.steps
            bare = draw >= settings.early_share if early else draw < settings.bare_share
            with torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"), compiled_only(bare):
                loss = reply_loss(model, None if bare else self.systems[game], tokens, wanted)
            loss.backward()
            self.sums[game] = self.sums[game] + loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1

    def note(self) -> None:
        """Add a line to the history: losses since the last one, and scores on held-out rows."""
        import torch

        since = (self.step - 1) % self.settings.log_every + 1
        line: dict[str, float] = {"step": self.step, "learning_rate": learning_rate(self.step - 1, self.settings)}
        line |= {f"{game}_loss": float(self.sums[game]) / since for game in GAMES}
        self.history.append({**line, **held_out_scores(self.model, self.corpus, self.systems, self.place), "seconds": self.seconds})
        self.sums = dict.fromkeys(GAMES, torch.zeros((), device=self.place))

    @property
    def hardware(self) -> str:
        """What it is trained on."""
        import torch

        return torch.cuda.get_device_name(self.place) if self.place.type == "cuda" else "CPU"

    @property
    def over(self) -> bool:
        """Whether the last update has been made."""
        return self.step >= self.settings.steps

    def state(self) -> dict[str, Any]:
        """All that the next update depends on, beside text and settings."""
        kept = {name: getattr(self, name) for name in KEPT}
        return {**kept, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on where a run was left."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        for name in KEPT:
            setattr(self, name, state[name])
        self.sums = {game: loss.to(self.place) for game, loss in self.sums.items()}
        self.orders = self._orders()


KEPT = ("step", "seconds", "history", "sums")
"""Attributes of a trainer that are kept as they are."""


def train(trainer: Trainer, log: Path, keep: Callable[[], object], progress: Progress = silent) -> None:
    """Train to the last update; the log is written line by line, and `keep` is called every so many lines, at the end and on Ctrl-C."""
    settings, began = trainer.settings, time.perf_counter() - trainer.seconds
    with stopping_gracefully() as stop:
        while not trainer.over:
            trainer.update()
            trainer.seconds = time.perf_counter() - began
            history = trainer.history
            if noted := trainer.step % settings.log_every == 0 or trainer.over:
                trainer.note()
                write_log(log, history)
            stop.cancel_deadline()
            if trainer.over or stop.signal is not None or (noted and len(history) % settings.keep_every == 0):
                keep()
            if stop.signal is not None and not trainer.over:
                stop.leave()
            words = f"loss {history[-1]['hint_loss']:.3f} / {history[-1]['mechanism_loss']:.3f}" if history else "training"
            progress(words, trainer.step, settings.steps)


def held_out_scores(
    model: LlamaForCausalLM, corpus: Corpus, systems: dict[str, torch.Tensor], place: torch.device, most: int = 2_048
) -> dict[str, float]:
    """Loss and agreement with the teachers on rows that were never trained on."""
    import torch

    scores: dict[str, float] = {}
    with torch.inference_mode(), torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"), compiled_only(False):
        for game in GAMES:
            rows = corpus.held_out[game]
            chosen = generator(0, 5).permutation(len(rows))[:most]
            lots = [chosen[begin : begin + 256] for begin in range(0, len(chosen), 256)]
            on_device, pad = DeviceRows.of(rows, place), corpus.tokenizer.pad_token_id
            pairs = [agreement(model, systems[game], *on_device.padded(lot, pad), UNJUDGED[game]) for lot in lots]
            loss, agreed = np.average(np.array(pairs), axis=0, weights=[len(lot) for lot in lots])
            scores |= {f"{game}_held_out_loss": float(loss), f"{game}_agreement": float(agreed)}
    return scores


def write_log(path: Path, history: list[dict[str, float]]) -> None:
    """The history so far as CSV."""
    rows = [{key: f"{value:.6g}" for key, value in line.items()} for line in history]
    write_whole(path, csv_text(rows, list(rows[0])).encode())
