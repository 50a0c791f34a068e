"""Training the pocket model, a small Llama that answers the prompts of the two games: settings, training, log, and its folder.

Network and loss are in `pocket_model.py`, the text is `pocket_corpus.py`. Now and then the system message is left out, so that the model
does not depend on its every word.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeworth.config import load_yaml
from edgeworth.errors import DataError, InvalidOption, MissingExtra
from edgeworth.files import csv_text, write_json, write_whole
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.huggingface import POCKET_FOLDER
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.pocket_corpus import GAMES, Corpus, CorpusSettings
from edgeworth.training.pocket_model import DeviceRows, agreement, batches, build_model, reply_loss, use_plain_causal_attention
from edgeworth.training.settings import Count
from edgeworth.validation import build, settings

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM

CARD = "card.json"
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
    bare_share: float = 0.1
    """Batches without the system message afterwards."""
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
    text = build(CorpusSettings, {**corpus, **seeds}, "the corpus")
    checked: PocketSettings = build(PocketSettings, {**given, **changes, **seeds, "corpus": text}, "the pocket model")
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


@dataclass(frozen=True)
class Trained:
    """A trained model, and how it came about."""

    model: LlamaForCausalLM
    history: list[dict[str, float]]
    seconds: float
    device: str


def train(
    corpus: Corpus,
    settings: PocketSettings,
    device: str = "auto",
    log: Path | None = None,
    keep: Callable[[Trained], object] | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a model on a corpus; the log is written line by line, and `keep` is given the model every so many lines, and at the end."""
    try:
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtra("Training the pocket model", "torch and transformers", "llm") from error
    from edgeworth.llm.local.loading import chosen_device

    torch.manual_seed(settings.seed)
    place = chosen_device(device)
    model = build_model(settings, corpus.tokenizer)
    torch.nn.Module.to(model, place)
    if place.type == "cuda":
        use_plain_causal_attention(model)
    optimizer = make_optimizer(model, settings)
    pad = corpus.tokenizer.pad_token_id
    systems = {game: torch.tensor(corpus.systems[game], device=place) for game in GAMES}
    on_device = {game: DeviceRows.of(corpus.rows[game], place) for game in GAMES}
    sizes = {"hint": settings.hint_rows, "mechanism": settings.mechanism_rows}
    orders = {game: batches(corpus.rows[game], sizes[game], generator(settings.seed, number)) for number, game in enumerate(GAMES)}
    rng, history, began = generator(settings.seed, 9), [], time.perf_counter()
    sums = dict.fromkeys(GAMES, torch.zeros((), device=place))
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, settings)
        for game in GAMES:
            tokens, wanted = on_device[game].padded(next(orders[game]), pad)
            bare = step < settings.bare_steps * settings.steps or rng.random() < settings.bare_share
            with torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"):
                loss = reply_loss(model, None if bare else systems[game], tokens, wanted)
            loss.backward()
            sums[game] = sums[game] + loss.detach()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if (step + 1) % settings.log_every == 0 or step + 1 == settings.steps:
            line: dict[str, float] = {"step": step + 1, "learning_rate": learning_rate(step, settings)}
            since = step % settings.log_every + 1
            line |= {f"{game}_loss": float(sums[game]) / since for game in GAMES}
            line |= held_out_scores(model, corpus, systems, place)
            line["seconds"] = time.perf_counter() - began
            history.append(line)
            sums = dict.fromkeys(GAMES, torch.zeros((), device=place))
            if log is not None:
                write_log(log, history)
            if keep is not None and (len(history) % settings.keep_every == 0 or step + 1 == settings.steps):
                keep(Trained(model, history, line["seconds"], device_name(place)))
        words = f"loss {history[-1]['hint_loss']:.3f} / {history[-1]['mechanism_loss']:.3f}" if history else "training"
        progress(words, step + 1, settings.steps)
    return Trained(model, history, time.perf_counter() - began, device_name(place))


def device_name(place: torch.device) -> str:
    """What it was trained on."""
    import torch

    return torch.cuda.get_device_name(place) if place.type == "cuda" else "CPU"


def held_out_scores(
    model: LlamaForCausalLM, corpus: Corpus, systems: dict[str, torch.Tensor], place: torch.device, most: int = 2_048
) -> dict[str, float]:
    """Loss and agreement with the teachers on rows that were never trained on."""
    import torch

    scores: dict[str, float] = {}
    with torch.inference_mode(), torch.autocast(place.type, torch.bfloat16, enabled=place.type == "cuda"):
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


# The folder


def save(folder: Path, corpus: Corpus, trained: Trained, settings: PocketSettings, command: str) -> dict[str, Any]:
    """Keep the model as an ordinary `from_pretrained` folder in half precision, with its card; the card is returned."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    model = copy.deepcopy(trained.model)
    model.set_attn_implementation("sdpa")
    torch.nn.Module.to(model, torch.bfloat16)
    model.save_pretrained(folder)
    corpus.tokenizer.save_pretrained(folder)
    last = trained.history[-1]
    card = {
        "what": "A language model of two games, bargaining hints and auction mechanisms, trained from scratch on text that they write.",
        "what_it_is_not": "A general language model. It knows these two prompts and no other text, English least of all.",
        "command": command,
        "rules": {"auction": RULES},
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "settings": asdict(settings),
        "exchanges": {game: len(corpus.rows[game]) for game in GAMES},
        "hardware": trained.device,
        "training_seconds": round(trained.seconds, 1),
        "held_out": {key: round(value, 4) for key, value in last.items() if "held_out" in key or "agreement" in key},
    }
    write_card(folder, card)
    return card


def read_card(folder: Path | None = None) -> dict[str, Any]:
    """The card of a model that was trained here."""
    path = (POCKET_FOLDER if folder is None else folder) / CARD
    try:
        card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(path, "is no card of a pocket model; `edgeworth pocket train` writes one.") from error
    return card


def market_rules(card: Mapping[str, Any]) -> int:
    """The rules of the market that a model was trained on; cards without a number are of the first."""
    return int(card.get("rules", {}).get("auction", 1))


def write_scores(folder: Path | None, scores: Mapping[str, Any]) -> None:
    """Put what was measured onto a model's card."""
    write_card(POCKET_FOLDER if folder is None else folder, {**read_card(folder), "scores": scores})


def write_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write a card whole or not at all."""
    write_json(folder / CARD, card)
