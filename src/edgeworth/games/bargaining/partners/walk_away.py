"""Walk-away partner: the heuristic one, with a patience that runs out.

Every move of the agent that it does not accept costs it one unit of patience. When none is left and the next offer is still not good
enough, it leaves the table: by DISAGREE, or by END (its final selection) where DISAGREE only passes. `memory[0]` counts the moves it
has refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.partners.heuristic import Heuristic, accepts
from edgeworth.games.bargaining.partners.program import WALK_AWAY
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE, END, PROPOSE, TURN_LIMIT


@compiled
def reply(s: Record, r: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to a good enough offer, leave when patience is spent, else counter."""
    if accepts(s, p):
        return AGREE, 0, 0, 0
    if s.turn > 0:
        s.memory[0] += 1
    if s.memory[0] <= p.patience:
        return PROPOSE, s.counter[0], s.counter[1], s.counter[2]
    if r.disagree_passes:
        return END, s.counter[0], s.counter[1], s.counter[2]
    return DISAGREE, 0, 0, 0


@dataclass(frozen=True)
class WalkAway(Heuristic):
    """The heuristic partner with bounded patience."""

    patience: int = 1
    """How many of the agent's moves it refuses before it leaves at the next refusal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.patience, bool) or not isinstance(self.patience, int) or not 0 <= self.patience <= TURN_LIMIT:
            raise InvalidOption(f"walk-away partner: patience is {self.patience!r}; expected a whole number from 0 to {TURN_LIMIT}.")

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        rows = super().programs(config)
        rows["kind"] = WALK_AWAY
        rows["patience"] = self.patience
        return rows
