"""Designers: what they are, and how one plays.

A designer sees what the market shows and posts a mechanism. It works on whole batches: a `MarketView` holds what may be seen of N markets
at the same step, and `design` returns N mechanisms. `begin` starts an episode. A designer whose `knows` says so is also given the row of
the population table that each market was drawn from, or its composition.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import MarketView, StepHistory

Result = TypeVar("Result")
Game = Generator[MarketView, Rows, Result]
"""A batch of markets in play: it shows what designers see, is sent what they post, and returns its result when it is over."""
Knowledge = Literal["nothing", "stage", "composition"]
TRUTH: dict[Knowledge, str] = {"stage": "stage", "composition": "count"}
"""The field of a market's record that holds what such a designer knows."""


class Designer:
    """Posts a mechanism for every market of a batch, step by step."""

    knows: ClassVar[Knowledge] = "nothing"
    """What it is given that other designers cannot see."""
    memoryless: ClassVar[bool] = False
    """Whether it goes by what it is shown alone, so that it may be shown other markets at every step."""
    assumed: tuple[str, ...] = ()
    """What it had to assume for this episode, such as using files made for another number of bidders."""

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        """A new episode of `size` markets.

        `known` is for designers that know more: the row of the population table of each market, shape (size,), or the number of bidders
        of each type, shape (size, types).
        """

    def design(self, view: MarketView) -> Rows:
        """One mechanism per market."""
        raise NotImplementedError


def known_to(designer: Designer, markets: Rows) -> NDArray[np.int64] | None:
    """What a designer knows of markets whose episode has begun, besides what they show."""
    return markets[TRUTH[designer.knows]].copy() if designer.knows in TRUTH else None


def play(
    designer: Designer, config: AuctionConfig, episodes: int, seed: int, stepped: Callable[[int, Rows], None] | None = None
) -> NDArray[np.float64]:
    """Let a designer play one episode of each of `episodes` seeds; the score of every step, shape (episodes, steps).

    All episodes are played side by side; `stepped` is called with the number of steps played and what was just posted.
    """
    batch = fresh_markets(config, episodes, seed)
    designer.begin(config, episodes, seed, known_to(designer, batch.markets))
    (scores,) = play_together([scored(batch, stepped)], lambda views: [designer.design(views[0])])
    return scores


def fresh_markets(config: AuctionConfig, episodes: int, seed: int) -> MarketBatch:
    """Markets of consecutive seeds, before their first step."""
    batch = MarketBatch(config, episodes)
    batch.seed(seed)
    batch.reset()
    return batch


def scored(batch: MarketBatch, stepped: Callable[[int, Rows], None] | None = None) -> Game[NDArray[np.float64]]:
    """Play markets to their end; the score of every step."""
    scores = np.zeros((batch.size, batch.config.episode_length))
    history = StepHistory(batch)
    for step in range(batch.config.episode_length):
        posted = yield history.view()
        scores[:, step] = batch.step(posted)["composite"]
        history.add(posted)
        if stepped is not None:
            stepped(step + 1, posted)
    return scores


def play_together(games: Sequence[Game[Result]], design: Callable[[list[MarketView]], Sequence[Rows]]) -> list[Result]:
    """Play several games at once, so that a language model can write the mechanisms of all of them side by side."""
    results: dict[int, Result] = {}
    views = {number: next(game) for number, game in enumerate(games)}
    while views:
        posted = dict(zip(views, design(list(views.values())), strict=True))
        for number, rows in posted.items():
            try:
                views[number] = games[number].send(rows)
            except StopIteration as over:
                results[number] = over.value
                del views[number]
    return [results[number] for number in range(len(games))]
