"""How well an agent can do: the oracle that knows the partner, and the best blind plan of offers, in milliseconds.

Both stand on one fact about partners with thresholds (heuristic, walk-away, time-dependent): whether an offer is accepted depends
only on the partner's utilities, the turn, and PROPOSE or INSIST. An oracle therefore picks the best accepted offer or
counter-offer. A blind agent hears the same refusal from every partner that does not accept, so its whole strategy is a list of
offers to make until one is taken, and then, at the end, AGREE. The value of such a plan is an average over the partner's possible
utilities, and `bayes_plan` searches for the best by inserting the most useful offer and then swapping until no single swap helps.
The oracle is exact. The plan's value is computed exactly; that no plan is better is certain for one offer only, but the value is
submodular in the set of offers, and tests compare with brute force.

Values are in points, in the units the environment pays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.compiled import Array, Flag, Int, Real, Record, compiled
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context, Triple
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.partners.counters import least_above, prepare_counter
from edgeworth.games.bargaining.partners.program import (
    HEURISTIC,
    KEEP_ALL,
    LEAVE_ONE,
    TIME_DEPENDENT,
    WALK_AWAY,
)
from edgeworth.games.bargaining.payoffs import in_reward_units, meets, points_needed, worth
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.talks import triple_of
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Act

THRESHOLD_KINDS = (HEURISTIC, WALK_AWAY, TIME_DEPENDENT)
SILENT_COUNTERS = (LEAVE_ONE, KEEP_ALL)
"""Counter-offers that depend on the pool alone and so betray nothing about the partner's utilities."""


# ---------------------------------------------------------------- the oracle


@compiled
def survival(r: Record, moves: Int) -> Real:
    """Probability that the talks are still open after this many moves without a deal."""
    return (1.0 - r.sudden_end) ** max(0, moves - 1)


@compiled
def still_there(p: Record, refused: Int) -> Flag:
    """Whether a partner that has refused this many moves is still at the table."""
    return p.kind != WALK_AWAY or refused <= p.patience


@compiled
def best_accepted(s: Record, r: Record, threshold: Int) -> Real:
    """The most the agent can ask of a partner with this threshold, in reward units."""
    best = -1
    for a in range(s.counts[0] + 1):
        for b in range(s.counts[1] + 1):
            for c in range(s.counts[2] + 1):
                left = worth(s, PARTNER, s.counts[0] - a, s.counts[1] - b, s.counts[2] - c)
                if meets(left, s.maximum[PARTNER], threshold):
                    best = max(best, worth(s, AGENT, a, b, c))
    return in_reward_units(s, r, AGENT, best)


@compiled
def counter_worth(s: Record, r: Record, p: Record, turn: Int) -> Real:
    """What the counter-offer that the partner makes at this turn is worth to the agent."""
    if p.kind == TIME_DEPENDENT:
        x, y, z = least_above(s, points_needed(s.maximum[PARTNER], p.accept[turn]))
    else:
        x, y, z = s.counter[0], s.counter[1], s.counter[2]
    return in_reward_units(s, r, AGENT, worth(s, AGENT, s.counts[0] - x, s.counts[1] - y, s.counts[2] - z))


