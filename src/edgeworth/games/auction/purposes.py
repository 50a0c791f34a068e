"""What each random draw of the auction game is for: the third part of its address (see `edgeworth.seeding`).

Draws of a market's birth stand at sale 0; the sales of an episode are numbered from 1. None of them depends on the mechanism, so two
mechanisms always meet the same values, the same shocks and the same moods.
"""

from __future__ import annotations

from edgeworth.compiled import Int, Real, Record, compiled_apart
from edgeworth.seeding import draw, unit

(
    POPULATION_ROW,
    POPULATION_SHARES,
    ROUNDING,
    SWAP,
    SEATING,
    ENTRY_COST,
    SCRUPLE,
    DEMAND,
    VALUE,
    TREMBLE,
    ENTRY,
    SCREENING,
    TIE_BREAK,
    RING_ORDER,
    RING_COORDINATION,
    RING_ARM,
    CHEATING,
    BLAME,
    ALARM,
    SHILL_DECISION,
    SHILL_LEVEL,
    SHILL_DETECTION,
    SHILL_MISTAKE,
    SHOCK,
    SHOCK_SIZE,
    REAWARD,
    UNSOLD_BARGAIN,
    AUDIT,
    FIRST_GUESS,
) = range(29)


@compiled_apart
def chance(market: Record, purpose: Int, index: Int) -> Real:
    """A number in [0, 1) for this sale, purpose and bidder (or lot)."""
    return unit(draw(market.key, market.sale, purpose, index))
