"""Fixed designer: the same mechanism for ever, from a file or a bundled one.

`configs/mechanisms/` holds the published "robust" mechanism, `informed_greedy`, and the best constant mechanisms that
`edgeworth designers search` found for the five stages, for `mixed`, and for the equal mixture of the stages, each for several numbers
of bidders. A name means the one for the market's number of bidders.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import USUAL_BIDDERS, bundled_file, bundled_names, mechanism_folder
from edgeworth.agents.designers.designer import Designer
from edgeworth.config import AuctionConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows, read_mechanism
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView


def mechanism_names() -> list[str]:
    """The bundled mechanisms, whatever the number of bidders."""
    return bundled_names(mechanism_folder())


def find_mechanism(name: str, n_agents: int = USUAL_BIDDERS) -> tuple[DaedalusAction, tuple[str, ...]]:
    """A bundled mechanism by name, or one from a JSON file by its path, and what is to be said of it."""
    if isinstance(name, str) and name.endswith(".json"):
        return read_mechanism(Path(name)), ()
    bundled = bundled_file(mechanism_folder(), name, n_agents) if name in mechanism_names() else None
    if bundled is None:
        raise UnknownName("mechanism", name, mechanism_names())
    return read_mechanism(bundled.path), bundled.notes


def boxed_mechanism(name: str, n_agents: int = USUAL_BIDDERS) -> DaedalusAction:
    """A bundled mechanism by name for so many bidders, or one from a JSON file by its path."""
    return find_mechanism(name, n_agents)[0]


class Fixed(Designer):
    """Posts one mechanism at every step: `mechanism` is a bundled name, a JSON file, or a mechanism itself."""

    def __init__(self, mechanism: str | DaedalusAction | None = None) -> None:
        if mechanism is None:
            raise InvalidOption(f"The fixed designer needs a mechanism: a JSON file, or one of {', '.join(mechanism_names())}.")
        self.given = mechanism
        self.mechanism = mechanism if isinstance(mechanism, DaedalusAction) else boxed_mechanism(mechanism)

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
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
