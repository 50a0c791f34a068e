"""A batch of markets: the arrays, and the calls of the compiled rules on them.

`MarketBatch` is what environments, designers and evaluations use. For search there are two plain functions beside it: `open_markets`
returns new markets, `step_markets` returns the markets and outcomes after a step and leaves its arguments unchanged.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.errors import EpisodeOver, IllegalAction
from edgeworth.games.auction import rules
from edgeworth.games.auction.action import check_rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.state import MARKET, MECHANISM, OUTCOME, WORKSPACE
from edgeworth.seeding import seed_records
from edgeworth.validation import checked_size

Rows = NDArray[np.void]
ALL = slice(None)


class MarketBatch:
    """`size` markets run side by side, each with a seed of its own."""

    def __init__(self, config: AuctionConfig, size: int) -> None:
        self.config = config
        self.size = checked_size(size)
        self.model = MarketModel.from_options(config.model).freeze(*config.freeze).as_record()
        self.populations = population_table("0" if config.curriculum else config.stage, config.mix)
        self.markets: Rows = np.zeros(size, MARKET)
        self.outcomes: Rows = np.zeros(size, OUTCOME)
        self.workspace: Rows = np.zeros(1, WORKSPACE)
        self.seeded = False
        self.started = False

    def seed(self, seeds: int | Sequence[int | None] | NDArray[np.int64] | None, chosen: NDArray[np.bool_] | None = None) -> None:
        """Give every chosen market a seed: one number counts up from itself, a list names each (None keeps or draws one)."""
        seed_records(self.markets, seeds, self.seeded, chosen)
        self.seeded = True

    def reset(self, chosen: NDArray[np.bool_] | None = None, populations: Rows | None = None) -> None:
        """Begin the next episode of all, or of the chosen ones; `populations` takes the place of the configured one."""
        if not self.seeded:
            self.seed(None)
        chosen = np.ones(self.size, np.bool_) if chosen is None else chosen
        table = self.populations if populations is None else populations
        rules.reset_batch(self.markets, self.model, table, self.config.n_agents, chosen)
        self.outcomes[chosen] = np.zeros(1, OUTCOME)
        self.started = True

    def step(self, mechanisms: Rows) -> Rows:
        """One step of every market under its mechanism, or an error before anything has changed; the outcomes are also kept."""
        self._check(mechanisms, 1)
        return self.run(mechanisms)

    def run(self, mechanisms: Rows, played: slice = ALL) -> Rows:
        """One step of all markets, or of some, under mechanisms that are already checked, in an episode that is not over."""
        rules.step_batch(self.markets[played], mechanisms[played], self.model, self.workspace, self.outcomes[played])
        return self.outcomes

    def play_constant(self, mechanisms: Rows, steps: int | None = None, threads: int = 1) -> NDArray[np.float64]:
        """Play on under one mechanism per market; the score of every step, shape (size, steps)."""
        steps = self.config.episode_length if steps is None else steps
        self._check(mechanisms, steps)
        return self._play(np.repeat(mechanisms[:, None], steps, axis=1), threads)

    def play_schedule(self, schedules: Rows, threads: int = 1) -> NDArray[np.float64]:
        """Play on under a mechanism per market and step, shape (size, steps); the score of every step in the same shape."""
        if schedules.ndim != 2:
            raise IllegalAction(f"Schedules of shape {schedules.shape}; expected one mechanism per market and step.", "mechanism")
        check_rows(schedules.ravel())
        self._check(schedules[:, 0], schedules.shape[1])
        return self._play(schedules, threads)

    def _play(self, schedules: Rows, threads: int) -> NDArray[np.float64]:
        """Play schedules; each thread plays a slice of the markets."""
        scores = np.zeros(schedules.shape)

        def play(part: slice) -> None:
            workspace = np.zeros(1, WORKSPACE)
            rules.play_batch(self.markets[part], schedules[part], self.model, workspace, self.outcomes[part], scores[part])

        if threads == 1:
            play(slice(None))
            return scores
        cuts = np.linspace(0, self.size, threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(play, itertools.starmap(slice, itertools.pairwise(cuts))))
        return scores

    def check_steps(self, steps: int) -> None:
        """Refuse to play so many more steps where no episode has begun, or where one would be over."""
        if not self.started:
            raise EpisodeOver("The market has not opened; call reset() first.")
        last = int(self.markets["step"].max())
        if last + steps > self.config.episode_length:
            slot = int(self.markets["step"].argmax())
            which = f"Environment {slot}: the" if self.size > 1 else "The"
            raise EpisodeOver(
                f"{which} episode has played {last} of {self.config.episode_length} steps, which leaves no room for {steps} more:"
                " call reset() to begin the next one, or raise episode_length."
            )

    def _check(self, mechanisms: Rows, steps: int) -> None:
        if self.started:
            check_rows(mechanisms)
            if mechanisms.shape != (self.size,):
                raise IllegalAction(f"Mechanisms of shape {mechanisms.shape} for {self.size} markets; expected one each.", "mechanism")
        self.check_steps(steps)

    def copy(self) -> MarketBatch:
        """A copy of these markets, to play on without changing them."""
        return copy.deepcopy(self)


def open_markets(config: AuctionConfig, seeds: Sequence[int] | NDArray[np.int64]) -> tuple[Rows, Rows]:
    """New markets, one per seed, and the model that they follow."""
    batch = MarketBatch(config, len(seeds))
    batch.seed(seeds)
    batch.reset()
    return batch.markets, batch.model


def step_markets(markets: Rows, mechanisms: Rows, model: Rows) -> tuple[Rows, Rows]:
    """The markets and outcomes after one step; `markets` is not changed, so a search can try many mechanisms from one state."""
    check_rows(mechanisms)
    after, outcomes = markets.copy(), np.zeros(len(markets), OUTCOME)
    rules.step_batch(after, mechanisms, model, np.zeros(1, WORKSPACE), outcomes)
    return after, outcomes


def constant_rows(mechanism: np.void | Rows, count: int) -> Rows:
    """One mechanism, repeated for every market."""
    rows = np.zeros(count, MECHANISM)
    rows[:] = mechanism
    return rows
