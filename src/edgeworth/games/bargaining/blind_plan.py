"""The best that a blind agent can do: a list of offers, made in turn until one is taken, and then AGREE.

A partner with thresholds and a fixed counter-offer replies alike to every offer that it refuses, so an agent that cannot see its utilities
learns nothing but the refusal itself, and its whole strategy is a list of offers. The value of such a plan is an average over the partner's
possible utilities. `bayes_plan` searches for the best by inserting the most useful offer and then swapping until no single swap helps. Its
value is computed exactly; that no plan is better is certain for one offer only, but the value is submodular in the set of offers, and
tests compare with brute force.

Values are in points, in the units the environment pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Int, Real, compiled, compiled_apart
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.bounds import check_threshold_partners, still_there, survival
from edgeworth.games.bargaining.contexts import Context, Triple, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.moves import BASIS_POINTS
from edgeworth.games.bargaining.partners.program import KEEP_ALL, LEAVE_ONE, TIME_DEPENDENT, WALK_AWAY
from edgeworth.games.bargaining.prior import partner_types, uniform_types
from edgeworth.games.bargaining.vocabulary import BUDGET, Act

SILENT_COUNTERS = (LEAVE_ONE, KEEP_ALL)
"""Counter-offers that depend on the pool alone and so betray nothing about the partner's utilities."""
FEW_TYPES = 200
"""Partner types that are not worth merging."""


@dataclass(frozen=True)
class Offer:
    """One offer of a plan: the act it is made with, and the agent's share."""

    act: Act
    share: Triple


@dataclass(frozen=True)
class Plan:
    """Offers to make in turn until one is accepted; then AGREE, if `agrees`. `value` is what the plan is worth on average."""

    offers: tuple[Offer, ...]
    agrees: bool
    value: float


@compiled
def continuation(plan: Array, length: Int, skip: Int, accepted: Array, gains: Array, costs: Array, last: Real, j: Int) -> Real:
    """What the offers of a plan from position `skip` on are worth against one partner type."""
    paid = 0.0
    for position in range(skip, length):
        paid += costs[position, plan[position]]
        if accepted[j, plan[position]]:
            return gains[position, plan[position]] - paid
    return last - paid


@compiled_apart
def plan_value(plan: Array, length: Int, accepted: Array, weights: Array, gains: Array, costs: Array, last: Real) -> Real:
    """The average of a plan over the partner types, each with its weight."""
    total = 0.0
    for j in range(accepted.shape[0]):
        total += weights[j] * continuation(plan, length, 0, accepted, gains, costs, last, j)
    return total / weights.sum()


@compiled
def best_replacement(
    plan: Array, length: Int, position: Int, accepted: Array, weights: Array, gains: Array, costs: Array, last: Real, scores: Array
) -> Int:
    """The offer that does best at one position of a plan while the others stay; `scores` is room for one number per offer."""
    scores[:] = 0.0
    for j in range(accepted.shape[0]):
        taken_before = False
        for earlier in range(position):
            taken_before = taken_before or accepted[j, plan[earlier]]
        if taken_before:
            continue
        later = continuation(plan, length, position + 1, accepted, gains, costs, last, j)
        for i in range(accepted.shape[1]):
            scores[i] += weights[j] * ((gains[position, i] if accepted[j, i] else later) - costs[position, i])
    return scores.argmax()


@compiled_apart
def search_plan(length: Int, accepted: Array, weights: Array, gains: Array, costs: Array, last: Real, plan: Array) -> Real:
    """Fill a plan offer by offer, then swap single offers until none improves it; returns its value."""
    scores = np.empty(accepted.shape[1])
    trial = plan.copy()
    for filled in range(length):
        best, best_position, best_offer = -np.inf, 0, np.int64(0)
        for position in range(filled + 1):
            trial[:position] = plan[:position]
            trial[position + 1 : filled + 1] = plan[position:filled]
            trial[position] = best_replacement(trial, filled + 1, position, accepted, weights, gains, costs, last, scores)
            value = plan_value(trial, filled + 1, accepted, weights, gains, costs, last)
            if value > best:
                best, best_position, best_offer = value, position, trial[position]
        for position in range(filled, best_position, -1):
            plan[position] = plan[position - 1]
        plan[best_position] = best_offer
    value = plan_value(plan, length, accepted, weights, gains, costs, last)
    improved = True
    while improved:
        improved = False
        for position in range(length):
            old = plan[position]
            plan[position] = best_replacement(plan, length, position, accepted, weights, gains, costs, last, scores)
            new_value = plan_value(plan, length, accepted, weights, gains, costs, last)
            if new_value > value + 1e-12:
                value, improved = new_value, True
            else:
                plan[position] = old
    return value


