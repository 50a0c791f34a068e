"""The best that a blind agent can do: a list of offers, made in turn until one is taken, and then AGREE.

A partner with thresholds and a fixed counter-offer replies alike to every offer that it refuses, so an agent that cannot see its utilities
learns nothing but the refusal itself, and its whole strategy is a list of offers (`docs/blind_plan.md` has the proof). The value of
such a plan is an average over the partner's possible utilities. `bayes_plan` finds the best by an exact search (`list_search.py`); where
that would take too long it gives up, and the plan says by how much a better one could at most exceed it.

Values are in points, in the units the environment pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.bounds import check_threshold_partners, still_there, survival
from edgeworth.games.bargaining.contexts import Context, Triple, triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.list_search import best_list
from edgeworth.games.bargaining.moves import BASIS_POINTS
from edgeworth.games.bargaining.offer_lists import ROUNDING, Offers, list_total
from edgeworth.games.bargaining.partners.program import KEEP_ALL, LEAVE_ONE, TIME_DEPENDENT, WALK_AWAY
from edgeworth.games.bargaining.prior import partner_types, uniform_types
from edgeworth.games.bargaining.vocabulary import BUDGET, Act

SILENT_COUNTERS = (LEAVE_ONE, KEEP_ALL)
"""Counter-offers that depend on the pool alone and so reveal nothing about the partner's utilities."""
BEGINNINGS = 100_000
"""How many beginnings of lists the search examines before it gives up, unless told otherwise."""


@dataclass(frozen=True)
class Offer:
    """One offer of a plan: the act it is made with, and the agent's share."""

    act: Act
    share: Triple


@dataclass(frozen=True)
class Plan:
    """Offers to make in turn until one is accepted; then AGREE, if `agrees`."""

    offers: tuple[Offer, ...]
    agrees: bool
    value: float
    """What the plan is worth on average."""
    gap: float = 0.0
    """How much more another plan could at most be worth; 0 where this one is proved to be the best."""


@dataclass(frozen=True)
class _Candidates:
    """Every offer worth considering, and which partner types accept it; offers that the same types accept are alternatives."""

    acts: NDArray[np.int64]
    shares: NDArray[np.int64]
    alternatives: NDArray[np.int64]
    """The offers, alternatives side by side."""
    starts: NDArray[np.int64]
    """Where each group of alternatives begins."""
    first: NDArray[np.int64]
    takers: NDArray[np.int16]
    weights: NDArray[np.float64]

    def best(self, worths: NDArray[np.float64]) -> NDArray[np.int64]:
        """Of each group of alternatives the offer that is worth most."""
        sorted_worths = worths[self.alternatives]
        highest = np.repeat(np.maximum.reduceat(sorted_worths, self.starts), np.diff(self.starts, append=len(worths)))
        places = np.flatnonzero(sorted_worths == highest)
        return np.asarray(self.alternatives[places[np.searchsorted(places, self.starts)]])


@dataclass(frozen=True)
class _Problem:
    """A blind plan as numbers: the offers with what each pays and costs at each position, and what the end pays."""

    acts: NDArray[np.int64]
    shares: NDArray[np.int64]
    offers: Offers
    lasts: NDArray[np.float64]  # value of stopping after this many refused offers
    agrees: NDArray[np.bool_]  # whether stopping there means AGREE rather than walking away or running out of time
    grain: float  # totals are multiples of it, where it is not 0

    def value(self, plan: NDArray[np.int64]) -> float:
        """What a list of offers is worth on average."""
        weights = self.offers.weights
        return float(list_total(self.offers, plan, len(plan), self.lasts[len(plan)], np.empty(len(weights)))) / float(weights.sum())


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


def bayes_plan(context: Context, batch: BargainingBatch, opener: int, offers: int | None = None, beginnings: int = BEGINNINGS) -> Plan:
    """The best blind plan for the agent's half of a context: exactly `offers` of them and then AGREE, or as many as serve best.

    `batch` supplies rules and partner; the partner's utilities in `context` are not read. After `beginnings` of lists the search gives up.
    """
    check_silent_partner(batch)
    problem = _plan_problem(context, batch, opener)
    if offers is not None and not 0 <= offers < len(problem.lasts):
        raise InvalidOption(f"A plan of {offers} offers does not fit; expected 0 to {len(problem.lasts) - 1}.")
    best, gap = _best_of_lengths(problem, _useful_lengths(problem) if offers is None else [offers], beginnings)
    if offers is None:
        best = _without_idle_offers(problem, best)
    offers_made = tuple(Offer(Act(int(problem.acts[i])), triple_of(problem.shares[i])) for i in best)
    return Plan(offers_made, bool(problem.agrees[len(best)]), problem.value(best), gap)


