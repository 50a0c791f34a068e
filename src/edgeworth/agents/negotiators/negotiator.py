"""What a negotiator is: it chooses a move for every episode of a batch.

A blind negotiator reads `batch.views` and `batch.masks` only, which hold what the agent may know; the contract tests check that
changing the partner's utilities does not change its choice. One that sets `knows_partner` may read the truth in `batch.state`.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.batch import BargainingBatch

Moves = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Acts (N,) and shares (N, 3)."""


class Negotiator(Protocol):
    """Chooses the agent's moves."""

    knows_partner: ClassVar[bool]

    def choose(self, batch: BargainingBatch) -> Moves:
        """A legal move for every episode; its choice for one that has ended is not read."""
        ...
