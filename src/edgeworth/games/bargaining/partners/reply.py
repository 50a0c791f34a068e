"""The reply of an episode's partner: the one place that knows every compiled behaviour; and the random partner.

A new kind of behaviour needs a branch here beside its own functions; a partner that only sets other numbers, as Boulware does, needs none.

The random partner makes any legal move, every act equally likely and each share uniform. It opens with a random PROPOSE, so that no
episode is over before the agent's first move. Its replies carry no information about its utilities, which makes it the baseline for other
partners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Int, Record, compiled
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.legality import random_legal_move, random_share
from edgeworth.games.bargaining.partners.concession import NOTHING_HEARD, time_dependent_reply, tit_for_tat_reply
from edgeworth.games.bargaining.partners.heuristic import heuristic_reply, prepare_counter, walk_away_reply
from edgeworth.games.bargaining.partners.program import HEURISTIC, RANDOM, TIME_DEPENDENT, TIT_FOR_TAT, WALK_AWAY, program
from edgeworth.games.bargaining.vocabulary import PARTNER, PARTNER_ACT, PARTNER_SHARE, PROPOSE


@compiled
def prepare_partner(s: Record, p: Record) -> None:
    """What a partner works out once per episode, before the first move."""
    s.memory[0] = 0
    s.memory[1] = 0
    if p.kind == HEURISTIC or p.kind == WALK_AWAY:
        prepare_counter(s, p)
    elif p.kind == TIT_FOR_TAT:
        s.memory[0] = NOTHING_HEARD


@compiled
def partner_reply(s: Record, r: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """The partner's move: act and own share."""
    if p.kind == HEURISTIC:
        return heuristic_reply(s, p)
    if p.kind == TIME_DEPENDENT:
        return time_dependent_reply(s, p)
    if p.kind == TIT_FOR_TAT:
        return tit_for_tat_reply(s, p)
    if p.kind == WALK_AWAY:
        return walk_away_reply(s, r, p)
    return random_reply(s)


@compiled
def random_reply(s: Record) -> tuple[Int, Int, Int, Int]:
    """A legal move drawn at random; an offer when it opens."""
    if s.turn == 0:
        a, b, c = random_share(s, PARTNER_SHARE)
        return PROPOSE, a, b, c
    return random_legal_move(s, PARTNER, PARTNER_ACT, PARTNER_SHARE)


@dataclass(frozen=True)
class Random:
    """Makes random legal moves."""

    def programs(self, config: BargainingConfig) -> NDArray[np.void]:
        return program(config, RANDOM, accept=lambda turn: 0.0)
