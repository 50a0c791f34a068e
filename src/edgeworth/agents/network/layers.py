"""The layers of the network: the forward pass over a tile of situations, and the backward pass from their gradients to the parameters.

Activations are kept feature by feature, so that one feature of all situations lies side by side and every loop runs along the situations.
A tile is small enough to stay in the nearest cache; scratch arrays are flat and allocated once, with room for a whole tile.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import NOTHING, ONE, tanh
from edgeworth.agents.network.products import ACCUMULATE, REPLACE, multiply, multiply_transposed, sum_rows, transpose
from edgeworth.agents.policy_layout import READINGS, PolicyShape
from edgeworth.arithmetic import larger
from edgeworth.compiled import Array, Int, Real, compiled_bare, compiled_within

TILE = 128
"""Most situations that go through the network at once."""
CACHE_LINE = 64
"""Bytes."""


def aligned_zeros(shape: int | tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
    """Zeros that begin at a cache line, so that no vector of the processor lies across two."""
    dimensions = (shape,) if isinstance(shape, int) else shape
    size = prod(dimensions) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    begin = -room.ctypes.data % CACHE_LINE
    zeros: NDArray[Any] = room[begin : begin + size].view(dtype).reshape(dimensions)
    return zeros


class Sizes(NamedTuple):
    """A `PolicyShape` as compiled code reads it."""

    seen: int
    """Features before they are read."""
    unhinted: int
    """Those before the features of a hint."""
    features: int
    """Inputs of the network."""
    reading: int
    """Number of the way of reading in `READINGS`."""
    hidden: int
    layers: int
    units: int
    value: int
    """The row of the value among the heads; what is foreseen stands after it."""
    heads: int
    foresight: int
    """1 where something is foreseen."""
    shortcut: int
    """1 where the heads also read the inputs."""
    relu: int
    """1 where layers put zero in place of what is negative; else they take tanh."""

    @classmethod
    def of(cls, shape: PolicyShape) -> Sizes:
        """The sizes of a shape."""
        seen, reading = (shape.features, shape.unhinted, shape.inputs), READINGS.index(shape.reading)
        heads = shape.units, shape.logits, shape.heads, int(shape.foresight)
        return cls(*seen, reading, shape.hidden, shape.layers, *heads, int(shape.shortcut), int(shape.activation == "relu"))


class Scratch(NamedTuple):
    """Room for one tile on its way through the network."""

    rows: NDArray[np.float32]
    """Features, one row per situation."""
    columns: NDArray[np.float32]
    """Features, one column per situation."""
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


class NetworkArrays(NamedTuple):
    """A network as compiled code takes it, and room for one tile on its way through it."""

    parameters: NDArray[np.float32]
    sizes: Sizes
    scratch: Scratch

    @classmethod
    def of(cls, parameters: NDArray[np.float32], shape: PolicyShape) -> NetworkArrays:
        """The network with these parameters, which stay where they are."""
        return cls(parameters, Sizes.of(shape), Scratch.of(shape))


@compiled_bare
def add_bias_and_tanh(outputs: Array, bias: Array, rows: Int, size: Int) -> None:
    """tanh(output + bias), in place."""
    for i in range(rows):
        shift = bias[np.uint64(i)]
        row = outputs[i * size : (i + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            row[e] = tanh(row[e] + shift)


@compiled_bare
def add_bias_and_relu(outputs: Array, bias: Array, rows: Int, size: Int) -> None:
    """The larger of output + bias and 0, in place."""
    for i in range(rows):
        shift = bias[np.uint64(i)]
        row = outputs[i * size : (i + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            row[e] = larger(row[e] + shift, NOTHING)


@compiled_bare
def add_bias(outputs: Array, bias: Array, rows: Int, size: Int) -> None:
    """output + bias, in place."""
    for i in range(rows):
        shift = bias[np.uint64(i)]
        row = outputs[i * size : (i + 1) * size]
        for j in range(size):
            row[np.uint64(j)] += shift


@compiled_within
def forward(net: NetworkArrays, size: Int) -> None:
    """Send the first `size` situations of a tile from `columns` through `trunk` to `heads`."""
    parameters, sizes, scratch = net
    source, width, hidden = scratch.columns, sizes.features, sizes.hidden
    begin = 0
    for layer in range(sizes.layers):
        target = scratch.trunk[layer]
        multiply(parameters[begin:], source, target, hidden, size, width, REPLACE)
        if sizes.relu:
            add_bias_and_relu(target, parameters[begin + hidden * width :], hidden, size)
        else:
            add_bias_and_tanh(target, parameters[begin + hidden * width :], hidden, size)
        begin += hidden * (width + 1)
        source, width = target, hidden
    multiply(parameters[begin:], source, scratch.heads, sizes.heads, size, hidden, REPLACE)
    begin += sizes.heads * hidden
    add_bias(scratch.heads, parameters[begin:], sizes.heads, size)
    if sizes.shortcut:
        multiply(parameters[begin + sizes.heads :], scratch.columns, scratch.heads, sizes.heads, size, sizes.features, ACCUMULATE)


class Gradients(NamedTuple):
    """Room for the gradients of one tile on its way back."""

    here: NDArray[np.float32]
    before: NDArray[np.float32]
    transposed: NDArray[np.float32]
    """Activations of a layer, one row per situation."""
    ones: NDArray[np.float32]

    @classmethod
    def of(cls, shape: PolicyShape) -> Gradients:
        """Room for networks of a shape."""
        here, before, transposed = (aligned_zeros(shape.hidden * TILE) for _ in range(3))
        return cls(here, before, transposed, np.ones(TILE, np.float32))


@compiled_bare
def tanh_backward(gradients: Array, activations: Array, size: Int) -> None:
    """The gradient before tanh from the one after it: times 1 - tanh²."""
    for i in range(size):
        e = np.uint64(i)
        gradients[e] *= ONE - activations[e] * activations[e]


@compiled_bare
def relu_backward(gradients: Array, activations: Array, size: Int) -> None:
    """The gradient before a ReLU from the one after it: nothing where it gave nothing."""
    for i in range(size):
        e = np.uint64(i)
        gradients[e] = gradients[e] if activations[e] > NOTHING else NOTHING


@compiled_within
def backward(net: NetworkArrays, gradient: Array, room: Gradients, size: Int, keep: Real) -> None:
    """Write the gradient on all parameters, or with `keep` 1 add to it; `scratch.heads` holds that on logits and values."""
    parameters, sizes, scratch = net
    hidden, heads = sizes.hidden, sizes.heads
    here, before = room.here, room.before
    begin = hidden * (sizes.features + 1) + (sizes.layers - 1) * hidden * (hidden + 1)
    transpose(scratch.trunk[sizes.layers - 1], hidden, size, room.transposed)
    multiply(scratch.heads, room.transposed, gradient[begin:], heads, hidden, size, keep)
    sum_rows(scratch.heads, room.ones, gradient[begin + heads * hidden :], heads, size, keep)
    if sizes.shortcut:
        multiply(scratch.heads, scratch.rows, gradient[begin + heads * (hidden + 1) :], heads, sizes.features, size, keep)
    multiply_transposed(parameters[begin:], scratch.heads, here, hidden, size, heads, REPLACE)
    for layer in range(sizes.layers - 1, -1, -1):
        if sizes.relu:
            relu_backward(here, scratch.trunk[layer], hidden * size)
        else:
            tanh_backward(here, scratch.trunk[layer], hidden * size)
        width, source = sizes.features, scratch.rows
        if layer > 0:
            width, source = hidden, room.transposed
            transpose(scratch.trunk[layer - 1], hidden, size, source)
        begin -= hidden * (width + 1)
        multiply(here, source, gradient[begin:], hidden, width, size, keep)
        sum_rows(here, room.ones, gradient[begin + hidden * width :], hidden, size, keep)
        if layer > 0:
            multiply_transposed(parameters[begin:], here, before, hidden, size, hidden, REPLACE)
            here, before = before, here
