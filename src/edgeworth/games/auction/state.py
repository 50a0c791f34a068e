"""The records that the market's rules read and write.

A batch is an array of MARKET records: NumPy shows each field as an array over the batch (`markets["entry_cost"]` has shape (N, 16)),
compiled code reads one market's fields by name. MECHANISM is what the designer posts. A WORKSPACE holds what a step needs and what is gone
after it: the TERMS that follow from a mechanism, the SALE in progress, and the TALLY of the step. An OUTCOME is a scored step.

The records are of NumPy's `record` kind, so that the same source runs compiled and as plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeworth.games.auction.vocabulary import (
    BIDDER_TYPES,
    LADDER_DEPTH,
    MAX_BIDDERS,
    MAX_BIDS,
    MAX_LOTS,
    RING_ARMS,
    SALES_PER_STEP,
)

N, K = MAX_BIDDERS, MAX_LOTS


def record(fields: list[Any]) -> np.dtype[np.void]:
    """A record dtype whose fields read as attributes, compiled or not."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


MECHANISM = record(
    [
        ("auction_type", np.int64),
        ("reserve_price", np.float64),
        ("reveal_reserve", np.bool_),
        ("reveal_competing_bids", np.bool_),
        ("reveal_winner_identity", np.bool_),
        ("reveal_clearing_price", np.bool_),
        ("reveal_bid_distribution", np.bool_),
        ("shill_penalty", np.float64),
        ("withdrawal_penalty", np.float64),
        ("collusion_penalty", np.float64),
        ("coalition_policy", np.int64),
    ]
)
"""The eleven fields; types and policies as their number in `vocabulary`."""

MARKET = record(
    [
        ("seed", np.uint64),
        ("stream", np.uint64),  # the seed, hashed once
        ("episode", np.uint64),  # how many episodes this seed has begun, so the next one's number
        ("key", np.uint64),  # randomness of the episode in play
        ("n", np.int64),  # bidders
        ("step", np.int64),  # designer's steps played
        ("sale", np.int64),  # sales held
        ("stage", np.int64),  # row of the population table
        ("share", np.float64, (len(BIDDER_TYPES),)),  # of each type, as drawn
        ("count", np.int64, (len(BIDDER_TYPES),)),
        ("type", np.int64, (N,)),
        ("entry_cost", np.float64, (N,)),
        ("was_in", np.int8, (N,)),
        ("scruple", np.float64, (N,)),
        ("shading", np.float64, (N,)),  # bid over value
        ("format", np.int64),  # the auction type that everybody is used to
        ("practised", np.float64),  # sales held in it
        ("belief", np.float64, (N, K)),  # k-th highest rival bid, in units of the day's demand
        ("rivals_met", np.float64, (N,)),  # how many came, as far as a bidder knows
        ("rival_level", np.float64, (N,)),  # the rivals' shading, as estimated from a bidder's own results
        ("reserve_belief", np.float64),  # what the market thinks a secret reserve is
        ("expelled_left", np.float64, (N,)),  # sales that an expelled ring member stays out
        ("ring_met", np.bool_),  # whether the ring has planned a sale yet
        ("ring_score", np.float64, (RING_ARMS,)),  # past profit of each plan over competing
        ("ring_guess", np.float64),  # of a secret reserve
        ("ring_fining", np.float64),  # how often cover bids are fined
        ("ring_gain", np.float64),  # what membership brings per sale, over competing
        ("war_left", np.float64),  # sales of price war to come
        ("turn", np.int64),  # whose turn it is
        ("shill_gain", np.float64),  # what a false name brings its owner, before fines
        ("has_past", np.bool_),
        ("last_welfare", np.float64),  # indices of the last sale
        ("last_profit", np.float64),
    ]
)

TERMS = record(
    [
        ("lots", np.int64),
        ("quality", np.float64, (K + 1,)),
        ("total_quality", np.float64),
        ("top_ratio", np.float64),  # the best of n - 1 bids over the second best, on average
        ("scale", np.float64),  # competitive surplus per bidder over that of eight bidders
        ("usual_profit", np.float64),
        ("information", np.int64),
        ("feedback", np.float64),
        ("opacity", np.float64),
        ("deterrence", np.float64),  # how far a ban on rings is enforced: 0 as good as legal, 1 fully
        ("lawful", np.float64),
        ("guilty_rate", np.float64),
        ("innocent_rate", np.float64),
        ("collusion_fine", np.float64),
        ("shill_fine", np.float64),
        ("shill_detection", np.float64),
        ("knockout", np.float64),
        ("ring_overbid", np.float64),
        ("price_squeeze", np.float64),
        ("first_price_cut", np.float64),
        ("attribution", np.float64),
        ("notice", np.float64),
        ("withdrawal_charge", np.float64),  # what a winner whose value has collapsed expects to lose
        ("setter_share", np.float64),  # chance that a given bidder sets the price
        ("one_rival_less", np.float64),  # 1 / (n - 1)
        ("entry_sharpness", np.float64),  # logits per unit of expected money
        ("prospect", np.float64, (N,)),  # what everybody expects to be left with per sale
        ("rules_cost", np.float64),  # what the rules cost every entrant: privacy and paperwork
    ]
)

