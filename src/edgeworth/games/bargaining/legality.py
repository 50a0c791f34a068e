"""Which moves the rules allow, and a move drawn uniformly from them.

Every act is legal while the negotiation goes on, but AGREE needs a standing offer of the other side, and a share that is stated (PROPOSE,
INSIST, END) must lie within the pool. AGREE and DISAGREE state no share; what stands there is not read.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Record, compiled
from edgeworth.games.bargaining.vocabulary import (
    AGREE,
    DISAGREE,
    END,
    INSIST,
    ONGOING,
    PROPOSE,
)
from edgeworth.seeding import below, draw, third_below

LEGAL, EPISODE_IS_OVER, UNKNOWN_ACT, NOTHING_TO_AGREE_TO, SHARE_OUTSIDE_POOL = range(5)

RULES_BROKEN = {
    EPISODE_IS_OVER: "episode_over",
    UNKNOWN_ACT: "unknown_act",
    NOTHING_TO_AGREE_TO: "agree_needs_an_offer",
    SHARE_OUTSIDE_POOL: "share_within_pool",
}
"""Names of the rules an action can break, as `IllegalAction.rule` carries them."""


LEGAL_ACTS = np.array([[PROPOSE, INSIST, DISAGREE, END, PROPOSE], [PROPOSE, INSIST, AGREE, DISAGREE, END]])
"""The acts that are legal without an offer of the other side (the first four), and with one.

Tables take the place of conditions that nothing can predict: a processor that guesses wrong at those loses more time than the rest takes.
"""
STATES_SHARE = np.array([1, 1, 0, 0, 1])
"""By act: 1 where it states a share."""
SHARE_BITS = (1 << PROPOSE) | (1 << INSIST) | (1 << END)
"""The acts that state a share, as bits; a lost turn states none."""


@compiled
def carries_share(act: Int) -> Int:
    """1 where the act states the speaker's share, else 0."""
    return (SHARE_BITS >> act) & 1


@compiled
def within_pool(s: Record, a: Int, b: Int, c: Int) -> Flag:
    """Whether a share takes no more than there is."""
    return 0 <= a <= s.counts[0] and 0 <= b <= s.counts[1] and 0 <= c <= s.counts[2]


@compiled
def legality(s: Record, side: Int, act: Int, a: Int, b: Int, c: Int) -> Int:
    """LEGAL, or the rule that the move would break."""
    if s.outcome != ONGOING:
        return EPISODE_IS_OVER
    if act < PROPOSE or act > END:
        return UNKNOWN_ACT
    if act == AGREE and s.offered[1 - side] == 0:
        return NOTHING_TO_AGREE_TO
    if carries_share(act) and not within_pool(s, a, b, c):
        return SHARE_OUTSIDE_POOL
    return LEGAL


@compiled
def write_mask(s: Record, side: Int, mask: Array) -> None:
    """The five acts that are legal now, as 0 and 1."""
    ongoing = 1 if s.outcome == ONGOING else 0
    mask[PROPOSE] = ongoing
    mask[INSIST] = ongoing
    mask[AGREE] = ongoing * s.offered[1 - side]
    mask[DISAGREE] = ongoing
    mask[END] = ongoing


@compiled
def random_legal_move(s: Record, side: Int, act_purpose: Int, share_purpose: Int) -> tuple[Int, Int, Int, Int]:
    """An act uniform over the legal ones; where it states a share, each type uniform from 0 to all of it."""
    can_agree = s.offered[1 - side]
    act = LEGAL_ACTS[np.uint64(can_agree), np.uint64(below(draw(s.key, s.turn, act_purpose, 0), 4 + can_agree))]
    a, b, c = random_share(s, share_purpose)
    stated = STATES_SHARE[np.uint64(act)]
    return act, a * stated, b * stated, c * stated


@compiled
def random_share(s: Record, purpose: Int) -> tuple[Int, Int, Int]:
    """A share with each type uniform from 0 to all of it."""
    bits = draw(s.key, s.turn, purpose, 0)
    return third_below(bits, 0, s.counts[0] + 1), third_below(bits, 1, s.counts[1] + 1), third_below(bits, 2, s.counts[2] + 1)
