"""A compiled partner asked through the interface of outside partners, such as networks; games are equal to the last bit either way."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining import batch as batch_module
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.partners.program import outside_program

WITHOUT_MEMORY = ("linear", "random")
"""Compiled partners whose replies depend on the current state only."""


class OutsidePartner:
    """Replies as the compiled partner of a configuration does."""

    sampled: ClassVar[bool] = False

    def __init__(self, config: BargainingConfig) -> None:
        self.within = BargainingBatch(config, 1)

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return outside_program(config)

    def seated(self, batch: BargainingBatch) -> OutsidePartner:
        return self

    def reply(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.within.over(batch.state).replies()


def use_outside_partner(monkeypatch: pytest.MonkeyPatch, config: BargainingConfig) -> None:
    """Replace the game's partner by itself, asked as an outside partner."""
    partner = OutsidePartner(config)
    monkeypatch.setattr(batch_module, "partner_of", lambda name, options: partner)
