"""Oracle designer: told how many bidders of each type there are, it posts the best constant mechanism known for that composition.

The mechanisms come from a library by composition (`composition_library`, `edgeworth designers library`), which is bundled for eight
bidders; other numbers of bidders use the composition with the nearest shares. The upper end of the scale for designers that keep one
mechanism through an episode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import CHECKPOINTS, bundled_file, numbered
from edgeworth.agents.designers.composition_library import LIBRARY_NAME, CompositionLibrary, load_library
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.told_stage import is_calibrated
from edgeworth.config import AuctionConfig
from edgeworth.errors import DataError
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import MarketView


class Oracle(Designer):
    """Knows the composition of every market: how many bidders of each type."""

    knows = "composition"

    def __init__(self, library: CompositionLibrary | None = None) -> None:
        self.library = library

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
        library, self.assumed = (self.library, ()) if self.library is not None else self._bundled(config.n_agents)
        if not is_calibrated(config):
            self.assumed += ("the library of compositions was made for the calibrated market",)
        compositions = library.compositions[:1] if told is None else told
        self.rows = np.broadcast_to(library.mechanisms_for(compositions), size).copy()

    def _bundled(self, n_agents: int) -> tuple[CompositionLibrary, tuple[str, ...]]:
        bundled = bundled_file(CHECKPOINTS, LIBRARY_NAME, n_agents, "npz")
        if bundled is None:
            raise DataError(
                numbered(CHECKPOINTS, LIBRARY_NAME, n_agents, "npz"), "is missing; `edgeworth designers library` makes it in some minutes."
            )
        return load_library(bundled.path), bundled.notes

    def design(self, view: MarketView) -> Rows:
        return self.rows
