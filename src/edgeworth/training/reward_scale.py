"""The unit of the learner's rewards: the mean worth of the whole pool to the agent, a constant of the game.

Networks learn slowly on returns of tens of points. One factor for all episodes brings them near 1 and leaves the aim as it is: a policy
with the larger mean reward in points is also the one with the larger mean reward in this unit.
"""

from __future__ import annotations

import numpy as np

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import BUDGET, ITEM_TYPES, UTILITY_LIMIT


def reward_scale_of(config: BargainingConfig) -> float:
    """One over the mean worth of the whole pool to the agent; 1 where it is worth nothing."""
    worth = mean_worth(config)
    return 1.0 / worth if worth > 0.0 else 1.0


def mean_worth(config: BargainingConfig) -> float:
    """What the whole pool is worth to the agent on average, in points as they are paid."""
    if config.normalize:
        return float(BUDGET)
    batch = BargainingBatch(config, 1)
    if len(batch.table):
        return float((batch.table[:, :3].astype(np.int64) * batch.table[:, 3:6]).sum(axis=1).mean())
    least, levels = config.min_count, batch.max_count - config.min_count + 1
    units = ITEM_TYPES * (least + batch.max_count) / 2.0
    if least == 0:  # every pool but the empty one
        units *= levels**ITEM_TYPES / (levels**ITEM_TYPES - 1.0)
    return units * UTILITY_LIMIT / 2.0
