"""Variations of mechanisms: neighbours of bundled ones, random ones, and all with two digits, as people write them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.auction.action import HIGHEST, NUMBERS, random_mechanisms
from edgeworth.games.auction.batch import Rows

MOVED_BY = {"reserve_price": 0.02, "shill_penalty": 0.08, "withdrawal_penalty": 0.04, "collusion_penalty": 0.15}
"""Standard deviations of a neighbour's numbers."""
DIGITS = 2


def any_mechanisms(rng: np.random.Generator, library: Rows, count: int) -> Rows:
    """Mechanisms of the library, neighbours of them, and random ones."""
    rows: Rows = moved(library[rng.integers(len(library), size=count)], rng, rng.random(count) < 0.5)
    anything = rng.random(count) < 0.3
    rows[anything] = rounded_rows(random_mechanisms(rng, int(anything.sum())))
    return rows


def moved(rows: Rows, rng: np.random.Generator, chosen: NDArray[np.bool_]) -> Rows:
    """The mechanisms, the numbers of the chosen ones moved a little."""
    rows = rows.copy()
    for name, by in MOVED_BY.items():
        nudged = np.clip(rows[name] + by * rng.standard_normal(len(rows)), 0.0, HIGHEST[name])
        rows[name] = np.where(chosen, np.round(nudged, DIGITS), rows[name])
    return rows


def rounded_rows(rows: Rows) -> Rows:
    """Mechanisms with two digits, as people write them."""
    rows = rows.copy()
    for name in NUMBERS:
        rows[name] = np.round(rows[name], DIGITS)
    return rows
