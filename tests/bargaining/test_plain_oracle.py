"""The compiled rules repeat, to the last bit, what a plain Python environment written from the docs does."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from benchmarks.numpy_batch import NumpyBatch
from benchmarks.oracle import cases, compare
from benchmarks.plain_env import CounterChance, PlainNegotiationEnv

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import EdgeworthError, IllegalAction
from edgeworth.games.bargaining import rules
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import lewis_table
from edgeworth.games.bargaining.vocabulary import Outcome

QUICK, LONG = 2_000, 50_000
CASES = dict(cases())

EVERYTHING = {
    "disagree": "passes",
    "on_illegal": "penalty",
    "illegal_penalty": 1.3,
    "discount": 0.93,
    "sudden_end": 0.1,
    "reservation": (0.2, 0.35),
    "insist_price": 0.3,
    "normalize": True,
    "reveal_partner_utilities": True,
}
MIXED_POPULATION = {
    "members": {
        "random": 1.0,
        "hard": {"partner": "boulware", "floor": 0.2, "weight": 3.0, "exponent": 2.0},
        "soft": {"partner": "boulware", "floor": 0.7},
    }
}
SWEEP: dict[str, dict[str, Any]] = {
    "discount": {"discount": 0.9},
    "discount to nothing": {"discount": 0.0},
    "sudden end": {"sudden_end": 0.3},
    "certain sudden end": {"sudden_end": 1.0, "partner": "boulware"},
    "reservation": {"reservation": (0.3, 0.6)},
    "reservation between basis points": {"reservation": (1 / 3, 0.60005), "partner": "conceder"},
    "reservation of everything": {"reservation": (1.0, 1.0), "partner": "tit_for_tat"},
    "insist price": {"insist_price": 0.7},
    "insist price of both sides": {"insist_price": 0.7, "partner": "random"},
    "normalize": {"normalize": True},
    "normalize and discount": {"normalize": True, "discount": 0.37, "partner": "linear"},
    "normalize and reveal": {"normalize": True, "reveal_partner_utilities": True},
    "reveal": {"reveal_partner_utilities": True},
    "utility-aware counter": {"partner_options": {"counter": "utility_aware"}},
    "utility-aware above reservation": {"partner_options": {"counter": "utility_aware", "accept": 0.333}, "reservation": (0.0, 0.5)},
    "keep-all counter": {"partner_options": {"counter": "keep_all"}},
    "thresholds between basis points": {"partner_options": {"accept": 0.33335, "accept_insist": 0.12345}},
    "accepts anything": {"partner_options": {"accept": 0.0, "accept_insist": 0.0}},
    "partner opens": {"opens": "partner"},
    "agent opens": {"opens": "agent"},
    "random partner opens": {"opens": "partner", "partner": "random"},
    "lewis contexts": {"contexts": "lewis", "partner": "population"},
    "lewis contexts normalized": {"contexts": "lewis", "normalize": True, "max_count": 7},
    "types that may be missing": {"min_count": 0},
    "one item or none": {"min_count": 0, "max_count": 1},
    "large pools": {"min_count": 7, "max_count": 10, "partner": "linear"},
    "two moves": {"max_turns": 2, "partner": "conceder"},
    "two moves, partner opens": {"max_turns": 2, "partner": "boulware", "opens": "partner"},
    "three moves": {"max_turns": 3, "partner": "tit_for_tat"},
    "fifty moves": {"max_turns": 50, "partner": "conceder", "disagree": "passes"},
    "no patience": {"partner": "walk_away", "partner_options": {"patience": 0}},
    "walks away by END": {
        "partner": "walk_away",
        "partner_options": {"patience": 2, "counter": "utility_aware"},
        "disagree": "passes",
    },
    "other floor and exponent": {"partner": "boulware", "partner_options": {"floor": 0.12345, "exponent": 0.77}},
    "held-out population": {"partner": "population", "partner_options": {"split": "held_out"}},
    "population with options": {"partner": "population", "partner_options": MIXED_POPULATION},
    **{f"passes, {partner}": {"disagree": "passes", "partner": partner} for partner in catalog.PARTNERS},
    **{f"penalty, {partner}": {"on_illegal": "penalty", "illegal_penalty": 1.3, "partner": partner} for partner in catalog.PARTNERS},
    **{f"everything, {partner}": {**EVERYTHING, "partner": partner} for partner in catalog.PARTNERS},
}


def assert_same_play(config: BargainingConfig, transitions: int, seed: int) -> None:
    result = compare(config, transitions, seed)
    assert result.mismatches == 0, "\n".join(result.first_mismatches)
    assert result.transitions >= transitions
    assert result.episodes > 0


@pytest.mark.parametrize("case", CASES)
def test_every_partner_and_scenario_plays_as_the_plain_environment_does(case: str) -> None:
    assert_same_play(CASES[case], QUICK, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_partner_and_scenario_plays_as_the_plain_environment_does_at_length(case: str) -> None:
    assert_same_play(CASES[case], LONG, seed=1_000)


@pytest.mark.parametrize("case", SWEEP)
def test_every_option_changes_the_compiled_rules_as_it_changes_the_plain_ones(case: str) -> None:
    assert_same_play(BargainingConfig.from_options(**SWEEP[case]), QUICK, seed=7)


@pytest.mark.parametrize(
    "other",
    [{"discount": 0.9}, {"max_turns": 9}, {"insist_price": 1e-9}, {"sudden_end": 0.01}, {"partner_options": {"accept": 0.5501}}],
    ids=str,
)
def test_the_comparison_notices_rules_that_differ(other: dict[str, Any]) -> None:
    assert compare(BargainingConfig(), 5_000, plain_config=BargainingConfig.from_options(**other)).mismatches > 0


@pytest.mark.parametrize(
    ("act", "share"), [(2, (0, 0, 0)), (5, (0, 0, 0)), (-1, (0, 0, 0)), (0, (9, 0, 0)), (1, (0, -1, 0)), (4, (0, 0, 9))]
)
def test_both_refuse_an_illegal_action_and_stay_as_they_were(act: int, share: tuple[int, int, int]) -> None:
    config = BargainingConfig(opens="agent")
    batch, plain = BargainingBatch(config, 1), PlainNegotiationEnv(config, make_chance=CounterChance)
    batch.seed(3)
    batch.reset()
    plain.reset(seed=3)
    before = batch.state.copy()
    with pytest.raises(IllegalAction):
        batch.step(np.array([act]), np.array([share]), rules.SAME_STEP)
    with pytest.raises(IllegalAction):
        plain.step({"act_type": act, "oA": share})
    assert all((before[name] == batch.state[name]).all() for name in before.dtype.names or ()), (
        "field by field, since padding is not copied"
    )
    assert plain.negotiation is not None and plain.negotiation.history == []


def test_the_lewis_table_holds_exactly_the_contexts_of_the_docs() -> None:
    pools = [p for p in itertools.product(range(1, 5), repeat=3) if 5 <= sum(p) <= 7]
    expected = set()
    for pool in pools:
        worth_ten = [u for u in itertools.product(range(11), repeat=3) if np.dot(pool, u) == 10]
        for mine, theirs in itertools.product(worth_ten, repeat=2):
            valued = [(a > 0) + (b > 0) for a, b in zip(mine, theirs, strict=True)]
            if min(valued) >= 1 and max(valued) == 2:
                expected.add((*pool, *mine, *theirs))
    rows = [tuple(row) for row in lewis_table().tolist()]
    assert len(rows) == len(set(rows)) == 5295
    assert set(rows) == expected


@pytest.mark.parametrize("options", [{}, {"normalize": True, "reveal_partner_utilities": True}, {"partner": "tit_for_tat"}], ids=str)
def test_the_single_environment_shows_what_the_plain_one_shows(options: dict[str, Any]) -> None:
    env = NegotiationEnv(**options)
    plain = PlainNegotiationEnv(BargainingConfig.from_options(**options), make_chance=CounterChance)
    assert env.observation_space == plain.observation_space
    assert_same_pair(env.reset(seed=5), plain.reset(seed=5))
    for _ in range(300):
        action = plain.random_action()
        ours, theirs = env.step(action), plain.step(action)
        assert ours[1:4] == theirs[1:4]
        assert_same_pair((ours[0], ours[4]), (theirs[0], theirs[4]))
        if ours[2]:
            assert_same_pair(env.reset(), plain.reset())


def assert_same_pair(ours: tuple[dict[str, Any], dict[str, Any]], plain: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for mine, other in zip(ours, plain, strict=True):
        assert mine.keys() == other.keys()
        for key in mine:
            if isinstance(mine[key], np.ndarray):
                np.testing.assert_array_equal(mine[key], other[key], strict=True)
            else:
                assert mine[key] == other[key], key


@pytest.mark.parametrize("counter", ["leave_one", "keep_all"])
def test_the_numpy_batch_plays_the_same_game(counter: str) -> None:
    size, steps = 64, 60
    batch = NumpyBatch(size, counter, seed=11)
    batch.reset()
    plains = [plain_at(batch, slot, counter) for slot in range(size)]
    stubborn = np.arange(size) % 2 == 1
    for _ in range(steps):
        acts, shares = batch.random_actions()
        acts[stubborn & (acts > 1)] = 0
        batch.step(acts, shares)
        for slot, plain in enumerate(plains):
            observation, reward, terminated, _, info = plain.step({"act_type": acts[slot], "oA": shares[slot]})
            assert (batch.rewards[slot], bool(batch.terminated[slot])) == (reward, terminated)
            assert_shown(batch.final_views[slot], observation, info)
            if terminated:
                assert Outcome(int(batch.outcomes[slot])).name == info["outcome"]
                assert batch.partner_rewards[slot] == info["partner_reward"]
                plains[slot] = plain_at(batch, slot, counter)
            else:
                assert_shown(batch.views[slot], observation, info)
                np.testing.assert_array_equal(batch.masks[slot], info["action_mask"])


def plain_at(batch: NumpyBatch, slot: int, counter: str) -> PlainNegotiationEnv:
    """A plain environment at the start of the episode that a slot of the NumPy batch has just begun."""
    opened = bool(batch.masks[slot, 2])
    config = BargainingConfig(opens="partner" if opened else "agent", partner_options={"counter": counter})
    plain = PlainNegotiationEnv(config)
    facts = batch.facts[:, slot]
    observation, info = plain.reset(options={"counts": facts[:3], "my_utilities": facts[3:6], "partner_utilities": facts[21:24]})
    assert_shown(batch.views[slot], observation, info)
    return plain


def assert_shown(view: Any, observation: dict[str, Any], info: dict[str, Any]) -> None:
    shown = [observation["counts"], observation["my_utilities"], observation["partner_utilities"]]
    shown += [observation["last_partner_offer_for_me"], info["my_last_offer"]]
    numbers = [observation["last_partner_act"], observation["turns_remaining"], info["partner_has_spoken"]]
    assert view[:18].tolist() == [*np.concatenate(shown).tolist(), *numbers]


def test_the_numpy_batch_refuses_an_illegal_action() -> None:
    batch = NumpyBatch(8, seed=0)
    batch.reset()
    with pytest.raises(EdgeworthError):
        batch.step(np.zeros(8, np.int64), np.full((8, 3), 9))
