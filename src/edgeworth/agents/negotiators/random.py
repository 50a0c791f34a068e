"""Random negotiator: an act uniform over the legal ones, each share uniform up to its cap. The floor of every table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.games.bargaining.batch import BargainingBatch


@dataclass(frozen=True)
class RandomLegal:
    """Draws from the episode's own randomness, so a seed replays it."""

    knows_partner: ClassVar[bool] = False

    def choose(self, batch: BargainingBatch) -> Moves:
        return batch.random_actions()
