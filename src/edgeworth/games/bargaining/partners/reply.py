"""Whose turn of mind it is: sends an episode to the behaviour of its partner.

The one place that knows every compiled behaviour. A branch here is what a new kind of behaviour costs beside its own file; a partner
that only sets other numbers, as Boulware does, needs none.
"""

from __future__ import annotations

from edgeworth.compiled import Int, Record, compiled
from edgeworth.games.bargaining.partners import heuristic, random, time_dependent, tit_for_tat, walk_away
from edgeworth.games.bargaining.partners.counters import prepare_counter
from edgeworth.games.bargaining.partners.program import HEURISTIC, TIME_DEPENDENT, TIT_FOR_TAT, WALK_AWAY

_heuristic_reply = heuristic.reply
_random_reply = random.reply
_time_dependent_reply = time_dependent.reply
_tit_for_tat_reply = tit_for_tat.reply
_walk_away_reply = walk_away.reply


@compiled
def prepare_partner(s: Record, p: Record) -> None:
    """What a partner works out once, before the talks begin."""
    s.memory[0] = 0
    s.memory[1] = 0
    if p.kind == HEURISTIC or p.kind == WALK_AWAY:
        prepare_counter(s, p)
    elif p.kind == TIT_FOR_TAT:
        s.memory[0] = tit_for_tat.NOTHING_HEARD


@compiled
def partner_reply(s: Record, r: Record, p: Record) -> tuple[Int, Int, Int, Int]:
    """The partner's move: act and own share."""
    if p.kind == HEURISTIC:
        return _heuristic_reply(s, p)
    if p.kind == TIME_DEPENDENT:
        return _time_dependent_reply(s, p)
    if p.kind == TIT_FOR_TAT:
        return _tit_for_tat_reply(s, p)
    if p.kind == WALK_AWAY:
        return _walk_away_reply(s, r, p)
    return _random_reply(s)
