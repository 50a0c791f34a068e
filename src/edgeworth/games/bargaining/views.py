"""What a side may know: the columns of its observation, and the flat features that a network reads."""

from __future__ import annotations

import numpy as np

from edgeworth.arithmetic import larger
from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled
from edgeworth.games.bargaining.history_features import write_history_features
from edgeworth.games.bargaining.state import (
    BASE_FEATURES,
    COUNTS_AT,
    COUNTS_FEATURE,
    MY_MAXIMUM_AT,
    MY_OFFER_AT,
    MY_UTILITIES_AT,
    MY_UTILITIES_FEATURE,
    OFFERED_AT,
    PARTNER_ACT_AT,
    PARTNER_ACT_FEATURE,
    PARTNER_MAXIMUM_AT,
    PARTNER_OFFER_AT,
    PARTNER_OFFER_FEATURE,
    PARTNER_UTILITIES_AT,
    PARTNER_UTILITIES_FEATURE,
    SPOKEN_AT,
    TURNS_AT,
    TURNS_FEATURE,
)
from edgeworth.games.bargaining.vocabulary import AGENT, BUDGET, DISAGREE, PARTNER, UNSAID, UTILITY_LIMIT


@compiled
def write_view(s: Record, r: Record, side: Int, view: Array) -> None:
    """Everything one side may know, in the columns that `state.VIEW` names."""
    other, heard, revealed, granted = 1 - side, s.last_act[1 - side], r.reveal, s.offered[1 - side]
    for k in range(3):
        count = s.counts[k]
        view[COUNTS_AT + k] = count
        view[MY_UTILITIES_AT + k] = s.utilities[side, k]
        view[PARTNER_UTILITIES_AT + k] = s.utilities[other, k] if revealed else 0
        view[PARTNER_OFFER_AT + k] = (count - s.offer[other, k]) * granted
        view[MY_OFFER_AT + k] = s.offer[side, k]
    view[PARTNER_ACT_AT] = heard if heard != UNSAID else DISAGREE
    view[TURNS_AT] = r.max_turns - s.turn
    view[SPOKEN_AT] = heard != UNSAID
    view[MY_MAXIMUM_AT] = s.maximum[side]
    view[PARTNER_MAXIMUM_AT] = s.maximum[other] if revealed else 0
    view[OFFERED_AT] = s.offered[side]


@compiled
def write_history(s: Record, lines: Array) -> None:
    """The moves so far, one line each, and zeros for those to come."""
    lines[:] = 0
    for t in range(s.turn):
        line = np.uint64(t)
        for k in range(5):
            lines[line, k] = s.history[line, k]


@compiled
def recall_view(view: Array, r: Record, s: Record) -> None:
    """Put what a view shows back into a record, for features of an episode that is gone."""
    for k in range(3):
        s.counts[k] = view[COUNTS_AT + k]
        s.utilities[AGENT, k] = view[MY_UTILITIES_AT + k]
        s.utilities[PARTNER, k] = view[PARTNER_UTILITIES_AT + k]
        s.offer[PARTNER, k] = view[COUNTS_AT + k] - view[PARTNER_OFFER_AT + k]
    s.offered[PARTNER] = 1
    s.last_act[PARTNER] = view[PARTNER_ACT_AT] if view[SPOKEN_AT] else UNSAID
    s.turn = r.max_turns - view[TURNS_AT]
    s.maximum[AGENT] = view[MY_MAXIMUM_AT]
    s.maximum[PARTNER] = view[PARTNER_MAXIMUM_AT]


@compiled
def observed_points(s: Record, r: Record, side: Int, k: Int) -> Real:
    """A utility as observations show it: as it is, or where contexts are scaled, on the budget of 10 if its type is in the pool."""
    if not r.normalize:
        return np.float32(s.utilities[side, k])
    counted = np.float32(BUDGET) if s.counts[k] > 0 else np.float32(0.0)
    return counted * np.float32(s.utilities[side, k]) / np.float32(larger(s.maximum[side], 1))


@compiled
def write_features(s: Record, r: Record, side: Int, features: Array) -> None:
    """The 18 base features of a side, each in [0, 1]; see `state.BASE_FEATURES`."""
    other, heard, granted, revealed = 1 - side, s.last_act[1 - side], s.offered[1 - side], r.reveal
    unit_count = np.float32(1.0) / np.float32(r.max_count)
    unit_points = np.float32(1.0) / np.float32(UTILITY_LIMIT)
    for k in range(3):
        features[COUNTS_FEATURE + k] = s.counts[k] * unit_count
        features[MY_UTILITIES_FEATURE + k] = observed_points(s, r, side, k) * unit_points
        features[PARTNER_UTILITIES_FEATURE + k] = observed_points(s, r, other, k) * unit_points if revealed else np.float32(0.0)
        features[PARTNER_OFFER_FEATURE + k] = (s.counts[k] - s.offer[other, k]) * granted * unit_count
    for act in range(5):
        features[PARTNER_ACT_FEATURE + act] = np.float32(1.0) if heard == act else np.float32(0.0)
    features[TURNS_FEATURE] = np.float32(r.max_turns - s.turn) / np.float32(r.max_turns)


@compiled
def write_situation(s: Record, r: Record, side: Int, remembers: Flag, features: Array) -> None:
    """The base features of a side and, if it remembers, those of the negotiation so far behind them."""
    write_features(s, r, side, features)
    if remembers:
        write_history_features(s, r, side, features, BASE_FEATURES)
