"""Noisy best response: choices that lean to the better option, the more so the larger the difference (McKelvey and Palfrey 1995)."""

from __future__ import annotations

import math

from edgeworth.compiled import Real, compiled_apart

CERTAIN = 30.0


@compiled_apart
def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)), exactly 0 or 1 far out."""
    if x > CERTAIN:
        return 1.0
    if x < -CERTAIN:
        return 0.0
    return 1.0 / (1.0 + math.exp(-x))
