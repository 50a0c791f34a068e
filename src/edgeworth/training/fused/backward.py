"""From the gradient on logits and values to that on all parameters: the backward pass over a tile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import ONE
from edgeworth.agents.network.forward import TILE, Scratch, Sizes
from edgeworth.agents.network.memory import aligned_zeros
from edgeworth.agents.network.products import NO, multiply, multiply_turned, sum_rows, turn
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.compiled import Array, Int, Real, compiled_bare, compiled_within


class Slopes(NamedTuple):
    """Room for the gradients of one tile on its way back."""

    here: NDArray[np.float32]
    before: NDArray[np.float32]
    turned: NDArray[np.float32]
    """Activations of a layer, one row per situation."""
    ones: NDArray[np.float32]

    @classmethod
    def of(cls, shape: PolicyShape) -> Slopes:
        """Room for networks of a shape."""
        here, before, turned = (aligned_zeros(shape.hidden * TILE) for _ in range(3))
        return cls(here, before, turned, np.ones(TILE, np.float32))


@compiled_bare
def straighten(slopes: Array, activations: Array, size: Int) -> None:
    """The gradient before tanh from the one after it: times 1 - tanh²."""
    for i in range(size):
        e = np.uint64(i)
        slopes[e] *= ONE - activations[e] * activations[e]


@compiled_within
def backward(parameters: Array, gradient: Array, sizes: Sizes, scratch: Scratch, slopes: Slopes, size: Int, keep: Real) -> None:
    """Write the gradient on all parameters, or with `keep` 1 add to it; `scratch.heads` holds that on logits and values."""
    hidden, heads = sizes.hidden, sizes.heads
    here, before = slopes.here, slopes.before
    begin = hidden * (sizes.features + 1) + (sizes.layers - 1) * hidden * (hidden + 1)
    turn(scratch.trunk[sizes.layers - 1], hidden, size, slopes.turned)
    multiply(scratch.heads, slopes.turned, gradient[begin:], heads, hidden, size, keep)
    sum_rows(scratch.heads, slopes.ones, gradient[begin + heads * hidden :], heads, size, keep)
    multiply_turned(parameters[begin:], scratch.heads, here, hidden, size, heads, NO)
    for layer in range(sizes.layers - 1, -1, -1):
        straighten(here, scratch.trunk[layer], hidden * size)
        width, source = sizes.features, scratch.rows
        if layer > 0:
            width, source = hidden, slopes.turned
            turn(scratch.trunk[layer - 1], hidden, size, source)
        begin -= hidden * (width + 1)
        multiply(here, source, gradient[begin:], hidden, width, size, keep)
        sum_rows(here, slopes.ones, gradient[begin + hidden * width :], hidden, size, keep)
        if layer > 0:
            multiply_turned(parameters[begin:], here, before, hidden, size, hidden, NO)
            here, before = before, here
