"""From features to logits and value: the forward pass of the network over a tile of situations.

Activations are kept feature by feature, so that one feature of all situations lies side by side and every loop runs along the situations.
A tile is small enough to stay in the nearest cache; scratch arrays are flat and allocated once, with room for a whole tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import tanh
from edgeworth.agents.network.memory import aligned_zeros
from edgeworth.agents.network.products import NO, multiply
from edgeworth.agents.policy_layout import READINGS, PolicyShape
from edgeworth.compiled import Array, Int, compiled_bare, compiled_within

TILE = 128
"""Most situations that go through the network at once."""


class Sizes(NamedTuple):
    """A `PolicyShape` as compiled code reads it."""

    seen: int
    """Features before they are read."""
    features: int
    """Inputs of the network."""
    reading: int
    """Number of the way of reading in `READINGS`."""
    hidden: int
    layers: int
    units: int
    heads: int

    @classmethod
    def of(cls, shape: PolicyShape) -> Sizes:
        """The sizes of a shape."""
        return cls(shape.features, shape.inputs, READINGS.index(shape.reading), shape.hidden, shape.layers, shape.units, shape.heads)


class Scratch(NamedTuple):
    """Room for one tile on its way through the network."""

    rows: NDArray[np.float32]
    """Features, one row per situation."""
    columns: NDArray[np.float32]
    """The same, one column per situation."""
    trunk: NDArray[np.float32]
    """Activations of every trunk layer, (layers, hidden × tile)."""
    heads: NDArray[np.float32]
    """Logits and value; the logits become log-weights, then gradients."""
    weights: NDArray[np.float32]
    """exp of the log-weights: probabilities but for their sum."""
    legal: NDArray[np.int32]
    """(4, tile): bits of what is legal, for the act and each item type."""
    scale: NDArray[np.float32]
    """(4, tile): the largest legal logit, then one over the sum of weights."""
    log_sum: NDArray[np.float32]
    """(4, tile): logarithm of the sum of weights."""

    @classmethod
    def of(cls, shape: PolicyShape) -> Scratch:
        """Room for networks of a shape."""
        return cls(
            aligned_zeros(shape.inputs * TILE),
            aligned_zeros(shape.inputs * TILE),
            aligned_zeros((shape.layers, shape.hidden * TILE)),
            aligned_zeros(shape.heads * TILE),
            aligned_zeros(shape.heads * TILE),
            aligned_zeros((4, TILE), np.int32),
            aligned_zeros((4, TILE)),
            aligned_zeros((4, TILE)),
        )


@compiled_bare
def add_and_bend(outputs: Array, bias: Array, rows: Int, size: Int) -> None:
    """tanh(output + bias), in place."""
    for i in range(rows):
        shift = bias[np.uint64(i)]
        row = outputs[i * size : (i + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            row[e] = tanh(row[e] + shift)


@compiled_bare
def add(outputs: Array, bias: Array, rows: Int, size: Int) -> None:
    """output + bias, in place."""
    for i in range(rows):
        shift = bias[np.uint64(i)]
        row = outputs[i * size : (i + 1) * size]
        for j in range(size):
            row[np.uint64(j)] += shift


@compiled_within
def forward(parameters: Array, sizes: Sizes, scratch: Scratch, size: Int) -> None:
    """Send the first `size` situations of a tile from `columns` through `trunk` to `heads`."""
    source, width, hidden = scratch.columns, sizes.features, sizes.hidden
    begin = 0
    for layer in range(sizes.layers):
        target = scratch.trunk[layer]
        multiply(parameters[begin:], source, target, hidden, size, width, NO)
        add_and_bend(target, parameters[begin + hidden * width :], hidden, size)
        begin += hidden * (width + 1)
        source, width = target, hidden
    multiply(parameters[begin:], source, scratch.heads, sizes.heads, size, hidden, NO)
    add(scratch.heads, parameters[begin + sizes.heads * hidden :], sizes.heads, size)
