"""Rehearsal: a network learns to negotiate from what every offer would have been worth, instead of from rewards.

Rewards tell a learner about the one offer that it made. The rules can tell what each of up to 125 would have led to: a deal, worth so many
points, or a refusal. In a rehearsal the agent insists, move after move, and hears the counter-offers: on everything, or in a share of the
negotiations on offers of the network, since its own offers are part of what it will remember when it plays. The rules know the partner's
utilities; the network reads what it always reads.

It learns what its likeliest play rests on (`agents/network/foresight.py`): which offers are accepted, by their cross-entropy, and what
waiting brings, by squares. Its value v is what came of the move that promised most. Its probabilities, for drawn moves, follow the exact
gradient of what they can expect,

    J = π(AGREE) × agreed + π(INSIST) × Σ π(share) × worth(share),     loss = mean of: -J + value × 0.5 (v - came)² - entropy × H,

where an offer that is refused is worth what the network expects of the next situation. H is the entropy of the act and the three numbers.

Situations to learn from are chosen by their turn alone: choosing those in which, as it turned out, an offer decides would teach that
offers are accepted more often than they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import NOTHING, ONE
from edgeworth.agents.network.foresight import WAITING_UNIT, foresee, promising_move
from edgeworth.agents.network.heads import softmax
from edgeworth.agents.network.layers import TILE, Gradients, NetworkArrays, Scratch, Sizes, aligned_zeros, backward, forward
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.network.products import ACCUMULATE, REPLACE, use_one_thread
from edgeworth.agents.network.reading import read
from edgeworth.agents.policy_layout import ACTS, WAITING, PolicyShape, first_parameters
from edgeworth.compiled import Array, Flag, Int, Real, compiled_bare, compiled_within
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hindsight import GOES_ON, all_answers, best_closings
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST, ONGOING
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.fused.order import shuffled
from edgeworth.training.fused.update import Moments, adam_step
from edgeworth.training.learner import not_finite
from edgeworth.training.settings import LearnerSettings, RehearsalSettings

SEEDS = 8
"""Address of the seeds of the negotiations."""
TOGETHER = 8_192
"""Negotiations that are played, and then learnt from, at once."""
PARTS = 8
"""Of the situations at a turn as many of these parts are learnt, at least one, as there are in which an offer decides."""


class Situations(NamedTuple):
    """What the network reads, what is legal, and what its moves would lead to, in the learner's unit."""

    inputs: NDArray[np.float32]
    legal: NDArray[np.int32]
    accepted: NDArray[np.bool_]
    """Which offers are accepted, (N, shares)."""
    agreed: NDArray[np.float32]
    """What AGREE pays."""
    offers: NDArray[np.float32]
    """What every offer leads to, (N, shares)."""
    waiting: NDArray[np.float32]
    """What the next situation is worth, whatever is offered now."""


