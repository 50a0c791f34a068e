"""One market, run sale by sale, with the bidders of the model or with bids from outside.

`SaleRoom` runs the same compiled sales as a batch does and keeps each of them readable: for the story of a market, for environments whose
bidders are learners, and for tests of single sales.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.errors import EpisodeOver, IllegalAction
from edgeworth.games.auction import rules
from edgeworth.games.auction.action import DaedalusAction, action_of, mechanism_rows
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.state import MECHANISM
from edgeworth.games.auction.vocabulary import SALES_PER_STEP


class SaleRoom:
    """A market of one seed, run sale by sale."""

    def __init__(self, config: AuctionConfig, seed: int | None = None) -> None:
        self.batch = MarketBatch(config, 1)
        self.mechanisms: NDArray[np.void] = np.zeros(0, MECHANISM)
        self.begin(seed)

    def begin(self, seed: int | None = None) -> None:
        """The first episode of a seed, or without one the next episode."""
        self.batch.seed(seed)
        self.batch.reset()
        self.sales_left = 0
        self.values_drawn = False

    @property
    def market(self) -> np.void:
        """The market's state."""
        state: np.void = self.batch.markets[0]
        return state

    @property
    def workspace(self) -> np.void:
        """The terms, the last sale and the tally of the step."""
        workspace: np.void = self.batch.workspace[0]
        return workspace

    @property
    def sale(self) -> np.void:
        """The last sale."""
        sale: np.void = self.workspace["sale"]
        return sale

    @property
    def terms(self) -> np.void:
        """What follows from the mechanism in force."""
        terms: np.void = self.workspace["terms"]
        return terms

    @property
    def outcome(self) -> np.void:
        """The last scored step."""
        outcome: np.void = self.batch.outcomes[0]
        return outcome

    @property
    def mechanism(self) -> DaedalusAction:
        """The mechanism in force."""
        return action_of(self.mechanisms[0])

    def post(self, mechanism: DaedalusAction) -> None:
        """Open a step of five sales under a mechanism."""
        if self.sales_left:
            raise EpisodeOver(f"{self.sales_left} sales of this step are still to be held; run them before posting another mechanism.")
        if self.market["step"] >= self.batch.config.episode_length:
            raise EpisodeOver(f"All steps of the episode are played ({self.batch.config.episode_length}); open another sale room.")
        self.mechanisms = mechanism_rows([mechanism])
        rules.open_step(self.market, self.mechanisms[0], self.batch.model[0], self.workspace)
        self.sales_left = SALES_PER_STEP

    def run_sale(self) -> np.void:
        """Hold the next sale with the bidders of the model; a copy of its record. The fifth scores the step."""
        self._refuse_without_sales()
        if self.values_drawn:
            raise EpisodeOver("The values of this sale are drawn and its bids awaited; call run_sale_with_bids().")
        rules.run_sale(self.market, self.mechanisms[0], self.batch.model[0], self.workspace)
        self._count_down()
        return copy.deepcopy(self.sale)

    def draw_values(self) -> NDArray[np.float64]:
        """Begin a sale whose bids come from outside; what the lots are worth to each bidder. Asking again changes nothing."""
        self._refuse_without_sales()
        if not self.values_drawn:
            rules.begin_sale(self.market, self.batch.model[0], self.terms, self.sale, self.workspace["tally"])
            self.values_drawn = True
        return np.array(self.sale["value"][: self.batch.config.n_agents])

    def run_sale_with_bids(self, bids: NDArray[np.float64]) -> np.void:
        """Hold the sale just begun with those bids, one per bidder, 0 for none; a copy of its record."""
        self._refuse_without_sales()
        if not self.values_drawn:
            raise EpisodeOver("This sale has not begun; call draw_values() first.")
        n = self.batch.config.n_agents
        bids = np.asarray(bids, np.float64)
        if bids.shape != (n,) or not np.isfinite(bids).all() or (bids < 0.0).any():
            raise IllegalAction(f"Bids are {bids.tolist()}; expected {n} numbers, 0 or more.", "bid")
        rules.run_sale_with_bids(self.market, self.mechanisms[0], self.batch.model[0], self.workspace, bids)
        self.values_drawn = False
        self._count_down()
        return copy.deepcopy(self.sale)

    def _refuse_without_sales(self) -> None:
        if not self.sales_left:
            raise EpisodeOver("No mechanism is posted; call post() to open a step of five sales.")

    def _count_down(self) -> None:
        self.sales_left -= 1
        if not self.sales_left:
            rules.close_step(self.market, self.batch.model[0], self.workspace, self.outcome)
