"""The loss of a tile of samples, and its gradient on logits and values, written by hand.

    loss = mean of: policy term + value × 0.5 (v - R)² - entropy × H

The policy term of PPO is -min(A ρ, A clip(ρ, 1 - ε, 1 + ε)) with ρ = exp(log π - log π_old); that of REINFORCE is -A log π. Their
gradients differ in one number per sample, the coefficient of -∇ log π: A ρ where the minimum is not the clipped one, else 0; and A.

H = H_act + P(the act states a share) × (H_1 + H_2 + H_3), exact over what is legal. With `clip_value` c the square is the larger of
(v - R)² and (v_old + clip(v - v_old, -c, c) - R)².
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import HALF, NOTHING, ONE, exp
from edgeworth.agents.network.heads import log_prob
from edgeworth.agents.network.layers import TILE, Scratch, aligned_zeros
from edgeworth.agents.policy_layout import ACTS
from edgeworth.compiled import Array, Int, Real, compiled_bare, compiled_within
from edgeworth.games.bargaining.legality import STATES_SHARE

STATES = STATES_SHARE.astype(np.float32)
SUMS = ("policy_loss", "value_loss", "entropy", "entropy_act", "entropy_share", "clip_fraction", "approx_kl", "gradient_norm")
"""What is added up in an iteration, over samples; the norm, over updates."""
POLICY_LOSS, VALUE_LOSS, ENTROPY, ENTROPY_ACT, ENTROPY_SHARE, CLIPPED, KL, GRADIENT_NORM = range(len(SUMS))


class Terms(NamedTuple):
    """The weights of the loss."""

    ratio: bool
    """True for PPO's policy term, False for REINFORCE's."""
    clip: np.float32
    value: np.float32
    entropy: np.float32
    clip_value: np.float32
    """Infinite where values are not clipped."""


class Samples(NamedTuple):
    """What the loss of a tile needs besides the network's outputs."""

    moves: NDArray[np.int32]
    """(4, tile): act and share."""
    log_probs: NDArray[np.float32]
    """When they were drawn."""
    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    values: NDArray[np.float32]
    """When they were drawn."""
    change: NDArray[np.float32]
    """log π - log π_old."""
    ratios: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    stated: NDArray[np.float32]
    """The coefficient where the act states a share, else 0."""
    policy: NDArray[np.float32]
    """Policy terms."""
    squares: NDArray[np.float32]
    """Value terms."""
    states: NDArray[np.float32]
    """Probability that the act states a share."""
    entropies: NDArray[np.float32]
    """(4, tile): of each head."""
    of_shares: NDArray[np.float32]
    """Sum of the entropies of the three numbers."""
    shift: NDArray[np.float32]
    weight: NDArray[np.float32]

    @classmethod
    def of_tile(cls) -> Samples:
        """Room for a tile."""
        lanes: dict[str, Any] = {name: aligned_zeros(TILE) for name in cls._fields}
        lanes["entropies"] = aligned_zeros((4, TILE))
        return cls(**{**lanes, "moves": aligned_zeros((4, TILE), np.int32)})


@compiled_bare
def change_log_probs(samples: Samples, scratch: Scratch, units: Int, size: Int) -> None:
    """How the log-probability of every move has changed."""
    moves = samples.moves
    for j in range(size):
        e = np.uint64(j)
        act, a, b, c = np.int64(moves[0, e]), np.int64(moves[1, e]), np.int64(moves[2, e]), np.int64(moves[3, e])
        now = log_prob(scratch.heads, scratch.log_sum, units, size, j, act, a, b, c)
        samples.change[e] = now - samples.log_probs[e]
        samples.stated[e] = STATES[np.uint64(act)]


@compiled_bare
def ppo_terms(change: Array, advantages: Array, clip: Real, ratios: Array, coefficients: Array, policy: Array, size: Int) -> None:
    """PPO's policy terms and coefficients."""
    low, high = ONE - clip, ONE + clip
    for j in range(size):
        e = np.uint64(j)
        ratios[e] = exp(change[e])
    for j in range(size):
        e = np.uint64(j)
        gain = advantages[e] * ratios[e]
        clipped = advantages[e] * min(max(ratios[e], low), high)
        coefficients[e] = gain if gain <= clipped else NOTHING
        policy[e] = -min(gain, clipped)


@compiled_bare
def reinforce_terms(samples: Samples, size: Int) -> None:
    """REINFORCE's policy terms and coefficients."""
    for j in range(size):
        e = np.uint64(j)
        samples.ratios[e] = exp(samples.change[e])
        samples.coefficients[e] = samples.advantages[e]
        samples.policy[e] = -samples.advantages[e] * (samples.change[e] + samples.log_probs[e])


@compiled_bare
def value_gradients(values: Array, old: Array, returns: Array, squares: Array, weight: Real, clip: Real, size: Int) -> None:
    """Value terms; the values are replaced by their gradients."""
    for j in range(size):
        e = np.uint64(j)
        miss, moved = values[e] - returns[e], values[e] - old[e]
        near = old[e] + min(max(moved, -clip), clip) - returns[e]
        free = (abs(moved) <= clip) | (miss * miss >= near * near)
        squares[e] = HALF * (miss * miss if free else near * near)
        values[e] = weight * miss if free else NOTHING


