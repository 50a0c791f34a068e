"""Adaptive designer: probes, infers from what it sees, commits, and goes on looking.

It is never told the population. The first step plays a mechanism that does well everywhere; after it, and after each of the next few, the
forecast of every mechanism in its library is revised by what was seen (`forecast`) and the best one is posted. What it knows beforehand is
only from which family of populations markets come, its prior: the equal mixture of the `stages`, or `mixed`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.fixed import boxed_mechanism
from edgeworth.agents.designers.forecast import load_revisions, revise, seen_of
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError, UnknownName
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.state import SCORES

PRIORS = ("stages", "mixed")
LIBRARY = ("stage_0", "stage_1", "stage_2", "stage_3", "stage_4", "mixed", "stages")
"""The mechanisms it chooses from, by their names in the box."""
CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"


def library_rows() -> Rows:
    """The library as the market reads it."""
    return mechanism_rows([boxed_mechanism(name) for name in LIBRARY])


def forecast_file(prior: str) -> Path:
    """Where the forecasts fitted for a prior are kept."""
    return CHECKPOINTS / f"adaptive_{prior}.npz"


class Adaptive(Designer):
    """Looks at the market and posts what its forecast likes best."""

    def __init__(self, prior: str = "stages") -> None:
        if prior not in PRIORS:
            raise UnknownName("prior of the adaptive designer", prior, PRIORS)
        if not forecast_file(prior).is_file():
            raise DataError(forecast_file(prior), f"is missing; `edgeworth designers fit --prior {prior}` makes it in some minutes.")
        self.library = library_rows()
        self.probe = LIBRARY.index(prior)
        self.revisions = load_revisions(forecast_file(prior))

    def begin(self, config: AuctionConfig, size: int, seed: int, recipes: NDArray[np.int64] | None = None) -> None:
        self.in_force = np.full(size, self.probe)
        self.forecast = np.zeros((size, len(LIBRARY)))

    def design(self, view: MarketView) -> Rows:
        step = view.round_number - 1
        if any(at == step for at, _ in self.revisions):
            seen = seen_of(np.concatenate([view.outcomes[:, : len(SCORES) - 1], view.proxies], axis=1), view.n_agents)
            self.forecast = revise(self.revisions, step, self.in_force, self.forecast, seen)
            self.in_force = self.forecast.argmax(axis=1)
        posted: Rows = self.library[self.in_force]
        return posted
