"""Conceding partners: an aspiration that falls with time, or with the agent's own concessions (Faratin, Sierra and Jennings 1998).

After a share x of the turns a time-dependent partner aspires to 1 - (1 - floor) * x ** (1 / exponent) of its maximum. An exponent below 1
holds out until the deadline (Boulware), 1 concedes evenly (linear), above 1 gives way at once (conceder). It treats PROPOSE and INSIST
alike.

Tit-for-tat concedes as many points as the agent has conceded (absolute imitation). It measures every offer of the agent by its own
utilities: `memory[0]` is what the first was worth to it, `memory[1]` the best so far; it aspires to its maximum less the difference,
never below a floor.

Both accept any offer that meets the aspiration and otherwise offer the split that just meets it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.arithmetic import larger
from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.moves import offered_worth, points_needed, worth
from edgeworth.games.bargaining.partners.heuristic import accepts
from edgeworth.games.bargaining.partners.program import TIME_DEPENDENT, TIT_FOR_TAT, check_share, program
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, PARTNER, PROPOSE

NOTHING_HEARD = -1


@compiled
def least_above(s: Record, points: Int) -> tuple[Int, Int, Int]:
    """The split worth fewest points to the partner among those worth at least `points`; ties keep fewer units, then the first."""
    best_x, best_y, best_z = s.counts[0], s.counts[1], s.counts[2]
    best_mine, best_units = s.maximum[PARTNER], s.counts[0] + s.counts[1] + s.counts[2]
    for x in range(s.counts[0] + 1):
        for y in range(s.counts[1] + 1):
            for z in range(s.counts[2] + 1):
                mine, units = worth(s, PARTNER, x, y, z), x + y + z
                if mine < points:
                    continue
                if mine < best_mine or (mine == best_mine and units < best_units):
                    best_mine, best_units = mine, units
                    best_x, best_y, best_z = x, y, z
    return best_x, best_y, best_z


@compiled
def time_dependent_reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to an offer at the present aspiration, else offer the split that meets it."""
    if accepts(s, p):
        return AGREE, 0, 0, 0
    a, b, c = least_above(s, points_needed(s.maximum[PARTNER], p.accept[s.turn]))
    return PROPOSE, a, b, c


@compiled
def tit_for_tat_reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE once the agent has conceded enough, else concede as much as it has."""
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


@dataclass(frozen=True)
class Boulware(TimeDependent):
    """Holds out until the deadline is near, then gives way."""

    exponent: float = 0.2


@dataclass(frozen=True)
class Linear(TimeDependent):
    """Gives way by the same amount every turn."""

    exponent: float = 1.0


@dataclass(frozen=True)
class Conceder(TimeDependent):
    """Gives way quickly, then holds."""

    exponent: float = 5.0


@dataclass(frozen=True)
class TitForTat:
    """Gives up as many points as the other side has given up to it."""

    floor: float = 0.4
    """Share of its maximum that it always asks for."""

    def __post_init__(self) -> None:
        check_share("tit-for-tat partner", "floor", self.floor)

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(config, TIT_FOR_TAT, accept=lambda turn: 1.0, floor=self.floor)
