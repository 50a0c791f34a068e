"""Where contexts come from: the Lewis table, uniform draws, and the ones a caller fixes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bargaining_table import POOL, all_bits, begun, fixed, looks_like_chance
from edgeworth import config
from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import InvalidContext, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining import vocabulary
from edgeworth.games.bargaining.contexts import Context, lewis_table

# Lewis


def test_the_lewis_table_holds_5295_different_contexts_that_all_obey_its_rules() -> None:
    contexts = {Context.from_row(row) for row in lewis_table()}
    assert len(lewis_table()) == len(contexts) == 5295
    assert all(context.is_lewis() for context in contexts)


def test_the_lewis_table_is_fair_to_both_sides() -> None:
    contexts = {Context.from_row(row) for row in lewis_table()}
    assert contexts == {Context(c.counts, c.partner_utilities, c.my_utilities) for c in contexts}


@pytest.mark.parametrize(
    "context",
    [
        Context((1, 1, 2), (2, 2, 3), (2, 2, 3)),  # four items
        Context((0, 2, 3), (0, 2, 2), (0, 2, 2)),  # a type that is missing
        Context((1, 2, 2), (1, 2, 2), (2, 2, 2)),  # worth nine to the agent
        Context((1, 2, 2), (0, 1, 4), (0, 4, 1)),  # a type that nobody values
        Context((1, 2, 2), (10, 0, 0), (0, 1, 4)),  # nothing that both value
    ],
    ids=str,
)
def test_a_context_that_breaks_a_lewis_rule_is_told_apart(context: Context) -> None:
    assert not context.is_lewis()


def test_lewis_contexts_are_drawn_evenly_from_the_table() -> None:
    batch = begun(40_000, seed=1, contexts="lewis")
    rows = np.concatenate([batch.state["counts"], batch.state["utilities"].reshape(-1, 6)], axis=1)
    place = {tuple(row): i for i, row in enumerate(lewis_table().tolist())}
    drawn = np.array([place[tuple(row)] for row in rows.tolist()])
    assert looks_like_chance(np.bincount(drawn * 60 // 5295, minlength=60), np.bincount(np.arange(5295) * 60 // 5295).astype(float))


# Uniform


def test_uniform_counts_and_utilities_are_drawn_evenly_from_their_ranges() -> None:
    state = begun(20_000, seed=2).state
    for k in range(3):
        assert looks_like_chance(np.bincount(state["counts"][:, k], minlength=5)[1:])
        for side in range(2):
            assert looks_like_chance(np.bincount(state["utilities"][:, side, k], minlength=11))


def test_uniform_draws_are_independent_of_each_other() -> None:
    state = begun(20_000, seed=3).state
    mine, theirs = state["utilities"][:, 0].astype(int), state["utilities"][:, 1].astype(int)
    for one, other in ((mine[:, 0], mine[:, 1]), (mine[:, 0], theirs[:, 0]), (mine[:, 2], theirs[:, 1])):
        assert looks_like_chance(np.bincount(one * 11 + other, minlength=121))
    assert looks_like_chance(np.bincount((state["counts"][:, 0] - 1) * 11 + mine[:, 0], minlength=44))


def test_min_count_and_max_count_bound_uniform_pools() -> None:
    counts = begun(3_000, min_count=2, max_count=7).state["counts"]
    assert (counts.min(), counts.max()) == (2, 7)


def test_max_count_alone_sizes_the_spaces_of_other_sources() -> None:
    env = NegotiationEnv(contexts="lewis", max_count=9)
    assert env.action_space["oA"].nvec.tolist() == [10, 10, 10]
    with pytest.raises(InvalidContext, match="the contexts hold up to 4 units of a type; raise it"):
        NegotiationEnv(contexts="lewis", max_count=3)


def test_a_normalised_context_is_worth_something_to_both_sides() -> None:
    batch = begun(20_000, seed=4, normalize=True, max_count=1)
    assert batch.state["maximum"].min() > 0
    assert np.isfinite(batch.features()).all()


def test_types_that_may_be_missing_cannot_be_normalised() -> None:
    with pytest.raises(InvalidOption, match="set min_count to 1 or more"):
        begun(1, normalize=True, min_count=0)


def test_a_pool_that_is_drawn_holds_at_least_one_item() -> None:
    assert begun(20_000, seed=5, min_count=0, max_count=1).state["counts"].sum(axis=1).min() > 0


# Fixed


def test_a_fixed_context_is_played_in_the_single_environment() -> None:
    env = NegotiationEnv()
    observation, _ = env.reset(seed=1, options=fixed(POOL))
    assert env.context == POOL
    assert observation["counts"].tolist() == list(POOL.counts) and observation["my_utilities"].tolist() == list(POOL.my_utilities)


def test_a_fixed_context_lasts_one_episode() -> None:
    env = NegotiationEnv()
    env.reset(seed=1, options=fixed(POOL))
    env.reset()
    assert env.context != POOL


def test_a_fixed_context_does_not_disturb_the_episodes_after_it() -> None:
    fixed_first, drawn = NegotiationEnv(), NegotiationEnv()
    fixed_first.reset(seed=1, options=fixed(POOL))
    drawn.reset(seed=1)
    fixed_first.reset()
    drawn.reset()
    assert fixed_first.context == drawn.context


def test_a_fixed_context_may_leave_a_type_out() -> None:
    env = NegotiationEnv()
    env.reset(options=fixed(Context((0, 0, 1), (1, 1, 1), (1, 1, 1))))
    assert env.batch.state["counts"].tolist() == [[0, 0, 1]]


def test_a_vector_environment_plays_one_fixed_context_everywhere_or_one_each() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(options=fixed(POOL))
    assert env.contexts() == [POOL] * 3
    own = [Context((1, 1, n), (1, 2, n), (3, 2, 1)) for n in (1, 2, 3)]
    env.reset(options={key: [fixed(context)[key] for context in own] for key in fixed(POOL)})
    assert env.contexts() == own


def test_a_fixed_context_reaches_only_the_environments_that_are_reset() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=0)
    before = env.contexts()
    env.reset(options={**fixed(POOL), "reset_mask": np.array([False, True, False])})
    assert env.contexts() == [before[0], POOL, before[2]]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"counts": (2, 1, -1)}, InvalidContext, "expected numbers from 0 to 10"),
        ({"counts": (2, 1, 11)}, InvalidContext, "expected numbers from 0 to 10"),
        ({"counts": (2, 1, 5)}, InvalidContext, "raise `max_count`"),
        ({"counts": (0, 0, 0)}, InvalidContext, "expected at least one item to divide"),
        ({"counts": (2, 1)}, InvalidContext, "expected three whole numbers"),
        ({"counts": (2.0, 1.0, 3.0)}, InvalidContext, "expected three whole numbers"),
        ({"counts": (True, True, True)}, InvalidContext, "expected three whole numbers"),
        ({"counts": "213"}, InvalidContext, "expected three whole numbers"),
        ({"counts": None}, InvalidContext, "expected three whole numbers"),
        ({"counts": [[1, 1, 1], [1, 1, 1]]}, InvalidContext, "expected three whole numbers"),
        ({"counts": [1, [1, 1], 1]}, InvalidContext, "expected three whole numbers"),
        ({"my_utilities": (0, 0, 11)}, InvalidContext, "my_utilities is .* expected numbers from 0 to 10"),
        ({"partner_utilities": (-1, 0, 1)}, InvalidContext, "partner_utilities is .* expected numbers from 0 to 10"),
        ({"count": (1, 1, 1)}, UnknownKey, "Did you mean 'counts'"),
        ({"my_utilites": (1, 1, 1)}, UnknownKey, "Did you mean 'my_utilities'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [NegotiationEnv, lambda: NegotiationVectorEnv(3)], ids=["single", "vector"])
def test_a_fixed_context_that_no_game_can_start_from_is_refused_and_nothing_changes(
    make: Any, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    env = make()
    env.reset(seed=3)
    before = all_bits(env.batch)
    with pytest.raises(error, match=words):
        env.reset(seed=4, options={**fixed(POOL), **change})
    assert all_bits(env.batch) == before


def test_a_fixed_context_needs_all_three_parts() -> None:
    with pytest.raises(InvalidContext, match="give counts but not my_utilities, partner_utilities"):
        NegotiationEnv().reset(options={"counts": (1, 1, 1)})


def test_a_normalised_game_refuses_a_side_that_values_nothing() -> None:
    worthless = Context((1, 1, 0), (1, 1, 1), (0, 0, 10))
    with pytest.raises(InvalidContext, match="cannot be normalised"):
        NegotiationEnv(normalize=True).reset(options=fixed(worthless))


def test_options_of_wrappers_are_left_alone() -> None:
    NegotiationEnv().reset(options={"video": True})


@pytest.mark.parametrize("bad", [(1, 2), (1, 2, 3, 4), (1.5, 2, 3), ("a", "b", "c"), (1, 2, 11), (-1, 0, 0), None], ids=str)
def test_a_context_checks_its_own_numbers(bad: Any) -> None:
    with pytest.raises(InvalidContext, match="counts is"):
        Context(bad, (1, 1, 1), (1, 1, 1))


def test_a_context_needs_something_to_divide() -> None:
    with pytest.raises(InvalidContext, match="at least one item"):
        Context((0, 0, 0), (1, 1, 1), (1, 1, 1))


def test_an_unknown_source_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"Unknown context source 'lewes'.*Did you mean 'lewis'"):
        NegotiationEnv(contexts="lewes")


def test_a_source_refuses_options_it_does_not_have() -> None:
    with pytest.raises(UnknownKey, match="'path'"):
        NegotiationEnv(contexts="lewis", context_options={"path": "somewhere"})


def test_naming_the_scenarios_own_partner_keeps_its_options_and_another_drops_them() -> None:
    assert BargainingConfig.from_options("lewis_keep_all", partner="heuristic").partner_options == {"counter": "keep_all"}
    assert BargainingConfig.from_options("lewis_keep_all", partner="boulware").partner_options == {}


def test_the_limits_of_the_settings_are_those_of_the_rules() -> None:
    assert (config.TURN_RANGE[1], config.COUNT_RANGE[1]) == (vocabulary.TURN_LIMIT, vocabulary.COUNT_LIMIT)
