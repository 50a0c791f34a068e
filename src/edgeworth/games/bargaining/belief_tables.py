"""How every partner that an agent may face answers every offer, laid out in tables, so that a search can ask millions of times.

A *member* is a partner that is possible: utilities, and which partner of a population it is. The tables hold, by the rules themselves, what
each offer leaves to each member, the fewest points that it accepts at each turn, and its counter-offer for every aspiration. `hears` then
gives a member's reply without a loop; tests compare it with the rules, reply by reply.

Shares are numbered as in `frontier.all_shares`, always as the *agent's* share.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, Record, compiled, compiled_bare
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.branches import check_predictable
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.moves import BASIS_POINTS, points_needed, worth
from edgeworth.games.bargaining.partners.concession import NOTHING_HEARD, least_above
from edgeworth.games.bargaining.partners.heuristic import prepare_counter
from edgeworth.games.bargaining.partners.program import HEURISTIC, TIME_DEPENDENT, TIT_FOR_TAT, WALK_AWAY
from edgeworth.games.bargaining.prior import partner_types, uniform_types
from edgeworth.games.bargaining.state import EPISODE, PARTNER_PROGRAM
from edgeworth.games.bargaining.vocabulary import AGENT, BUDGET, PARTNER

ACCEPTS, LEAVES = -1, -2
"""Replies that end the negotiation; any other is the number of the share that a counter-offer leaves to the agent."""
NO_OFFER = -1


class Tables(NamedTuple):
    """The members, what the agent's shares are worth, and the rules of time and payment."""

    left: NDArray[np.int16]  # (shares, types): what a share leaves to a type
    counters: NDArray[np.int16]  # (types, points): what a type offers that aspires to so many points
    needs: NDArray[np.int16]  # (PROPOSE or INSIST, rows, turns, types): fewest points accepted
    floors: NDArray[np.int16]  # (rows, types): fewest points that tit-for-tat ever asks for
    maxima: NDArray[np.int16]  # by type
    kinds: NDArray[np.int64]  # by row of the partner table
    patience: NDArray[np.int64]
    types: NDArray[np.int64]  # by member
    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    fixed: NDArray[np.int16]  # the fixed counter-offer of a heuristic member
    worths: NDArray[np.float64]  # what the agent's shares pay, by share
    order: NDArray[np.int64]  # the shares, those that pay most first
    discounts: NDArray[np.float64]
    nothing: float  # what no deal pays
    price: float  # of an INSIST
    max_turns: int
    acts: int  # 1: INSIST only, where nobody treats PROPOSE otherwise; 2: both


@compiled
def place_utilities(s: Record, utilities: Array) -> None:
    """Give the partner of an episode these utilities."""
    for k in range(3):
        s.utilities[PARTNER, k] = utilities[k]
    s.maximum[PARTNER] = worth(s, PARTNER, s.counts[0], s.counts[1], s.counts[2])


@compiled
def share_number(s: Record, a: Int, b: Int, c: Int) -> Int:
    """The number of the share that a partner's share leaves to the agent."""
    return ((s.counts[0] - a) * (s.counts[1] + 1) + s.counts[1] - b) * (s.counts[2] + 1) + s.counts[2] - c


@compiled_bare
def fill_answers(state: Array, types: Array, shares: Array, partners: Array, left: Array, counters: Array, needs: Array) -> None:
    """Lay out what types of utilities think of shares, thresholds and aspirations; `state` is one record with the pool."""
    s = state[0]
    for j in range(types.shape[0]):
        place_utilities(s, types[j])
        for i in range(shares.shape[0]):
            left[i, j] = worth(s, PARTNER, s.counts[0] - shares[i, 0], s.counts[1] - shares[i, 1], s.counts[2] - shares[i, 2])
        for points in range(s.maximum[PARTNER] + 1):
            a, b, c = least_above(s, points)
            counters[j, points] = share_number(s, a, b, c)
        for row in range(partners.shape[0]):
            p = partners[np.uint64(row)]
            for turn in range(needs.shape[2]):
                needs[0, row, turn, j] = points_needed(s.maximum[PARTNER], p.accept[turn])
                needs[1, row, turn, j] = points_needed(s.maximum[PARTNER], p.accept_insist[turn])


@compiled_bare
def fill_fixed(state: Array, types: Array, partners: Array, of_type: Array, of_row: Array, fixed: Array) -> None:
    """The fixed counter-offer of every heuristic member; `state` is one record with pool and the agent's utilities."""
    s = state[0]
    for m in range(fixed.shape[0]):
        p = partners[np.uint64(of_row[m])]
        if p.kind == HEURISTIC or p.kind == WALK_AWAY:
            place_utilities(s, types[of_type[m]])
            prepare_counter(s, p)
            fixed[m] = share_number(s, s.counter[0], s.counter[1], s.counter[2])


