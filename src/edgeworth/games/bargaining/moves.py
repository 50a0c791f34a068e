"""What a move does, and what it pays; the same for both sides.

`move` applies the act, advances the clock and settles. An accepted offer closes a deal, END compares the two final selections, DISAGREE
walks away (or passes), and a negotiation that stays open ends with its last turn or by chance.

Worth is counted in whole points, and thresholds in basis points of the whole pool, so that "at least 0.55 of its maximum" is an exact
comparison of integers. Only the last step, from points to reward, uses floating point.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled
from edgeworth.games.bargaining.legality import carries_share
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    AGENT_AGREED,
    AGENT_WALKED,
    AGREE,
    BROKEN_OFF,
    BUDGET,
    DISAGREE,
    END,
    INSIST,
    LOST_TURN,
    ONGOING,
    PARTNER,
    PROPOSE,
    SELECTIONS_CLASHED,
    SELECTIONS_MATCHED,
    SUDDEN_END,
    TIMED_OUT,
)
from edgeworth.seeding import draw, unit

BASIS_POINTS = 10_000
REWARD_PARTS = ("agreed", "worth", "patience", "reservation", "charge")
"""reward = agreed · worth · patience + reservation - charge."""


@compiled
def move(s: Record, r: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> None:
    """One legal move of one side: the act, then the clock and chance, then payment if the negotiation is over."""
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
    """Write the move into the history."""
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
    """End an open negotiation with its last turn, or by chance from the second move on."""
    if s.turn >= r.max_turns:
        s.outcome = TIMED_OUT
    elif r.sudden_end > 0.0 and s.turn > 1 and unit(draw(s.key, s.turn, SUDDEN_END, 0)) < r.sudden_end:
        s.outcome = BROKEN_OFF


@compiled
def worth(s: Record, side: Int, a: Int, b: Int, c: Int) -> Int:
    """Points that a share is worth to a side."""
    return s.utilities[side, 0] * a + s.utilities[side, 1] * b + s.utilities[side, 2] * c


@compiled
def offered_worth(s: Record, side: Int) -> Int:
    """Points that the other side's standing offer would leave to this side."""
    other = 1 - side
    return worth(
        s,
        side,
        s.counts[0] - s.offer[other, 0],
        s.counts[1] - s.offer[other, 1],
        s.counts[2] - s.offer[other, 2],
    )


@compiled
def meets(points: Int, maximum: Int, threshold: Int) -> Flag:
    """Whether the points reach a threshold, given in basis points of the maximum."""
    return points * BASIS_POINTS >= threshold * maximum


@compiled
def points_needed(maximum: Int, threshold: Int) -> Int:
    """The fewest whole points that meet a threshold."""
    return (threshold * maximum + BASIS_POINTS - 1) // BASIS_POINTS


@compiled
def in_reward_units(s: Record, r: Record, side: Int, points: Int) -> Real:
    """Points as they are paid: as they are, or on the 10-point budget of a normalised context."""
    if not r.normalize:
        return float(points)
    if s.maximum[side] == 0:
        return 0.0
    return BUDGET * points / s.maximum[side]


@compiled
def has_deal(s: Record) -> Flag:
    """Whether the episode ended with a deal."""
    return AGENT_AGREED <= s.outcome <= SELECTIONS_MATCHED


@compiled
def deal_worth(s: Record, r: Record, side: Int) -> Real:
    """What a side's share of the deal is worth to it, as it is paid before discounting."""
    a, b, c = s.deal[0], s.deal[1], s.deal[2]
    if side == PARTNER:
        a, b, c = s.counts[0] - a, s.counts[1] - b, s.counts[2] - c
    return in_reward_units(s, r, side, worth(s, side, a, b, c))


@compiled
def reservation_value(s: Record, r: Record, side: Int) -> Real:
    """What no deal pays to a side."""
    return r.reservation[side] * in_reward_units(s, r, side, s.maximum[side])


@compiled
def settle(s: Record, r: Record) -> None:
    """Pay both sides for the outcome: the discounted worth of a deal, or the reservation value."""
    for side in range(2):
        if has_deal(s):
            s.payoff[side] = r.discount_at[s.turn] * deal_worth(s, r, side)
        else:
            s.payoff[side] = reservation_value(s, r, side)


@compiled
def write_reward_parts(s: Record, r: Record, charge: Real, parts: Array) -> None:
    """The parts of the agent's last reward, in the order of REWARD_PARTS."""
    parts[0] = has_deal(s)
    parts[1] = deal_worth(s, r, AGENT) if has_deal(s) else 0.0
    parts[2] = r.discount_at[s.turn] if has_deal(s) else 1.0
    parts[3] = 0.0 if has_deal(s) or s.outcome == ONGOING else reservation_value(s, r, AGENT)
    parts[4] = charge
