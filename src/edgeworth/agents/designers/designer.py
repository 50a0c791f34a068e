"""What a designer is: it looks at what the market shows, and posts a mechanism.

Designers work on whole batches: a `MarketView` holds what may be seen of N markets at the same step, `design` answers with N mechanisms.
A designer that learns within an episode keeps its own notes; `begin` opens a fresh page. Only a designer that says so
(`knows_population`) is told which recipe of the population table each market was drawn from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import MarketView, Notebook


class Designer:
    """Posts a mechanism for every market of a batch, step by step."""

    knows_population: ClassVar[bool] = False
    """Whether it is told what no honest designer knows."""

    def begin(self, config: AuctionConfig, size: int, seed: int, recipes: NDArray[np.int64] | None = None) -> None:
        """A new episode of `size` markets; `recipes` are the rows of the population table, for designers that know."""

    def design(self, view: MarketView) -> Rows:
        """One mechanism per market."""
        raise NotImplementedError


def play(
    designer: Designer, config: AuctionConfig, episodes: int, seed: int, stepped: Callable[[int], None] | None = None
) -> NDArray[np.float64]:
    """Let a designer play one episode of each of `episodes` seeds; the score of every step, shape (episodes, steps).

    All episodes go forward together; `stepped` is told how many steps they have played.
    """
    batch = MarketBatch(config, episodes)
    batch.seed(seed)
    batch.reset()
    designer.begin(config, episodes, seed, batch.markets["stage"].copy() if designer.knows_population else None)
    scores = np.zeros((episodes, config.episode_length))
    notebook = Notebook(batch)
    for step in range(config.episode_length):
        posted = designer.design(notebook.view())
        scores[:, step] = batch.step(posted)["composite"]
        notebook.write(posted)
        if stepped is not None:
            stepped(step + 1)
    return scores
