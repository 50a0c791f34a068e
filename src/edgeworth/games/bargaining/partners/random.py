"""Random partner: any legal move, every act as likely as the next, each share uniform.

It opens with a random PROPOSE, so that no episode is over before the agent has spoken. Its replies carry no information about its
utilities. The floor against which other partners are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.legality import random_legal_move, random_share
from edgeworth.games.bargaining.partners.program import RANDOM, program
from edgeworth.games.bargaining.purposes import PARTNER_ACT, PARTNER_SHARE
from edgeworth.games.bargaining.vocabulary import PARTNER, PROPOSE


@compiled
def reply(s: Record) -> tuple[Int, Int, Int, Int]:
    """A legal move drawn at random; an offer when it opens."""
    if s.turn == 0:
        a, b, c = random_share(s, PARTNER_SHARE)
        return PROPOSE, a, b, c
    return random_legal_move(s, PARTNER, PARTNER_ACT, PARTNER_SHARE)


@dataclass(frozen=True)
class Random:
    """Uniform over legal moves."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(config, RANDOM, accept=lambda turn: 0.0)
