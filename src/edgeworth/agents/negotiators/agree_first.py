"""Agreeable negotiator: AGREE at the first chance; until the partner has offered, ask for everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgeworth.agents.negotiators.negotiator import Moves, can_agree, pools
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGREE, PROPOSE


@dataclass(frozen=True)
class AgreeFirst:
    """Takes whatever the partner offers first."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return np.where(can_agree(batch), AGREE, PROPOSE).astype(np.int64), pools(batch)
