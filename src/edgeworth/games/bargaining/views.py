"""What a side may know: the columns behind its observation, and the flat features a network reads."""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Record, compiled
from edgeworth.games.bargaining.vocabulary import DISAGREE, UNSAID, UTILITY_LIMIT


@compiled
def write_view(s: Record, r: Record, side: Int, view: Array) -> None:
    """Everything one side may know, in the columns that `state.VIEW` names."""
    other = 1 - side
    for k in range(3):
        view[k] = s.counts[k]
        view[3 + k] = s.utilities[side, k]
        view[6 + k] = s.utilities[other, k] if r.reveal else 0
        view[9 + k] = s.counts[k] - s.offer[other, k] if s.offered[other] else 0
        view[12 + k] = s.offer[side, k]
    view[15] = s.last_act[other] if s.last_act[other] != UNSAID else DISAGREE
    view[16] = r.max_turns - s.turn
    view[17] = 1 if s.last_act[other] != UNSAID else 0
    view[18] = s.maximum[side]
    view[19] = s.maximum[other] if r.reveal else 0
    view[20] = s.offered[side]


@compiled
def write_history(s: Record, lines: Array) -> None:
    """The moves so far, one line each, and zeros for those to come."""
    lines[:] = 0
    for t in range(s.turn):
        line = np.uint64(t)
        for k in range(5):
            lines[line, k] = s.history[line, k]


@compiled
def write_features(s: Record, r: Record, side: Int, features: Array) -> None:
    """The 18 base features of a side, each in [0, 1]; see `state.BASE_FEATURES`."""
    other = 1 - side
    unit_count = np.float32(1.0) / np.float32(r.max_count)
    mine = np.float32(1.0) / np.float32(max(s.maximum[side], 1) if r.normalize else UTILITY_LIMIT)
    theirs = np.float32(1.0) / np.float32(max(s.maximum[other], 1) if r.normalize else UTILITY_LIMIT)
    for k in range(3):
        features[k] = s.counts[k] * unit_count
        features[3 + k] = s.utilities[side, k] * mine
        features[6 + k] = s.utilities[other, k] * theirs if r.reveal else np.float32(0.0)
        features[14 + k] = (s.counts[k] - s.offer[other, k]) * unit_count if s.offered[other] else np.float32(0.0)
    for act in range(5):
        features[9 + act] = np.float32(1.0) if s.last_act[other] == act else np.float32(0.0)
    features[17] = np.float32(r.max_turns - s.turn) / np.float32(r.max_turns)
