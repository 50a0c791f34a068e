"""What random legal play earns on average, exactly, against a partner whose counter-offers depend on the pool alone.

The random agent draws an act among the legal ones and a share among all, whatever has happened. So a partner of given utilities is still
there after each move with a probability that a short recursion gives, and what the agent takes home is an average share of the pool. That
average does not depend on the agent's own utilities, so one recursion serves all own sides with the same pool and the same partners.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import acceptance, check_silent_partner
from edgeworth.games.bargaining.bounds import still_there
from edgeworth.games.bargaining.contexts import Triple
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.partners.program import KEEP_ALL
from edgeworth.games.bargaining.vocabulary import AGENT


def random_takings(counts: Triple, types: NDArray[np.int64], batch: BargainingBatch, opener: int) -> tuple[NDArray[np.float64], float]:
    """The random agent's average share of each type of item, discounted, and what no deal pays it on average, as a share of its maximum.

    The averages are over these partner types, equally likely.
    """
    check_silent_partner(batch)
    rules, partner, pool = batch.rules[0], batch.partners[0], np.array(counts, np.int64)
    if rules["disagree_passes"] or rules["sudden_end"] > 0.0 or rules["insist_price"] > 0.0:
        raise InvalidOption(
            "The value of random play is worked out for games in which DISAGREE ends, without sudden end and without a price on INSIST."
        )
    shares = all_shares(counts)
    counter = np.zeros(3, np.int64) if partner["counter"] == KEEP_ALL else np.minimum(pool, 1)
    there, taken, dealt = np.ones(len(types)), np.zeros(3), 0.0
    for turn in range(opener, int(rules["max_turns"]), 2):
        offered = turn > 0
        chance = there / (4 + offered)
        agreed = chance.sum() * (offered + 1.0 / len(shares))  # by AGREE, or by END with the one selection that matches
        taken += rules["discount_at"][turn + 1] * (agreed if offered else 0.0) * counter
        dealt += agreed
        refused = np.zeros(len(types))
        for act in ("accept", "accept_insist") if turn + 1 < rules["max_turns"] else ():
            accepted = acceptance(shares, pool, types, int(partner[act][turn + 1]))
            won = chance @ accepted / len(shares)
            taken += rules["discount_at"][turn + 2] * won @ shares
            dealt += won.sum()
            refused += chance * (1.0 - accepted.mean(axis=1))
        there = refused * still_there(partner, turn // 2 + 1)
    return taken / len(types), float(rules["reservation"][AGENT]) * (1.0 - dealt / len(types))
