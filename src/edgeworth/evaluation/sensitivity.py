"""How much each field of a mechanism matters: the change of mean R when that field alone moves, population by population.

Every variant plays the markets of the base mechanism (common random numbers), so each change is a paired difference, episode by
episode. The base is the stage's best bundled mechanism, or one that the user gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_name, mechanism_names
from edgeworth.agents.designers.search import mean_scores
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, DaedalusAction, mechanism_rows
from edgeworth.progress import Progress, silent

RESERVES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
PENALTIES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def levels_of(field: str, base: Any) -> list[Any]:
    """The values that a field takes in turn, with the base's own in its place."""
    if field in CHOICES:
        return list(CHOICES[field])
    if field in FLAGS:
        return [False, True]
    return sorted({*(RESERVES if field == "reserve_price" else PENALTIES), base})


def level_text(value: Any) -> str:
    """A level of a field for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


def best_name(stage: str) -> str:
    """The bundled name of the best constant mechanism of a population."""
    if bundled_name(stage) not in mechanism_names():
        known = ", ".join(mechanism_names())
        raise InvalidOption(f"No best mechanism is known for stage {stage!r}; give a base with --mechanism. Known: {known}.")
    return bundled_name(stage)


def sensitivity(
    stage: str, config: AuctionConfig, base: DaedalusAction, episodes: int, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """Move every field of the base through its levels, one at a time, on the episodes of the same seeds; a dictionary for JSON."""
    scores = episode_scores([base], config, episodes, seed)[0]
    fields = []
    for done, field in enumerate(FIELDS):
        progress(field, done, len(FIELDS))
        fields.append({"field": field, "levels": field_effect(field, base, scores, config, seed)})
    progress("done", len(FIELDS), len(FIELDS))
    return {"stage": stage, "mechanism": base.model_dump(), "base": mean(scores, seed).as_dict(), "fields": fields}


def field_effect(field: str, base: DaedalusAction, scores: NDArray[np.float64], config: AuctionConfig, seed: int) -> list[dict[str, Any]]:
    """What every level of one field does to the scores of the base; the base's own value is one of them."""
    own = getattr(base, field)
    values = levels_of(field, own)
    moved = episode_scores([base.model_copy(update={field: value}) for value in values], config, len(scores), seed)
    changes = (paired_difference(row, scores, seed).as_dict() for row in moved)
    return [{"level": value, "is_base": value == own, **change} for value, change in zip(values, changes, strict=True)]


def episode_scores(mechanisms: list[DaedalusAction], config: AuctionConfig, episodes: int, seed: int) -> NDArray[np.float64]:
    """Mean R of every mechanism in every episode, shape (mechanisms, episodes)."""
    return mean_scores(mechanism_rows(mechanisms), config, episodes, seed)


def best_change(base: DaedalusAction, config: AuctionConfig, episodes: int, seed: int) -> tuple[str, Any, Estimate] | None:
    """The change of one field that raises the mean R of a mechanism most: field, value and gain; None where no gain is clear of chance."""
    scores = episode_scores([base], config, episodes, seed)[0]
    moves = [(name, value) for name in FIELDS for value in levels_of(name, getattr(base, name)) if value != getattr(base, name)]
    moved = episode_scores([base.model_copy(update={name: value}) for name, value in moves], config, episodes, seed)
    best = int(moved.mean(axis=1).argmax())
    gain = paired_difference(moved[best], scores, seed)
    return (*moves[best], gain) if gain.low > 0.0 else None
