"""The reference table of the auction game: every designer on every population, on the same markets.

R is the mean score per step over whole episodes, averaged over seeds. All designers meet the same seeds, so differences are paired: what an
adaptive designer gains over the best constant is judged market by market.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant, InformedGreedy
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
class Row:
    """One designer on one population."""

    designer: str
    score: Estimate
    over_best_constant: Estimate
    """Paired difference to the better of the two constants, on the same markets."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"designer": self.designer, "score": self.score.as_dict(), "over_best_constant": self.over_best_constant.as_dict()}


def auction_yardstick(config: AuctionConfig, episodes: int, seed: int, progress: Progress) -> list[Row]:
    """Every designer on one population."""
    rows = {name: make for name, make in ROWS.items() if not (name.startswith("oracle") and config.stage in NO_ORACLE)}
    scores = {}
    for done, (name, make) in enumerate(rows.items()):
        progress(name, done, len(rows))
        scores[name] = play(make(), config, episodes, seed).mean(axis=1)
    progress("done", len(rows), len(rows))
    best = max((scores[name] for name in rows if name.startswith("best constant")), key=lambda values: float(values.mean()))
    return [Row(name, mean(values), paired_difference(values, best)) for name, values in scores.items()]
