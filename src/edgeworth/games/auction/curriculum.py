"""Curriculum: begin with honest bidders, and meet harder ones once these are mastered.

A curriculum starts at stage 0 and moves on when the mean score of the last `curriculum_window` episodes finished at the current stage
reaches `curriculum_threshold`; then it counts afresh. It ends at stage 4 and never goes back.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.population import STAGES, population_table


class Curriculum:
    """The stage that a learner has reached, and its recent scores there."""

    def __init__(self, config: AuctionConfig) -> None:
        self.threshold = config.curriculum_threshold
        self.window = config.curriculum_window
        self.stage = 0
        self.scores: deque[float] = deque(maxlen=self.window)

    def populations(self) -> NDArray[np.void]:
        """The recipe rows of the current stage, for `MarketBatch.reset`."""
        return population_table(self.stage)

    def record(self, stage: int, score: float) -> bool:
        """Count the mean score of an episode finished at `stage`; whether that opened the next one.

        An episode begun before the last advance says nothing about the current stage and is not counted.
        """
        if stage != self.stage:
            return False
        self.scores.append(score)
        mastered = len(self.scores) == self.window and sum(self.scores) / self.window >= self.threshold
        if not mastered or self.stage == STAGES - 1:
            return False
        self.stage += 1
        self.scores.clear()
        return True
