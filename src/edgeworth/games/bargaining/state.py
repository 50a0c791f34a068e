"""The records that the rules read and write: one per episode, one for the rules in force, one per partner, one per report.

A batch is an array of episode records. NumPy shows each field of it as an array over the batch (`state["counts"]` has shape (N, 3)),
compiled code sees one episode by name (`s.counts[k]`), and a batch of one, a slice for a thread or a copy to search from are all just
array slices. Decision 0002 gives the measurements behind this layout.

Two-sided fields are indexed by side: 0 the agent, 1 the partner. An offer is always stored as the *speaker's own* share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.vocabulary import TURN_LIMIT

HISTORY_LINE = 5
"""Numbers that record one move: side, act, and the speaker's share (zeros where the act states none)."""

EPISODE = np.dtype(
    [
        ("seed", np.uint64),
        ("stream", np.uint64),  # the seed, hashed once
        ("episode", np.uint64),  # how many episodes this seed has begun, so the next one's number
        ("key", np.uint64),  # randomness of the episode in play
        ("payoff", np.float64, (2,)),  # points paid at the end
        ("counts", np.int16, (3,)),  # the pool
        ("utilities", np.int16, (2, 3)),  # points per unit
        ("maximum", np.int16, (2,)),  # worth of the whole pool to each side
        ("offer", np.int16, (2, 3)),  # last offer made by each side, as its own share
        ("counter", np.int16, (3,)),  # the partner's standard counter-offer, its own share
        ("memory", np.int16, (2,)),  # what the partner remembers (its file says what)
        ("deal", np.int16, (3,)),  # the agent's share of the closed deal
        ("partner", np.int16),  # row of the partner table
        ("insists", np.int16, (2,)),  # how often each side has insisted
        ("turn", np.int16),  # moves made so far
        ("offered", np.int8, (2,)),  # whether each side has an offer standing
        ("insisted", np.int8, (2,)),  # whether that offer came as an INSIST
        ("last_act", np.int8, (2,)),
        ("outcome", np.int8),
        ("opener", np.int8),  # the side that moves first
        ("history", np.int8, (TURN_LIMIT, HISTORY_LINE)),
    ],
    align=True,
)

RULES = np.dtype(
    [
        ("discount_at", np.float64, (TURN_LIMIT + 1,)),  # factor on a deal closed by the t-th move
        ("reservation", np.float64, (2,)),  # share of the maximum that no deal pays
        ("insist_price", np.float64),
        ("illegal_penalty", np.float64),
        ("sudden_end", np.float64),
        ("max_turns", np.int16),
        ("opens", np.int8),  # 0 agent, 1 partner, 2 drawn
        ("two_player", np.bool_),  # no built-in partner moves
        ("disagree_passes", np.bool_),
        ("penalty_on_illegal", np.bool_),
        ("reveal", np.bool_),
        ("normalize", np.bool_),
        ("from_table", np.bool_),  # contexts are rows of a table, else drawn uniformly
        ("min_count", np.int16),
        ("max_count", np.int16),
    ],
    align=True,
)

PARTNER_PROGRAM = np.dtype(
    [
        ("cumulative", np.float64),  # upper end of this member's slice of [0, 1)
        ("accept", np.int32, (TURN_LIMIT + 1,)),  # acceptance threshold by turn, basis points of its maximum
        ("accept_insist", np.int32, (TURN_LIMIT + 1,)),  # threshold for an offer that came as an INSIST
        ("floor", np.int32),  # least it ever asks for itself, basis points
        ("patience", np.int16),
        ("kind", np.int8),
        ("counter", np.int8),
    ],
    align=True,
)

REPORT = np.dtype(
    [
        ("reward", np.float64),
        ("charge", np.float64),  # what the agent's move cost at once
        ("partner_reward", np.float64),
        ("deal", np.int16, (3,)),
        ("turns", np.int16),
        ("outcome", np.int8),
    ],
    align=True,
)

