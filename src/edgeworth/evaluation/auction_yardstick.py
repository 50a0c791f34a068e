"""The reference table of the auction game: every designer on every population, on the same markets.

R is the mean score per step over whole episodes, averaged over seeds. All designers meet the same seeds, so differences are paired: what an
adaptive designer gains over the best constant is judged market by market. A language model is slow, so it plays the first of these seeds
only; its row says how many, and its difference is to the best constant on the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant, InformedGreedy
from edgeworth.agents.designers.language_model import LanguageModel
from edgeworth.agents.designers.oracle import Oracle
from edgeworth.agents.designers.uniform import Uniform
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference

Progress = Callable[[str, int, int], None]

POPULATIONS = ("0", "1", "2", "3", "4", "stages", "mixed", "held_out")
ROWS: dict[str, Callable[[], Designer]] = {
    "oracle (told the population)": Oracle,
    "adaptive (prior: stages)": lambda: Adaptive("stages"),
    "adaptive (prior: mixed)": lambda: Adaptive("mixed"),
    "best constant for the stages": lambda: BestConstant("stages"),
    "best constant for mixed": lambda: BestConstant("mixed"),
    "informed_greedy": InformedGreedy,
    "uniform": Uniform,
}
NO_ORACLE = ("held_out", "dirichlet")
"""Populations of many recipes, for which no search has been run."""


@dataclass(frozen=True)
class PlacedModel:
    """A language model that is placed on the scale."""

    label: str
    designer: LanguageModel
    episodes: int
    """Episodes that it plays on every population."""


@dataclass(frozen=True)
class Row:
    """One designer on one population."""

    designer: str
    score: Estimate
    over_best_constant: Estimate
    """Paired difference to the better of the two constants, on the same markets."""
    posted: Mapping[str, int] | None = None
    """Of a language model: whose mechanisms were posted, over all markets and steps."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = {} if self.posted is None else {"posted": dict(self.posted)}
        return {"designer": self.designer, "score": self.score.as_dict(), "over_best_constant": self.over_best_constant.as_dict(), **told}


def auction_yardstick(config: AuctionConfig, episodes: int, seed: int, progress: Progress, placed: PlacedModel | None = None) -> list[Row]:
    """Every designer on one population, and a language model where one is given."""
    makers = {name: make for name, make in ROWS.items() if not (name.startswith("oracle") and config.stage in NO_ORACLE)}
    total, scores = len(makers) + (placed is not None), {}
    for done, (name, make) in enumerate(makers.items()):
        progress(name, done, total)
        scores[name] = play(make(), config, episodes, seed).mean(axis=1)
    best = max((scores[name] for name in makers if name.startswith("best constant")), key=lambda values: float(values.mean()))
    rows = [Row(name, mean(values), paired_difference(values, best)) for name, values in scores.items()]
    if placed is not None:
        rows.append(_model_row(placed, config, seed, best[: placed.episodes], progress, total))
    progress("done", total, total)
    return rows


def _model_row(placed: PlacedModel, config: AuctionConfig, seed: int, best: NDArray[np.float64], progress: Progress, total: int) -> Row:
    """The language model on the first of the seeds, all its episodes in one call per step."""
    steps, before = config.episode_length, placed.designer.counters["posted"]

    def stepped(step: int) -> None:
        progress(f"{placed.label}, step {min(step + 1, steps)} of {steps}", (total - 1) * steps + step, total * steps)

    stepped(0)
    values = play(placed.designer, config, placed.episodes, seed, stepped).mean(axis=1)
    posted = {whose: number - before[whose] for whose, number in placed.designer.counters["posted"].items()}
    return Row(placed.label, mean(values), paired_difference(values, best), posted)
