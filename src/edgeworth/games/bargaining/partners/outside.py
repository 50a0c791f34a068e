"""Partners that move from outside the rules: someone in Python is asked, once for all episodes that wait for it.

The rules know only that such a partner exists: its row of the partner table has the kind OUTSIDE and no numbers. `BargainingBatch` makes
the agents' moves, asks for all replies in one call, makes them, and asks once more for the openings of new episodes. Everything else, from
legality to payment, is the same code as for the partners of the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.partners.program import OUTSIDE, program

if TYPE_CHECKING:
    from edgeworth.games.bargaining.batch import BargainingBatch


class Seated(Protocol):
    """Someone who has taken the partner's seat."""

    @property
    def sampled(self) -> bool:
        """Whether it draws its moves, so that it may answer the same talks differently."""
        ...

    def reply(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Its move in every episode of a batch, acts (N,) and its own shares (N, 3); where nobody has spoken, an offer."""
        ...


@runtime_checkable
class OutsidePartner(Protocol):
    """Someone outside the rules to bargain with."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        """Its row of the partner table: `outside_program`."""
        ...

    def seated(self, batch: BargainingBatch) -> Seated:
        """Whoever plays this game for it; a game that nobody can play is refused."""
        ...


def outside_program(config: BargainingConfig) -> NDArray[np.void]:
    """The row of the partner table that leaves all moves to somebody outside."""
    return program(config, OUTSIDE, accept=lambda turn: 1.0)


def check_answers_alike(batch: BargainingBatch, what: str) -> None:
    """Refuse a partner that draws its moves where its answers have to be foreseen."""
    if batch.outside is not None and batch.outside.sampled:
        raise InvalidOption(f"{what} needs a partner that always answers alike; {batch.config.partner!r} draws its moves (`sampled`).")
