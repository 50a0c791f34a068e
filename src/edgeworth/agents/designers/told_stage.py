"""Designer that is told the stage: it posts the best constant mechanism that a search found for that population.

For the stages and `mixed` the search has been run (`configs/mechanisms/`); any other population, and a market with other constants, is
searched on the spot, on markets that are never played afterwards. It does not know the composition, which varies within a stage, and it
keeps one mechanism: `oracle` knows more, `schedule` and `adaptive` can change theirs.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import POPULATIONS, bundled_name
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.fixed import boxed_mechanism, find_mechanism
from edgeworth.agents.designers.search import QUICK, Progress, SearchBudget, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.population import HELD_OUT, STAGES
from edgeworth.games.auction.state import MECHANISM

SEARCH_SEED = 4_000_000_000


class ToldStage(Designer):
    """Knows which population it faces, but not who has come of it."""

    knows = "stage"

    def __init__(self, budget: SearchBudget = QUICK, progress: Progress | None = None) -> None:
        self.budget = budget
        self.progress = progress

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
        self.rows, self.assumed = np.zeros(size, MECHANISM), ()
        recipes = np.zeros(size, np.int64) if told is None else told
        for recipe in np.unique(recipes):
            self.rows[recipes == recipe] = self.best_for(self.population(config, int(recipe)))

    def design(self, view: MarketView) -> Rows:
        return self.rows

    def population(self, config: AuctionConfig, recipe: int) -> AuctionConfig:
        """The population that a market of this recipe was drawn from."""
        families = {"stages": [str(k) for k in range(STAGES)], "held_out": [f"held_out_{k}" for k in range(HELD_OUT)]}
        if config.mix is None and config.stage in families:
            return dataclasses.replace(config, stage=families[config.stage][recipe])
        return config

    def best_for(self, config: AuctionConfig) -> np.void:
        """The best constant mechanism for a population: bundled if it is there, else by search."""
        if config.mix is None and config.stage in POPULATIONS and is_calibrated(config):
            mechanism, notes = find_mechanism(bundled_name(config.stage), config.n_agents)
            self.assumed += notes
            found: np.void = mechanism_rows([mechanism])[0]
            return found
        start = mechanism_rows([boxed_mechanism(bundled_name(stage), config.n_agents) for stage in POPULATIONS])
        return search_mechanism(config, SEARCH_SEED, self.budget, progress=self.progress, start=start).mechanism


def is_calibrated(config: AuctionConfig) -> bool:
    """Whether a market follows the model that the bundled files were made with."""
    return not config.freeze and MarketModel.from_options(config.model) == MarketModel()
