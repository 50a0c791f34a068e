"""Fixed designer: the same mechanism for ever, from a file or from the box.

The box (`configs/mechanisms/`) holds the published "robust" mechanism, `informed_greedy`, and the best constant mechanisms that
`edgeworth designers search` found for the five stages, for `mixed`, and for the equal mixture of the stages.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer
from edgeworth.config import AuctionConfig, config_folder
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows, read_mechanism
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView


def mechanism_names() -> list[str]:
    """The mechanisms in the box."""
    return sorted(path.stem for path in (config_folder() / "mechanisms").glob("*.json"))


def boxed_mechanism(name: str) -> DaedalusAction:
    """A mechanism from the box by name, or from a JSON file by its path."""
    if isinstance(name, str) and name.endswith(".json"):
        return read_mechanism(Path(name))
    if name not in mechanism_names():
        raise UnknownName("mechanism", name, mechanism_names())
    return read_mechanism(config_folder() / "mechanisms" / f"{name}.json")


class Fixed(Designer):
    """Posts one mechanism at every step: `mechanism` is a name from the box, a JSON file, or a mechanism itself."""

    def __init__(self, mechanism: str | DaedalusAction | None = None) -> None:
        if mechanism is None:
            raise InvalidOption(
                f"The fixed designer needs a mechanism: a JSON file, or one of {', '.join(mechanism_names())} from the box."
            )
        self.mechanism = mechanism if isinstance(mechanism, DaedalusAction) else boxed_mechanism(mechanism)

    def begin(self, config: AuctionConfig, size: int, seed: int, recipes: NDArray[np.int64] | None = None) -> None:
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
