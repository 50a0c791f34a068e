"""Learning from a tape: epochs over shuffled minibatches, each one gradient and one step of Adam.

Minibatches larger than a tile go through the network tile by tile, and their gradients are added up.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from edgeworth.agents.network.forward import TILE, Scratch, Sizes, forward
from edgeworth.agents.network.heads import weigh
from edgeworth.agents.network.products import NO, YES
from edgeworth.compiled import Array, Bits, Flag, Int, Real, compiled_bare, compiled_within
from edgeworth.training.fused.adam import Moments, adam_step
from edgeworth.training.fused.backward import Slopes, backward
from edgeworth.training.fused.loss import GRADIENT_NORM, KL, Samples, Terms, differentiate
from edgeworth.training.fused.order import shuffle
from edgeworth.training.fused.rollout import Tape

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


class Workshop(NamedTuple):
    """All that a gradient is made with."""

    scratch: Scratch
    samples: Samples
    slopes: Slopes
    moments: Moments


@compiled_bare
def standardisation(advantages: Array, rows: Array, order: Array, begin: Int, size: Int) -> tuple[Real, Real]:
    """The mean of a minibatch's advantages, and one over their deviation."""
    total = 0.0
    for j in range(begin, begin + size):
        total += np.float64(advantages[np.uint64(rows[np.uint64(order[np.uint64(j)])])])
    mean = total / size
    squares = 0.0
    for j in range(begin, begin + size):
        distance = np.float64(advantages[np.uint64(rows[np.uint64(order[np.uint64(j)])])]) - mean
        squares += distance * distance
    return mean, 1.0 / (sqrt(squares / size) + DEVIATION_GUARD)


@compiled_bare
def gather(
    tape: Tape,
    advantages: Array,
    returns: Array,
    rows: Array,
    order: Array,
    begin: Int,
    size: Int,
    mean: Real,
    scale: Real,
    sizes: Sizes,
    scratch: Scratch,
    samples: Samples,
) -> None:
    """Bring the samples of a tile together."""
    width = sizes.features
    for j in range(size):
        e, row = np.uint64(j), np.uint64(rows[np.uint64(order[np.uint64(begin + j)])])
        for column in range(width):
            value = tape.features[row, np.uint64(column)]
            scratch.rows[np.uint64(j * width + column)] = value
            scratch.columns[np.uint64(column * size + j)] = value
        for head in range(4):
            h = np.uint64(head)
            scratch.legal[h, e] = tape.legal[row, h]
            samples.moves[h, e] = tape.moves[row, h]
        samples.log_probs[e] = tape.log_probs[row]
        samples.values[e] = tape.values[row]
        samples.returns[e] = returns[row]
        samples.advantages[e] = np.float32((np.float64(advantages[row]) - mean) * scale)


@compiled_within
def minibatch_gradient(
    parameters: Array,
    sizes: Sizes,
    shop: Workshop,
    tape: Tape,
    advantages: Array,
    returns: Array,
    rows: Array,
    order: Array,
    begin: Int,
    size: Int,
    terms: Terms,
    normalize: Flag,
    sums: Array,
) -> None:
    """The gradient of the loss of one minibatch, in `shop.moments.gradient`."""
    mean, scale = 0.0, 1.0
    if normalize:
        mean, scale = standardisation(advantages, rows, order, begin, size)
    part = np.float32(1.0 / size)
    for offset in range(0, size, TILE):
        here = min(TILE, size - offset)
        gather(tape, advantages, returns, rows, order, begin + offset, here, mean, scale, sizes, shop.scratch, shop.samples)
        forward(parameters, sizes, shop.scratch, here)
        weigh(shop.scratch, sizes.units, here)
        differentiate(shop.samples, shop.scratch, sizes.units, here, terms, part, sums)
        backward(parameters, shop.moments.gradient, sizes, shop.scratch, shop.slopes, here, NO if offset == 0 else YES)


@compiled_bare
def learn(
    parameters: Array,
    sizes: Sizes,
    shop: Workshop,
    tape: Tape,
    advantages: Array,
    returns: Array,
    rows: Array,
    order: Array,
    terms: Terms,
    schedule: Schedule,
    key: Bits,
    updates: Int,
    sums: Array,
) -> tuple[Int, Int, Real]:
    """All epochs of an iteration; `rows` are the samples on the tape, `updates` how many there were before.

    Returns how many updates and epochs were made, and the approximate KL divergence of the last epoch. A gradient that is not finite stops
    everything before it changes the parameters; the number of epochs is then -1.
    """
    moments = shop.moments
    made, last_kl = 0, 0.0
    for epoch in range(schedule.epochs):
        shuffle(order, key, epoch)
        kl_before = sums[KL]
        for begin in range(0, order.shape[0], schedule.minibatch):
            size = min(schedule.minibatch, order.shape[0] - begin)
            minibatch_gradient(
                parameters, sizes, shop, tape, advantages, returns, rows, order, begin, size, terms, schedule.normalize, sums
            )
            norm = adam_step(
                parameters,
                moments.gradient,
                moments.first,
                moments.second,
                schedule.rate,
                schedule.gradient_norm,
                updates + made + 1,
            )
            if not np.isfinite(norm):
                return made, -1, last_kl
            sums[GRADIENT_NORM] += norm
            made += 1
        last_kl = (sums[KL] - kl_before) / order.shape[0]
        if last_kl > schedule.target_kl:
            return made, epoch + 1, last_kl
    return made, schedule.epochs, last_kl
