"""Hints as the numbers that a network reads: when one is due, what its features are, and hints drawn at random.

A hint is asked for when an episode begins, and then after every k-th move of the agent while the negotiation goes on. Its features are
the act (one of five), the share over the pool (0 for a type that is not there), the confidence, and 1 for being there; without a hint all
are zero. An eleventh, where it is wanted, is the age: the moves since the hint was asked for, over k.

Everything but the random draw reads views and masks, that is, what the agent may know.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Flag, Int, Real, compiled
from edgeworth.games.bargaining.legality import LEGAL_ACTS, STATES_SHARE
from edgeworth.games.bargaining.state import COUNTS_AT, TURNS_AT
from edgeworth.games.bargaining.vocabulary import (
    COUNT_LIMIT,
    HINT,
    HINT_DROPOUT,
    ITEM_NAMES,
    PARTNER,
    PROPOSE,
    TURN_LIMIT,
    Act,
)
from edgeworth.seeding import draw, quarter_below, unit

HINT_FEATURES = 10
"""act 5, share over the pool 3, confidence 1, availability 1; all in [0, 1]."""
FEATURE_NAMES = (
    *(f"act_{act.name.lower()}" for act in Act),
    *(f"oA_{name}s_over_pool" for name in ITEM_NAMES),
    "confidence",
    "available",
)
SHARE_COLUMN, CONFIDENCE_COLUMN, AVAILABLE_COLUMN, AGE_COLUMN = 5, 8, 9, 10

RANDOM_CONFIDENCE = 0.5
STATED = np.array([[0] * 5, STATES_SHARE])
"""By whether a hint is due, and its act: 1 where it states a share."""
PARTS = (np.arange(COUNT_LIMIT + 1)[:, None] / np.maximum(np.arange(COUNT_LIMIT + 1), 1)).astype(np.float32)
"""By units asked for and units there are: the part that is asked for."""


def _random_rows() -> NDArray[np.float32]:
    rows = np.zeros((2, len(Act), HINT_FEATURES), np.float32)
    rows[1, :, : len(Act)] = np.eye(len(Act))
    rows[1, :, CONFIDENCE_COLUMN], rows[1, :, AVAILABLE_COLUMN] = RANDOM_CONFIDENCE, 1.0
    return rows


RANDOM_ROWS = _random_rows()
"""By whether a hint is due, and its act: the features of a random hint but for the share."""


def moves_since_asking(k: int) -> NDArray[np.int64]:
    """How many moves ago the hint in force was asked for, by the number of moves that the agent has made."""
    return np.arange(TURN_LIMIT // 2 + 1, dtype=np.int64) % k


@compiled
def find_due(views: Array, masks: Array, max_turns: Int, since: Array, k: Int, due: Array) -> Int:
    """The episodes whose agent is owed a hint now; returns how many there are."""
    number = np.int64(0)
    for i in range(masks.shape[0]):
        e = np.uint64(i)
        asked = np.int64(masks[e, PROPOSE] != 0)
        if k > 1:
            made = np.uint64((max_turns - views[e, TURNS_AT]) >> 1)
            asked &= np.int64(since[made] == 0)
        due[e] = asked == 1
        number += asked
    return number


@compiled
def find_kept(state: Array, dropout: Real, due: Array, kept: Array) -> Int:
    """Of the hints that are due, those of episodes that have hints at all; returns how many there are.

    A `dropout` share of the episodes, drawn by their own randomness, has none.
    """
    number = np.int64(0)
    for i in range(state.shape[0]):
        e = np.uint64(i)
        kept[e] = due[e] and unit(draw(state[e].key, 0, HINT_DROPOUT, 0)) >= dropout
        number += np.int64(kept[e])
    return number


@compiled
def write_hint_features(views: Array, masks: Array, acts: Array, shares: Array, confidences: Array, given: Array, features: Array) -> Int:
    """The features of every hint that is given, zeros elsewhere.

    Zeros too for a hint that is masked, over the pool or without a confidence from 0 to 1; returns how many of these there were.
    """
    forbidden = 0
    for i in range(views.shape[0]):
        e = np.uint64(i)
        for column in range(HINT_FEATURES):
            features[e, column] = np.float32(0.0)
        if given[e]:
            fine = (confidences[e] >= 0.0) & (confidences[e] <= 1.0)
            for k in range(3):
                fine &= (shares[e, k] >= 0) & (shares[e, k] <= views[e, COUNTS_AT + k])
            act = np.uint64(acts[e])
            if fine and act < np.uint64(5) and masks[e, act]:
                features[e, act] = np.float32(1.0)
                for k in range(3):
                    features[e, SHARE_COLUMN + k] = PARTS[np.uint64(shares[e, k]), np.uint64(views[e, COUNTS_AT + k])]
                features[e, CONFIDENCE_COLUMN] = confidences[e]
                features[e, AVAILABLE_COLUMN] = np.float32(1.0)
            else:
                forbidden += 1
    return forbidden


@compiled
def write_random_hints(state: Array, due: Array, features: Array) -> None:
    """The features of random hints: an act uniform over the legal ones; where it states a share, each type uniform from 0 to all of it.

    All four numbers come from one draw of the episode's own randomness; tables stand for unpredictable conditions, as in `legality`.
    """
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        bits = draw(s.key, s.turn, HINT, 0)
        asked, can_agree = np.uint64(due[e]), np.uint64(s.offered[PARTNER])
        act = np.uint64(LEGAL_ACTS[can_agree, np.uint64(quarter_below(bits, 0, 4 + s.offered[PARTNER]))])
        for column in range(HINT_FEATURES):
            features[e, column] = RANDOM_ROWS[asked, act, column]
        for k in range(3):
            share = quarter_below(bits, 1 + k, s.counts[k] + 1) * STATED[asked, act]
            features[e, SHARE_COLUMN + k] = PARTS[np.uint64(share), np.uint64(s.counts[k])]


@compiled
def read_moves(features: Array, views: Array, acts: Array, shares: Array) -> None:
    """The acts and shares of hints, read back from their features; zeros where there is no hint."""
    for i in range(features.shape[0]):
        e = np.uint64(i)
        act = np.int64(0)
        for column in range(1, SHARE_COLUMN):
            act += column * np.int64(features[e, column])
        acts[e] = act
        for k in range(3):
            shares[e, k] = np.int64(features[e, SHARE_COLUMN + k] * views[e, COUNTS_AT + k] + 0.5)


@compiled
def extend_features(
    views: Array,
    masks: Array,
    max_turns: Int,
    since: Array,
    k: Int,
    holds: Flag,
    due: Array,
    given: Array,
    before: Array,
    features: Array,
) -> None:
    """The features as given; with `holds`, those of the hint before where the negotiation goes on and none is due.

    Where there is room for it, the age: 0 when the hint was asked for just now, towards 1 before the next; 0 where there is none.
    """
    with_age = features.shape[1] > AGE_COLUMN
    for i in range(views.shape[0]):
        e = np.uint64(i)
        held = holds and masks[e, PROPOSE] != 0 and not due[e]
        for column in range(HINT_FEATURES):
            features[e, column] = before[e, column] if held else given[e, column]
        if with_age:
            made = np.uint64((max_turns - views[e, TURNS_AT]) >> 1)
            features[e, AGE_COLUMN] = np.float32(since[made]) / np.float32(k) * features[e, AVAILABLE_COLUMN]
