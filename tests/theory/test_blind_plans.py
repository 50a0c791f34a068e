"""Blind plans against all lists that there are: no list of offers is worth more than the plan, in exact arithmetic."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.games.bargaining import blind_plan
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import Offer, Plan, bayes_plan, offer_limit, offers_before_agreeing
from edgeworth.games.bargaining.contexts import Context, lewis_table
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import Act

THRESHOLDS = {Act.PROPOSE: ("accept", "0.55"), Act.INSIST: ("accept_insist", "0.5")}
"""The partner's option for each act, and what it is by default."""


def game(scenario: str | None = None, **options: Any) -> BargainingBatch:
    return BargainingBatch(BargainingConfig.from_options(scenario, **options), 1)


class AllLists:
    """The value of any list of offers, in fractions, from the rules in the docs; and the best of all, by trying every next offer."""

    def __init__(self, context: Context, batch: BargainingBatch, opener: int) -> None:
        config, self.opener = batch.config, opener
        self.discount, self.price = Fraction(config.discount), Fraction(config.insist_price)
        self.survives = 1 - Fraction(config.sudden_end)
        self.scale = Fraction(10, context.my_maximum) if config.normalize else Fraction(1)
        self.nothing = Fraction(config.reservation[0]) * self.scale * context.my_maximum
        self.mine, self.counts, self.max_turns = context.my_utilities, context.counts, config.max_turns
        self.limit, self.agree_limit = offer_limit(batch, opener), offers_before_agreeing(batch, opener)
        one_of_each = config.partner_options.get("counter") != "keep_all"
        self.counter = sum(u for u, n in zip(self.mine, self.counts, strict=True) if n > 0) if one_of_each else 0
        types = partner_types(context, batch)
        self.size, whole = len(types), types @ np.array(self.counts)
        self.takers: dict[Offer, int] = {}
        for share in map(tuple, all_shares(self.counts).tolist()):
            left = types @ (np.array(self.counts) - np.array(share))
            for act, (option, default) in THRESHOLDS.items():
                threshold = Fraction(str(config.partner_options.get(option, default)))
                taken = left * threshold.denominator >= whole * threshold.numerator
                self.takers[Offer(act, share)] = sum(1 << place for place in np.flatnonzero(taken).tolist())
        self._known: dict[tuple[int, int], Fraction] = {}

    def open_after(self, moves: int) -> Fraction:
        return self.survives ** max(0, moves - 1)

    def deal(self, points: int, moves: int) -> Fraction:
        """What a deal pays that is closed by the move after so many, or a break before it."""
        heard = self.open_after(moves)
        return heard * self.discount ** max(0, moves - 1) * self.scale * points + (1 - heard) * self.nothing

    def offered(self, offer: Offer, position: int, left: int) -> Fraction:
        """What an offer pays, and costs, summed over the types that are left."""
        turn = self.opener + 2 * position
        points = sum(u * n for u, n in zip(self.mine, offer.share, strict=True))
        cost = self.open_after(turn) * self.price if offer.act == Act.INSIST else Fraction(0)
        return self.deal(points, turn + 1) * (left & self.takers[offer]).bit_count() - cost * left.bit_count()

    def ending(self, position: int) -> Fraction:
        """What stopping after so many offers pays a type: AGREE where the partner has made an offer and is there, or nothing."""
        turn = self.opener + 2 * position
        agrees = turn > 0 and position <= self.agree_limit and turn < self.max_turns
        return max(self.nothing, self.deal(self.counter, turn)) if agrees else self.nothing

    def value(self, offers: tuple[Offer, ...]) -> Fraction:
        total, left = Fraction(0), (1 << self.size) - 1
        for position, offer in enumerate(offers):
            total += self.offered(offer, position, left)
            left &= ~self.takers[offer]
        return (total + left.bit_count() * self.ending(len(offers))) / self.size

    def best(self) -> Fraction:
        return self.best_from(0, (1 << self.size) - 1) / self.size

    def best_from(self, position: int, left: int) -> Fraction:
        """The most that any continuation pays to the types that are left; lists that leave the same types are continued once."""
        if (position, left) not in self._known:
            best = left.bit_count() * self.ending(position)
            if position < self.limit and left:
                nexts = (
                    self.offered(offer, position, left) + self.best_from(position + 1, left & ~self.takers[offer]) for offer in self.takers
                )
                best = max(best, max(nexts))
            self._known[position, left] = best
        return self._known[position, left]


def small_contexts(scenario: str) -> Iterator[tuple[BargainingBatch, Context, int]]:
    """Contexts of a scenario that are small enough to try all lists, for either side that can open."""
    config = BargainingConfig.from_options(scenario)
    batch = BargainingBatch(config, 1)
    if config.contexts == "lewis":
        halves = np.unique(lewis_table()[:, :6], axis=0)[::60].tolist()
    else:
        pools, utilities = [(1, 1, 1), (1, 2, 1)], [(1, 2, 3), (10, 10, 10), (0, 5, 4), (7, 7, 1), (9, 2, 10)]
        halves = [[*counts, *mine] for counts, mine in itertools.product(pools, utilities)]
    openers = {"agent": [0], "partner": [1], "random": [0, 1]}[config.opens]
    for half, opener in itertools.product(halves, openers):
        yield batch, Context(tuple(half[:3]), tuple(half[3:]), (0, 0, 0)), opener


