"""What a designer's policy network chooses: one level for each of the eleven fields of a mechanism.

Words and flags have their values for levels, and a logit for each. Numbers have many levels, at equal distances from 0 to the highest
value, and neighbours among them do nearly the same to a market. So the logits of a number are a smooth curve over its levels, a sum of a
few cosines whose amplitudes the network gives: what is learnt about one level holds for those beside it.
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
    cosines: Annotated[int, Field(ge=1)] = 8
    """Cosines in the logits of a number."""
    without_allow: bool = False
    """Leave `allow` out of the coalition policies that it chooses from."""

    @property
    def inputs(self) -> int:
        """The features of an observation."""
        return len(FEATURES)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many levels each field has."""
        numbers = {name: self.reserve_levels if name == "reserve_price" else self.penalty_levels for name in HIGHEST}
        return tuple(len(CHOICES[name]) - self.lowest(name) if name in CHOICES else numbers.get(name, 2) for name in FIELDS)

    def lowest(self, name: str) -> int:
        """The place of the first word that a field of words is chosen from."""
        return int(self.without_allow and name == "coalition_policy")

    @property
    def logits(self) -> int:
        """What the network gives, field after field: logits of words and flags, amplitudes of the cosines of numbers."""
        return sum(self.cosines if name in HIGHEST else count for name, count in zip(FIELDS, self.counts, strict=True))

    def curves(self) -> NDArray[np.float64]:
        """The matrix that turns what the network gives into the logits of all levels, (logits, Σ counts)."""
        found, row, column = np.zeros((self.logits, sum(self.counts))), 0, 0
        for name, count in zip(FIELDS, self.counts, strict=True):
            block = cosines(self.cosines, count) if name in HIGHEST else np.eye(count)
            found[row : row + len(block), column : column + count] = block
            row, column = row + len(block), column + count
        return found

    def mechanisms(self, levels: Levels) -> Rows:
        """The mechanisms behind rows of eleven levels."""
        rows = np.zeros(len(levels), MECHANISM)
        for k, (name, count) in enumerate(zip(FIELDS, self.counts, strict=True)):
            rows[name] = levels[:, k] * HIGHEST[name] / (count - 1) if name in HIGHEST else levels[:, k] + self.lowest(name)
        return rows


def cosines(waves: int, levels: int) -> NDArray[np.float64]:
    """The first cosines of half a wave, a whole wave, … over levels, (waves, levels): a constant would change no probability."""
    middles = (np.arange(levels) + 0.5) / levels
    return np.cos(np.pi * np.arange(1, waves + 1)[:, None] * middles)
