"""Expert hints: what a trained negotiator would do. Without a checkpoint the greedy rule stands in and says so.

With one, the hint is the network's likeliest move, and its confidence the probability that the network gives it. The greedy rule proposes
the whole pool for the agent, with the published confidence of 0.8; no partner with a threshold accepts that. The stand-in is told as a
`FallbackUsed` warning when the provider is put to use, and stays on record in its counters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.greedy import Greedy
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.errors import FallbackUsed
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hints, hints_of_moves

GREEDY_CONFIDENCE = 0.8


@dataclass(frozen=True)
class Expert:
    """Speaks for a negotiator that knows how, or for one that only knows what it wants."""

    checkpoint: str | None = None
    """A run folder or a checkpoint; the greedy rule where there is none."""

    @cached_property
    def negotiator(self) -> Learned | None:
        """The trained negotiator, read once."""
        return None if self.checkpoint is None else Learned(self.checkpoint)

    @property
    def counters(self) -> Mapping[str, int | str]:
        """Who speaks."""
        return {"fallback": "greedy"} if self.checkpoint is None else {"checkpoint": self.checkpoint}

    def check(self, batch: BargainingBatch) -> None:
        if self.negotiator is not None:
            self.negotiator.check(batch)
            return
        warnings.warn(
            "The expert has no checkpoint, so its hints are those of the greedy rule: propose everything for yourself."
            " Give it one with the option `checkpoint`; the provider 'bayes' needs none where the partner allows it.",
            FallbackUsed,
            stacklevel=2,
        )

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        if self.negotiator is None:
            acts, shares = Greedy().choose(batch)
            return hints_of_moves(batch, due, acts, shares, np.full(batch.size, GREEDY_CONFIDENCE, np.float32))
        acts, shares = self.negotiator.choose(batch)
        return hints_of_moves(batch, due, acts, shares, self.negotiator.chances(batch, acts, shares))
