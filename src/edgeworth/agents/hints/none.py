"""No hints: the features stay neutral. What every hint is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hints, no_hints


@dataclass(frozen=True)
class NoHints:
    """Says nothing."""

    counters: ClassVar[Mapping[str, int | str]] = {}

    def check(self, batch: BargainingBatch) -> None:
        """Any game will do."""

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        return no_hints(batch)
