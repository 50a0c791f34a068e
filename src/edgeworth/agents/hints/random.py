"""Random hints: an act uniform over the legal ones, each share uniform up to its cap, confidence 0.5. Advice that is worth nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import HINT_FEATURES, write_random_hints
from edgeworth.games.bargaining.hints import Hints


@dataclass(frozen=True)
class RandomHints:
    """Draws from the episode's own randomness, at an address that no other draw has, so a seed replays its hints."""

    counters: ClassVar[Mapping[str, int | str]] = {}

    def check(self, batch: BargainingBatch) -> None:
        """Any game will do."""

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        features = np.empty((batch.size, HINT_FEATURES), np.float32)
        write_random_hints(batch.state, due, features)
        return Hints(features, due, batch.views)
