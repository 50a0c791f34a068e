"""Hand-computed frontiers and solutions, and their definitions checked over many contexts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bargaining_table import POOL
from edgeworth.games.bargaining.contexts import Context, lewis_table
from edgeworth.games.bargaining.frontier import (
    Allocation,
    all_shares,
    allocations,
    is_pareto,
    nash_product,
    pareto_frontier,
    solutions,
    valued,
)

APART = Context((1, 1, 1), (10, 4, 0), (3, 2, 8))
"""The agent likes the book, the partner the ball, and the solutions disagree about the hat."""
UNEQUAL = Context((4, 1, 0), (2, 10, 0), (1, 1, 0))
"""Worth 18 to the agent and 5 to the partner."""

POINTS = st.tuples(*[st.integers(0, 10)] * 3)


@st.composite
def contexts(draw: st.DrawFn) -> Context:
    return Context(draw(st.tuples(*[st.integers(0, 3)] * 3).filter(any)), draw(POINTS), draw(POINTS))


def pairs(context: Context) -> list[tuple[int, int]]:
    return [(a.mine, a.theirs) for a in pareto_frontier(context)]


def test_the_frontier_of_the_first_context() -> None:
    # Books are worth 1 to the agent and 2 to the partner, balls 1 to both, the hat 5 and 3: they change hands in that order.
    assert pairs(POOL) == [(10, 0), (9, 2), (8, 4), (7, 5), (6, 6), (5, 7), (2, 8), (1, 9), (0, 10)]
    shares = [a.share for a in pareto_frontier(POOL)]
    assert shares == [(2, 1, 3), (1, 1, 3), (0, 1, 3), (0, 1, 2), (0, 1, 1), (0, 1, 0), (0, 0, 2), (0, 0, 1), (0, 0, 0)]


def test_every_solution_of_the_first_context_is_the_even_split() -> None:
    found = solutions(POOL)
    even = Allocation((0, 1, 1), 6, 6)
    assert found.nash == found.kalai_smorodinsky == found.egalitarian == found.max_welfare == even
    assert nash_product(even) == 36


def test_the_frontier_of_the_second_context() -> None:
    assert pairs(APART) == [(14, 8), (10, 10), (4, 11), (0, 13)]


def test_the_solutions_of_the_second_context() -> None:
    found = solutions(APART)
    assert (found.nash.mine, found.nash.theirs) == (14, 8)  # 112 against 100
    assert (found.max_welfare.mine, found.max_welfare.theirs) == (14, 8)  # 22 against 20
    assert (found.egalitarian.mine, found.egalitarian.theirs) == (10, 10)
    assert (found.kalai_smorodinsky.mine, found.kalai_smorodinsky.theirs) == (10, 10)  # 10/14 and 10/13 against 1 and 8/13


def test_the_solutions_move_with_the_disagreement_point() -> None:
    found = solutions(APART, disagreement=(0.0, 8.0))  # gains 14,0; 10,2; 4,3; 0,5
    assert (found.nash.mine, found.nash.theirs) == (10, 10)  # 20 against 12
    assert (found.egalitarian.mine, found.egalitarian.theirs) == (4, 11)
    assert (found.kalai_smorodinsky.mine, found.kalai_smorodinsky.theirs) == (10, 10)  # 10/14 and 2/5 against 4/14 and 3/5


def test_equal_gains_and_equal_shares_of_hope_are_different_things() -> None:
    # The frontier: the agent keeps the hat and 4, 3, 2, 1, 0 books (18,0; 16,1; 14,2; 12,3; 10,4), then nothing (0,5).
    assert pairs(UNEQUAL) == [(18, 0), (16, 1), (14, 2), (12, 3), (10, 4), (0, 5)]
    found = solutions(UNEQUAL)
    assert (found.egalitarian.mine, found.egalitarian.theirs) == (10, 4)
    assert (found.kalai_smorodinsky.mine, found.kalai_smorodinsky.theirs) == (12, 3)  # 12/18 and 3/5 against 10/18 and 4/5
    assert (found.nash.mine, found.nash.theirs) == (10, 4)  # 40 against 36
    assert (found.max_welfare.mine, found.max_welfare.theirs) == (18, 0)


def test_a_share_is_valued_for_both_sides() -> None:
    assert valued(POOL, (1, 1, 0)) == Allocation((1, 1, 0), 6, 5)
    assert is_pareto(POOL, (0, 1, 1)) and not is_pareto(POOL, (1, 1, 0))


def test_all_shares_come_in_lexicographic_order() -> None:
    assert [tuple(s) for s in all_shares((1, 0, 2)).tolist()] == list(itertools.product(range(2), range(1), range(3)))


@given(contexts())
def test_the_frontier_is_what_nothing_dominates(context: Context) -> None:
    everything = {(a.mine, a.theirs) for a in allocations(context)}
    undominated = {p for p in everything if not any(q[0] >= p[0] and q[1] >= p[1] and q != p for q in everything)}
    assert set(pairs(context)) == undominated
    assert pairs(context) == sorted(undominated, reverse=True)
    assert all(valued(context, a.share) == a for a in pareto_frontier(context))


@given(contexts(), st.tuples(st.integers(0, 5), st.integers(0, 5)))
def test_every_solution_lies_on_the_frontier_and_none_does_better_by_its_own_measure(
    context: Context, disagreement: tuple[int, int]
) -> None:
    found = solutions(context, disagreement)
    gains = [(a.mine - disagreement[0], a.theirs - disagreement[1]) for a in allocations(context)]
    for point in (found.nash, found.kalai_smorodinsky, found.egalitarian, found.max_welfare):
        assert is_pareto(context, point.share)
    assert nash_product(found.nash, disagreement) == max(max(0, m) * max(0, t) for m, t in gains)
    assert found.max_welfare.mine + found.max_welfare.theirs == max(m + t for m, t in gains) + sum(disagreement)
    assert min(found.egalitarian.mine - disagreement[0], found.egalitarian.theirs - disagreement[1]) == max(min(g) for g in gains)


def test_swapping_the_sides_mirrors_the_frontier() -> None:
    for row in lewis_table()[::400]:
        context = Context.from_row(row)
        mirror = Context(context.counts, context.partner_utilities, context.my_utilities)
        assert pairs(mirror) == [(theirs, mine) for mine, theirs in reversed(pairs(context))]


def test_there_is_one_allocation_for_every_share() -> None:
    assert len(allocations(POOL)) == 3 * 2 * 4
    assert sum(a.mine for a in allocations(POOL)) == np.sum(all_shares(POOL.counts) @ POOL.my_utilities)


@pytest.mark.parametrize("utilities", [(0, 0, 0), (1, 1, 1)])
def test_a_context_that_a_side_does_not_care_about_still_has_solutions(utilities: tuple[int, int, int]) -> None:
    found = solutions(Context((1, 1, 1), utilities, (0, 0, 0)))
    assert found.nash.mine == sum(utilities)
