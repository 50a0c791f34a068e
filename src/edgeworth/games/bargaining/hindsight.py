"""What moves would pay, for one who knows the partner: every offer, tried on a copy of the episode.

Only for training. A network that learns from these numbers never reads them.
"""

from __future__ import annotations

import numpy as np

from edgeworth.compiled import Array, Int, Real, Record, compiled, compiled_bare
from edgeworth.games.bargaining.rules import exchange
from edgeworth.games.bargaining.vocabulary import AGENT, AGREE, INSIST, ONGOING, PARTNER

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


@compiled_bare
def all_closings(
    state: Array, rules: Array, partners: Array, trial: Array, share: Array, orders: Array, units: Int, agreed: Array, offers: Array
) -> None:
    """What AGREE and an INSIST on every share pay if they close; shares with the item types in these orders, zero beyond the pool.

    `share` has room for one share.
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
            fits = (share[0] <= s.counts[0]) & (share[1] <= s.counts[1]) & (share[2] <= s.counts[2])
            offers[e, number] = closing(s, r, partners, trial, INSIST, share[0], share[1], share[2]) if fits else 0.0
