"""What a share is worth, what a threshold asks for, and who is paid what at the end.

Worth is counted in whole points, and thresholds in basis points of the whole pool, so that "at least 0.55 of its maximum" is an
exact comparison of integers. Only the last step, from points to reward, uses floating point.
"""

from __future__ import annotations

from edgeworth.compiled import Flag, Int, Real, Record, compiled
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    AGENT_AGREED,
    BUDGET,
    PARTNER,
    SELECTIONS_MATCHED,
)

BASIS_POINTS = 10_000


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
def settle(s: Record, r: Record) -> None:
    """Pay both sides for the outcome: the discounted worth of a deal, or the reservation value."""
    if AGENT_AGREED <= s.outcome <= SELECTIONS_MATCHED:
        factor = r.discount_at[s.turn]
        a, b, c = s.deal[0], s.deal[1], s.deal[2]
        kept = worth(s, AGENT, a, b, c)
        left = worth(s, PARTNER, s.counts[0] - a, s.counts[1] - b, s.counts[2] - c)
        s.payoff[AGENT] = factor * in_reward_units(s, r, AGENT, kept)
        s.payoff[PARTNER] = factor * in_reward_units(s, r, PARTNER, left)
    else:
        for side in range(2):
            s.payoff[side] = r.reservation[side] * in_reward_units(s, r, side, s.maximum[side])
