"""The negotiation so far as numbers that a network reads: every offer of both sides, each in its place.

The moves are counted in rounds of one move of each side, and the rounds fall into five parts. Each part has one place for the own offers
and one for the other side's: the latest that was made in it. Negotiations of up to ten turns have a round in each part, so that nothing is
left out; in longer ones the parts have equal numbers of rounds. A place has five numbers in [0, 1], whoever made the offer:

| number | |
|---|---|
| units | what it gives to the reader, of each of the three types, over the largest count |
| worth | what that is worth to the reader, over the worth of the whole pool |
| made | 0 if there is no offer, ½ for a PROPOSE, 1 for an INSIST |

A place means the same moment of every negotiation, so that a network can learn what a partner asks for at that moment.
"""

from __future__ import annotations

import numpy as np

from edgeworth.arithmetic import larger
from edgeworth.compiled import Array, Int, Record, compiled
from edgeworth.games.bargaining.vocabulary import INSIST, PROPOSE

PARTS = 5
"""Into how many parts a negotiation falls."""
PLACES = 2 * PARTS
"""The own offers, then the other side's."""
PLACE_WIDTH, WORTH_COLUMN, MADE_COLUMN = 5, 3, 4
"""Numbers of a place, and where its worth and its act are."""
HISTORY_FEATURES = PLACES * PLACE_WIDTH


@compiled
def part_of(turn: Int, max_turns: Int) -> Int:
    """The part of the negotiation in which a move is made."""
    return (turn >> 1) * PARTS // larger((max_turns + 1) >> 1, PARTS)


@compiled
def write_history_features(s: Record, r: Record, side: Int, features: Array, begin: Int) -> None:
    """Write every offer so far, as a side sees it, into the features from `begin` on."""
    for column in range(HISTORY_FEATURES):
        features[np.uint64(begin + column)] = np.float32(0.0)
    unit_count = np.float32(1.0) / np.float32(r.max_count)
    unit_worth = np.float32(1.0) / np.float32(larger(s.maximum[side], 1))
    for t in range(s.turn):
        line = np.uint64(t)
        speaker, act = np.int64(s.history[line, 0]), np.int64(s.history[line, 1])
        if act != PROPOSE and act != INSIST:
            continue
        other = np.int64(speaker != side)
        place = begin + PLACE_WIDTH * (other * PARTS + part_of(t, r.max_turns))
        worth = np.int64(0)
        for k in range(3):
            stated = np.int64(s.history[line, 2 + k])
            units = other * np.int64(s.counts[k]) + (1 - 2 * other) * stated
            worth += units * s.utilities[side, k]
            features[np.uint64(place + k)] = units * unit_count
        features[np.uint64(place + WORTH_COLUMN)] = worth * unit_worth
        features[np.uint64(place + MADE_COLUMN)] = np.float32(1.0) if act == INSIST else np.float32(0.5)
