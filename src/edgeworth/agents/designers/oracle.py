"""Oracle designer: told the population, it posts the best constant mechanism that a search found for it.

For the stages and `mixed` the search has been run (`configs/mechanisms/`); any other population is searched on the spot, on markets
that are never played afterwards. A bound for designers that keep one mechanism; one that adapts could in principle do better.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.fixed import boxed_mechanism
from edgeworth.agents.designers.search import Progress, SearchBudget, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.population import HELD_OUT, STAGES
from edgeworth.games.auction.state import MECHANISM

SEARCH_SEED = 4_000_000_000
CALIBRATED_BIDDERS = 8


class Oracle(Designer):
    """Knows which population it faces."""

    knows_population = True

    def __init__(self, budget: SearchBudget | None = None, progress: Progress | None = None) -> None:
        self.budget = budget
        self.progress = progress

    def begin(self, config: AuctionConfig, size: int, seed: int, recipes: NDArray[np.int64] | None = None) -> None:
        rows = np.zeros(size, MECHANISM)
        recipes = np.zeros(size, np.int64) if recipes is None else recipes
        for recipe in np.unique(recipes):
            rows[recipes == recipe] = self.best_for(self.population(config, int(recipe)))
        self.rows = rows

    def design(self, view: MarketView) -> Rows:
        return self.rows

    def population(self, config: AuctionConfig, recipe: int) -> AuctionConfig:
        """The population that a market of this recipe was drawn from."""
        families = {"stages": [str(k) for k in range(STAGES)], "held_out": [f"held_out_{k}" for k in range(HELD_OUT)]}
        if config.mix is None and config.stage in families:
            return dataclasses.replace(config, stage=families[config.stage][recipe])
        return config

    def best_for(self, config: AuctionConfig) -> np.void:
        """The best constant mechanism for a population: from the box if it is there, else by search."""
        boxed = {**{str(k): f"stage_{k}" for k in range(STAGES)}, "mixed": "mixed"}
        calibrated = config.n_agents == CALIBRATED_BIDDERS and not config.freeze and MarketModel.from_options(config.model) == MarketModel()
        if config.mix is None and config.stage in boxed and calibrated:
            found: np.void = mechanism_rows([boxed_mechanism(boxed[config.stage])])[0]
            return found
        return search_mechanism(config, SEARCH_SEED, self.budget, progress=self.progress).mechanism
