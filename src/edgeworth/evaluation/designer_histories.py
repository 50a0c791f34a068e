"""How the training of a designer went: the history of one or more runs, quantity by quantity.

Three trainers write such histories: `designer policy` (PPO), `designer sft` and `designer grpo`. Each logs its own quantities, not all in
every line; `PANELS` says which belong together, what they are called and in which unit they are. A history of bargaining has a share of the
maximum instead and is read by `learning_curves.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import DataError, InvalidOption
from edgeworth.runlog import STEP, Line, read_history

NEGOTIATES = "share_of_maximum"
"""What only histories of bargaining have."""
END = 0.1
"""The part of a history, at its beginning and at its end, whose means are compared."""
FEWEST_LINES = 2


class Panel(NamedTuple):
    """Quantities that are drawn together."""

    title: str
    labels: Mapping[str, str]
    """By the quantity's name in a history."""


PANELS = (
    Panel("reward (mean)", {"reward": "reward", "score": "score R, practice", "validation": "score R, validation"}),
    Panel(
        "parts of the reward (mean)",
        {"reward_composite": "composite", "reward_welfare": "welfare", "reward_fairness": "fairness", "reward_format": "format"},
    ),
    Panel(
        "score R in validation, by population",
        {"validation_stages": "stages", "validation_dirichlet": "dirichlet", "validation_mixed": "mixed"},
    ),
    Panel("reward within a group (standard deviation)", {"reward_std": "standard deviation"}),
    Panel("replies without a legal mechanism (share)", {"invalid": "illegal"}),
    Panel("groups", {"equal_groups": "share with equal rewards", "mechanism_share": "share of variance by mechanism"}),
    Panel("loss", {"loss": "training", "eval_loss": "held out", "policy_loss": "policy", "value_loss": "value"}),
    Panel("share of tokens predicted right", {"mean_token_accuracy": "training", "eval_mean_token_accuracy": "held out"}),
    Panel(
        "entropy (nats)",
        {"entropy": "all", "eval_entropy": "held out", "entropy_choices": "words and flags", "entropy_numbers": "numbers"},
    ),
    Panel("KL divergence (nats)", {"kl": "from the reference model", "approx_kl": "of an update"}),
    Panel("completion length (tokens)", {"completion_length": "mean"}),
    Panel("gradient norm, before clipping", {"grad_norm": "gradient", "gradient_norm": "gradient"}),
    Panel("learning rate", {"learning_rate": "learning rate"}),
)
HEADLINES = ("validation", "reward", "eval_loss", "loss")
"""What the outcome of a run is told by: the first of these that it has."""


def designer_history(folder: Path, name: str | None = None) -> dict[str, Any]:
    """The history of a designer's training as JSON has it: its name, its length and its lines."""
    lines = read_history(folder)
    if len(lines) < FEWEST_LINES:
        raise DataError(folder, "has fewer than two lines in its history; a curve needs more.")
    if not all(isinstance(line.get(STEP), int) for line in lines):
        raise DataError(folder, f"has a line without {STEP} in its history; expected a history as our trainers write it.")
    if not any(key in line for line in lines for panel in PANELS for key in panel.labels):
        raise DataError(folder, "has nothing in its history that the training of a designer logs.")
    known = [
        {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in line.items()} for line in lines
    ]
    return {"name": name or folder.resolve().name, "steps": lines[-1][STEP], "seconds": lines[-1].get("seconds"), "lines": known}


def designer_histories(folders: Sequence[Path], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The histories of several runs, named in order; the others are named by their folders."""
    if len(names) > len(folders):
        raise InvalidOption(f"{len(names)} names were given for {len(folders)} runs; give at most one for each, in their order.")
    return [designer_history(folder, name) for folder, name in zip(folders, [*names, *[None] * len(folders)], strict=False)]


def negotiates(folder: Path) -> bool:
    """Whether a run is one of bargaining."""
    return any(NEGOTIATES in line for line in read_history(folder))


def series(lines: Sequence[Line], key: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The steps at which a quantity was logged, and its values there."""
    there = [(line[STEP], line[key]) for line in lines if isinstance(line.get(key), int | float)]
    steps, values = np.array(there, np.float64).reshape(-1, 2).T
    return steps, values


def ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """The means of the first and of the last tenth of a quantity's values."""
    part = max(round(END * len(values)), 1)
    return float(values[:part].mean()), float(values[-part:].mean())


def headline(lines: Sequence[Line]) -> tuple[str, float, float] | None:
    """The quantity that tells how a run went, at its beginning and at its end; None where it has none of them."""
    for key in HEADLINES:
        values = series(lines, key)[1]
        if values.size:
            return (key, *ends(values))
    return None