VIEW: dict[str, slice | int] = {
    "counts": slice(0, 3),
    "my_utilities": slice(3, 6),
    "partner_utilities": slice(6, 9),
    "last_partner_offer_for_me": slice(9, 12),
    "my_last_offer": slice(12, 15),
    "last_partner_act": 15,
    "turns_remaining": 16,
    "partner_has_spoken": 17,
    "my_maximum": 18,
    "partner_maximum": 19,
    "i_have_offered": 20,
}
"""Columns of a view (32-bit integers): what one side may know."""
VIEW_WIDTH = 21

# The first column of each part, as numbers for compiled code.
COUNTS_AT, MY_UTILITIES_AT, PARTNER_UTILITIES_AT, PARTNER_OFFER_AT, MY_OFFER_AT = range(0, 15, 3)
PARTNER_ACT_AT, TURNS_AT, SPOKEN_AT, MY_MAXIMUM_AT, PARTNER_MAXIMUM_AT, OFFERED_AT = range(15, VIEW_WIDTH)


class Outputs(NamedTuple):
    """What a step writes besides the state, one row per episode."""

    reports: NDArray[np.void]
    rewards: NDArray[np.float64]
    ended: NDArray[np.bool_]
    views: NDArray[np.int32]
    masks: NDArray[np.int8]
    final_views: NDArray[np.int32]
    """The end of the episodes that were followed at once by the next; zeros elsewhere."""
    histories: NDArray[np.int8]
    """The moves so far, a line each, zeros for those to come; no rows unless the batch keeps them."""

    @classmethod
    def empty(cls, size: int, turns: int) -> Outputs:
        """Arrays for a step of a batch, which writes all of them; histories of so many turns, or none."""
        both_views = np.empty((2, size, VIEW_WIDTH), np.int32)  # one block, which the allocator keeps for the next step
        histories = np.empty((size if turns else 0, turns, HISTORY_LINE), np.int8)
        reports, masks = np.empty(size, REPORT), np.empty((size, 5), np.int8)
        return cls(reports, np.empty(size), np.empty(size, np.bool_), both_views[0], masks, both_views[1], histories)

    @classmethod
    def zeros(cls, size: int, turns: int) -> Outputs:
        """The outputs of a batch that has made no step."""
        outputs = cls.empty(size, turns)
        for array in outputs:
            array[...] = np.zeros((), array.dtype)
        return outputs


BASE_FEATURES = 18
"""counts 3, my utilities 3, partner's utilities 3, partner's last act 5, its offer to me 3, turns left 1; all in [0, 1]."""
COUNTS_FEATURE, MY_UTILITIES_FEATURE, PARTNER_UTILITIES_FEATURE, PARTNER_ACT_FEATURE, PARTNER_OFFER_FEATURE, TURNS_FEATURE = (
    0,
    3,
    6,
    9,
    14,
    17,
)
"""The first column of each part of the features."""

OPENERS = {"agent": 0, "partner": 1, "random": 2}


def rules_record(config: BargainingConfig, max_count: int, from_table: bool, two_player: bool) -> NDArray[np.void]:
    """The rules in force as the record that compiled code reads."""
    rules = np.zeros(1, RULES)
    row = rules[0]
    row["discount_at"] = [config.discount ** max(0, t - 2) for t in range(TURN_LIMIT + 1)]
    row["reservation"] = config.reservation
    row["insist_price"] = config.insist_price
    row["illegal_penalty"] = config.illegal_penalty
    row["sudden_end"] = config.sudden_end
    row["max_turns"] = config.max_turns
    row["opens"] = OPENERS[config.opens]
    row["two_player"] = two_player
    row["disagree_passes"] = config.disagree == "passes"
    row["penalty_on_illegal"] = config.on_illegal == "penalty"
    row["reveal"] = config.reveal_partner_utilities
    row["normalize"] = config.normalize
    row["from_table"] = from_table
    row["min_count"] = config.min_count
    row["max_count"] = max_count
    return rules
