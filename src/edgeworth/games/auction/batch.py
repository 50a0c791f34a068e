"""A batch of markets: the arrays, and the calls of the compiled rules on them.

`MarketBatch` is the object that environments, designers and evaluations stand on. For search there are two plain functions beside it:
`open_markets` gives fresh markets, `step_markets` gives the markets and outcomes after a step and leaves what it was given alone.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption
from edgeworth.games.auction import rules
from edgeworth.games.auction.action import check_rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.state import DESK, MARKET, MECHANISM, OUTCOME
from edgeworth.seeding import seed_streams, slot_seeds

Rows = NDArray[np.void]


class MarketBatch:
    """`size` markets run side by side, each with a seed of its own."""

    def __init__(self, config: AuctionConfig, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
            raise InvalidOption(f"The number of environments is {size!r}; expected a whole number, 1 or more.")
        self.config = config
        self.size = int(size)
        self.model = MarketModel.from_options(config.model).freeze(*config.freeze).as_record()
        self.populations = population_table("0" if config.curriculum else config.stage, config.mix)
        self.markets: Rows = np.zeros(size, MARKET)
        self.outcomes: Rows = np.zeros(size, OUTCOME)
        self.desk: Rows = np.zeros(1, DESK)
        self.seeded = False
        self.started = False

    def seed(self, seeds: int | Sequence[int | None] | NDArray[np.int64] | None, chosen: NDArray[np.bool_] | None = None) -> None:
        """Give every chosen market a seed: one number counts up from itself, a list names each (None keeps or draws one)."""
        placed = slot_seeds(seeds, self.size, self.seeded)
        if placed is None:
            return
        values, where = placed
        where = where if chosen is None else where & chosen
        streams = np.empty_like(values)
        seed_streams(values, streams)
        self.markets["seed"][where] = values[where]
        self.markets["stream"][where] = streams[where]
        self.markets["episode"][where] = 0
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
        self._refuse(mechanisms)
        return self.run(mechanisms)

    def run(self, mechanisms: Rows) -> Rows:
        """The same for a caller who has checked the mechanisms and counts the steps."""
        rules.step_batch(self.markets, mechanisms, self.model, self.desk, self.outcomes)
        return self.outcomes

    def play_constant(self, mechanisms: Rows, steps: int | None = None, threads: int = 1) -> NDArray[np.float64]:
        """Play on under one mechanism per market; the score of every step, shape (size, steps). Threads share out whole markets."""
        steps = self.config.episode_length if steps is None else steps
        self._refuse(mechanisms, steps)
        return self._play(rules.play_constant, mechanisms, steps, threads)

    def play_schedule(self, schedules: Rows, threads: int = 1) -> NDArray[np.float64]:
        """Play on under a mechanism per market and step, shape (size, steps); the score of every step in the same shape."""
        if schedules.ndim != 2:
            raise IllegalAction(f"Schedules of shape {schedules.shape}; expected one mechanism per market and step.", "mechanism")
        check_rows(schedules.ravel())
        self._refuse(schedules[:, 0], schedules.shape[1])
        return self._play(rules.play_schedule, schedules, schedules.shape[1], threads)

    def _play(self, rule: Callable[..., None], mechanisms: Rows, steps: int, threads: int) -> NDArray[np.float64]:
        scores = np.zeros((self.size, steps))

        def play(part: slice) -> None:
            desk = np.zeros(1, DESK)
            rule(self.markets[part], mechanisms[part], self.model, desk, self.outcomes[part], steps, scores[part])

        share_out(play, self.size, threads)
        return scores

    def _refuse(self, mechanisms: Rows, steps: int = 1) -> None:
        if not self.started:
            raise EpisodeOver("The market has not opened; call reset() first.")
        check_rows(mechanisms)
        if mechanisms.shape != (self.size,):
            raise IllegalAction(f"Mechanisms of shape {mechanisms.shape} for {self.size} markets; expected one each.", "mechanism")
        last = int(self.markets["step"].max())
        if last + steps > self.config.episode_length:
            slot = int(self.markets["step"].argmax())
            which = f"Environment {slot}: the" if self.size > 1 else "The"
            raise EpisodeOver(
                f"{which} episode has {self.config.episode_length} steps, {last} of them played; {steps} more do not fit:"
                " call reset() to begin the next one, or raise episode_length."
            )

    def copy(self) -> MarketBatch:
        """The same markets at the same moment, to play on from without touching these."""
        return copy.deepcopy(self)


def share_out(work: Callable[[slice], Any], size: int, threads: int) -> None:
    """Cut a batch into one slice per thread and run them side by side."""
    cuts = np.linspace(0, size, threads + 1).astype(int)
    slices = [slice(int(a), int(b)) for a, b in itertools.pairwise(cuts) if b > a]
    if len(slices) <= 1:
        work(slice(0, size))
        return
    with ThreadPoolExecutor(len(slices)) as pool:
        list(pool.map(work, slices))


def open_markets(config: AuctionConfig, seeds: Sequence[int] | NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Fresh markets, one per seed, and the model that they follow."""
    batch = MarketBatch(config, len(seeds))
    batch.seed(seeds)
    batch.reset()
    return batch.markets, batch.model


def step_markets(markets: Rows, mechanisms: Rows, model: Rows) -> tuple[Rows, Rows]:
    """The markets and outcomes after one step; `markets` stays as it was, so a search can try many mechanisms from one moment."""
    check_rows(mechanisms)
    after, outcomes = markets.copy(), np.zeros(len(markets), OUTCOME)
    rules.step_batch(after, mechanisms, model, np.zeros(1, DESK), outcomes)
    return after, outcomes


def constant_rows(mechanism: np.void | Rows, count: int) -> Rows:
    """One mechanism, repeated for every market."""
    rows = np.zeros(count, MECHANISM)
    rows[:] = mechanism
    return rows