@compiled
def oracle_value(s: Record, r: Record, p: Record, opener: Int) -> Real:
    """The most an agent that knows a threshold partner's utilities can expect when this side opens."""
    if p.kind != TIME_DEPENDENT:
        prepare_counter(s, p)
    nothing = r.reservation[AGENT] * in_reward_units(s, r, AGENT, s.maximum[AGENT])
    best = nothing
    for turn in range(opener, r.max_turns, 2):
        if not still_there(p, turn // 2):
            break
        alive = survival(r, turn)
        if turn > 0:
            agreed = r.discount_at[turn + 1] * counter_worth(s, r, p, turn - 1)
            best = max(best, alive * agreed + (1.0 - alive) * nothing)
        if turn + 1 < r.max_turns:
            heard = survival(r, turn + 1)
            asked = r.discount_at[turn + 2] * best_accepted(s, r, p.accept[turn + 1])
            best = max(best, heard * asked + (1.0 - heard) * nothing)
            insisted = r.discount_at[turn + 2] * best_accepted(s, r, p.accept_insist[turn + 1])
            best = max(best, heard * insisted + (1.0 - heard) * nothing - alive * r.insist_price)
            if r.disagree_passes and p.kind == WALK_AWAY and turn // 2 == p.patience:
                # it leaves by END, and an offer that mirrors its selection is matched
                mirrored = r.discount_at[turn + 2] * counter_worth(s, r, p, turn)
                best = max(best, heard * mirrored + (1.0 - heard) * nothing)
    return best


@compiled
def oracle_batch(state: Array, rules: Array, partners: Array, values: Array) -> None:
    """The oracle's value of every episode from its start, for the side that opens it."""
    r = rules[0]
    for i in range(state.shape[0]):
        e = np.uint64(i)
        s = state[e]
        values[e] = oracle_value(s, r, partners[np.uint64(s.partner)], s.opener)


def oracle_values(batch: BargainingBatch) -> NDArray[np.float64]:
    """What an agent that knows its partner's utilities gets from each episode of a batch that has just begun."""
    check_threshold_partners(batch)
    values = np.empty(batch.size)
    oracle_batch(batch.state, batch.rules, batch.partners, values)
    return values


def check_threshold_partners(batch: BargainingBatch) -> None:
    """Refuse partners whose acceptance is not a threshold on the offer."""
    if not np.isin(batch.partners["kind"], THRESHOLD_KINDS).all():
        raise InvalidOption(
            f"The exact bounds need a partner with acceptance thresholds (heuristic, walk_away, boulware, linear, conceder),"
            f" not {batch.config.partner!r}; use best_response for it."
        )


# ---------------------------------------------------------------- the blind plan


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
def accepted_by(shares: Array, counts: Array, types: Array, threshold: Int, accepted: Array) -> None:
    """Which partner types accept which of the agent's shares at a threshold."""
    for j in range(types.shape[0]):
        whole = 0
        for k in range(3):
            whole += types[j, k] * counts[k]
        for i in range(shares.shape[0]):
            left = 0
            for k in range(3):
                left += types[j, k] * (counts[k] - shares[i, k])
            accepted[i, j] = meets(left, whole, threshold)


@compiled
def continuation(plan: Array, length: Int, skip: Int, accepted: Array, gains: Array, costs: Array, last: Real, j: Int) -> Real:
    """What the offers of a plan from position `skip` on are worth against one partner type."""
    paid = 0.0
    for position in range(skip, length):
        paid += costs[position, plan[position]]
        if accepted[plan[position], j]:
            return gains[position, plan[position]] - paid
    return last - paid


@compiled
def plan_value(plan: Array, length: Int, accepted: Array, gains: Array, costs: Array, last: Real) -> Real:
    """The average of a plan over the partner types."""
    total = 0.0
    for j in range(accepted.shape[1]):
        total += continuation(plan, length, 0, accepted, gains, costs, last, j)
    return total / accepted.shape[1]


@compiled
def best_replacement(
    plan: Array, length: Int, position: Int, accepted: Array, gains: Array, costs: Array, last: Real, scores: Array
) -> Int:
    """The offer that does best at one position of a plan while the others stay; `scores` is room for one number per offer."""
    scores[:] = 0.0
    for j in range(accepted.shape[1]):
        taken_before = False
        for earlier in range(position):
            taken_before = taken_before or accepted[plan[earlier], j]
        if taken_before:
            continue
        later = continuation(plan, length, position + 1, accepted, gains, costs, last, j)
        for i in range(accepted.shape[0]):
            scores[i] += (gains[position, i] if accepted[i, j] else later) - costs[position, i]
    return scores.argmax()


@compiled
def search_plan(length: Int, accepted: Array, gains: Array, costs: Array, last: Real, plan: Array) -> Real:
    """Fill a plan offer by offer, then swap single offers until none improves it; returns its value."""
    scores = np.empty(accepted.shape[0])
    trial = plan.copy()
    for filled in range(length):
        best, best_position, best_offer = -np.inf, 0, np.int64(0)
        for position in range(filled + 1):
            trial[:position] = plan[:position]
            trial[position + 1 : filled + 1] = plan[position:filled]
            trial[position] = best_replacement(trial, filled + 1, position, accepted, gains, costs, last, scores)
            value = plan_value(trial, filled + 1, accepted, gains, costs, last)
            if value > best:
                best, best_position, best_offer = value, position, trial[position]
        for position in range(filled, best_position, -1):
            plan[position] = plan[position - 1]
        plan[best_position] = best_offer
    value = plan_value(plan, length, accepted, gains, costs, last)
    improved = True
    while improved:
        improved = False
        for position in range(length):
            old = plan[position]
            plan[position] = best_replacement(plan, length, position, accepted, gains, costs, last, scores)
            new_value = plan_value(plan, length, accepted, gains, costs, last)
            if new_value > value + 1e-12:
                value, improved = new_value, True
            else:
                plan[position] = old
    return value


@dataclass(frozen=True)
class _Problem:
    """A blind plan as numbers: what each offer pays and costs at each position, and what the end pays."""

    shares: NDArray[np.int64]
    acts: NDArray[np.int64]
    accepted: NDArray[np.bool_]
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
    return max((_best_of_length(problem, n) for n in lengths), key=lambda plan: plan.value)


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


def _best_of_length(problem: _Problem, length: int) -> Plan:
    plan = np.zeros(max(length, 1), np.int64)
    value = search_plan(length, problem.accepted, problem.gains, problem.costs, problem.lasts[length], plan)
    offers = tuple(Offer(Act(int(problem.acts[i])), triple_of(problem.shares[i])) for i in plan[:length])
    return Plan(offers, bool(problem.agrees[length]), float(value))


def _plan_problem(context: Context, batch: BargainingBatch, opener: int) -> _Problem:
    rules, partner = batch.rules[0], batch.partners[0]
    shares = all_shares(context.counts)
    types = partner_types(context, batch)
    counts = np.array(context.counts, np.int64)
    insist, propose = (_acceptance(shares, counts, types, int(partner[name][0])) for name in ("accept_insist", "accept"))
    free = float(rules["insist_price"]) == 0.0 and bool((insist | ~propose).all())
    acts = np.full(len(shares), int(Act.INSIST))
    accepted = insist
    if not free:
        acts = np.concatenate([acts, np.full(len(shares), int(Act.PROPOSE))])
        shares, accepted = np.concatenate([shares, shares]), np.concatenate([insist, propose])
    scale = 10.0 / max(context.my_maximum, 1) if batch.config.normalize else 1.0
    worths = scale * (shares @ np.array(context.my_utilities)).astype(np.float64)
    return _timed(
        batch,
        opener,
        offer_limit(batch, opener),
        shares,
        acts,
        accepted,
        worths,
        scale * _counter_points(context, batch),
        scale * context.my_maximum,
    )


def _timed(
    batch: BargainingBatch,
    opener: int,
    limit: int,
    shares: NDArray[np.int64],
    acts: NDArray[np.int64],
    accepted: NDArray[np.bool_],
    worths: NDArray[np.float64],
    counter: float,
    maximum: float,
) -> _Problem:
    """Put discount, sudden end and the price of insisting on the clock of the talks."""
    rules, partner = batch.rules[0], batch.partners[0]
    nothing = float(rules["reservation"][0]) * maximum
    gains, costs = np.empty((limit, len(shares))), np.zeros((limit, len(shares)))
    for position in range(limit):
        turn = opener + 2 * position
        heard = float(survival(rules, turn + 1))
        gains[position] = heard * rules["discount_at"][turn + 2] * worths + (1.0 - heard) * nothing
        costs[position] = float(survival(rules, turn)) * rules["insist_price"] * (acts == Act.INSIST)
    lasts, agrees = np.full(limit + 1, nothing), np.zeros(limit + 1, np.bool_)
    for length in range(limit + 1):
        turn = opener + 2 * length
        if 0 < turn < rules["max_turns"] and still_there(partner, length):
            alive = float(survival(rules, turn))
            agreed = alive * rules["discount_at"][turn + 1] * counter + (1.0 - alive) * nothing
            lasts[length], agrees[length] = max(agreed, nothing), agreed >= nothing
    return _Problem(shares, acts, accepted, gains, costs, lasts, agrees)


def _acceptance(shares: NDArray[np.int64], counts: NDArray[np.int64], types: NDArray[np.int64], threshold: int) -> NDArray[np.bool_]:
    accepted = np.empty((len(shares), len(types)), np.bool_)
    accepted_by(shares, counts, types, threshold, accepted)
    return accepted


def _counter_points(context: Context, batch: BargainingBatch) -> float:
    """What the partner's fixed counter-offer is worth to the agent, in points."""
    if batch.partners[0]["counter"] == KEEP_ALL:
        return 0.0
    return float(sum(u for u, n in zip(context.my_utilities, context.counts, strict=True) if n > 0))