@pytest.mark.parametrize("scenario", scenario_names())
def test_no_list_of_offers_is_worth_more_than_the_plan(scenario: str) -> None:
    for batch, context, opener in small_contexts(scenario):
        lists, plan = AllLists(context, batch, opener), bayes_plan(context, batch, opener)
        assert lists.value(plan.offers) == lists.best(), (context, opener)
        assert plan.gap == 0.0


@st.composite
def small_games(draw: st.DrawFn) -> tuple[BargainingBatch, Context, int]:
    """Any rules of a short game, and a small context for it."""
    options = {
        "max_turns": draw(st.integers(2, 6)),
        "discount": draw(st.sampled_from([1.0, 0.9, 0.5])),
        "sudden_end": draw(st.sampled_from([0.0, 0.1, 0.5])),
        "reservation": (draw(st.sampled_from([0.0, 0.2, 0.6])), 0.0),
        "insist_price": draw(st.sampled_from([0.0, 0.25, 1.0])),
        "partner": draw(st.sampled_from(["heuristic", "walk_away"])),
        "partner_options": {
            "counter": draw(st.sampled_from(["leave_one", "keep_all"])),
            "accept": draw(st.sampled_from([0.55, 0.3, 0.9])),
            "accept_insist": draw(st.sampled_from([0.5, 0.8, 0.1])),
        },
        "normalize": draw(st.booleans()),
    }
    counts = draw(st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 1, 2)]))
    utilities = draw(st.tuples(*[st.integers(0, 10)] * 3).filter(any))
    return game(**options), Context(counts, utilities, (0, 0, 0)), draw(st.sampled_from([0, 1]))


@settings(max_examples=60, deadline=None)
@given(small_games())
def test_the_plan_is_the_best_list_under_any_rules(small: tuple[BargainingBatch, Context, int]) -> None:
    batch, context, opener = small
    lists, plan = AllLists(context, batch, opener), bayes_plan(context, batch, opener)
    assert float(lists.value(plan.offers)) == pytest.approx(plan.value, rel=1e-12)
    assert lists.value(plan.offers) == lists.best()


FOUND_ELSEWHERE = [
    ("walkaway", "partner", (2, 3, 3), (10, 10, 10), 40.0, [(1, 2, 1), (1, 0, 3)]),
    ("classic", "agent", (3, 3, 2), (6, 10, 5), 35.59, [(3, 3, 0), (0, 3, 2), (3, 2, 0), (0, 3, 1), (2, 1, 1)]),
]


@pytest.mark.parametrize(("scenario", "opens", "counts", "utilities", "points", "shares"), FOUND_ELSEWHERE)
def test_lists_that_single_swaps_do_not_reach_are_found(
    scenario: str, opens: str, counts: Any, utilities: Any, points: float, shares: list[Any]
) -> None:
    batch, opener = game(scenario, opens=opens), ("agent", "partner").index(opens)
    context = Context(counts, utilities, (0, 0, 0))
    lists = AllLists(context, batch, opener)
    listed = lists.value(tuple(Offer(Act.INSIST, share) for share in shares))
    plan = bayes_plan(context, batch, opener)
    assert float(listed) == pytest.approx(points, abs=0.005)
    assert lists.value(plan.offers) == listed and plan.gap == 0.0


def test_where_time_costs_something_an_offer_that_fewer_accept_can_serve() -> None:
    batch = game(opens="agent", discount=0.95, partner_options={"accept": 0.6, "accept_insist": 0.1})
    context = Context((3, 1, 2), (5, 10, 3), (0, 0, 0))
    lists, plan = AllLists(context, batch, opener=0), bayes_plan(context, batch, opener=0)
    insisting = tuple(Offer(Act.INSIST, offer.share) for offer in plan.offers)
    assert Act.PROPOSE in {offer.act for offer in plan.offers} and plan.gap == 0.0
    assert lists.value(plan.offers) > lists.value(insisting)


# What must hold of plans of any size

ANY_RULES: list[dict[str, Any]] = [
    {},
    {"discount": 0.9},
    {"insist_price": 0.5},
    {"sudden_end": 0.1, "reservation": (0.3, 0.0)},
    {"scenario": "walkaway"},
    {"normalize": True, "partner_options": {"accept": 0.4, "accept_insist": 0.8}},
]


def plan_of(counts: Any, utilities: Any, opener: int, **options: Any) -> Plan:
    return bayes_plan(Context(tuple(counts), tuple(utilities), (0, 0, 0)), game(**options), opener)


