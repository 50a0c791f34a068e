"""Noisy best response: choices that lean to the better option, the more so the larger the difference (McKelvey and Palfrey 1995)."""

from __future__ import annotations

import math

from edgeworth.compiled import Flag, Real, compiled_apart

CERTAIN = 30.0
CLEAR, CLEAR_SHARE = 4.0, 0.98
"""logistic(4) is .982."""


@compiled_apart
def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)), exactly 0 or 1 far out."""
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
