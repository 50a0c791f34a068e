"""Markets as their designers know them: the batch, and what has been shown of the episode in play.

What all views of the auction game stand on. The rules keep what the *bidders* remember; a designer remembers the last five steps: the
mechanisms, their scores, and what was seen of the bidders. Where a curriculum chooses the population, all markets of a batch climb it
together: they have one learner.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import DaedalusAction, action_of
from edgeworth.games.auction.batch import MarketBatch, Rows, step_markets
from edgeworth.games.auction.curriculum import Curriculum
from edgeworth.games.auction.market_view import FIRST_DIAGNOSTIC, MarketView, Notebook, outcome_table
from edgeworth.games.auction.notice import step_notice
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.state import DIAGNOSTICS, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import BIDDER_TYPES, RULES

COMPONENTS = SCORES[:-1]


def recipe_names(config: AuctionConfig, recipes: int) -> list[str]:
    """What the rows of a population table are called."""
    if config.mix is not None:
        return ["mix"]
    families = {"stages": "{}", "held_out": "held_out_{}"}
    return [families.get(config.stage, config.stage).format(row) for row in range(recipes)]


class DesignedMarkets:
    """A batch of markets, and what the designer of each has seen."""

    def __init__(self, config: AuctionConfig, size: int) -> None:
        self.batch = MarketBatch(config, size)
        self.curriculum = Curriculum(config) if config.curriculum else None
        self.notebook = Notebook(self.batch)
        self.returns = np.zeros(self.batch.size)
        self.stages = np.zeros(self.batch.size, "<U12")

    @property
    def config(self) -> AuctionConfig:
        """The options in force."""
        return self.batch.config

    @property
    def steps(self) -> NDArray[np.int64]:
        """The designer's steps played in each episode."""
        played: NDArray[np.int64] = self.batch.markets["step"]
        return played

    def reconfigure(self, config: AuctionConfig) -> None:
        """Play the episodes to come under other options."""
        if config is not self.batch.config:
            self.batch.populations = population_table(config.stage, config.mix)
            self.batch.config = config

    def begin(self, chosen: NDArray[np.bool_] | None = None) -> None:
        """Begin the next episode of all markets, or of the chosen ones."""
        chosen = np.ones(self.batch.size, np.bool_) if chosen is None else chosen
        self.batch.reset(chosen, None if self.curriculum is None else self.curriculum.populations())
        self.notebook.open(chosen)
        self.returns[chosen] = 0.0
        if self.curriculum is not None:
            self.stages[chosen] = str(self.curriculum.stage)
        else:
            names = np.array(recipe_names(self.config, len(self.batch.populations)))
            self.stages[chosen] = names[self.batch.markets["stage"][chosen]]

    def step(self, mechanisms: Rows, playing: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """One step of every market, or of those `playing` while the rest has just begun: the scores, and which episodes have ended."""
        batch = self.batch
        if playing is None:
            batch.step(mechanisms)
        else:
            batch.markets[playing], batch.outcomes[playing] = step_markets(batch.markets[playing], mechanisms[playing], batch.model)
        self.notebook.write(mechanisms, slice(None) if playing is None else playing)
        scores = batch.outcomes["composite"].copy()  # 0 where an episode has just begun
        self.returns += scores
        ended = self.steps >= self.config.episode_length
        if self.curriculum is not None:
            for slot in np.flatnonzero(ended):
                self.curriculum.record(int(self.stages[slot]), float(self.returns[slot]) / self.config.episode_length)
        return scores, ended

    @property
    def lines(self) -> NDArray[np.float64]:
        """The last steps of every market, oldest first: scores, proxies, and the mechanism as numbers."""
        return self.notebook.lines

    def view(self, slot: int = 0) -> MarketView:
        """What the designer of one market sees."""
        return self.notebook.view(slice(slot, slot + 1))

    def components(self) -> dict[str, NDArray[np.float64]]:
        """The four parts of every market's last score."""
        return {name: self.batch.outcomes[name].copy() for name in COMPONENTS}

    def truth(self) -> dict[str, NDArray[Any]]:
        """What no designer sees: the bidders' types (their place in BIDDER_TYPES), the population, and what really happened."""
        facts: dict[str, NDArray[Any]] = {name: self.batch.outcomes[name].copy() for name in DIAGNOSTICS}
        types = self.batch.markets["type"][:, : self.config.n_agents].copy()
        return {"types": types, "stage": self.stages.copy(), **facts}

    def info(self, slot: int = 0) -> dict[str, Any]:
        """Rules in force, components and truth of one market in plain types, bidders by name."""
        numbers = outcome_table(self.batch.outcomes)[slot].tolist()
        types = self.batch.markets["type"][slot, : self.config.n_agents].tolist()
        truth = {"types": tuple(BIDDER_TYPES[kind] for kind in types), "stage": str(self.stages[slot])}
        return {
            "rules": RULES,
            "components": dict(zip(COMPONENTS, numbers, strict=False)),
            "truth": {**truth, **dict(zip(DIAGNOSTICS, numbers[FIRST_DIAGNOSTIC:], strict=True))},
        }

    def mechanism(self, slot: int = 0) -> DaedalusAction | None:
        """The mechanism in force, if one has been posted."""
        return action_of(self.view(slot).mechanisms[0]) if self.steps[slot] else None

    def notice(self, slot: int = 0) -> str:
        """The last step of one market as text."""
        outcome = dict(zip((*SCORES, *PROXIES), outcome_table(self.batch.outcomes)[slot].tolist(), strict=False))
        step, config = int(self.steps[slot]), self.config
        return step_notice(step, config.episode_length, config.n_agents, self.mechanism(slot), outcome)
