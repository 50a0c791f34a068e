"""What a partner is: its configuration, the table that its compiled behaviour reads, and partners outside the rules.

A partner is a small frozen dataclass. `programs` turns it into rows of a table, one per member, with its thresholds written out turn by
turn; the compiled functions in the partner's own file read such a row. Thresholds are shares of the partner's own maximum, and none
falls below its reservation value.

A partner outside the rules, such as a network, is called in Python, once for all episodes that wait for it. Its row of the table has the
kind OUTSIDE and no numbers. `BargainingBatch` makes the agents' moves, asks for all replies in one call and makes them, and asks once
more for the openings of new episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.moves import BASIS_POINTS
from edgeworth.games.bargaining.state import PARTNER_PROGRAM
from edgeworth.games.bargaining.vocabulary import TURN_LIMIT

if TYPE_CHECKING:
    from edgeworth.games.bargaining.batch import BargainingBatch

HEURISTIC, TIME_DEPENDENT, TIT_FOR_TAT, WALK_AWAY, RANDOM, OUTSIDE = range(6)
"""Kinds of behaviour; `reply.py` has a branch for each but OUTSIDE."""

LEAVE_ONE, KEEP_ALL, UTILITY_AWARE = range(3)
COUNTERS = {"leave_one": LEAVE_ONE, "keep_all": KEEP_ALL, "utility_aware": UTILITY_AWARE}


class Partner(Protocol):
    """The other side of the negotiation."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        """The rows of the partner table, with probabilities in `cumulative`."""
        ...


class Seated(Protocol):
    """Makes the moves of a partner outside the rules."""

    @property
    def sampled(self) -> bool:
        """Whether it draws its moves, so that it may answer the same moves differently."""
        ...

    def reply(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Its move in every episode of a batch, acts (N,) and its own shares (N, 3); where no move has been made, an offer."""
        ...


@runtime_checkable
class OutsidePartner(Partner, Protocol):
    """A partner outside the rules."""

    def seated(self, batch: BargainingBatch) -> Seated:
        """What plays this game for it; a game that it cannot play is refused."""
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


def outside_program(config: BargainingConfig) -> NDArray[np.void]:
    """The row of the partner table for a partner outside the rules."""
    return program(config, OUTSIDE, accept=lambda turn: 1.0)


def check_answers_alike(batch: BargainingBatch, what: str) -> None:
    """Refuse a partner that draws its moves where its replies must be predictable."""
    if batch.outside is not None and batch.outside.sampled:
        raise InvalidOption(f"{what} needs a partner that always answers alike; {batch.config.partner!r} draws its moves (`sampled`).")