@compiled_bare
def entropy_of(log_weights: Array, weights: Array, first: Int, entries: Int, size: Int, scale: Array, log_sum: Array, out: Array) -> None:
    """The entropy of a head; its weights become probabilities."""
    for j in range(size):
        e = np.uint64(j)
        out[e] = log_sum[e]
    for k in range(entries):
        logs = log_weights[(first + k) * size : (first + k + 1) * size]
        probabilities = weights[(first + k) * size : (first + k + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            probabilities[e] *= scale[e]
            out[e] -= probabilities[e] * logs[e]


@compiled_bare
def share_probability(weights: Array, size: Int, states: Array) -> None:
    """The probability that the act states a share."""
    for j in range(size):
        states[np.uint64(j)] = NOTHING
    for act in range(ACTS):
        stated = STATES[np.uint64(act)]
        probabilities = weights[act * size : (act + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            states[e] += stated * probabilities[e]


@compiled_bare
def act_gradients(
    log_weights: Array,
    weights: Array,
    acts: Array,
    coefficients: Array,
    shift: Array,
    of_shares: Array,
    entropy: Real,
    part: Real,
    size: Int,
) -> None:
    """The gradient on the logits of the acts, in place of their log-weights.

    p (coefficient + entropy × (log p + H_act - H_shares (c - P))) - coefficient where the act was made, over the samples; c is 1 where
    the act states a share, and `shift` is what does not depend on the act.
    """
    for act in range(ACTS):
        stated = STATES[np.uint64(act)]
        logs = log_weights[act * size : (act + 1) * size]
        probabilities = weights[act * size : (act + 1) * size]
        number = np.int32(act)
        for j in range(size):
            e = np.uint64(j)
            made = coefficients[e] if acts[e] == number else NOTHING
            push = coefficients[e] + entropy * (logs[e] + shift[e] - stated * of_shares[e])
            logs[e] = part * (probabilities[e] * push - made)


@compiled_bare
def unit_gradients(
    log_weights: Array,
    weights: Array,
    first: Int,
    entries: Int,
    units: Array,
    coefficients: Array,
    shift: Array,
    weight: Array,
    part: Real,
    size: Int,
) -> None:
    """The gradient on the logits of one item type, in place of their log-weights: q (coefficient + weight (log q + H)) - coefficient."""
    for k in range(entries):
        logs = log_weights[(first + k) * size : (first + k + 1) * size]
        probabilities = weights[(first + k) * size : (first + k + 1) * size]
        number = np.int32(k)
        for j in range(size):
            e = np.uint64(j)
            made = coefficients[e] if units[e] == number else NOTHING
            logs[e] = part * (probabilities[e] * (coefficients[e] + weight[e] * (logs[e] + shift[e])) - made)


@compiled_within
def subtract(a: Array, b: Array, size: Int, out: Array) -> None:
    """a - b."""
    for j in range(size):
        e = np.uint64(j)
        out[e] = a[e] - b[e]


@compiled_bare
def add_up(samples: Samples, clip: Real, size: Int, sums: Array) -> None:
    """Add a tile to the sums of the iteration."""
    for j in range(size):
        e = np.uint64(j)
        ratio = np.float64(samples.ratios[e])
        sums[POLICY_LOSS] += np.float64(samples.policy[e])
        sums[VALUE_LOSS] += np.float64(samples.squares[e])
        sums[ENTROPY_ACT] += np.float64(samples.entropies[0, e])
        sums[ENTROPY_SHARE] += np.float64(samples.of_shares[e])
        sums[ENTROPY] += np.float64(samples.entropies[0, e] + samples.states[e] * samples.of_shares[e])
        sums[CLIPPED] += np.float64(abs(ratio - 1.0) > clip)
        sums[KL] += ratio - 1.0 - np.float64(samples.change[e])


@compiled_within
def differentiate(samples: Samples, scratch: Scratch, units: Int, size: Int, terms: Terms, part: Real, sums: Array) -> None:
    """Replace the heads of a tile by the gradient of the loss; `part` is one over the samples of the minibatch."""
    change_log_probs(samples, scratch, units, size)
    if terms.ratio:
        ppo_terms(samples.change, samples.advantages, terms.clip, samples.ratios, samples.coefficients, samples.policy, size)
    else:
        reinforce_terms(samples, size)
    outputs = ACTS + 3 * (units + 1)
    values = scratch.heads[outputs * size : (outputs + 1) * size]
    value_gradients(values, samples.values, samples.returns, samples.squares, terms.value * part, terms.clip_value, size)
    first = 0
    for head in range(4):
        entries = ACTS if head == 0 else units + 1
        entropy_of(
            scratch.heads, scratch.weights, first, entries, size, scratch.scale[head], scratch.log_sum[head], samples.entropies[head]
        )
        first += entries
    share_probability(scratch.weights, size, samples.states)
    for j in range(size):
        e = np.uint64(j)
        samples.of_shares[e] = samples.entropies[1, e] + samples.entropies[2, e] + samples.entropies[3, e]
    add_up(samples, terms.clip, size, sums)
    for j in range(size):
        e = np.uint64(j)
        samples.shift[e] = samples.entropies[0, e] - scratch.log_sum[0, e] + samples.states[e] * samples.of_shares[e]
        samples.stated[e] *= samples.coefficients[e]
        samples.weight[e] = terms.entropy * samples.states[e]
    act_gradients(
        scratch.heads, scratch.weights, samples.moves[0], samples.coefficients, samples.shift, samples.of_shares, terms.entropy, part, size
    )
    first = ACTS
    for head in range(1, 4):
        subtract(samples.entropies[head], scratch.log_sum[head], size, samples.shift)
        unit_gradients(
            scratch.heads,
            scratch.weights,
            first,
            units + 1,
            samples.moves[head],
            samples.stated,
            samples.shift,
            samples.weight,
            part,
            size,
        )
        first += units + 1