def acceptance_chances(plan: Plan, context: Context, batch: BargainingBatch) -> tuple[float, ...]:
    """How likely the partner takes each offer of a plan after refusing those before; of all types, where none would have refused."""
    types, counts = partner_types(context, batch), np.array(context.counts, np.int64)
    left, chances = np.ones(len(types), np.bool_), []
    for offer in plan.offers:
        threshold = batch.partners[0]["accept_insist" if offer.act == Act.INSIST else "accept"][0]
        accepted = acceptance(np.array([offer.share], np.int64), counts, types, int(threshold))[:, 0]
        chances.append(float(accepted[left].mean()) if left.any() else float(accepted.mean()))
        left &= ~accepted
    return tuple(chances)


def check_silent_partner(batch: BargainingBatch) -> None:
    """Refuse partners whose counter-offers reveal something about their utilities: a plan fixed in advance would not be optimal."""
    check_threshold_partners(batch)
    row = batch.partners[0]
    if row["kind"] == WALK_AWAY and batch.config.disagree == "passes":
        raise InvalidOption('The blind plan for walk_away is worked out for disagree="ends" only: elsewhere it leaves by END.')
    if len(batch.partners) > 1 or row["kind"] == TIME_DEPENDENT or row["counter"] not in SILENT_COUNTERS:
        given = f" with {dict(batch.config.partner_options)}" if batch.config.partner_options else ""
        raise InvalidOption(
            "The blind plan needs one partner whose counter-offers reveal nothing (heuristic or walk_away, with leave_one or keep_all),"
            f" not {batch.config.partner!r}{given}."
        )


def is_silent(batch: BargainingBatch) -> bool:
    """Whether the partner's counter-offers tell nothing, so that a plan fixed in advance is optimal."""
    try:
        check_silent_partner(batch)
    except InvalidOption:
        return False
    return True


def _useful_lengths(problem: _Problem) -> list[int]:
    """The lengths among which the best is: not one that a longer list, which ends no worse, can match by repeating an offer."""
    lasts = problem.lasts
    return [length for length in range(len(lasts)) if length == 0 or not (lasts[length + 1 :] >= lasts[length]).any()]


