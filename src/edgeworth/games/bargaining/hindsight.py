"""What moves would pay, for one who knows the partner: every offer, tried on a copy of the episode.

Only for training. A network that learns from these numbers never reads them.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled, compiled_bare
from edgeworth.games.bargaining.moves import move
from edgeworth.games.bargaining.partners.reply import partner_reply
from edgeworth.games.bargaining.rules import charged_move, exchange
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, INSIST, LOST_TURN, ONGOING, PARTNER

GOES_ON = -np.inf
"""Stands for a move that does not close the negotiation."""


@compiled
def closing(s: Record, r: Record, partners: Array, trial: Array, act: Int, a: Int, b: Int, c: Int) -> Real:
    """What a move pays if it closes the negotiation, with the reply."""
    trial[0] = s
    charge = exchange(trial[0], r, partners, act, a, b, c)
    return trial[0].payoff[AGENT] - charge if trial[0].outcome != ONGOING else GOES_ON


@compiled_bare
def best_closings(state: Array, rules: Array, partners: Array, trial: Array, agreed: Array, paid: Array) -> None:
    """What every episode can be closed for now by AGREE, and the most by AGREE or an INSIST; `trial` has room for one episode."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        agreed[e] = paid[e] = GOES_ON
        if s.outcome != ONGOING:
            continue
        if s.offered[PARTNER]:
            agreed[e] = paid[e] = closing(s, r, partners, trial, AGREE, 0, 0, 0)
        for a in range(s.counts[0], -1, -1):
            for b in range(s.counts[1], -1, -1):
                for c in range(s.counts[2], -1, -1):
                    if a * s.utilities[AGENT, 0] + b * s.utilities[AGENT, 1] + c * s.utilities[AGENT, 2] > paid[e]:
                        paid[e] = max(paid[e], closing(s, r, partners, trial, INSIST, a, b, c))


@compiled
def answer(s: Record, r: Record, partners: Array, trial: Array, a: Int, b: Int, c: Int) -> tuple[Flag, Real, Real]:
    """Whether an INSIST is accepted, what it pays if it is, and what if it is not; `trial` has room for two episodes."""
    trial[0] = s
    charge = charged_move(trial[0], r, AGENT, INSIST, a, b, c)
    trial[1] = trial[0]
    accepted = False
    if trial[0].outcome == ONGOING:
        reply, x, y, z = partner_reply(trial[1], r, partners[np.uint64(s.partner)])
        accepted = reply == AGREE
        move(trial[0], r, PARTNER, AGREE, 0, 0, 0)
        move(trial[1], r, PARTNER, LOST_TURN if accepted else reply, x, y, z)
    refused = trial[1].payoff[AGENT] - charge if trial[1].outcome != ONGOING else GOES_ON
    return accepted, trial[0].payoff[AGENT] - charge, refused


@compiled_bare
def all_answers(
    state: Array,
    rules: Array,
    partners: Array,
    trial: Array,
    share: Array,
    orders: Array,
    units: Int,
    agreed: Array,
    accepted: Array,
    taken: Array,
    refused: Array,
) -> None:
    """What AGREE pays, and for an INSIST on every share whether it is accepted, what it pays if it is, and if it is not.

    Shares have the item types in the given orders; all is zero for a share beyond the pool. `trial` has room for two episodes, `share` for
    one share.
    """
    r, width = rules[0], units + 1
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        agreed[e] = closing(s, r, partners, trial, AGREE, 0, 0, 0) if s.offered[PARTNER] else 0.0
        for number in range(width * width * width):
            share[orders[e, 0]], share[orders[e, 1]], share[orders[e, 2]] = (
                number // (width * width),
                number // width % width,
                number % width,
            )
            accepted[e, number], taken[e, number], refused[e, number] = False, 0.0, 0.0
            if (share[0] <= s.counts[0]) & (share[1] <= s.counts[1]) & (share[2] <= s.counts[2]):
                accepted[e, number], taken[e, number], refused[e, number] = answer(s, r, partners, trial, share[0], share[1], share[2])