class Moment(NamedTuple):
    """All negotiations of a batch before one move of the agent."""

    state: NDArray[np.void]
    features: NDArray[np.float32]
    masks: NDArray[np.int8]
    pools: NDArray[np.int32]
    best: NDArray[np.float64]
    """The most that a move could close for."""
    by_offer: NDArray[np.bool_]
    """Whether only an offer closes for that."""

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which negotiations were still open."""
        return np.asarray(self.state["outcome"] == ONGOING)


# Situations


def moments_of(batch: BargainingBatch, shape: PolicyShape, player: NetworkPlayer, own: int) -> list[Moment]:
    """Play a batch to its end: the network insists on its own offers in the first `own` negotiations, and on everything in the others."""
    moments = []
    shares, only_insist = batch.state["counts"].astype(np.int64), np.eye(ACTS, dtype=np.int8)[INSIST]
    while (going := batch.state["outcome"] == ONGOING).any():
        agreed, paid = np.empty((2, batch.size))
        best_closings(batch.state, batch.rules, batch.partners, batch.state[:1].copy(), agreed, paid)
        features = np.zeros((batch.size, shape.features), np.float32)
        features[:, : shape.unhinted] = batch.features(memory=shape.remembers)
        pools = batch.views[:, :3].copy()
        moments.append(Moment(batch.state.copy(), features, batch.masks.copy(), pools, paid, paid > agreed))
        asks = np.flatnonzero(going[:own])
        legal = np.tile(only_insist, (len(asks), 1))
        shares[asks] = player.choose_from(features[asks], legal, pools[asks])[1]
        part = batch.selected(going)
        part.step(np.full(part.size, INSIST, np.int64), shares[going])
        batch.write_back(part, going)
    return moments


def situations_of(
    batch: BargainingBatch, shape: PolicyShape, player: NetworkPlayer, scale: float, gamma: float, own: int = 0
) -> Situations:
    """Play a batch to its end, `own` negotiations of it with offers of the network; the situations to learn from."""
    moments = moments_of(batch, shape, player, own)
    parts, later = [], np.full(batch.size, GOES_ON)
    for move in range(len(moments) - 1, -1, -1):
        now, after = moments[move], moments[min(move + 1, len(moments) - 1)]
        decides = now.open & now.by_offer & (now.best >= later)
        place = (np.arange(batch.size) + move) % PARTS
        often = often_at(now.state["turn"][now.open], decides[now.open])[now.state["turn"]]
        chosen = np.flatnonzero(now.open & (place < np.ceil(PARTS * often)))
        reading = read(shape, now.features[chosen], now.pools[chosen])
        shares = (len(chosen), (shape.units + 1) ** 3)
        agreed, accepted, taken, refused = np.empty(len(chosen)), np.empty(shares, np.bool_), np.empty(shares), np.empty(shares)
        room = np.empty(2, batch.state.dtype), np.empty(3, np.int64)
        answers = agreed, accepted, taken, refused
        all_answers(now.state[chosen], batch.rules, batch.partners, *room, reading.orders, shape.units, *answers)
        legal = np.empty((len(chosen), 4), np.int32)
        legal[:, 0] = now.masks[chosen].astype(np.int32) @ (1 << np.arange(ACTS, dtype=np.int32))
        legal[:, 1:] = (2 << reading.caps) - 1
        goes_on = refused == GOES_ON
        outlook = np.zeros((len(chosen), 1), np.float32)
        if (waits := np.flatnonzero(goes_on.any(axis=1))).size:
            rows = chosen[waits]
            still = after.open[rows, None]  # an offer that closed leaves no next situation; the present one stands for it
            features = np.where(still, after.features[rows], now.features[rows])
            masks, pools = np.where(still, after.masks[rows], now.masks[rows]), np.where(still, after.pools[rows], now.pools[rows])
            outlook[waits, 0] = gamma * player.outlook(features, masks, pools).values
        refused = np.where(goes_on, outlook, scale * refused)
        offers = np.where(accepted, scale * taken, refused)
        waiting = refused.sum(axis=1) / (reading.caps + 1).prod(axis=1)  # zero beyond the pool, and for nearly all partners one number
        worths = (np.asarray(array, np.float32) for array in (scale * agreed, offers, waiting))
        parts.append(Situations(reading.inputs, legal, accepted, *worths))
        later = np.maximum(later, now.best)
    return Situations(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def often_at(turns: NDArray[np.int64], decides: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How often an offer decides, by turn, at least in one situation of PARTS."""
    return np.asarray(np.maximum(np.bincount(turns, decides) / np.maximum(np.bincount(turns), 1), 1 / PARTS))


# Learning


class Weights(NamedTuple):
    """Weights of the parts of the loss, and the worth of a point in the learner's unit."""

    acceptance: np.float32
    waiting: np.float32
    value: np.float32
    entropy: np.float32
    point: np.float32


@compiled_within
def probability(weights: Array, scale: Array, entry: Int, size: Int, e: Int) -> Real:
    """A probability of a head, from its weight."""
    return weights[np.uint64(entry * size + e)] * scale[np.uint64(e)]


