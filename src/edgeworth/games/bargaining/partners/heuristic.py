"""Heuristic and walk-away partners: accept an offer worth enough of the pool, else make a counter-offer that never moves.

The heuristic partner accepts at 0.55 of its own maximum, or at 0.50 when the offer came as an INSIST. Its counter-offer is fixed for the
episode: `leave_one` leaves the agent one unit of each type, `keep_all` leaves nothing, `utility_aware` is the split best for the agent
among those the partner would accept itself. It is the published environment's partner, except that its accepted offers pay.

The walk-away partner adds a patience. Every move of the agent that it does not accept costs one unit; when none is left and the next
offer is still not good enough, it leaves: by DISAGREE, or by END (its final selection) where DISAGREE only passes. `memory[0]` counts the
moves it has refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.arithmetic import larger
from edgeworth.compiled import Flag, Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.games.bargaining.moves import meets, offered_worth, worth
from edgeworth.games.bargaining.partners.program import COUNTERS, HEURISTIC, KEEP_ALL, LEAVE_ONE, WALK_AWAY, check_share, program
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, DISAGREE, END, PARTNER, PROPOSE, TURN_LIMIT


@compiled
def prepare_counter(s: Record, p: Record) -> None:
    """Work out the partner's counter-offer for this context, as its own share."""
    if p.counter == LEAVE_ONE:
        for k in range(3):
            s.counter[k] = larger(s.counts[k] - 1, 0)
    elif p.counter == KEEP_ALL:
        for k in range(3):
            s.counter[k] = s.counts[k]
    else:
        s.counter[0], s.counter[1], s.counter[2] = best_for_agent(s, p.accept[0])


@compiled
def best_for_agent(s: Record, threshold: Int) -> tuple[Int, Int, Int]:
    """The split best for the agent among those the partner would accept; ties go to the partner, then to the first in order."""
    best_x, best_y, best_z = s.counts[0], s.counts[1], s.counts[2]
    best_theirs, best_mine = -1, -1
    for x in range(s.counts[0] + 1):
        for y in range(s.counts[1] + 1):
            for z in range(s.counts[2] + 1):
                mine = worth(s, PARTNER, x, y, z)
                if not meets(mine, s.maximum[PARTNER], threshold):
                    continue
                theirs = worth(s, AGENT, s.counts[0] - x, s.counts[1] - y, s.counts[2] - z)
                if theirs > best_theirs or (theirs == best_theirs and mine > best_mine):
                    best_theirs, best_mine = theirs, mine
                    best_x, best_y, best_z = x, y, z
    return best_x, best_y, best_z


@compiled
def accepts(s: Record, p: Record) -> Flag:
    """Whether the agent's standing offer reaches the threshold in force for this turn and for the way it was made."""
    if s.offered[AGENT] == 0:
        return False
    threshold = p.accept_insist[s.turn] if s.insisted[AGENT] else p.accept[s.turn]
    return meets(offered_worth(s, PARTNER), s.maximum[PARTNER], threshold)


@compiled
def heuristic_reply(s: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to a good enough offer, else the counter-offer."""
    if accepts(s, p):
        return AGREE, 0, 0, 0
    return PROPOSE, s.counter[0], s.counter[1], s.counter[2]


@compiled
def walk_away_reply(s: Record, r: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """AGREE to a good enough offer, leave when patience is spent, else the counter-offer."""
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
class Heuristic:
    """Accepts an offer that is worth enough to it, a little less when you insist; else makes a fixed counter-offer."""

    accept: float = 0.55
    """Least share of its maximum that it accepts."""
    accept_insist: float = 0.50
    """Least share that it accepts from an offer made as an INSIST."""
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


@dataclass(frozen=True)
class WalkAway(Heuristic):
    """Plays like the heuristic partner, but walks away after some refusals."""

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
