"""exp, log and tanh in single precision, as short polynomials that the compiler spreads over the lanes of the processor.

A library call per element would cost more than all matrix products together. Every multiply-add is fused on purpose and by name, never by
a compiler's licence to rearrange, so that a fresh and a cached build agree to the last bit. Errors are a few units in the last place; and
exp(0) = 1 and log(1) = 0 exactly, so that a move whose probability has not changed has the ratio 1, and a forced one the log-probability 0.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from edgeworth.compiled import Real, compiled

NOTHING, ONE, TWO, HALF = np.float32(0.0), np.float32(1.0), np.float32(2.0), np.float32(0.5)

LOG2_E = np.float32(1.4426950408889634)
LN2 = np.float32(0.6931471805599453)
LN2_HIGH = np.float32(0.693359375)
"""ln 2 to few enough digits that its product with a whole number below 128 is exact; the rest follows in LN2_LOW."""
LN2_LOW = np.float32(0.6931471805599453 - 0.693359375)
ROUNDER = np.float32(1.5 * 2.0**23)
"""Adding it to a number leaves its nearest whole number in the last bits."""
EXPONENT_SHIFT = np.int32(23)
EXPONENT_OF_ONE = np.int32(127 << 23)
LEAST_EXP, MOST_EXP = np.float32(-87.0), np.float32(88.0)
E2, E3, E4, E5, E6, E7 = (np.float32(1.0 / n) for n in (2, 6, 24, 120, 720, 5040))

ROOT_HALF_BITS = np.int32(0x3F3504F3)
"""The bits of √½: from there to √2 the logarithm is a series, beyond it counts powers of 2."""
L3, L5, L7, L9 = (np.float32(2.0 / n) for n in (3, 5, 7, 9))

TANH_LIMIT = np.float32(8.0)
P1, P2, P3, P4 = (np.float32(c) for c in (0.1344449669122696, 0.003571595996618271, 2.1894627934671007e-05, 1.5230368077823186e-08))
Q1, Q2, Q3, Q4 = (np.float32(c) for c in (0.4677782356739044, 0.026164434850215912, 0.0003411288489587605, 8.522426924173487e-07))
"""tanh x = x P(x²) / Q(x²) for |x| up to the limit, fitted for the least relative error (6e-9 before rounding); beyond, it is 1."""


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]

    def fused(a: Real, b: Real, c: Real) -> Real:
        """a × b + c."""
        return a * b + c

else:

    @intrinsic
    def fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        """a × b + c in single precision, rounded once."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.fma(*arguments)

        return types.float32(types.float32, types.float32, types.float32), generate


@compiled
def exp(x: Real) -> Real:
    """eˣ for x from -87 to 88; what lies outside is taken for the nearer end."""
    x = min(max(x, LEAST_EXP), MOST_EXP)
    rounded = fused(x, LOG2_E, ROUNDER)
    powers = rounded - ROUNDER
    rest = fused(powers, -LN2_LOW, fused(powers, -LN2_HIGH, x))
    series = fused(rest, fused(rest, fused(rest, fused(rest, fused(rest, fused(rest, E7, E6), E5), E4), E3), E2), ONE)
    scale = np.int32((np.float32(rounded).view(np.int32) << EXPONENT_SHIFT) + EXPONENT_OF_ONE).view(np.float32)
    return fused(rest, series, ONE) * scale


@compiled
def log(x: Real) -> Real:
    """ln x for a normal x above 0."""
    bits = np.float32(x).view(np.int32)
    powers = np.int32(bits - ROOT_HALF_BITS) >> EXPONENT_SHIFT
    part = np.int32(bits - (powers << EXPONENT_SHIFT)).view(np.float32)
    ratio = (part - ONE) / (part + ONE)
    square = ratio * ratio
    series = fused(square, fused(square, fused(square, fused(square, L9, L7), L5), L3), TWO)
    return fused(np.float32(powers), LN2, ratio * series)


@compiled
def tanh(x: Real) -> Real:
    """The hyperbolic tangent; never beyond 1."""
    x = min(max(x, -TANH_LIMIT), TANH_LIMIT)
    square = x * x
    above = fused(square, fused(square, fused(square, fused(square, P4, P3), P2), P1), ONE)
    below = fused(square, fused(square, fused(square, fused(square, Q4, Q3), Q2), Q1), ONE)
    return x * above / below
