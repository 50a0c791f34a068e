"""What a designer is: it looks at what the market shows, and posts a mechanism.

Designers work on whole batches: a `MarketView` holds what may be seen of N markets at the same step, `design` answers with N mechanisms.
A designer that learns within an episode keeps its own notes; `begin` opens a fresh page. Only a designer that says so (`knows`) is told
more than any other: which recipe of the population table each market was drawn from, or the composition itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import MarketView, Notebook

Knowledge = Literal["nothing", "stage", "composition"]
TRUTH: dict[Knowledge, str] = {"stage": "stage", "composition": "count"}
"""Where a market's record holds what such a designer is told."""


class Designer:
    """Posts a mechanism for every market of a batch, step by step."""

    knows: ClassVar[Knowledge] = "nothing"
    """What it is told that no honest designer knows."""
    assumed: tuple[str, ...] = ()
    """What it went by instead of what it did not have for this episode, such as files made for another number of bidders."""

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
        """A new episode of `size` markets.

        `told` is for designers that know: the row of the population table of each market, shape (size,), or the number of bidders of
        each type, shape (size, types).
        """

    def design(self, view: MarketView) -> Rows:
        """One mechanism per market."""
        raise NotImplementedError


def told_to(designer: Designer, markets: Rows) -> NDArray[np.int64] | None:
    """What a designer is told of markets whose episode has begun."""
    return markets[TRUTH[designer.knows]].copy() if designer.knows in TRUTH else None


def play(
    designer: Designer, config: AuctionConfig, episodes: int, seed: int, stepped: Callable[[int], None] | None = None
) -> NDArray[np.float64]:
    """Let a designer play one episode of each of `episodes` seeds; the score of every step, shape (episodes, steps).

    All episodes go forward together; `stepped` is told how many steps they have played.
    """
    batch = MarketBatch(config, episodes)
    batch.seed(seed)
    batch.reset()
    designer.begin(config, episodes, seed, told_to(designer, batch.markets))
    scores = np.zeros((episodes, config.episode_length))
    notebook = Notebook(batch)
    for step in range(config.episode_length):
        posted = designer.design(notebook.view())
        scores[:, step] = batch.step(posted)["composite"]
        notebook.write(posted)
        if stepped is not None:
            stepped(step + 1)
    return scores
