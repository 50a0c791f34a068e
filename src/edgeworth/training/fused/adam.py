"""Adam (Kingma and Ba 2015) with the gradient's norm limited, over the flat vector of parameters; the same arithmetic as torch's."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.memory import aligned_zeros
from edgeworth.agents.network.products import squared_length
from edgeworth.compiled import Array, Int, Real, compiled_bare

BETA_1, BETA_2 = 0.9, 0.999
ADAM_EPSILON = 1e-5
EPSILON = np.float32(ADAM_EPSILON)
NORM_GUARD = 1e-6
FAINT, NOTHING = np.float32(1e-30), np.float32(0.0)
"""Moments that fade out become 0 here, far below EPSILON, before they are too small for ordinary arithmetic, which is slow."""
KEEP_1, TAKE_1 = np.float32(BETA_1), np.float32(1.0 - BETA_1)
KEEP_2, TAKE_2 = np.float32(BETA_2), np.float32(1.0 - BETA_2)


class Moments(NamedTuple):
    """What Adam remembers, and the gradient it reads."""

    gradient: NDArray[np.float32]
    first: NDArray[np.float32]
    second: NDArray[np.float32]

    @classmethod
    def of(cls, size: int) -> Moments:
        """All zero."""
        return cls(*(aligned_zeros(size) for _ in range(3)))


@compiled_bare
def adam_step(parameters: Array, gradient: Array, first: Array, second: Array, rate: Real, limit: Real, time: Int) -> Real:
    """One update, the `time`-th; returns the norm of the gradient before it was limited. Nothing changes where it is not finite."""
    norm = sqrt(np.float64(squared_length(gradient)))
    if not np.isfinite(norm):
        return norm
    shrink = np.float32(min(1.0, limit / (norm + NORM_GUARD)))
    stride = np.float32(rate / (1.0 - BETA_1**time))
    scale = np.float32(1.0 / sqrt(1.0 - BETA_2**time))
    for i in range(parameters.shape[0]):
        e = np.uint64(i)
        slope = gradient[e] * shrink
        drift = KEEP_1 * first[e] + TAKE_1 * slope
        spread = KEEP_2 * second[e] + TAKE_2 * slope * slope
        drift = drift if abs(drift) > FAINT else NOTHING
        spread = spread if spread > FAINT else NOTHING
        first[e], second[e] = drift, spread
        parameters[e] -= stride * drift / (np.sqrt(spread) * scale + EPSILON)
    return norm
