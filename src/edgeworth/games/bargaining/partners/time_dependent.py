"""Time-dependent partners: an aspiration that falls from everything to a floor as the clock runs (Faratin, Sierra and Jennings 1998).

After a share x of the turns the partner aspires to 1 - (1 - floor) * x ** (1 / exponent) of its maximum. It accepts any offer worth that
much and otherwise offers the split that gives it just that. An exponent below 1 holds out until the deadline (Boulware), 1 concedes
evenly, above 1 gives way at once (conceder). It hears no difference between PROPOSE and INSIST.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.partners.counters import least_above
from edgeworth.games.bargaining.partners.heuristic import accepts
from edgeworth.games.bargaining.partners.program import TIME_DEPENDENT, check_share, program
from edgeworth.games.bargaining.payoffs import points_needed
from edgeworth.games.bargaining.vocabulary import AGREE, PARTNER, PROPOSE


@compiled
def reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to an offer at the present aspiration, else offer the split that meets it."""
    if accepts(s, p):
        return AGREE, 0, 0, 0
    a, b, c = least_above(s, points_needed(s.maximum[PARTNER], p.accept[s.turn]))
    return PROPOSE, a, b, c


@dataclass(frozen=True)
class TimeDependent:
    """An aspiration that falls with time; Boulware, linear and conceder set the exponent."""

    exponent: float = 1.0
    """Shape of the concession: below 1 late, above 1 early."""
    floor: float = 0.4
    """Share of its maximum that it still asks for on its last move."""

    def __post_init__(self) -> None:
        check_share(f"{type(self).__name__.lower()} partner", "floor", self.floor)
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int | float) or not 0.01 <= self.exponent <= 100:
            raise InvalidOption(f"exponent is {self.exponent!r}; expected a number from 0.01 to 100.")

    def aspiration(self, turn: int, max_turns: int) -> float:
        """Share of its maximum that it asks for after this many moves."""
        elapsed = min(1.0, turn / (max_turns - 1))
        return 1.0 - (1.0 - self.floor) * float(elapsed ** (1.0 / self.exponent))

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(config, TIME_DEPENDENT, accept=lambda turn: self.aspiration(turn, config.max_turns), floor=self.floor)
