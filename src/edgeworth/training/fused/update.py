"""Learning from a rollout: epochs over shuffled minibatches, each one gradient and one step of Adam (Kingma and Ba 2015).

Minibatches larger than a tile go through the network tile by tile, and their gradients are added up. Adam works on the flat vector of
parameters, in the arithmetic of `torch.optim.Adam`; torch itself is not called, since it would take longer than the step.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import NOTHING
from edgeworth.agents.network.heads import softmax
from edgeworth.agents.network.layers import TILE, Gradients, NetworkArrays, aligned_zeros, backward, forward
from edgeworth.agents.network.products import ACCUMULATE, REPLACE, squared_length
from edgeworth.compiled import Array, Bits, Flag, Int, Real, compiled_bare, compiled_within
from edgeworth.training.fused.loss import GRADIENT_NORM, KL, Samples, Terms, differentiate
from edgeworth.training.fused.order import shuffle
from edgeworth.training.fused.rollout import RolloutBuffer

BETA_1, BETA_2 = 0.9, 0.999
ADAM_EPSILON = 1e-5
EPSILON = np.float32(ADAM_EPSILON)
NORM_GUARD = 1e-6
FAINT = np.float32(1e-30)
"""Moments that fade out become 0 here, far below EPSILON, before they are too small for ordinary arithmetic, which is slow."""
KEEP_1, TAKE_1 = np.float32(BETA_1), np.float32(1.0 - BETA_1)
KEEP_2, TAKE_2 = np.float32(BETA_2), np.float32(1.0 - BETA_2)
DEVIATION_GUARD = 1e-8


class Schedule(NamedTuple):
    """How often and how far the parameters move in an iteration."""

    epochs: int
    minibatch: int
    rate: float
    gradient_norm: float
    normalize: bool
    target_kl: float
    """Infinite where no limit is set."""


class Moments(NamedTuple):
    """What Adam remembers, and the gradient it reads."""

    gradient: NDArray[np.float32]
    first: NDArray[np.float32]
    second: NDArray[np.float32]

    @classmethod
    def of(cls, size: int) -> Moments:
        """All zero."""
        return cls(*(aligned_zeros(size) for _ in range(3)))


class Workspace(NamedTuple):
    """A network, and the arrays that its gradient is computed in."""

    net: NetworkArrays
    samples: Samples
    gradients: Gradients
    moments: Moments


@compiled_bare
def standardisation(buffer: RolloutBuffer, rows: Array, order: Array, begin: Int, size: Int) -> tuple[Real, Real]:
    """The mean of a minibatch's advantages, and one over their deviation."""
    total = 0.0
    for j in range(begin, begin + size):
        total += np.float64(buffer.advantages[np.uint64(rows[np.uint64(order[np.uint64(j)])])])
    mean = total / size
    squares = 0.0
    for j in range(begin, begin + size):
        distance = np.float64(buffer.advantages[np.uint64(rows[np.uint64(order[np.uint64(j)])])]) - mean
        squares += distance * distance
    return mean, 1.0 / (sqrt(squares / size) + DEVIATION_GUARD)


@compiled_bare
def gather(
    buffer: RolloutBuffer, rows: Array, order: Array, begin: Int, size: Int, mean: Real, scale: Real, net: NetworkArrays, samples: Samples
) -> None:
    """Bring the samples of a tile together."""
    scratch, width = net.scratch, net.sizes.features
    for j in range(size):
        e, row = np.uint64(j), np.uint64(rows[np.uint64(order[np.uint64(begin + j)])])
        for column in range(width):
            value = buffer.features[row, np.uint64(column)]
            scratch.rows[np.uint64(j * width + column)] = value
            scratch.columns[np.uint64(column * size + j)] = value
        for head in range(4):
            h = np.uint64(head)
            scratch.legal[h, e] = buffer.legal[row, h]
            samples.moves[h, e] = buffer.moves[row, h]
        samples.log_probs[e] = buffer.log_probs[row]
        samples.values[e] = buffer.values[row]
        samples.returns[e] = buffer.returns[row]
        samples.advantages[e] = np.float32((np.float64(buffer.advantages[row]) - mean) * scale)


@compiled_within
def minibatch_gradient(
    work: Workspace, buffer: RolloutBuffer, rows: Array, order: Array, begin: Int, size: Int, terms: Terms, normalize: Flag, sums: Array
) -> None:
    """The gradient of the loss of one minibatch, in `work.moments.gradient`."""
    net, units = work.net, work.net.sizes.units
    mean, scale = 0.0, 1.0
    if normalize:
        mean, scale = standardisation(buffer, rows, order, begin, size)
    part = np.float32(1.0 / size)
    for offset in range(0, size, TILE):
        here = min(TILE, size - offset)
        gather(buffer, rows, order, begin + offset, here, mean, scale, net, work.samples)
        forward(net, here)
        softmax(net.scratch, units, here)
        differentiate(work.samples, net.scratch, units, here, terms, part, sums)
        backward(net, work.moments.gradient, work.gradients, here, REPLACE if offset == 0 else ACCUMULATE)


@compiled_bare
def adam_step(parameters: Array, moments: Moments, rate: Real, limit: Real, time: Int) -> Real:
    """One update, the `time`-th; returns the norm of the gradient before it was limited. Nothing changes where it is not finite."""
    gradient, first, second = moments
    norm = sqrt(np.float64(squared_length(gradient)))
    if not np.isfinite(norm):
        return norm
    clip = np.float32(min(1.0, limit / (norm + NORM_GUARD)))
    step_size = np.float32(rate / (1.0 - BETA_1**time))
    scale = np.float32(1.0 / sqrt(1.0 - BETA_2**time))
    for i in range(parameters.shape[0]):
        e = np.uint64(i)
        clipped = gradient[e] * clip
        m = KEEP_1 * first[e] + TAKE_1 * clipped
        v = KEEP_2 * second[e] + TAKE_2 * clipped * clipped
        m = m if abs(m) > FAINT else NOTHING
        v = v if v > FAINT else NOTHING
        first[e], second[e] = m, v
        parameters[e] -= step_size * m / (np.sqrt(v) * scale + EPSILON)
    return norm


@compiled_bare
def learn(
    work: Workspace,
    buffer: RolloutBuffer,
    rows: Array,
    order: Array,
    terms: Terms,
    schedule: Schedule,
    key: Bits,
    updates: Int,
    sums: Array,
) -> tuple[Int, Int, Real]:
    """All epochs of an iteration; `rows` are the samples in the buffer, `updates` how many there were before.

    Returns how many updates and epochs were made, and the approximate KL divergence of the last epoch. A gradient that is not finite stops
    everything before it changes the parameters; the number of epochs is then -1.
    """
    made, last_kl = 0, 0.0
    for epoch in range(schedule.epochs):
        shuffle(order, key, epoch)
        kl_before = sums[KL]
        for begin in range(0, order.shape[0], schedule.minibatch):
            size = min(schedule.minibatch, order.shape[0] - begin)
            minibatch_gradient(work, buffer, rows, order, begin, size, terms, schedule.normalize, sums)
            norm = adam_step(work.net.parameters, work.moments, schedule.rate, schedule.gradient_norm, updates + made + 1)
            if not np.isfinite(norm):
                return made, -1, last_kl
            sums[GRADIENT_NORM] += norm
            made += 1
        last_kl = (sums[KL] - kl_before) / order.shape[0]
        if last_kl > schedule.target_kl:
            return made, epoch + 1, last_kl
    return made, schedule.epochs, last_kl