def _best_of_lengths(problem: _Problem, lengths: Sequence[int], beginnings: int) -> tuple[NDArray[np.int64], float]:
    """The best plan of any of these lengths, as numbers of offers, and how much more another could be worth."""
    offers, weight = problem.offers, float(problem.offers.weights.sum())
    alike = bool((offers.gains == offers.gains[:1]).all()) and not offers.costs.any()
    best, known, bound = np.zeros(0, np.int64), -np.inf, -np.inf
    for length in lengths:
        plan, last = np.zeros(length, np.int64), float(problem.lasts[length])
        total = most = last * weight
        if length > 0:
            total, most = best_list(offers, length, last, alike, problem.grain, known, plan, beginnings // len(lengths))
        bound = max(bound, most)
        if total > known + ROUNDING * abs(known) or known == -np.inf:
            best, known = plan, total
    gap = (bound - known) / weight
    return best, gap if bound > known + max(ROUNDING * abs(known), problem.grain * (1 - ROUNDING)) else 0.0


def _without_idle_offers(problem: _Problem, plan: NDArray[np.int64]) -> NDArray[np.int64]:
    """The plan without offers that gain nothing."""
    for position in reversed(range(len(plan))):
        shorter = np.delete(plan, position)
        if problem.value(shorter) >= problem.value(plan) * (1 - ROUNDING):
            plan = shorter
    return plan


def _plan_problem(context: Context, batch: BargainingBatch, opener: int) -> _Problem:
    """A blind plan as numbers, with discount, sudden end and the price of insisting by turn."""
    rules = batch.rules[0]
    candidates = _candidates(context, batch)
    scale = BUDGET / max(context.my_maximum, 1) if batch.config.normalize else 1.0
    worths = scale * (candidates.shares @ np.array(context.my_utilities)).astype(np.float64)
    chosen = candidates.best(worths)
    acts, shares, worths = candidates.acts[chosen], candidates.shares[chosen], worths[chosen]
    nothing = float(rules["reservation"][0]) * scale * context.my_maximum
    limit = offer_limit(batch, opener)
    gains, costs = np.empty((limit, len(shares))), np.zeros((limit, len(shares)))
    for position in range(limit):
        turn = opener + 2 * position
        heard = float(survival(rules, turn + 1))
        gains[position] = heard * rules["discount_at"][turn + 2] * worths + (1.0 - heard) * nothing
        costs[position] = float(survival(rules, turn)) * rules["insist_price"] * (acts == Act.INSIST)
    lasts, agrees = _endings(batch, opener, limit, scale * _counter_points(context, batch), nothing)
    whole = not costs.any() and all(np.allclose(array / scale, np.rint(array / scale), rtol=0, atol=1e-9) for array in (gains, lasts))
    offers = Offers(candidates.first, candidates.takers, candidates.weights, gains, costs)
    return _Problem(acts, shares, offers, lasts, agrees, scale if whole else 0.0)


def _candidates(context: Context, batch: BargainingBatch) -> _Candidates:
    """The offers for a context; for uniform contexts they depend on the pool alone and are laid out once."""
    config, partner = batch.config, batch.partners[0]
    thresholds = int(partner["accept_insist"][0]), int(partner["accept"][0])
    priced, hurried = config.insist_price > 0.0, config.discount < 1.0 or config.sudden_end > 0.0
    if batch.rules[0]["from_table"]:
        return _laid_out(context.counts, partner_types(context, batch), *thresholds, priced, hurried)
    return _uniform_candidates(context.counts, config.normalize, *thresholds, priced, hurried)


@lru_cache(maxsize=256)
def _uniform_candidates(counts: Triple, normalize: bool, firm: int, plain: int, priced: bool, hurried: bool) -> _Candidates:
    return _laid_out(counts, uniform_types(counts, normalize), firm, plain, priced, hurried)


def _laid_out(counts: Triple, types: NDArray[np.int64], firm: int, plain: int, priced: bool, hurried: bool) -> _Candidates:
    """Every share with every act that can serve.

    The act that is accepted less readily serves only where it is cheaper (PROPOSE, if INSIST is priced) or where time costs something: an
    early offer that fewer accept then leaves the others for a bolder one.
    """
    shares, pool = all_shares(counts), np.array(counts, np.int64)
    insists = firm < plain or (firm == plain and not priced) or (hurried and firm > plain)
    proposes = firm > plain or priced or (hurried and firm < plain)
    ways = [(Act.INSIST, firm)] * insists + [(Act.PROPOSE, plain)] * proposes
    told_apart = priced and len(ways) == 2
    acts = np.repeat([int(act) for act, _ in ways], len(shares))
    accepted = np.concatenate([acceptance(shares, pool, types, threshold) for _, threshold in ways], axis=1)
    columns, groups, _ = _distinct(np.concatenate([accepted, (acts == Act.INSIST)[None] & told_apart]).T)
    rows, _, weights = _distinct(accepted[:, columns])
    offer, taker = np.nonzero(accepted[np.ix_(rows, columns)].T)
    alternatives = np.argsort(groups, kind="stable")
    starts, first = np.searchsorted(groups[alternatives], np.arange(len(columns))), np.searchsorted(offer, np.arange(len(columns) + 1))
    every_share = np.concatenate([shares] * len(ways))
    return _Candidates(acts, every_share, alternatives, starts, first, taker.astype(np.int16), weights.astype(np.float64))


def _distinct(table: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of a table: where each occurs first, which of them each row is, and how often each occurs."""
    packed = np.ascontiguousarray(np.packbits(table, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, places, groups, numbers = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return places, groups, numbers


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


def acceptance(shares: NDArray[np.int64], counts: NDArray[np.int64], types: NDArray[np.int64], threshold: int) -> NDArray[np.bool_]:
    """Which partner types (rows) accept which of the agent's shares (columns) at a threshold, in basis points of their maximum."""
    left, maximum = types.astype(np.float64) @ (counts - shares).T.astype(np.float64), types @ counts  # whole numbers, as floats for speed
    return np.asarray(left * BASIS_POINTS >= threshold * maximum[:, None])


def _counter_points(context: Context, batch: BargainingBatch) -> float:
    """What the partner's fixed counter-offer is worth to the agent, in points."""
    if batch.partners[0]["counter"] == KEEP_ALL:
        return 0.0
    return float(sum(u for u, n in zip(context.my_utilities, context.counts, strict=True) if n > 0))
