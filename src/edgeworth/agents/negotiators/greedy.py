"""Greedy negotiator: asks for everything, every time. It earns nothing: the other end of stubbornness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgeworth.agents.negotiators.negotiator import Moves, pools
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import PROPOSE


@dataclass(frozen=True)
class Greedy:
    """Always PROPOSE the whole pool for itself."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return np.full(batch.size, PROPOSE, np.int64), pools(batch)
