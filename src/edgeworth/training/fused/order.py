"""The randomness of a training run besides that of its episodes: which seeds its slots play, and the order of samples in every epoch.

All of it is a pure function of the run's seed and a place in the run, so a run that is repeated or resumed is the same to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Bits, Int, compiled_bare, compiled_within
from edgeworth.seeding import below, draw, seed_stream, stream_key

ORDER_SALT = np.uint64(0x5851F42D4C957F2D)
"""Keeps the keys of orders apart from those of episodes."""


@compiled_within
def order_key(seed: Bits, iteration: Int) -> Bits:
    """The key of all orders of one iteration."""
    return stream_key(seed_stream(seed) ^ ORDER_SALT, iteration)


@compiled_bare
def shuffle(order: Array, key: Bits, epoch: Int) -> None:
    """The numbers from 0 on in the order of one epoch (Fisher and Yates)."""
    for i in range(order.shape[0]):
        order[np.uint64(i)] = i
    for i in range(order.shape[0] - 1, 0, -1):
        here, there = np.uint64(i), np.uint64(below(draw(key, i, epoch, 0), i + 1))
        order[here], order[there] = order[there], order[here]


@compiled_bare
def _seeds(seed: Bits, seeds: Array) -> None:
    for slot in range(seeds.shape[0]):
        seeds[slot] = stream_key(seed_stream(seed), slot) >> np.uint64(1)


def env_seeds(seed: int, size: int) -> NDArray[np.uint64]:
    """The seeds that the slots of a run play; runs with neighbouring seeds have none in common."""
    seeds = np.empty(size, np.uint64)
    _seeds(np.uint64(seed), seeds)
    return seeds


def shuffled(seed: int, iteration: int, epoch: int, size: int) -> NDArray[np.int64]:
    """The order of samples in one epoch of a run."""
    order = np.empty(size, np.int64)
    shuffle(order, np.uint64(order_key(np.uint64(seed), iteration)), epoch)
    return order
