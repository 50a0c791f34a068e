"""Expert hints: what a trained negotiator would do.

The hint is the likeliest move of a network, and its confidence the probability that the network gives it. Whose network: that of the option
`checkpoint`, or the one in the box for this game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.boxed import Boxed
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hints, hints_of_moves


@dataclass(frozen=True)
class Expert:
    """Speaks for a negotiator that knows how."""

    checkpoint: str | None = None
    """A run folder or a checkpoint; by default the expert in the box."""

    @cached_property
    def negotiator(self) -> Learned | Boxed:
        """The trained negotiator, read once."""
        return Boxed() if self.checkpoint is None else Learned(self.checkpoint)

    @property
    def counters(self) -> Mapping[str, int | str]:
        """Who speaks."""
        who = self.negotiator
        return {"expert": f"in the box: {', '.join(who.names)}" if isinstance(who, Boxed) else str(self.checkpoint)}

    def check(self, batch: BargainingBatch) -> None:
        self.negotiator.check(batch)

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        return hints_of_moves(batch, due, *self.negotiator.advise(batch))
