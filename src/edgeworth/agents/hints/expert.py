"""Expert hints: what a trained negotiator would do. No checkpoint is at hand, so the greedy rule stands in and says so.

The greedy rule proposes the whole pool for the agent, with the published confidence of 0.8; no partner with a threshold accepts that. The
stand-in is told as a `FallbackUsed` warning when the provider is put to use, and stays on record in its counters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.greedy import Greedy
from edgeworth.errors import FallbackUsed
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hints, hints_of_moves

GREEDY_CONFIDENCE = 0.8


@dataclass(frozen=True)
class Expert:
    """Speaks for a negotiator that knows how; for now, for one that only knows what it wants."""

    counters: ClassVar[Mapping[str, int | str]] = {"fallback": "greedy"}

    def check(self, batch: BargainingBatch) -> None:
        warnings.warn(
            "The expert has no checkpoint, so its hints are those of the greedy rule: propose everything for yourself."
            " The provider 'bayes' gives better ones where the partner allows it.",
            FallbackUsed,
            stacklevel=2,
        )

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        acts, shares = Greedy().choose(batch)
        return hints_of_moves(batch, due, acts, shares, np.full(batch.size, GREEDY_CONFIDENCE, np.float32))
