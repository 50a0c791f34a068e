"""Counter-offers: how a partner picks the split it puts forward. Every share here is the partner's own.

A standard counter depends only on the context, so it is worked out once per episode. A partner with an aspiration level instead
offers the split that gives it no more than it aspires to, and among those the one that keeps the fewest units.
"""

from __future__ import annotations

from edgeworth.arithmetic import larger
from edgeworth.compiled import Int, Record, compiled
from edgeworth.games.bargaining.partners.program import KEEP_ALL, LEAVE_ONE
from edgeworth.games.bargaining.payoffs import meets, worth
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER


@compiled
def prepare_counter(s: Record, p: Record) -> None:
    """Work out the partner's standard counter-offer for this context."""
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
