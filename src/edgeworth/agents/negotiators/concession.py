"""Concession negotiator: a hand-made schedule of asking for 0.9, 0.8, 0.7 and 0.6 of its own maximum, then AGREE.

For each level it INSISTs on the share with the fewest units that is still worth that much to it: the one that leaves the partner most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves, can_agree
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.talks import triple_of
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST


@dataclass(frozen=True)
class Concession:
    """Asks for less every time."""

    levels: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6)
    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        made = (batch.config.max_turns - batch.views[:, 16]) // 2
        last = made >= len(self.levels)
        acts = np.where(last & can_agree(batch), AGREE, INSIST).astype(np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for i, row in enumerate(batch.views):
            level = self.levels[min(int(made[i]), len(self.levels) - 1)]
            shares[i] = modest_share(triple_of(row[0:3]), triple_of(row[3:6]), level)
        return acts, shares


@lru_cache(maxsize=100_000)
def modest_share(counts: Triple, utilities: Triple, level: float) -> Triple:
    """The share of fewest units worth at least this part of the pool; of equals the one worth most."""
    shares: NDArray[np.int64] = all_shares(counts)
    worths = shares @ np.array(utilities)
    enough = np.flatnonzero(worths >= level * worths.max() - 1e-9)
    best = min(enough, key=lambda i: (int(shares[i].sum()), -int(worths[i])))
    return triple_of(shares[best])