LADDER = record(
    [
        ("bid", np.float64, (LADDER_DEPTH,)),
        ("seat", np.int64, (LADDER_DEPTH,)),  # n and above are false names
        ("payment", np.float64, (LADDER_DEPTH,)),
        ("first_seat", np.int64),  # who comes first among equal bids
        ("ranked", np.int64),  # valid bids
        ("listed", np.int64),  # valid and void bids
        ("sold", np.int64),
        ("revenue", np.float64),
    ]
)

SALE = record(
    [
        ("demand", np.float64),
        ("value", np.float64, (N,)),
        ("first_best", np.float64),
        ("competitive_profit", np.float64),
        ("present", np.int8, (N,)),
        ("entrants", np.int64),
        ("costs", np.float64),  # of taking part, of those who came
        ("shading", np.float64, (N,)),
        ("genuine", np.float64, (N,)),
        ("competitive", np.float64, (N,)),
        ("bid", np.float64, (MAX_BIDS,)),
        ("bids", np.int64),
        ("member", np.int8, (N,)),
        ("members", np.int64),
        ("ring_rank", np.int64, (N,)),
        ("took_turns", np.bool_),
        ("uncoordinated", np.bool_),  # the restriction kept the ring from meeting
        ("plan", np.int64),
        ("kept", np.int64),  # lots the ring bids for; 0 when it competes
        ("plan_profit", np.float64, (RING_ARMS,)),
        ("honest", LADDER),  # of the bids that a ring suppressed
        ("cover_bid", np.float64),
        ("covering", np.int8, (N,)),
        ("cheated", np.int8, (N,)),
        ("cheats", np.int64),
        ("at_war", np.bool_),
        ("trial_bid", np.float64, (N,)),
        ("trial", LADDER),  # of what might be
        ("ladder", LADDER),  # of what is
        ("shills", np.int64),
        ("owner", np.int64, (N,)),  # of each false name
        ("uplift", np.float64),
        ("defaults", np.float64),  # what false names owed that won
        ("welfare", np.float64),
        ("profit", np.float64),
        ("fines", np.float64),
        ("surplus", np.float64, (N,)),
        ("won", np.int64, (N,)),
        ("served", np.int8, (N,)),
        ("withdrew", np.int8, (N,)),
        ("withdrawn", np.int8, (K,)),  # by lot, as the next four
        ("shock", np.float64, (K,)),  # what is left of the winner's value after the sale, 1 without a shock
        ("charge", np.float64, (K,)),  # for withdrawing
        ("taker", np.int64, (K,)),  # who holds the lot in the end, or NOBODY
        ("paid", np.float64, (K,)),  # by the taker
        ("fined_as_shill", np.int8, (N,)),
        ("mistaken_shill", np.int64),  # who was fined as a shill by mistake, or NOBODY
        ("fined_as_cover", np.int8, (N,)),
        ("caught", np.float64),
        ("exposed", np.float64),
        ("position", np.int64, (N,)),  # rank on the ladder from 0, or `lots`
        ("seen", np.float64, (K + 1, K)),  # rivals' bids as seen from each rank
        ("known", np.int64, (K + 1,)),  # how many of them are known
        ("ceiling", np.float64, (K + 1,)),  # what the others are known to be below
    ]
)

TALLY = record(
    [
        ("surplus", np.float64, (N,)),
        ("entitlement", np.float64, (N,)),
        ("won", np.float64, (N,)),
        ("welfare_series", np.float64, (SALES_PER_STEP + 1,)),
        ("profit_series", np.float64, (SALES_PER_STEP + 1,)),
        ("points", np.int64),
        *(
            (name, np.float64)
            for name in (
                "welfare",
                "first_best",
                "gains",
                "profit",
                "competitive_profit",
                "fines",
                "entrants",
                "costs",
                "all_costs",
                "shills",
                "wars",
                "ring_activity",
                "bids",
                "bid_sum",
                "bid_squares",
                "covers",
                "honest_covers",
                "honest_bids",
                "gap",
                "withdrawals",
                "unsold",
                "shading",
                "shaders",
            )
        ),
    ]
)

WORKSPACE = record([("terms", TERMS), ("sale", SALE), ("tally", TALLY)])

COMPONENTS = ("welfare_ratio", "fairness_score", "participation_rate", "stability_score")
SCORES = (*COMPONENTS, "composite")
"""The parts of the score, and their product."""
PROXIES = (
    "bid_mean",
    "bid_variation",
    "cover_share",
    "winner_gap",
    "withdrawal_rate",
    "winner_concentration",
    "unsold_share",
    "entrants",
)
DIAGNOSTICS = (
    "split",
    "equity",
    "profit_ratio",
    "shading",
    "ring_activity",
    "collusion_signal",
    "shills",
    "wars",
    "fines",
    "gini",
    "jain",
)

OUTCOME = record([(name, np.float64) for name in (*SCORES, *PROXIES, *DIAGNOSTICS)])
"""A scored step: scores and proxies are what a designer sees, diagnostics are for research."""
