"""Masked heads: probabilities of what is legal, moves drawn from them or the likeliest ones, and the log-probability of a move.

A situation has four heads: the act, and the number of units of each item type. What is legal is one whole number per head, whose bit k
is set where entry k may be chosen. A masked entry has weight 0 exactly. Weights are exp(logit - largest legal logit); their sum is kept as
a logarithm. The log-probability of a move is that of its act, and those of the three numbers where the act states a share.
"""

from __future__ import annotations

import numpy as np

from edgeworth.agents.network.elementary import NOTHING, ONE, exp, log
from edgeworth.agents.network.layers import Scratch
from edgeworth.agents.policy_layout import ACTS
from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled, compiled_bare, compiled_within
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_ACT, AGENT_SHARE, PARTNER_ACT, PARTNER_SHARE
from edgeworth.seeding import THIRD_BITS, THIRD_MASK, draw

NEVER = np.float32(-1e9)
"""The logit of what is illegal: finite, and so low that its weight is 0 beside any other."""
FAINT = np.float32(-40.0)
"""Log-weights below this count as weight 0: nothing would be seen of them in a sum, and what is computed from numbers that small becomes
too small for ordinary arithmetic, which is then many times slower."""
ACT_SHIFT, ACT_UNIT = np.uint64(40), 2.0**-24
THIRD_UNIT = 1.0 / (1 << THIRD_BITS)


@compiled_within
def legal_acts(mask: Array) -> Int:
    """The bits of a mask of acts."""
    bits: Int = 0
    for act in range(ACTS):
        bits |= np.int64(mask[act] != 0) << act
    return bits


@compiled_within
def legal_units(cap: Int) -> Int:
    """The bits of 0 to `cap` units."""
    return (np.int64(2) << np.int64(cap)) - 1


@compiled_bare
def softmax_head(logits: Array, weights: Array, first: Int, entries: Int, size: Int, legal: Array, scale: Array, log_sum: Array) -> None:
    """Turn the logits of one head into log-weights, in place, with their exponentials and the logarithm of the sum."""
    for j in range(size):
        scale[np.uint64(j)] = NEVER
        log_sum[np.uint64(j)] = NOTHING
    for k in range(entries):
        bit = np.int32(1 << k)
        logit = logits[(first + k) * size : (first + k + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            masked = logit[e] if legal[e] & bit else NEVER
            logit[e] = masked
            scale[e] = max(scale[e], masked)
    for k in range(entries):
        bit = np.int32(1 << k)
        logit = logits[(first + k) * size : (first + k + 1) * size]
        weight = weights[(first + k) * size : (first + k + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            logit[e] -= scale[e]
            grown = exp(logit[e]) if (legal[e] & bit != 0) & (logit[e] > FAINT) else NOTHING
            weight[e] = grown
            log_sum[e] += grown
    for j in range(size):
        e = np.uint64(j)
        scale[e] = ONE / log_sum[e]
        log_sum[e] = log(log_sum[e])


@compiled_within
def softmax(scratch: Scratch, units: Int, size: Int) -> None:
    """Log-weights, weights and the logarithms of their sums for all four heads of a tile."""
    first = 0
    for head in range(4):
        entries = ACTS if head == 0 else units + 1
        softmax_head(scratch.heads, scratch.weights, first, entries, size, scratch.legal[head], scratch.scale[head], scratch.log_sum[head])
        first += entries


@compiled_within
def draw_entry(weights: Array, first: Int, entries: Int, size: Int, situation: Int, uniform: Real) -> Int:
    """The entry at which the cumulative weight passes a uniform share of the sum: never one of weight 0.

    Sums in double precision keep `uniform`, which has at most 24 bits, times the sum strictly below the sum. Where no entry has any weight,
    since the network's numbers are none, it is the last.
    """
    total = 0.0
    for k in range(entries):
        total += np.float64(weights[np.uint64((first + k) * size + situation)])
    threshold = uniform * total
    cumulative: Real = 0.0
    entry: Int = 0
    for k in range(entries - 1):
        cumulative += np.float64(weights[np.uint64((first + k) * size + situation)])
        entry += np.int64(cumulative <= threshold)
    return entry


@compiled_within
def likeliest(weights: Array, first: Int, entries: Int, size: Int, situation: Int) -> Int:
    """The entry of the largest weight, the first of equals."""
    best = 0
    for k in range(1, entries):
        if weights[np.uint64((first + k) * size + situation)] > weights[np.uint64((first + best) * size + situation)]:
            best = k
    return best


@compiled
def move_uniforms(s: Record, side: Int) -> tuple[Real, Real, Real, Real]:
    """Four numbers in [0, 1) that decide a side's next move, from the episode's own randomness; exact in single precision."""
    act_purpose, share_purpose = (AGENT_ACT, AGENT_SHARE) if side == AGENT else (PARTNER_ACT, PARTNER_SHARE)
    act = np.float64(draw(s.key, s.turn, act_purpose, 0) >> ACT_SHIFT) * ACT_UNIT
    bits = draw(s.key, s.turn, share_purpose, 0)
    a = np.float64(bits & THIRD_MASK) * THIRD_UNIT
    b = np.float64((bits >> np.uint64(THIRD_BITS)) & THIRD_MASK) * THIRD_UNIT
    c = np.float64((bits >> np.uint64(2 * THIRD_BITS)) & THIRD_MASK) * THIRD_UNIT
    return act, a, b, c


@compiled
def choose(weights: Array, first: Int, entries: Int, size: Int, situation: Int, greedy: Flag, uniform: Real) -> Int:
    """The likeliest entry of a head, or one drawn by a uniform number."""
    return likeliest(weights, first, entries, size, situation) if greedy else draw_entry(weights, first, entries, size, situation, uniform)


@compiled_bare
def choose_move(
    weights: Array, units: Int, size: Int, situation: Int, greedy: Flag, for_act: Real, for_a: Real, for_b: Real, for_c: Real
) -> tuple[Int, Int, Int, Int]:
    """A move with the probabilities of the heads, drawn by four uniform numbers, or the likeliest; zeros for a share that is not stated."""
    act = choose(weights, 0, ACTS, size, situation, greedy, for_act)
    stated = STATES_SHARE[np.uint64(act)]
    a = choose(weights, ACTS, units + 1, size, situation, greedy, for_a) * stated
    b = choose(weights, ACTS + units + 1, units + 1, size, situation, greedy, for_b) * stated
    c = choose(weights, ACTS + 2 * (units + 1), units + 1, size, situation, greedy, for_c) * stated
    return act, a, b, c


@compiled
def log_prob(log_weights: Array, log_sum: Array, units: Int, size: Int, situation: Int, act: Int, a: Int, b: Int, c: Int) -> Real:
    """The log-probability of a move; always summed in this order, so that equal weights give equal bits."""
    e, width = np.uint64(situation), units + 1
    of_act = log_weights[np.uint64(act * size + situation)] - log_sum[0, e]
    of_a = log_weights[np.uint64((ACTS + a) * size + situation)] - log_sum[1, e]
    of_b = log_weights[np.uint64((ACTS + width + b) * size + situation)] - log_sum[2, e]
    of_c = log_weights[np.uint64((ACTS + 2 * width + c) * size + situation)] - log_sum[3, e]
    return of_act + np.float32(STATES_SHARE[np.uint64(act)]) * (of_a + of_b + of_c)
