"""Which contexts the pocket model never sees in training: one half-context in ten, kept back together with all its relabellings.

A half-context is what one side knows: the pool and its own utilities. Calling hats balls changes nothing but names, so the six orders of
the item types fall on the same side of the split; otherwise the model could be tested on a context it knows by another name. Markets are
split by seed: training counts up from `MARKET_SEEDS`, evaluations stay below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.seeding import hash_rows

HELD_OUT_ONE_IN = 10
SPLIT_SALT = np.uint64(0x0ED6E0A7)
MARKET_SEEDS = 2**44
"""The first seed of a market to train on; seeds of evaluations are smaller."""
BASE = 16
"""More than any count or utility, so that a type is one two-digit number."""


def canonical(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every half-context with its item types in the standard order, and the order itself: `types[i] = original[order[i]]`."""
    pairs = counts.astype(np.int64) * BASE + utilities.astype(np.int64)
    order = np.argsort(pairs, axis=1, kind="stable")
    return np.take_along_axis(pairs, order, axis=1), order


def held_out(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which half-contexts are kept back; both arguments have shape (n, 3)."""
    types, _ = canonical(counts, utilities)
    bits = np.empty(len(types), np.uint64)
    hash_rows(types, SPLIT_SALT, bits)
    kept: NDArray[np.bool_] = bits % np.uint64(HELD_OUT_ONE_IN) == 0
    return kept
