"""The start of an episode: a context, a partner, and who moves first, each drawn by the seed.

A partner that opens makes its counter-offer at once, so the agent can act in every episode it sees. The batch makes the opening of a
partner outside the rules.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Record, compiled
from edgeworth.games.bargaining.moves import move, record, worth
from edgeworth.games.bargaining.partners.program import HEURISTIC, OUTSIDE, WALK_AWAY
from edgeworth.games.bargaining.partners.reply import partner_reply, prepare_partner
from edgeworth.games.bargaining.vocabulary import (
    AGENT,
    COUNTS,
    ONGOING,
    OPENER,
    PARTNER,
    PARTNER_CHOICE,
    PROPOSE,
    UNSAID,
    UTILITIES,
    UTILITY_LIMIT,
)
from edgeworth.seeding import below, draw, stream_key, third_below, unit

DRAWN = 2
"""Value of `opens` that lets the seed decide who moves first."""
UTILITY_LEVELS = UTILITY_LIMIT + 1


@compiled
def draw_context(s: Record, r: Record, table: Array) -> None:
    """Draw the pool and both sides' utilities: a row of the table, or uniform."""
    if r.from_table:
        place_context(s, table[np.uint64(below(draw(s.key, 0, COUNTS, 0), table.shape[0]))])
        return
    draw_counts(s, r)
    draw_utilities(s, r, AGENT)
    draw_utilities(s, r, PARTNER)


@compiled
def place_context(s: Record, row: Array) -> None:
    """Write a given context: nine numbers, counts and both sides' utilities."""
    for k in range(3):
        s.counts[k] = row[k]
        s.utilities[AGENT, k] = row[3 + k]
        s.utilities[PARTNER, k] = row[6 + k]


@compiled
def draw_counts(s: Record, r: Record) -> None:
    """Counts uniform over their range; where types may be missing, uniform over all pools but the empty one."""
    bits = draw(s.key, 0, COUNTS, 0)
    levels = r.max_count - r.min_count + 1
    if r.min_count > 0:
        for k in range(3):
            s.counts[k] = r.min_count + third_below(bits, k, levels)
    else:
        s.counts[0], s.counts[1], s.counts[2] = digits(1 + below(bits, levels * levels * levels - 1), levels)


@compiled
def draw_utilities(s: Record, r: Record, side: Int) -> None:
    """Utilities uniform over 0..10; where contexts are scaled, uniform over all vectors but zero, which nothing can scale."""
    bits = draw(s.key, 0, UTILITIES, side)
    if not r.normalize:
        for k in range(3):
            s.utilities[side, k] = third_below(bits, k, UTILITY_LEVELS)
    else:
        a, b, c = digits(1 + below(bits, UTILITY_LEVELS * UTILITY_LEVELS * UTILITY_LEVELS - 1), UTILITY_LEVELS)
        s.utilities[side, 0] = a
        s.utilities[side, 1] = b
        s.utilities[side, 2] = c


@compiled
def digits(number: Int, base: Int) -> tuple[Int, Int, Int]:
    """Three digits of a number, the least significant first."""
    return number % base, (number // base) % base, number // (base * base)


@compiled
def draw_partner(s: Record, partners: Array) -> Int:
    """Draw a member of the partner table by its weight."""
    last = partners.shape[0] - 1
    if last == 0:
        return 0
    chance = unit(draw(s.key, 0, PARTNER_CHOICE, 0))
    row = 0
    while row < last and chance >= partners[np.uint64(row)].cumulative:
        row += 1
    return row


@compiled
def clear_negotiation(s: Record) -> None:
    """Clear the moves of the last episode and work out what the pool is worth to each side."""
    for side in range(2):
        s.maximum[side] = worth(s, side, s.counts[0], s.counts[1], s.counts[2])
        s.offered[side] = 0
        s.insisted[side] = 0
        s.insists[side] = 0
        s.last_act[side] = UNSAID
        s.payoff[side] = 0.0
        for k in range(3):
            s.offer[side, k] = 0
    for k in range(3):
        s.deal[k] = 0
    s.turn = 0
    s.outcome = ONGOING


@compiled
def open_negotiation(s: Record, r: Record, partners: Array) -> None:
    """Draw the partner and the opener, and make the partner's first move if it opens."""
    clear_negotiation(s)
    s.partner = draw_partner(s, partners)
    p = partners[np.uint64(s.partner)]
    prepare_partner(s, p)
    s.opener = below(draw(s.key, 0, OPENER, 0), 2) if r.opens == DRAWN else r.opens
    if r.two_player:
        return
    if p.kind == HEURISTIC or p.kind == WALK_AWAY:
        open_with_counter(s)
    elif s.opener == PARTNER and p.kind != OUTSIDE:
        act, a, b, c = partner_reply(s, r, p)
        move(s, r, PARTNER, act, a, b, c)


@compiled
def open_with_counter(s: Record) -> None:
    """The standard counter-offer as first move, if the partner opens; does what `move` does, without a branch.

    Half of all episodes take it, unpredictably, and a processor that guesses wrong loses more time than these few writes cost. The line of
    history that is written for nothing lies beyond the moves made.
    """
    opens = s.opener
    record(s, PARTNER, PROPOSE, s.counter[0], s.counter[1], s.counter[2])
    for k in range(3):
        s.offer[PARTNER, k] = s.counter[k] * opens
    s.offered[PARTNER] = opens
    s.last_act[PARTNER] = opens * (PROPOSE - UNSAID) + UNSAID
    s.turn = opens


@compiled
def begin_episode(s: Record, r: Record, partners: Array, table: Array) -> None:
    """The seed's next episode: a new key, a new context, a new negotiation."""
    s.key = stream_key(s.stream, s.episode)
    s.episode += np.uint64(1)
    draw_context(s, r, table)
    open_negotiation(s, r, partners)
