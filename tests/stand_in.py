"""A partner of the rules that is asked from outside: whatever it meets has to be the same to the last bit as with the real one."""

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
"""Partners of the rules whose replies need nothing that they worked out before."""


class StandIn:
    """Says what a partner of the rules would say."""

    sampled: ClassVar[bool] = False

    def __init__(self, config: BargainingConfig) -> None:
        self.within = BargainingBatch(config, 1)

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return outside_program(config)

    def seated(self, batch: BargainingBatch) -> StandIn:
        return self

    def reply(self, batch: BargainingBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.within.over(batch.state).replies()


def stand_in(monkeypatch: pytest.MonkeyPatch, config: BargainingConfig) -> None:
    """From now on this game's partner is asked from outside."""
    partner = StandIn(config)
    monkeypatch.setattr(batch_module, "partner_of", lambda name, options: partner)
