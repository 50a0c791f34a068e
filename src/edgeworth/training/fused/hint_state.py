"""The hints of a rollout: those in force in every slot, and random ones, drawn inside compiled code.

A provider that has to be asked in Python is asked by the learner, which writes the features; random hints need no provider.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.layers import aligned_zeros
from edgeworth.compiled import Array, Record, compiled_bare
from edgeworth.config import HintConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import (
    HINT_FEATURES,
    extend_features,
    find_due,
    find_kept,
    moves_since_asking,
    write_random_hints,
)
from edgeworth.games.bargaining.legality import write_mask
from edgeworth.games.bargaining.state import TURNS_AT
from edgeworth.games.bargaining.vocabulary import AGENT


class HintState(NamedTuple):
    """The hints in force, and what random ones need to be drawn in compiled code."""

    features: NDArray[np.float32]
    """(slots, 0, 10 or 11)."""
    views: NDArray[np.int32]
    masks: NDArray[np.int8]
    since: NDArray[np.int64]
    due: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    """Of those that are due, the ones of episodes that have hints at all."""
    given: NDArray[np.float32]
    k: int
    holds: bool
    dropout: float
    drawn: NDArray[np.int64]
    """How many random hints were drawn here, one number."""
    random: bool
    """Whether random hints are drawn here; otherwise the learner writes `features`, or there are none."""

    @classmethod
    def of(cls, batch: BargainingBatch, features: NDArray[np.float32], cadence: HintConfig, random: bool) -> HintState:
        """The hints of a batch; their features stay where they are."""
        return cls(
            features,
            np.zeros_like(batch.views),
            np.zeros_like(batch.masks),
            moves_since_asking(cadence.k),
            np.zeros(batch.size, np.bool_),
            np.zeros(batch.size, np.bool_),
            aligned_zeros((batch.size, HINT_FEATURES)),
            cadence.k,
            cadence.hold_last,
            cadence.dropout,
            np.zeros(1, np.int64),
            random,
        )


@compiled_bare
def draw_hints(state: Array, r: Record, hints: HintState) -> None:
    """Random hints for the episodes that are due one now."""
    for i in range(state.shape[0]):
        e = np.uint64(i)
        hints.views[e, TURNS_AT] = r.max_turns - state[e].turn
        write_mask(state[e], AGENT, hints.masks[e])
    find_due(hints.views, hints.masks, r.max_turns, hints.since, hints.k, hints.due)
    hints.drawn[0] += find_kept(state, hints.dropout, hints.due, hints.kept)
    write_random_hints(state, hints.kept, hints.given)
    extend_features(
        hints.views, hints.masks, r.max_turns, hints.since, hints.k, hints.holds, hints.due, hints.given, hints.features, hints.features
    )