@pytest.mark.parametrize("options", ANY_RULES, ids=str)
@settings(max_examples=10, deadline=None)
@given(st.tuples(*[st.integers(1, 4)] * 3), st.tuples(*[st.integers(0, 10)] * 3).filter(any), st.permutations(range(3)), st.integers(0, 1))
def test_the_names_of_the_types_change_no_value(options: dict[str, Any], counts: Any, utilities: Any, order: Any, opener: int) -> None:
    renamed = plan_of([counts[k] for k in order], [utilities[k] for k in order], opener, **options)
    assert renamed.value == pytest.approx(plan_of(counts, utilities, opener, **options).value, rel=1e-9)


@pytest.mark.parametrize("options", ANY_RULES, ids=str)
@settings(max_examples=10, deadline=None)
@given(st.tuples(*[st.integers(1, 4)] * 3), st.tuples(*[st.integers(0, 10)] * 3).filter(any), st.integers(0, 1))
def test_more_time_is_never_worth_less(options: dict[str, Any], counts: Any, utilities: Any, opener: int) -> None:
    values = [plan_of(counts, utilities, opener, max_turns=turns, **options).value for turns in (4, 6, 8)]
    assert values[0] <= values[1] * (1 + 1e-9) and values[1] <= values[2] * (1 + 1e-9)


@pytest.mark.parametrize("options", ANY_RULES, ids=str)
def test_every_offer_of_a_plan_may_be_accepted_but_one_that_asks_for_a_counter_offer(options: dict[str, Any]) -> None:
    for opener, counts in itertools.product((0, 1), [(4, 3, 2), (1, 1, 1), (2, 4, 4)]):
        batch, context = game(**options), Context(counts, (3, 7, 2), (0, 0, 0))
        plan = bayes_plan(context, batch, opener)
        chances = blind_plan.acceptance_chances(plan, context, batch)
        assert all(chance > 0.0 for chance in chances) or (len(chances), opener, plan.agrees) == (1, 0, True)


def test_a_search_that_gives_up_says_how_much_better_a_plan_could_be() -> None:
    batch, gaps = game(insist_price=0.5), []
    contexts = [Context(counts, (4, 9, 5), (0, 0, 0)) for counts in [(2, 2, 3), (3, 3, 2), (4, 2, 3), (4, 4, 4)]]
    best = [bayes_plan(context, batch, 0) for context in contexts]
    for context, plan in zip(contexts, best, strict=True):
        given_up = bayes_plan(context, batch, 0, beginnings=0)
        assert given_up.value <= plan.value <= given_up.value + given_up.gap + 1e-9
        gaps.append(given_up.gap)
    assert max(gaps) > 0.0 and all(plan.gap == 0.0 for plan in best)


# Whole populations

POPULATION_VALUES = {
    "classic": 0.6646,
    "walkaway": 0.5958,
    "lewis": 0.8364,
    "lewis_keep_all": 0.7660,
    "one_shot": 0.5613,
}
"""Values of an independent computation."""


def population(batch: BargainingBatch) -> dict[tuple[int, ...], int]:
    """Every half-context of a scenario, in one order of its types, and how often it occurs."""
    if batch.config.contexts == "lewis":
        return Counter(map(tuple, lewis_table()[:, :6].tolist()))
    kinds = itertools.product(range(1, 5), range(11))
    sets = itertools.combinations_with_replacement(kinds, 3)
    return {tuple(np.array(types).T.ravel().tolist()): len(set(itertools.permutations(types))) for types in sets}


def population_range(scenario: str, beginnings: int = blind_plan.BEGINNINGS) -> tuple[float, float]:
    """Σ value / Σ maximum of blind plans over all contexts and openers, and the same with what better plans could at most be worth."""
    batch = game(scenario)
    openers = {"agent": [0], "partner": [1], "random": [0, 1]}[batch.config.opens]
    earned = most = whole = 0.0
    for half, number in population(batch).items():
        context = Context(half[:3], half[3:], (0, 0, 0))  # type: ignore[arg-type]
        plans = [bayes_plan(context, batch, opener, beginnings=beginnings) for opener in openers]
        earned += number * sum(plan.value for plan in plans)
        most += number * sum(plan.value + plan.gap for plan in plans)
        whole += number * len(plans) * context.my_maximum
    return earned / whole, most / whole


QUICK = ("lewis", "lewis_keep_all")


@pytest.mark.parametrize("scenario", [pytest.param(s, marks=[] if s in QUICK else pytest.mark.slow) for s in POPULATION_VALUES])
def test_the_value_of_a_population_is_that_of_an_independent_computation(scenario: str) -> None:
    value, most = population_range(scenario)
    assert value == pytest.approx(POPULATION_VALUES[scenario], abs=5e-5) and most == value


@pytest.mark.slow
def test_the_value_of_discounted_plans_is_known_to_less_than_a_thousandth() -> None:
    value, most = population_range("discounted", beginnings=30_000)
    assert value == pytest.approx(0.5453, abs=5e-5) and most - value < 4e-4
