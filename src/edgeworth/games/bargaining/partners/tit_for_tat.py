"""Tit-for-tat partner: concedes as many points as the agent has conceded to it (Faratin, Sierra and Jennings 1998, absolute imitation).

It measures every offer of the agent by its own utilities: `memory[0]` is what the first was worth to it, `memory[1]` the best so far. It
aspires to its maximum less the difference, never below a floor; accepts what meets the aspiration, else offers the split that does.
An agent that asks for everything and stays there is answered in kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.arithmetic import larger
from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.partners.counters import least_above
from edgeworth.games.bargaining.partners.program import TIT_FOR_TAT, check_share, program
from edgeworth.games.bargaining.payoffs import offered_worth, points_needed
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, PARTNER, PROPOSE

NOTHING_HEARD = -1


@compiled
def reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE once the agent has come far enough, else give back what it gave."""
    conceded = 0
    received = NOTHING_HEARD
    if s.offered[AGENT]:
        received = offered_worth(s, PARTNER)
        if s.memory[0] == NOTHING_HEARD:
            s.memory[0] = received
        s.memory[1] = larger(s.memory[1], received)
        conceded = s.memory[1] - s.memory[0]
    aspiration = larger(s.maximum[PARTNER] - conceded, points_needed(s.maximum[PARTNER], p.floor))
    if received >= aspiration:
        return AGREE, 0, 0, 0
    a, b, c = least_above(s, aspiration)
    return PROPOSE, a, b, c


@dataclass(frozen=True)
class TitForTat:
    """Gives back every point it is given."""

    floor: float = 0.4
    """Share of its maximum that it always asks for."""

    def __post_init__(self) -> None:
        check_share("tit-for-tat partner", "floor", self.floor)

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(config, TIT_FOR_TAT, accept=lambda turn: 1.0, floor=self.floor)
