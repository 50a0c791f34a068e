"""What a share is worth, what a threshold asks for, and who is paid what at the end.

Worth is counted in whole points, and thresholds in basis points of the whole pool, so that "at least 0.55 of its maximum" is an
exact comparison of integers. Only the last step, from points to reward, uses floating point.
"""

from __future__ import annotations

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    AGENT_AGREED,
    BUDGET,
    ONGOING,
    PARTNER,
    SELECTIONS_MATCHED,
)

BASIS_POINTS = 10_000
REWARD_PARTS = ("agreed", "worth", "patience", "reservation", "charge")
"""reward = agreed · worth · patience + reservation - charge."""


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
