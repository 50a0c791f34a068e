"""Hint providers without a plan or a language model: no hints, random hints, and the move of a trained negotiator.

The first two are what other hints are compared with. A random hint is an act uniform over the legal ones, a share uniform up to its cap,
and confidence 0.5. An expert's hint is the likeliest move of a network, and its confidence the probability that the network gives it. In a
game that no bundled expert can play, the hint is the greedy rule's: ask for everything, with confidence 0.5.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.bundled import Bundled
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.scripted import Greedy
from edgeworth.errors import FallbackUsed, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hint_features import HINT_FEATURES, write_random_hints
from edgeworth.games.bargaining.hints import Hints, hints_of_moves, no_hints

GREEDY_CONFIDENCE = 0.5


@dataclass(frozen=True)
class NoHints:
    """Gives no hint; the features stay neutral."""

    counters: ClassVar[Mapping[str, int | str]] = {}

    def check(self, batch: BargainingBatch) -> None:
        """Any game will do."""

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        return no_hints(batch)


@dataclass(frozen=True)
class RandomHints:
    """Suggests a random legal move; the same seed gives the same hints."""

    counters: ClassVar[Mapping[str, int | str]] = {}

    def check(self, batch: BargainingBatch) -> None:
        """Any game will do."""

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        features = np.empty((batch.size, HINT_FEATURES), np.float32)
        write_random_hints(batch.state, due, features)
        return Hints(features, due, batch.views)


@dataclass(frozen=True)
class Expert:
    """Suggests the trained negotiator's move; where none is bundled for the game and none is named, the greedy rule's."""

    checkpoint: str | None = None
    """A run folder or a checkpoint; by default the bundled expert for this game."""
    _greedy: list[str] = field(default_factory=list, init=False, compare=False, repr=False)
    """The games in which the greedy rule stands in."""

    @cached_property
    def negotiator(self) -> Learned | Bundled:
        """The trained negotiator, read once."""
        return Bundled() if self.checkpoint is None else Learned(self.checkpoint)

    @property
    def counters(self) -> Mapping[str, int | str]:
        """Whose move is suggested."""
        if self._greedy:
            return {"expert": "greedy rule"}
        expert = self.negotiator
        return {"expert": f"bundled: {', '.join(expert.names)}" if isinstance(expert, Bundled) else str(self.checkpoint)}

    def check(self, batch: BargainingBatch) -> None:
        try:
            self.negotiator.check(batch)
        except InvalidOption as error:
            if self.checkpoint is not None:
                raise
            self._greedy.append(repr(batch.config))
            warnings.warn(f"{error} Until then hints are those of the greedy rule, to ask for everything.", FallbackUsed, stacklevel=2)

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        if repr(batch.config) in self._greedy:
            return hints_of_moves(batch, due, *Greedy().choose(batch), np.full(batch.size, GREEDY_CONFIDENCE, np.float32))
        return hints_of_moves(batch, due, *self.negotiator.advise(batch))
