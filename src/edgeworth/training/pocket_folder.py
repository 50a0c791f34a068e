"""The folder of a pocket model: an ordinary `from_pretrained` folder with a card, and the state of its training.

The card says how the model came about, what it was trained on, and what was measured. The state is what `pocket train --resume` goes on
from; it is larger than the model and belongs to the run alone.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeworth.errors import DataError
from edgeworth.files import write_json, write_whole
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.llm.huggingface import CARD, POCKET_FOLDER, TRAINED_ON
from edgeworth.training import pocket_games, pocket_mechanisms
from edgeworth.training.pocket import PocketSettings, Trainer, settings_of
from edgeworth.training.pocket_corpus import GAMES

STATE = "state.pt"


def save(folder: Path, trainer: Trainer, command: str) -> dict[str, Any]:
    """Keep the model in half precision, its card and the state of its training; the card is returned."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    model = copy.deepcopy(trainer.model)
    model.set_attn_implementation("sdpa")
    torch.nn.Module.to(model, torch.bfloat16)
    model.save_pretrained(folder)
    trainer.corpus.tokenizer.save_pretrained(folder)
    content = io.BytesIO()
    torch.save({**trainer.state(), "settings": asdict(trainer.settings)}, content)
    write_whole(folder / STATE, content.getvalue())
    last = trainer.history[-1] if trainer.history else {}
    card = {
        "what": "A language model of two games, bargaining hints and auction mechanisms, trained from scratch on text that they write.",
        "what_it_is_not": "A general language model. It knows these two prompts and no other text, English least of all.",
        "command": command,
        "rules": {"auction": RULES},
        TRAINED_ON: {"hint": pocket_games.trained_on(), "mechanism": pocket_mechanisms.trained_on()},
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "settings": asdict(trainer.settings),
        "updates": trainer.step,
        "exchanges": {game: len(trainer.corpus.rows[game]) for game in GAMES},
        "hardware": trainer.hardware,
        "training_seconds": round(trainer.seconds, 1),
        "held_out": {key: round(value, 4) for key, value in last.items() if "held_out" in key or "agreement" in key},
    }
    write_card(folder, card)
    return card


def load_state(folder: Path) -> tuple[PocketSettings, dict[str, Any]]:
    """The settings and the state of a run that was kept."""
    import torch

    try:
        state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    except (OSError, pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise DataError(
            folder / STATE, "is no state of a pocket model's training; begin one with `edgeworth pocket train --out`."
        ) from error
    return settings_of(state.pop("settings")), state


# The card


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