@compiled
def hears(t: Tables, m: Int, first: Int, best: Int, offer: Int, insisted: Int, turn: Int) -> tuple[Int, Int, Int]:
    """A member's reply to an offer after so many moves, and its memory; NO_OFFER where the agent has made none."""
    row, kind = t.rows[m], t.types[m]
    behaviour, received = t.kinds[row], NOTHING_HEARD if offer == NO_OFFER else t.left[offer, kind]
    if behaviour == TIT_FOR_TAT:
        conceded = 0
        if offer != NO_OFFER:
            first = received if first == NOTHING_HEARD else first
            best = max(best, received)
            conceded = best - first
        aspiration = max(t.maxima[kind] - conceded, t.floors[row, kind])
        return (ACCEPTS if received >= aspiration else t.counters[kind, aspiration]), first, best
    if offer != NO_OFFER and received >= t.needs[insisted, row, turn, kind]:
        return ACCEPTS, first, best
    if behaviour == TIME_DEPENDENT:
        return t.counters[kind, t.needs[0, row, turn, kind]], first, best
    if behaviour == WALK_AWAY:
        first += 1 if turn > 0 else 0
        if first > t.patience[row]:
            return LEAVES, first, best
    return t.fixed[m], first, best


Answers = tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]
"""What is left, counter-offers, needs and maxima."""


@lru_cache(maxsize=64)
def _uniform_answers(counts: Triple, normalize: bool, partners: bytes, max_turns: int) -> Answers:
    return _answers(counts, uniform_types(counts, normalize), np.frombuffer(partners, PARTNER_PROGRAM), max_turns)


def _answers(counts: Triple, types: NDArray[np.int64], partners: NDArray[np.void], max_turns: int) -> Answers:
    shares, maxima = all_shares(counts), (types @ np.array(counts)).astype(np.int16)
    left = np.zeros((len(shares), len(types)), np.int16)
    counters = np.zeros((len(types), int(maxima.max()) + 1), np.int16)
    needs = np.zeros((2, len(partners), max_turns + 1, len(types)), np.int16)
    state = np.zeros(1, EPISODE)
    state["counts"] = counts
    fill_answers(state, types, shares, partners, left, counters, needs)
    return left, counters, needs, maxima


def tables_of(half: Context, batch: BargainingBatch) -> Tables:
    """The tables for an own side, with every partner that the game may bring."""
    check_predictable(batch)
    config, partners, types = batch.config, batch.partners, partner_types(half, batch)
    if batch.rules[0]["from_table"]:
        left, counters, needs, maxima = _answers(half.counts, types, partners, config.max_turns)
    else:
        left, counters, needs, maxima = _uniform_answers(half.counts, config.normalize, partners.tobytes(), config.max_turns)
    of_row, of_type = (part.ravel() for part in np.meshgrid(np.arange(len(partners)), np.arange(len(types)), indexing="ij"))
    chances = np.diff(partners["cumulative"], prepend=0.0)
    state, fixed = np.zeros(1, EPISODE), np.zeros(len(of_type), np.int16)
    state["counts"], state["utilities"][0, AGENT] = half.counts, half.my_utilities
    fill_fixed(state, types, partners, of_type, of_row, fixed)
    scale = BUDGET / max(half.my_maximum, 1) if config.normalize else 1.0
    floors = -(-partners["floor"][:, None].astype(np.int64) * maxima // BASIS_POINTS)
    worths = scale * (all_shares(half.counts) @ np.array(half.my_utilities)).astype(np.float64)
    alike = bool((partners["accept_insist"] == partners["accept"]).all())
    return Tables(
        left=left,
        counters=counters,
        needs=needs,
        floors=floors.astype(np.int16),
        maxima=maxima,
        kinds=partners["kind"].astype(np.int64),
        patience=partners["patience"].astype(np.int64),
        types=of_type,
        rows=of_row,
        weights=chances[of_row] / len(types),
        fixed=fixed,
        worths=worths,
        order=np.argsort(-worths, kind="stable"),
        discounts=batch.rules[0]["discount_at"].copy(),
        nothing=float(config.reservation[AGENT] * scale * half.my_maximum),
        price=float(config.insist_price),
        max_turns=config.max_turns,
        acts=1 if config.insist_price == 0.0 and alike else 2,
    )
