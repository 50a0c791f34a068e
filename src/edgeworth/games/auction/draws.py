"""Random draws of the auction game: what each is for, and choices that are made by chance.

A draw is addressed by the market's key, the number of the sale and its purpose (see `edgeworth.seeding`). The draws that open a market
have sale 0; the sales of an episode are numbered from 1. No draw depends on the mechanism, so two mechanisms are always compared on the
same values, the same shocks and the same decisions by chance. The order of the purposes is part of the rules.
"""

from __future__ import annotations

import math

from edgeworth.compiled import Flag, Int, Real, Record, compiled_apart
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
    RING_GUESS,
) = range(29)

CERTAIN = 30.0
CLEAR, CLEAR_SHARE = 4.0, 0.98
"""logistic(4) is .982."""


@compiled_apart
def chance(market: Record, purpose: Int, index: Int) -> Real:
    """A number in [0, 1) for this sale, purpose and bidder (or lot)."""
    return unit(draw(market.key, market.sale, purpose, index))


@compiled_apart
def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)), exactly 0 or 1 far out: the chance of a noisy best response (McKelvey and Palfrey 1995)."""
    if x > CERTAIN:
        return 1.0
    if x < -CERTAIN:
        return 0.0
    return 1.0 / (1.0 + math.exp(-x))


@compiled_apart
def chooses(draw: Real, x: Real) -> Flag:
    """Whether a draw in [0, 1) falls below logistic(x); a clear case is decided without computing it."""
    if draw < CLEAR_SHARE and x > CLEAR:
        return True
    if draw > 1.0 - CLEAR_SHARE and x < -CLEAR:
        return False
    return draw < logistic(x)
