"""The words of the auction game as small integers, and its fixed sizes.

Compiled code compares these numbers; JSON and text hold the names. The order within a family is part of saved data and never changes.
"""

from __future__ import annotations

RULES = 2
"""Which rules are in force; results and sessions carry the number. 1: the market whose beliefs could be faked; 2: the repaired one."""

FIRST_PRICE, SECOND_PRICE, VCG = range(3)
AUCTION_TYPES = ("first_price", "second_price", "vcg")

ALLOW, RESTRICT, PENALIZE_SUSPECTED, PENALIZE_CONFIRMED = range(4)
COALITION_POLICIES = ("allow", "restrict", "penalize_suspected", "penalize_confirmed")

TRUTHFUL, SHADER, COLLUDER, DROPOUT, EXPLOITER = range(5)
BIDDER_TYPES = ("truthful", "shader", "colluder", "dropout", "exploiter")

NO_INFORMATION, PRICE_ONLY, DISTRIBUTION, ALL_BIDS = range(4)
"""What bidders learn from after a sale, from least to most."""

COMPETE, KEEP_SHARE, KEEP_FEWER = range(3)
"""What a ring can do with a sale: nothing, keep its share of the lots, keep one lot fewer."""
RING_ARMS = 3

SALES_PER_STEP = 5
MAX_BIDDERS = 16
MAX_LOTS = 6
MAX_BIDS = 2 * MAX_BIDDERS
"""Every bidder may be joined by one false name."""
NEXT_IN_LINE = 4
LADDER_DEPTH = MAX_LOTS + NEXT_IN_LINE
"""Bids that a sale ranks: the winners, the price setter, and those next in line when winners withdraw."""
NOBODY = -1
