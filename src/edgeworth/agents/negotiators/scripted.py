"""Scripted negotiators: simple rules of thumb, the baselines of every table.

`greedy` asks for everything every time and earns nothing; `agree_first` takes the partner's first offer; `random` draws from the legal
moves; `concession` asks for 0.9, 0.8, 0.7 and 0.6 of its own maximum and then agrees. For each level it INSISTs on the share with the
fewest units that is still worth that much to it: the one that leaves the partner most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST, PROPOSE


def pools(batch: BargainingBatch) -> NDArray[np.int64]:
    """What there is to divide in every episode."""
    return np.asarray(batch.views[:, VIEW["counts"]], np.int64)


@dataclass(frozen=True)
class Greedy:
    """Always proposes the whole pool for itself."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return np.full(batch.size, PROPOSE, np.int64), pools(batch)


@dataclass(frozen=True)
class AgreeFirst:
    """Accepts the first offer; until there is one, asks for everything."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return np.where(batch.masks[:, AGREE], AGREE, PROPOSE).astype(np.int64), pools(batch)


@dataclass(frozen=True)
class RandomLegal:
    """Makes random legal moves: an act uniform over the legal ones, each share uniform up to its cap."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return batch.random_actions()


@dataclass(frozen=True)
class Concession:
    """Asks for less every time."""

    levels: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6)
    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        made = (batch.config.max_turns - batch.views[:, VIEW["turns_remaining"]]) // 2
        acts = np.where((made >= len(self.levels)) & (batch.masks[:, AGREE] == 1), AGREE, INSIST).astype(np.int64)
        shares = np.zeros((batch.size, 3), np.int64)
        for i, row in enumerate(batch.views):
            level = self.levels[min(int(made[i]), len(self.levels) - 1)]
            shares[i] = modest_share(triple_of(row[VIEW["counts"]]), triple_of(row[VIEW["my_utilities"]]), level)
        return acts, shares


@lru_cache(maxsize=100_000)
def modest_share(counts: Triple, utilities: Triple, level: float) -> Triple:
    """The share of fewest units worth at least this part of the pool; of equals the one worth most."""
    shares: NDArray[np.int64] = all_shares(counts)
    worths = shares @ np.array(utilities)
    enough = np.flatnonzero(worths >= level * worths.max() - 1e-9)
    best = min(enough, key=lambda i: (int(shares[i].sum()), -int(worths[i])))
    return triple_of(shares[best])
