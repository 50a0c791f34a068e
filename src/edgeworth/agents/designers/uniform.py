"""Uniform designer: every field drawn anew at every step, uniformly over its whole range. The floor of the scale."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView
from edgeworth.seeding import generator


class Uniform(Designer):
    """Draws every field by chance; markets of another kind have draws of their own, so that two cells of a table share none."""

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
        mix = None if config.mix is None else sorted(config.mix.items())
        self.rng = generator(seed, zlib.crc32(repr((config.stage, mix, config.n_agents, config.episode_length)).encode()))

    def design(self, view: MarketView) -> Rows:
        return random_mechanisms(self.rng, view.size)
