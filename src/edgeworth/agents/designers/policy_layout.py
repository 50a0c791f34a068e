"""What a designer's policy network chooses: one level for each of the eleven fields of a mechanism.

Words and flags have their values for levels. Numbers have levels at equal distances from 0 to the highest value, fine enough for the score:
a market tells mechanisms apart that differ by a few hundredths of a reserve price, and hardly by a tenth of a fine.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgeworth.agents.policy_layout import TrunkShape
from edgeworth.envs.daedalus_features import FEATURES
from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.state import MECHANISM
from edgeworth.validation import settings

Levels = NDArray[np.int64]


@settings
class DesignerShape(TrunkShape):
    """The sizes of a designer's network."""

    hidden: Annotated[int, Field(ge=1)] = 128
    """Units of a trunk layer."""
    layers: Annotated[int, Field(ge=1)] = 2
    """Trunk layers."""
    reserve_levels: Annotated[int, Field(ge=2)] = 46
    """Levels of the reserve price, from 0 to 0.9."""
    penalty_levels: Annotated[int, Field(ge=2)] = 31
    """Levels of each of the three penalties, from 0 to 3."""

    @property
    def inputs(self) -> int:
        """The features of an observation."""
        return len(FEATURES)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many levels each field has."""
        numbers = {name: self.reserve_levels if name == "reserve_price" else self.penalty_levels for name in HIGHEST}
        return tuple(len(CHOICES[name]) if name in CHOICES else numbers.get(name, 2) for name in FIELDS)

    @property
    def logits(self) -> int:
        """The levels of all fields, field after field."""
        return sum(self.counts)

    def mechanisms(self, levels: Levels) -> Rows:
        """The mechanisms behind rows of eleven levels."""
        rows = np.zeros(len(levels), MECHANISM)
        for k, (name, count) in enumerate(zip(FIELDS, self.counts, strict=True)):
            rows[name] = levels[:, k] * HIGHEST[name] / (count - 1) if name in HIGHEST else levels[:, k]
        return rows