@compiled_bare
def learn_to_foresee(
    scratch: Scratch, sizes: Sizes, some: Situations, aims: Array, begin: Int, rows: Array, size: Int, weights: Weights, part: Real
) -> None:
    """Replace what a tile foresees by the gradient of its loss; `aims` becomes what came of the moves that promise most."""
    width = sizes.units + 1
    foresee(scratch, sizes, size)
    for j in range(size):
        row = np.uint64(rows[np.uint64(begin + j)])
        act, a, b, c = promising_move(scratch, sizes, size, j, 0, 0, 0, 0)
        led_to = some.offers[row, np.uint64((a * width + b) * width + c)]
        aims[np.uint64(j)] = some.agreed[row] if act == AGREE else led_to
    waiting = scratch.heads[(sizes.value + 1) * size : (sizes.value + 1 + WAITING) * size]
    for j in range(size):
        row = np.uint64(rows[np.uint64(begin + j)])
        height, found = waiting[np.uint64(j)], some.waiting[row] / (WAITING_UNIT * weights.point)
        slopes = waiting[np.uint64(size + j)], waiting[np.uint64(2 * size + j)], waiting[np.uint64(3 * size + j)]
        misses, by_a, by_b, by_c, count = NOTHING, NOTHING, NOTHING, NOTHING, NOTHING
        for number in range(width * width * width):
            if some.accepted[row, np.uint64(number)]:
                a, b, c = np.float32(number // (width * width)), np.float32(number // width % width), np.float32(number % width)
                miss = height + slopes[0] * a + slopes[1] * b + slopes[2] * c - found
                misses += miss
                by_a += miss * a
                by_b += miss * b
                by_c += miss * c
                count += ONE
        share = part * weights.waiting / max(count, ONE)
        waiting[np.uint64(j)] = share * misses
        waiting[np.uint64(size + j)] = share * by_a
        waiting[np.uint64(2 * size + j)] = share * by_b
        waiting[np.uint64(3 * size + j)] = share * by_c
    for number in range(width * width * width):
        a, b, c = number // (width * width), number // width % width, number % width
        begins = (sizes.value + 1 + WAITING + number) * size
        logits, chances = scratch.heads[begins : begins + size], scratch.weights[begins : begins + size]
        for j in range(size):
            e, row = np.uint64(j), np.uint64(rows[np.uint64(begin + j)])
            legal = (scratch.legal[1, e] >> a) & (scratch.legal[2, e] >> b) & (scratch.legal[3, e] >> c) & 1
            logits[e] = part * weights.acceptance * np.float32(legal) * (chances[e] - np.float32(some.accepted[row, np.uint64(number)]))


@compiled_bare
def expect(
    scratch: Scratch,
    marginal: Array,
    agreed: Array,
    offers: Array,
    aims: Array,
    begin: Int,
    rows: Array,
    units: Int,
    size: Int,
    value: Real,
    entropy: Real,
    part: Real,
) -> None:
    """Replace the probabilities and the value of a tile by the gradient of the loss.

    `marginal` has room for what each number of units of a type is worth, whatever the other two.
    """
    width = units + 1
    heads, weights, scale, log_sum = scratch.heads, scratch.weights, scratch.scale, scratch.log_sum
    first = (ACTS, ACTS + width, ACTS + 2 * width)
    for e in range(size):
        row = np.uint64(rows[np.uint64(begin + e)])
        marginal[:] = 0.0
        of_offers = 0.0
        for a in range(width):
            p_a = probability(weights, scale[1], first[0] + a, size, e)
            for b in range(width):
                p_b = probability(weights, scale[2], first[1] + b, size, e)
                for c in range(width):
                    p_c = probability(weights, scale[3], first[2] + c, size, e)
                    worth = np.float64(offers[row, np.uint64((a * width + b) * width + c)])
                    marginal[0, a] += p_b * p_c * worth
                    marginal[1, b] += p_a * p_c * worth
                    marginal[2, c] += p_a * p_b * worth
                    of_offers += p_a * p_b * p_c * worth
        insists = probability(weights, scale[0], INSIST, size, e)
        agrees = probability(weights, scale[0], AGREE, size, e)
        expected = insists * of_offers + agrees * agreed[row]
        for head in range(4):
            entries, start = (ACTS, 0) if head == 0 else (width, first[head - 1])
            spread = 0.0
            for k in range(entries):
                p = probability(weights, scale[head], start + k, size, e)
                if p > 0.0:
                    spread -= p * (heads[np.uint64((start + k) * size + e)] - log_sum[head, np.uint64(e)])
            for k in range(entries):
                place = np.uint64((start + k) * size + e)
                p = probability(weights, scale[head], start + k, size, e)
                if p <= 0.0:
                    heads[place] = NOTHING
                    continue
                if head == 0:
                    of_act = of_offers if k == INSIST else agreed[row] if k == AGREE else 0.0
                    gain = p * (of_act - expected)
                else:
                    gain = insists * p * (marginal[head - 1, k] - of_offers)
                surprise = -(heads[place] - log_sum[head, np.uint64(e)])
                heads[place] = -part * (gain + entropy * p * (surprise - spread))
        place = np.uint64((ACTS + 3 * width) * size + e)
        heads[place] = part * value * (heads[place] - aims[np.uint64(e)])


@compiled_bare
def rehearse_minibatches(
    net: NetworkArrays,
    room: Gradients,
    moments: Moments,
    some: Situations,
    aims: Array,
    marginal: Array,
    order: Array,
    minibatch: Int,
    rate: Real,
    limit: Real,
    weights: Weights,
    updates: Int,
) -> tuple[Int, Flag]:
    """A pass over situations; returns the updates made, and whether all gradients were finite. It ends at one that is not."""
    scratch, width, made = net.scratch, net.sizes.features, 0
    for begin in range(0, order.shape[0], minibatch):
        here = min(minibatch, order.shape[0] - begin)
        part = ONE / np.float32(here)
        for offset in range(0, here, TILE):
            size = min(TILE, here - offset)
            for j in range(size):
                row = np.uint64(order[np.uint64(begin + offset + j)])
                for column in range(width):
                    number = some.inputs[row, np.uint64(column)]
                    scratch.rows[np.uint64(j * width + column)] = number
                    scratch.columns[np.uint64(column * size + j)] = number
                for head in range(4):
                    scratch.legal[np.uint64(head), np.uint64(j)] = some.legal[row, np.uint64(head)]
            forward(net, size)
            softmax(scratch, net.sizes.units, size)
            learn_to_foresee(scratch, net.sizes, some, aims, begin + offset, order, size, weights, part)
            place = begin + offset, order, net.sizes.units, size
            expect(scratch, marginal, some.agreed, some.offers, aims, *place, weights.value, weights.entropy, part)
            backward(net, moments.gradient, room, size, REPLACE if offset == 0 else ACCUMULATE)
        made += 1
        if not np.isfinite(adam_step(net.parameters, moments, rate, limit, updates + made)):
            return made, False
    return made, True


def rehearse(
    game: BargainingConfig,
    shape: PolicyShape,
    settings: RehearsalSettings,
    learner: LearnerSettings,
    scale: float,
    seed: int,
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """The parameters of a network with foresight after its rehearsal; `scale` turns points into the learner's unit."""
    use_one_thread()
    batch = BargainingBatch(game, min(TOGETHER, settings.negotiations))
    if batch.outside is not None:
        raise InvalidOption(f"A rehearsal needs a partner of the rules, whose replies can be tried; {game.partner} is outside of them.")
    if game.discount != 1.0 or game.insist_price != 0.0:
        raise InvalidOption(
            f"A rehearsal needs a game in which neither time nor INSIST costs anything; discount is {game.discount} and insist_price"
            f" {game.insist_price}. Leave out the section `rehearsal` to train by PPO."
        )
    net, room, moments = NetworkArrays.of(aligned_zeros(shape.size), shape), Gradients.of(shape), Moments.of(shape.size)
    net.parameters[:] = first_parameters(shape, seed)
    player = NetworkPlayer(net.parameters, shape)
    aims, marginal = np.empty(TILE, np.float32), np.zeros((3, shape.units + 1))
    updates, rounds = 0, -(-settings.negotiations // batch.size)
    for number in range(rounds):
        batch.seed(int(generator(seed, SEEDS, number).integers(2**62)))
        batch.reset()
        some = situations_of(batch, shape, player, scale, learner.gamma, round(settings.own_offers * batch.size))
        left = 1.0 - number / rounds
        for epoch in range(settings.passes):
            order = shuffled(seed, SEEDS + number, epoch, len(some.agreed))
            rates = np.float64(settings.learning_rate * left), np.float64(learner.gradient_norm)
            parts = settings.acceptance, settings.waiting, learner.value, settings.entropy * left, scale
            weights = Weights(*(np.float32(part) for part in parts))
            made, finite = rehearse_minibatches(
                net, room, moments, some, aims, marginal, order, settings.minibatch, *rates, weights, updates
            )
            if not finite:
                raise not_finite(updates + int(made), 0)
            updates += int(made)
        progress(f"{(number + 1) * batch.size:,} negotiations", number + 1, rounds)
    return net.parameters.copy()
