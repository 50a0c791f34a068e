"""How good deals are for both sides together: efficient or not, and near or far from Nash's point. Whole batches at once.

What `games/bargaining/frontier.py` says of one context, computed for many: contexts with the same pool share their list of divisions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.talks import triple_of

Numbers = NDArray[np.int64]


class DealQuality(NamedTuple):
    """One entry per episode; where there was no deal, False and 0."""

    pareto: NDArray[np.bool_]
    """Whether no division is better for one side and no worse for the other."""
    nash: NDArray[np.float64]
    """The Nash product of the deal, that is, of both sides' gains over no deal."""
    best_nash: NDArray[np.float64]
    """The largest Nash product of all divisions."""


def deal_quality(contexts: Numbers, deals: Numbers, agreed: NDArray[np.bool_], reservation: tuple[float, float]) -> DealQuality:
    """The quality of every deal, given contexts (n, 9), the agent's shares (n, 3), and what no deal pays as shares of the maxima."""
    pareto, nash, best = np.zeros(len(contexts), np.bool_), np.zeros(len(contexts)), np.zeros(len(contexts))
    pools, which = np.unique(contexts[:, :3], axis=0, return_inverse=True)
    for number, pool in enumerate(pools):
        rows = np.flatnonzero(which == number)
        mine_each, theirs_each = contexts[rows, 3:6], contexts[rows, 6:9]
        shares = all_shares(triple_of(pool))
        mine, theirs = mine_each @ shares.T, theirs_each @ (pool - shares).T
        deal_mine, deal_theirs = (deals[rows] * mine_each).sum(1)[:, None], ((pool - deals[rows]) * theirs_each).sum(1)[:, None]
        better = (mine >= deal_mine) & (theirs >= deal_theirs) & ((mine > deal_mine) | (theirs > deal_theirs))
        pareto[rows] = agreed[rows] & ~better.any(axis=1)
        floors = reservation[0] * (mine_each @ pool)[:, None], reservation[1] * (theirs_each @ pool)[:, None]
        nash[rows] = np.where(agreed[rows], _product(deal_mine, deal_theirs, *floors)[:, 0], 0.0)
        best[rows] = _product(mine, theirs, *floors).max(axis=1)
    return DealQuality(pareto, nash, best)


def _product(mine: Numbers, theirs: Numbers, my_floor: NDArray[np.float64], their_floor: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(0.0, mine - my_floor) * np.maximum(0.0, theirs - their_floor))
