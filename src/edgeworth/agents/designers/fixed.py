"""Designers that do not look at the market: random mechanisms, one mechanism at every step, or a schedule fixed beforehand.

`configs/mechanisms/` holds the published "robust" mechanism, `informed_greedy`, and the best constant mechanisms that
`edgeworth designer search` found for the five stages, for `mixed`, and for the equal mixture of the stages, each for several numbers of
bidders; `configs/schedules/` holds the best schedules that `edgeworth designer search --schedule` found. What a schedule gains over the
best constant is what changing rules can gain without looking; what `adaptive` gains over a schedule is what looking is worth.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_mechanism, find_mechanism, find_schedule, mechanism_names
from edgeworth.agents.designers.designer import Designer
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows, random_mechanisms
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.seeding import generator


class Uniform(Designer):
    """Draws every field uniformly over its whole range at every step: the floor of the scale.

    The draws also depend on the kind of market, so that no two cells of a table share any.
    """

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        mix = None if config.mix is None else sorted(config.mix.items())
        self.rng = generator(seed, zlib.crc32(repr((config.stage, mix, config.n_agents, config.episode_length)).encode()))

    def design(self, view: MarketView) -> Rows:
        return random_mechanisms(self.rng, view.size)


class Fixed(Designer):
    """Posts one mechanism at every step: `mechanism` is a bundled name, a JSON file, or a mechanism itself."""

    def __init__(self, mechanism: str | DaedalusAction | None = None) -> None:
        if mechanism is None:
            raise InvalidOption(f"The fixed designer needs a mechanism: a JSON file, or one of {', '.join(mechanism_names())}.")
        self.given = mechanism
        self.mechanism = mechanism if isinstance(mechanism, DaedalusAction) else bundled_mechanism(mechanism)

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        if isinstance(self.given, str):
            self.mechanism, self.assumed = find_mechanism(self.given, config.n_agents)
        self.rows = constant_rows(mechanism_rows([self.mechanism])[0], size)

    def design(self, view: MarketView) -> Rows:
        return self.rows


class InformedGreedy(Fixed):
    """The published "robust" mechanism: a second-price sale, a modest reserve, names and prices public, fines on suspicion."""

    def __init__(self) -> None:
        super().__init__("informed_greedy")


class BestConstant(Fixed):
    """The best single mechanism for a population that is not known: tuned on `mixed`, or on the equal mixture of the `stages`."""

    def __init__(self, tuned_on: str = "mixed") -> None:
        if tuned_on not in ("mixed", "stages"):
            raise UnknownName("population to tune on", tuned_on, ("mixed", "stages"))
        super().__init__(tuned_on)


class Schedule(Designer):
    """Posts a schedule step by step: `schedule` is a population (`mixed`, `stages`, `stage_3`) or a JSON file; the last one stays."""

    def __init__(self, schedule: str = "mixed") -> None:
        self.given = schedule
        self.mechanisms = find_schedule(schedule, AuctionConfig().n_agents)[0]

    def begin(self, config: AuctionConfig, size: int, seed: int, known: NDArray[np.int64] | None = None) -> None:
        self.mechanisms, self.assumed = find_schedule(self.given, config.n_agents)
        if len(self.mechanisms) != config.episode_length:
            steps = f"the schedule has {len(self.mechanisms)} steps, the episode {config.episode_length}"
            self.assumed += (f"{steps}; " + ("its last mechanism stays" if len(self.mechanisms) < config.episode_length else "it is cut"),)
        self.rows = mechanism_rows(self.mechanisms)

    def design(self, view: MarketView) -> Rows:
        return constant_rows(self.rows[min(view.round_number, len(self.rows) - 1)], view.size)
