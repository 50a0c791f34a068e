"""What every partner shares: how it is configured, and the table its compiled behaviour reads.

A partner is a small frozen dataclass. `programs` turns it into rows of a table, one per member, with its thresholds written out turn by
turn; the compiled functions in the partner's own file act on such a row. Thresholds are shares of the partner's own maximum, and none
falls below its reservation value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.payoffs import BASIS_POINTS
from edgeworth.games.bargaining.state import PARTNER_PROGRAM
from edgeworth.games.bargaining.vocabulary import TURN_LIMIT

HEURISTIC, TIME_DEPENDENT, TIT_FOR_TAT, WALK_AWAY, RANDOM, OUTSIDE = range(6)
"""Kinds of compiled behaviour, as `reply.py` tells them apart; OUTSIDE has none there, see `outside.py`."""

LEAVE_ONE, KEEP_ALL, UTILITY_AWARE = range(3)
COUNTERS = {"leave_one": LEAVE_ONE, "keep_all": KEEP_ALL, "utility_aware": UTILITY_AWARE}


class Partner(Protocol):
    """Someone to bargain with."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        """The rows of the partner table, with probabilities in `cumulative`."""
        ...


def basis_points(share: float) -> int:
    """A share of the maximum as whole basis points, rounded down: a third of three points is one point."""
    return math.floor(round(share * BASIS_POINTS, 6))


def program(
    config: BargainingConfig,
    kind: int,
    accept: Callable[[int], float],
    accept_insist: Callable[[int], float] | None = None,
    floor: float = 0.0,
    counter: int = LEAVE_ONE,
    patience: int = 0,
) -> NDArray[np.void]:
    """One row of the partner table; `accept` gives the threshold for each number of moves made so far."""
    rows = np.zeros(1, PARTNER_PROGRAM)
    row = rows[0]
    reservation = math.ceil(round(config.reservation[1] * BASIS_POINTS, 6))  # rounded up: never a point below it
    moves = range(TURN_LIMIT + 1)
    row["cumulative"] = 1.0
    row["accept"] = [max(reservation, basis_points(accept(t))) for t in moves]
    row["accept_insist"] = [max(reservation, basis_points((accept_insist or accept)(t))) for t in moves]
    row["floor"] = max(reservation, basis_points(floor))
    row["kind"] = kind
    row["counter"] = counter
    row["patience"] = patience
    return rows


def check_share(owner: str, name: str, value: object) -> None:
    """Refuse a threshold that is not a share between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise InvalidOption(f"{owner}: {name} is {value!r}; expected a share of its maximum, from 0 to 1.")