@dataclass(frozen=True)
class _Candidates:
    """Every offer worth considering, act and share, and which partner types accept it."""

    acts: NDArray[np.int64]
    shares: NDArray[np.int64]
    accepted: NDArray[np.bool_]

    @cached_property
    def merged(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Who accepts what, with types that accept the same offers merged, and how many types each row stands for."""
        rows, numbers = np.unique(self.accepted, axis=0, return_counts=True)
        return rows, numbers.astype(np.float64)


@dataclass(frozen=True)
class _Problem:
    """A blind plan as numbers: what each offer pays and costs at each position, and what the end pays."""

    shares: NDArray[np.int64]
    acts: NDArray[np.int64]
    accepted: NDArray[np.bool_]
    weights: NDArray[np.float64]  # how many partner types each row of `accepted` stands for
    gains: NDArray[np.float64]
    costs: NDArray[np.float64]
    lasts: NDArray[np.float64]  # value of stopping after this many refused offers
    agrees: NDArray[np.bool_]  # whether stopping there means AGREE rather than walking away or running out of time


def offer_limit(batch: BargainingBatch, opener: int) -> int:
    """How many offers of the agent the partner can still answer when this side opens."""
    rules, partner = batch.rules[0], batch.partners[0]
    answered = len(range(opener, int(rules["max_turns"]) - 1, 2))
    return min(answered, int(partner["patience"]) + 1) if partner["kind"] == WALK_AWAY else answered


def offers_before_agreeing(batch: BargainingBatch, opener: int) -> int:
    """How many refused offers still leave the agent a move at the table, to AGREE with."""
    rules, partner = batch.rules[0], batch.partners[0]
    left = (int(rules["max_turns"]) - 1 - opener) // 2
    return min(left, int(partner["patience"])) if partner["kind"] == WALK_AWAY else left


def bayes_plan(context: Context, batch: BargainingBatch, opener: int, offers: int | None = None) -> Plan:
    """The best blind plan for the agent's half of a context: exactly `offers` of them and then AGREE, or as many as serve best.

    `batch` supplies rules and partner; the partner's utilities in `context` are not read.
    """
    check_silent_partner(batch)
    problem = _plan_problem(context, batch, opener)
    lengths = range(len(problem.lasts)) if offers is None else [offers]
    if offers is not None and not 0 <= offers < len(problem.lasts):
        raise InvalidOption(f"A plan of {offers} offers does not fit; expected 0 to {len(problem.lasts) - 1}.")
    best, value = max((_best_of_length(problem, n) for n in lengths), key=lambda found: found[1])
    offers_made = tuple(Offer(Act(int(problem.acts[i])), triple_of(problem.shares[i])) for i in best)
    return Plan(offers_made, bool(problem.agrees[len(best)]), value)


def acceptance_chances(plan: Plan, context: Context, batch: BargainingBatch) -> tuple[float, ...]:
    """How likely the partner takes each offer of a plan after refusing those before; of all types, where none would have refused."""
    types, counts = partner_types(context, batch), np.array(context.counts, np.int64)
    left, chances = np.ones(len(types), np.bool_), []
    for offer in plan.offers:
        threshold = batch.partners[0]["accept_insist" if offer.act == Act.INSIST else "accept"][0]
        accepted = _acceptance(np.array([offer.share], np.int64), counts, types, int(threshold))[:, 0]
        chances.append(float(accepted[left].mean()) if left.any() else float(accepted.mean()))
        left &= ~accepted
    return tuple(chances)


def check_silent_partner(batch: BargainingBatch) -> None:
    """Refuse partners whose counter-offers tell something about their utilities: a plan fixed in advance would not be optimal."""
    check_threshold_partners(batch)
    row = batch.partners[0]
    if row["kind"] == WALK_AWAY and batch.config.disagree == "passes":
        raise InvalidOption('The blind plan for walk_away is worked out for disagree="ends" only: elsewhere it leaves by END.')
    if len(batch.partners) > 1 or row["kind"] == TIME_DEPENDENT or row["counter"] not in SILENT_COUNTERS:
        raise InvalidOption(
            f"The blind plan needs one partner whose counter-offers betray nothing (heuristic or walk_away with leave_one or keep_all),"
            f" not {batch.config.partner!r} with {dict(batch.config.partner_options)!r}."
        )


def _best_of_length(problem: _Problem, length: int) -> tuple[NDArray[np.int64], float]:
    """The best plan of so many offers, as their numbers, and its value."""
    plan = np.zeros(max(length, 1), np.int64)
    value = search_plan(length, problem.accepted, problem.weights, problem.gains, problem.costs, problem.lasts[length], plan)
    return plan[:length], float(value)


def _plan_problem(context: Context, batch: BargainingBatch, opener: int) -> _Problem:
    """A blind plan as numbers, with discount, sudden end and the price of insisting by turn."""
    rules = batch.rules[0]
    candidates = _candidates(context, batch)
    acts, shares = candidates.acts, candidates.shares
    scale = BUDGET / max(context.my_maximum, 1) if batch.config.normalize else 1.0
    worths = scale * (shares @ np.array(context.my_utilities)).astype(np.float64)
    nothing = float(rules["reservation"][0]) * scale * context.my_maximum
    limit = offer_limit(batch, opener)
    gains, costs = np.empty((limit, len(shares))), np.zeros((limit, len(shares)))
    for position in range(limit):
        turn = opener + 2 * position
        heard = float(survival(rules, turn + 1))
        gains[position] = heard * rules["discount_at"][turn + 2] * worths + (1.0 - heard) * nothing
        costs[position] = float(survival(rules, turn)) * rules["insist_price"] * (acts == Act.INSIST)
    lasts, agrees = _endings(batch, opener, limit, scale * _counter_points(context, batch), nothing)
    return _Problem(shares, acts, *_rows(candidates, gains, costs, lasts), gains, costs, lasts, agrees)


def _rows(candidates: _Candidates, *numbers: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which partner types accept what, with weights; many are merged where all numbers are whole, so that sums stay exact."""
    if len(candidates.accepted) > FEW_TYPES and all((array == np.rint(array)).all() for array in numbers):
        return candidates.merged
    return candidates.accepted, np.ones(len(candidates.accepted))


def _candidates(context: Context, batch: BargainingBatch) -> _Candidates:
    """The offers for a context; for uniform contexts they depend on the pool alone and are laid out once."""
    partner, free = batch.partners[0], float(batch.rules[0]["insist_price"]) == 0.0
    thresholds = int(partner["accept_insist"][0]), int(partner["accept"][0])
    if batch.rules[0]["from_table"]:
        return _laid_out(context.counts, partner_types(context, batch), *thresholds, free)
    return _uniform_candidates(context.counts, batch.config.normalize, *thresholds, free)


@lru_cache(maxsize=1024)
def _uniform_candidates(counts: Triple, normalize: bool, firm: int, plain: int, free: bool) -> _Candidates:
    return _laid_out(counts, uniform_types(counts, normalize), firm, plain, free)


def _laid_out(counts: Triple, types: NDArray[np.int64], firm: int, plain: int, free: bool) -> _Candidates:
    """Every share with INSIST, and with PROPOSE too where insisting has its price or is not always the better way to say it."""
    shares, pool = all_shares(counts), np.array(counts, np.int64)
    insist, propose = (_acceptance(shares, pool, types, threshold) for threshold in (firm, plain))
    insisting = np.full(len(shares), int(Act.INSIST))
    if free and bool((insist | ~propose).all()):
        return _Candidates(insisting, shares, insist)
    acts = np.concatenate([insisting, np.full(len(shares), int(Act.PROPOSE))])
    return _Candidates(acts, np.concatenate([shares, shares]), np.concatenate([insist, propose], axis=1))


def _endings(
    batch: BargainingBatch, opener: int, limit: int, counter: float, nothing: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What stopping after each number of refused offers is worth, and whether stopping means AGREE."""
    rules, partner = batch.rules[0], batch.partners[0]
    lasts, agrees = np.full(limit + 1, nothing), np.zeros(limit + 1, np.bool_)
    for length in range(limit + 1):
        turn = opener + 2 * length
        if 0 < turn < rules["max_turns"] and still_there(partner, length):
            alive = float(survival(rules, turn))
            agreed = alive * rules["discount_at"][turn + 1] * counter + (1.0 - alive) * nothing
            lasts[length], agrees[length] = max(agreed, nothing), agreed >= nothing
    return lasts, agrees


def _acceptance(shares: NDArray[np.int64], counts: NDArray[np.int64], types: NDArray[np.int64], threshold: int) -> NDArray[np.bool_]:
    """Which partner types (rows) accept which of the agent's shares (columns) at a threshold, in basis points of their maximum."""
    left, maximum = types @ (counts - shares).T, types @ counts
    return np.asarray(left * BASIS_POINTS >= threshold * maximum[:, None])


def _counter_points(context: Context, batch: BargainingBatch) -> float:
    """What the partner's fixed counter-offer is worth to the agent, in points."""
    if batch.partners[0]["counter"] == KEEP_ALL:
        return 0.0
    return float(sum(u for u, n in zip(context.my_utilities, context.counts, strict=True) if n > 0))
