"""Adaptive designer: probes the market, infers from what it sees, and posts what its forecast favours.

It does not know the population. The first step plays a mechanism that does well everywhere; after it, and after each of the next few, the
forecast of every mechanism in its library is revised by what was seen (`forecast`) and the best one is posted. It knows how many bidders
there are, which is public, and its prior is the family of populations that markets come from: the equal mixture of the `stages`, or
`mixed`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import CHECKPOINTS, USUAL_BIDDERS, bundled_checkpoint, bundled_mechanism, numbered
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.forecast import Revisions, load_revisions, revise, seen_in
from edgeworth.config import AuctionConfig
from edgeworth.errors import UnknownName
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView

PRIORS = ("stages", "mixed")
LIBRARY = ("stage_0", "stage_1", "stage_2", "stage_3", "stage_4", "mixed", "stages")
"""The mechanisms it chooses from, by their bundled names."""


def library_rows(n_agents: int = USUAL_BIDDERS) -> Rows:
    """The library for so many bidders as the market reads it."""
    return mechanism_rows([bundled_mechanism(name, n_agents) for name in LIBRARY])


def forecast_file(prior: str, n_agents: int = USUAL_BIDDERS) -> Path:
    """Where the forecasts fitted for a prior and a number of bidders are kept."""
    return numbered(CHECKPOINTS, f"adaptive_{prior}", n_agents, "npz")


class Adaptive(Designer):
    """Looks at the market and posts the mechanism with the best forecast."""

    library: Rows
    revisions: Revisions

    def __init__(self, prior: str = "stages") -> None:
        if prior not in PRIORS:
            raise UnknownName("prior of the adaptive designer", prior, PRIORS)
        self.prior, self.probe = prior, LIBRARY.index(prior)
        self._read: dict[int, tuple[Rows, Revisions]] = {}
        self.prepare(USUAL_BIDDERS)

    def prepare(self, n_agents: int) -> None:
        """Load the library and the forecasts for so many bidders, or for the nearest number that was fitted."""
        bundled = bundled_checkpoint(f"adaptive_{self.prior}", n_agents, f"edgeworth designer fit --prior {self.prior}")
        if bundled.n_agents not in self._read:
            self._read[bundled.n_agents] = library_rows(bundled.n_agents), load_revisions(bundled.path)
        (self.library, self.revisions), self.assumed = self._read[bundled.n_agents], bundled.notes

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        self.prepare(config.n_agents)
        self.in_force = np.full(size, self.probe)
        self.forecast = np.zeros((size, len(LIBRARY)))

    def design(self, view: MarketView) -> Rows:
        step = view.round_number - 1
        if any(at == step for at, _ in self.revisions):
            self.forecast = revise(self.revisions, step, self.in_force, self.forecast, seen_in(view))
            self.in_force = self.forecast.argmax(axis=1)
        posted: Rows = self.library[self.in_force]
        return posted
