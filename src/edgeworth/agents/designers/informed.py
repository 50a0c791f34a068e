"""Informed designers, which know what a market does not show: the population that a market was drawn from, or its composition.

Both keep one mechanism through an episode. `ToldStage` posts the best constant mechanism for its population, `Oracle` the best one known
for the composition (how many bidders of each type there are), which varies within a stage; `Oracle` is the upper end of the scale for
designers that keep one mechanism. `schedule` and `adaptive` can change theirs.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import POPULATIONS, bundled_checkpoint, bundled_mechanism, bundled_name, find_mechanism
from edgeworth.agents.designers.composition_library import LIBRARY_NAME, CompositionLibrary, load_library
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.search import QUICK, SearchBudget, search_mechanism
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.population import recipe_names
from edgeworth.games.auction.state import MECHANISM
from edgeworth.progress import Progress, silent

SEARCH_SEED = 4_000_000_000


class ToldStage(Designer):
    """Knows which population it faces, but not its composition.

    For the stages and `mixed` the search has been run (`configs/mechanisms/`); any other population, and a market with other constants, is
    searched when an episode begins, on markets that are never played afterwards.
    """

    knows = "stage"

    def __init__(self, budget: SearchBudget = QUICK, progress: Progress = silent) -> None:
        self.budget = budget
        self.progress = progress

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        self.rows, self.assumed = np.zeros(size, MECHANISM), ()
        recipes = np.zeros(size, np.int64) if known is None else known
        for recipe in np.unique(recipes):
            self.rows[recipes == recipe] = self.best_for(population_of_recipe(config, int(recipe)))

    def design(self, view: MarketView) -> Rows:
        return self.rows

    def best_for(self, config: AuctionConfig) -> np.void:
        """The best constant mechanism for a population: bundled if it is there, else by search."""
        if config.mix is None and config.stage in POPULATIONS and is_calibrated(config):
            mechanism, notes = find_mechanism(bundled_name(config.stage), config.n_agents)
            self.assumed += notes
            found: np.void = mechanism_rows([mechanism])[0]
            return found
        start = mechanism_rows([bundled_mechanism(bundled_name(stage), config.n_agents) for stage in POPULATIONS])
        return search_mechanism(config, SEARCH_SEED, self.budget, progress=self.progress, start=start).mechanism


class Oracle(Designer):
    """Knows the composition of every market: how many bidders of each type.

    The mechanisms come from a library by composition (`edgeworth designer library`), bundled for several numbers of bidders; for other
    numbers the composition with the nearest shares is used.
    """

    knows = "composition"

    def __init__(self, library: CompositionLibrary | None = None) -> None:
        self.library = library

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        library, self.assumed = self.library, ()
        if library is None:
            bundled = bundled_checkpoint(LIBRARY_NAME, config.n_agents, "edgeworth designer library")
            library, self.assumed = load_library(bundled.path), bundled.notes
        if not is_calibrated(config):
            self.assumed += ("the library of compositions was made for the calibrated market",)
        compositions = library.compositions[:1] if known is None else known
        self.rows = np.broadcast_to(library.mechanisms_for(compositions), size).copy()

    def design(self, view: MarketView) -> Rows:
        return self.rows


def population_of_recipe(config: AuctionConfig, recipe: int) -> AuctionConfig:
    """The population that a market of this row of the population table was drawn from."""
    if config.mix is None and config.stage in ("stages", "held_out"):
        return dataclasses.replace(config, stage=recipe_names(config.stage, None)[recipe])
    return config


def is_calibrated(config: AuctionConfig) -> bool:
    """Whether a market follows the model that the bundled files were made with."""
    return not config.freeze and MarketModel.from_options(config.model) == MarketModel()
