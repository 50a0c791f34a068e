"""The law of one move, the same for both sides.

`move` applies the act, runs the clock and settles. An accepted offer closes a deal, END compares the two final selections, DISAGREE walks
away (or passes), and talks that stay open end with their last turn or by chance.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Int, Record, compiled
from edgeworth.games.bargaining.legality import carries_share
from edgeworth.games.bargaining.payoffs import settle
from edgeworth.games.bargaining.purposes import SUDDEN_END
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    AGENT_AGREED,
    AGENT_WALKED,
    AGREE,
    BROKEN_OFF,
    DISAGREE,
    END,
    INSIST,
    LOST_TURN,
    ONGOING,
    PARTNER,
    PROPOSE,
    SELECTIONS_CLASHED,
    SELECTIONS_MATCHED,
    TIMED_OUT,
)
from edgeworth.seeding import draw, unit


@compiled
def move(s: Record, r: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> None:
    """One legal move of one side: the act, then the clock and chance, then payment if the talks are over."""
    record(s, side, act, a, b, c)
    s.turn += 1
    if act == PROPOSE or act == INSIST:
        make_offer(s, side, act, a, b, c)
    elif act == AGREE:
        accept_offer(s, side)
    elif act == END:
        compare_selections(s, side, a, b, c)
    elif act == DISAGREE and not r.disagree_passes:
        s.outcome = AGENT_WALKED + side
    if act != LOST_TURN:
        s.last_act[side] = act
    if s.outcome == ONGOING:
        run_clock(s, r)
    if s.outcome != ONGOING:
        settle(s, r)


@compiled
def record(s: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> None:
    """Write the move into the history of the talks."""
    line = np.uint64(s.turn)
    stated = carries_share(act)
    s.history[line, 0] = side
    s.history[line, 1] = act
    s.history[line, 2] = a * stated
    s.history[line, 3] = b * stated
    s.history[line, 4] = c * stated


@compiled
def make_offer(s: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> None:
    """Put an offer on the table; it stands until its maker makes another."""
    s.offer[side, 0] = a
    s.offer[side, 1] = b
    s.offer[side, 2] = c
    s.offered[side] = 1
    insisted = 1 if act == INSIST else 0
    s.insisted[side] = insisted
    s.insists[side] += insisted


@compiled
def accept_offer(s: Record, side: Int) -> None:
    """Close the deal on the other side's standing offer."""
    for k in range(3):
        s.deal[k] = s.offer[AGENT, k] if side == PARTNER else s.counts[k] - s.offer[PARTNER, k]
    s.outcome = AGENT_AGREED + side


@compiled
def compare_selections(s: Record, side: Int, a: Int, b: Int, c: Int) -> None:
    """END: the speaker's share against what the other side last asked for itself (everything, if it never offered)."""
    other = 1 - side
    share = (a, b, c)
    s.outcome = SELECTIONS_MATCHED
    for k in range(3):
        claimed = s.offer[other, k] if s.offered[other] else s.counts[k]
        s.deal[k] = share[k] if side == AGENT else claimed
        if share[k] + claimed != s.counts[k]:
            s.outcome = SELECTIONS_CLASHED
    if s.outcome == SELECTIONS_CLASHED:
        for k in range(3):
            s.deal[k] = 0


@compiled
def run_clock(s: Record, r: Record) -> None:
    """Talks still open end with their last turn, or by chance from the second move on."""
    if s.turn >= r.max_turns:
        s.outcome = TIMED_OUT
    elif r.sudden_end > 0.0 and s.turn > 1 and unit(draw(s.key, s.turn, SUDDEN_END, 0)) < r.sudden_end:
        s.outcome = BROKEN_OFF
