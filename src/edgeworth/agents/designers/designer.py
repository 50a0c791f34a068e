"""What a designer is: it looks at what the market shows, and posts a mechanism.

Designers work on whole batches: a `MarketView` holds what may be seen of N markets at the same step, `design` answers with N mechanisms.
A designer that learns within an episode keeps its own notes; `begin` opens a fresh page. Only a designer that says so
(`knows_population`) is told which recipe of the population table each market was drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.state import MECHANISM, PROXIES, SCORES


@dataclass(frozen=True)
class MarketView:
    """What may be seen of a batch of markets before a step."""

    round_number: int
    """Steps played so far in this episode."""
    episode_length: int
    n_agents: int
    outcomes: NDArray[np.float64]
    """Scores of the last step, in the order of `state.SCORES`; zeros before the first."""
    proxies: NDArray[np.float64]
    """What was seen of the bidders, in the order of `state.PROXIES`."""
    mechanisms: Rows
    """What was in force in the last step."""

    @property
    def size(self) -> int:
        """How many markets there are."""
        return len(self.outcomes)


class Designer:
    """Posts a mechanism for every market of a batch, step by step."""

    knows_population: ClassVar[bool] = False
    """Whether it is told what no honest designer knows."""

    def begin(self, config: AuctionConfig, size: int, seed: int, recipes: NDArray[np.int64] | None = None) -> None:
        """A new episode of `size` markets; `recipes` are the rows of the population table, for designers that know."""

    def design(self, view: MarketView) -> Rows:
        """One mechanism per market."""
        raise NotImplementedError


def columns(rows: Rows, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Some fields of a batch of records as the columns of a matrix."""
    return np.stack([rows[name] for name in names], axis=1)


def view_of(batch: MarketBatch, step: int, posted: Rows) -> MarketView:
    """What may be seen of a batch before its next step."""
    config, outcomes = batch.config, batch.outcomes
    return MarketView(step, config.episode_length, config.n_agents, columns(outcomes, SCORES), columns(outcomes, PROXIES), posted)


def play(designer: Designer, config: AuctionConfig, episodes: int, seed: int) -> NDArray[np.float64]:
    """Let a designer play one episode of each of `episodes` seeds; the score of every step, shape (episodes, steps)."""
    batch = MarketBatch(config, episodes)
    batch.seed(seed)
    batch.reset()
    designer.begin(config, episodes, seed, batch.markets["stage"].copy() if designer.knows_population else None)
    scores = np.zeros((episodes, config.episode_length))
    posted: Rows = np.zeros(episodes, MECHANISM)
    for step in range(config.episode_length):
        posted = designer.design(view_of(batch, step, posted))
        scores[:, step] = batch.step(posted)["composite"]
    return scores
