"""Heuristic partner: accepts an offer worth enough of the pool to it, else counters greedily.

It accepts at 0.55 of its own maximum, or at 0.50 when the offer came as an INSIST. Its counter-offer never moves: `leave_one` leaves the
agent one unit of each type, `keep_all` leaves nothing, `utility_aware` is the split best for the agent among those it would accept
itself. The published environment's partner, whose accepted offers we pay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Flag, Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.errors import UnknownName
from edgeworth.games.bargaining.partners.program import COUNTERS, HEURISTIC, check_share, program
from edgeworth.games.bargaining.payoffs import meets, offered_worth
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, PARTNER, PROPOSE


@compiled
def accepts(s: Record, p: Record) -> Flag:
    """Whether the agent's standing offer reaches the threshold in force for this turn and for the way it was made."""
    if s.offered[AGENT] == 0:
        return False
    threshold = p.accept_insist[s.turn] if s.insisted[AGENT] else p.accept[s.turn]
    return meets(offered_worth(s, PARTNER), s.maximum[PARTNER], threshold)


@compiled
def reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to a good enough offer, else the standard counter-offer."""
    if accepts(s, p):
        return AGREE, 0, 0, 0
    return PROPOSE, s.counter[0], s.counter[1], s.counter[2]


@dataclass(frozen=True)
class Heuristic:
    """Two thresholds and a fixed counter-offer."""

    accept: float = 0.55
    """Least share of its maximum that it accepts."""
    accept_insist: float = 0.50
    """The same for an offer that came as an INSIST."""
    counter: str = "leave_one"
    """What it offers: leave_one, keep_all or utility_aware."""

    def __post_init__(self) -> None:
        check_share("heuristic partner", "accept", self.accept)
        check_share("heuristic partner", "accept_insist", self.accept_insist)
        if self.counter not in COUNTERS:
            raise UnknownName("counter", self.counter, COUNTERS)

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(
            config,
            HEURISTIC,
            accept=lambda turn: self.accept,
            accept_insist=lambda turn: self.accept_insist,
            counter=COUNTERS[self.counter],
        )
