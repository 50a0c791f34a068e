"""Whatever comes in wrong is answered by its own error, in words that help, and changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bargaining_table import POOL, all_bits, fixed
from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.envs.negotiation_vector import NegotiationVectorEnv
from edgeworth.errors import DataError, EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch

MAKERS: dict[str, Any] = {"single": NegotiationEnv, "vector": lambda **options: NegotiationVectorEnv(3, **options)}
everywhere = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


# Options


@everywhere
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"discont": 0.9}, UnknownKey, "Unknown option 'discont'.*Did you mean 'discount'"),
        ({"partner": "boulwar"}, UnknownName, "Unknown partner 'boulwar'.*Did you mean 'boulware'"),
        ({"partner": None}, InvalidOption, "partner is None; expected a name"),
        ({"partner": 3}, InvalidOption, "partner is 3; expected a name"),
        ({"scenario": "clasic"}, UnknownName, "Unknown scenario 'clasic'.*Did you mean 'classic'"),
        ({"scenario": 5}, UnknownName, "Unknown scenario 5"),
        ({"scenario": "nowhere/mine.yaml"}, DataError, "nowhere/mine.yaml: cannot be read"),
        ({"contexts": "uniforn"}, UnknownName, "Unknown context source 'uniforn'.*Did you mean 'uniform'"),
        ({"render_mode": "ansy"}, UnknownName, "Unknown render mode 'ansy'.*Did you mean 'ansi'"),
        ({"partner_options": {"counter": "keepall"}}, UnknownName, "Unknown counter 'keepall'.*Did you mean 'keep_all'"),
        ({"partner_options": {"acept": 0.5}}, UnknownKey, "Unknown setting of partner heuristic 'acept'.*Did you mean 'accept'"),
        ({"partner_options": "accept"}, InvalidOption, "expected a mapping of settings, got 'accept'"),
        ({"partner_options": None}, InvalidOption, "expected a mapping of settings, got None"),
        ({"context_options": [1]}, InvalidOption, r"expected a mapping of settings, got \[1\]"),
        ({"opens": "partnr"}, UnknownName, "Did you mean 'partner'"),
        ({"disagree": "pass"}, UnknownName, "Did you mean 'passes'"),
        ({"on_illegal": "penality"}, UnknownName, "Did you mean 'penalty'"),
        ({"max_turns": 1}, InvalidOption, "max_turns is 1; expected 2 to 50"),
        ({"max_turns": 51}, InvalidOption, "max_turns is 51; expected 2 to 50"),
        ({"max_turns": 10.0}, InvalidOption, "max_turns is 10.0; expected a whole number"),
        ({"max_turns": "10"}, InvalidOption, "max_turns is '10'; expected a whole number"),
        ({"max_turns": True}, InvalidOption, "max_turns is True; expected a whole number"),
        ({"max_turns": None}, InvalidOption, "max_turns is None; expected a whole number"),
        ({"min_count": -1}, InvalidOption, "min_count is -1; expected 0 to 10"),
        ({"min_count": 3, "max_count": 2}, InvalidOption, "max_count is 2; expected 3 to 10"),
        ({"max_count": 11}, InvalidOption, "max_count is 11"),
        ({"max_count": 0, "min_count": 0}, InvalidOption, "max_count is 0; expected 1 to 10"),
        ({"discount": 1.1}, InvalidOption, "discount is 1.1; expected 0.0 to 1.0"),
        ({"discount": float("nan")}, InvalidOption, "discount is not a number"),
        ({"discount": "0.9"}, InvalidOption, "discount is '0.9'; expected a number"),
        ({"sudden_end": -0.1}, InvalidOption, "sudden_end is -0.1"),
        ({"insist_price": -1}, InvalidOption, "insist_price is -1"),
        ({"insist_price": float("inf")}, InvalidOption, "insist_price is inf"),
        ({"illegal_penalty": -1.0}, InvalidOption, "illegal_penalty is -1.0"),
        ({"reservation": 0.5}, InvalidOption, "reservation is 0.5; expected 2 numbers"),
        ({"reservation": (0.5,)}, InvalidOption, "expected 2 numbers"),
        ({"reservation": (0.5, 1.5)}, InvalidOption, "reservation of the partner is 1.5"),
        ({"reservation": ("a", "b")}, InvalidOption, "reservation is 'a'; expected a number"),
        ({"normalize": 1}, InvalidOption, "normalize is 1; expected true or false"),
        ({"reveal_partner_utilities": "yes"}, InvalidOption, "reveal_partner_utilities is 'yes'; expected true or false"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_by_name(make: Any, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make(**options)


@pytest.mark.parametrize("number", [0, -1, 2.5, "3", None, True], ids=str)
def test_a_wrong_number_of_environments_is_refused(number: Any) -> None:
    with pytest.raises(InvalidOption, match="number of environments"):
        NegotiationVectorEnv(number)


def test_an_unknown_autoreset_mode_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'SameStep'"):
        NegotiationVectorEnv(1, autoreset_mode="same_step")


def test_a_scenario_file_is_refused_where_it_is_wrong(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("discount: 0.9\nmax_turns: [")
    with pytest.raises(DataError, match="line 2") as caught:
        NegotiationEnv(scenario=str(path))
    assert caught.value.line == 2
    path.write_text("- 1\n- 2\n")
    with pytest.raises(DataError, match="found list"):
        NegotiationEnv(scenario=str(path))
    path.write_text("discont: 0.9\n")
    with pytest.raises(UnknownKey, match="Did you mean 'discount'"):
        NegotiationEnv(scenario=str(path))


def test_settings_made_by_hand_are_checked_like_those_from_a_file() -> None:
    with pytest.raises(InvalidOption, match="max_turns is 1"):
        BargainingConfig(max_turns=1)


# Actions


SINGLE_ACTIONS: list[tuple[Any, str]] = [
    ({"oA": (0, 0, 0)}, "expected a mapping with act_type and oA"),
    ({"act_type": 0}, "expected a mapping with act_type and oA"),
    (None, "expected a mapping with act_type and oA"),
    (3, "expected a mapping with act_type and oA"),
    ("PROPOSE", "expected a mapping with act_type and oA"),
    ((0, (0, 0, 0)), "expected a mapping with act_type and oA"),
    (np.zeros(4), "expected a mapping with act_type and oA"),
    ({"act_type": 0.0, "oA": (0, 0, 0)}, "act_type is 0.0; expected a whole number"),
    ({"act_type": True, "oA": (0, 0, 0)}, "act_type is True; expected a whole number"),
    ({"act_type": np.bool_(True), "oA": (0, 0, 0)}, "expected a whole number"),
    ({"act_type": "0", "oA": (0, 0, 0)}, "act_type is '0'; expected a whole number"),
    ({"act_type": None, "oA": (0, 0, 0)}, "act_type is None; expected a whole number"),
    ({"act_type": [0], "oA": (0, 0, 0)}, "expected a whole number"),
    ({"act_type": np.array([0]), "oA": (0, 0, 0)}, "expected a whole number"),
    ({"act_type": -1, "oA": (0, 0, 0)}, "act_type is -1; expected 0 to 4"),
    ({"act_type": 5, "oA": (0, 0, 0)}, "act_type is 5; expected 0 to 4"),
    ({"act_type": 2**70, "oA": (0, 0, 0)}, "expected 0 to 4|expected a whole number"),
    ({"act_type": 0, "oA": (0.0, 0.0, 0.0)}, "expected three whole numbers"),
    ({"act_type": 0, "oA": (True, False, True)}, "expected three whole numbers"),
    ({"act_type": 0, "oA": "000"}, "expected three whole numbers"),
    ({"act_type": 0, "oA": ("0", "0", "0")}, "expected three whole numbers"),
    ({"act_type": 0, "oA": None}, "expected three whole numbers"),
    ({"act_type": 0, "oA": (None, 0, 0)}, "expected three whole numbers"),
    ({"act_type": 0, "oA": (0, 0)}, "expected three whole numbers"),
    ({"act_type": 0, "oA": (0, 0, 0, 0)}, "expected three whole numbers"),
    ({"act_type": 0, "oA": 0}, "expected three whole numbers"),
    ({"act_type": 0, "oA": [[0, 0, 0]]}, "expected three whole numbers"),
    ({"act_type": 0, "oA": [0, [0, 0], 0]}, "expected three whole numbers"),
    ({"act_type": 0, "oA": (-1, 0, 0)}, "oA is -1,0,0; expected 0 up to the pool 2,1,3"),
    ({"act_type": 1, "oA": (3, 0, 0)}, "oA is 3,0,0; expected 0 up to the pool 2,1,3"),
    ({"act_type": 4, "oA": (0, 0, 2**40)}, "expected 0 up to the pool 2,1,3"),
    ({"act_type": 0, "oA": np.array([2**64 - 1, 0, 0], np.uint64)}, "expected 0 up to the pool 2,1,3|shares within the pool"),
    ({"act_type": 0, "oA": (2**70, 0, 0)}, "expected 0 up to the pool 2,1,3|expected three whole numbers"),
    ({"act_type": 2, "oA": (0, 0, 0)}, "AGREE needs an offer of the partner"),
]


@pytest.mark.parametrize(("action", "words"), SINGLE_ACTIONS, ids=str)
def test_a_wrong_action_is_refused_and_changes_nothing(action: Any, words: str) -> None:
    env = NegotiationEnv(opens="agent")
    env.reset(seed=0, options=fixed(POOL))
    before = all_bits(env.batch)
    with pytest.raises(IllegalAction, match=words):
        env.step(action)
    assert all_bits(env.batch) == before


ZEROS = np.zeros((3, 3), np.int64)


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ({"act_type": np.zeros(3, int)}, "expected a mapping with act_type and oA"),
        (None, "expected a mapping with act_type and oA"),
        ([{"act_type": 0, "oA": (0, 0, 0)}] * 3, "expected a mapping with act_type and oA"),
        ({"act_type": np.zeros(2, int), "oA": ZEROS}, r"act_type has shape \(2,\)"),
        ({"act_type": 0, "oA": ZEROS}, r"act_type has shape \(\)"),
        ({"act_type": np.zeros((3, 1), int), "oA": ZEROS}, r"act_type has shape \(3, 1\)"),
        ({"act_type": np.zeros(3), "oA": ZEROS}, "dtype float64; expected"),
        ({"act_type": np.zeros(3, bool), "oA": ZEROS}, "dtype bool; expected"),
        ({"act_type": ["0", "0", "0"], "oA": ZEROS}, "expected"),
        ({"act_type": None, "oA": ZEROS}, "expected"),
        ({"act_type": [0, [0], 0], "oA": ZEROS}, "act_type"),
        ({"act_type": np.zeros(3, int), "oA": np.zeros((3, 3))}, "oA has shape .* dtype float64"),
        ({"act_type": np.zeros(3, int), "oA": np.zeros((3, 2), int)}, r"oA has shape \(3, 2\)"),
        ({"act_type": np.zeros(3, int), "oA": (0, 0, 0)}, r"oA has shape \(3,\)"),
        ({"act_type": np.zeros(3, int), "oA": None}, "oA has shape"),
        ({"act_type": np.zeros(3, int), "oA": [[0, 0, 0], [0, 0, 0], [0]]}, "oA"),
        ({"act_type": np.array([0, 5, 0]), "oA": ZEROS}, "Environment 1: act_type is 5; expected 0 to 4"),
        (
            {"act_type": np.array([0, 0, 1]), "oA": np.array([[0, 0, 0], [0, 0, 0], [2, 2, 2]])},
            "Environment 2: oA is 2,2,2; expected 0 up to the pool 2,1,3",
        ),
        ({"act_type": np.array([2, 0, 0]), "oA": ZEROS}, "Environment 0: AGREE needs an offer"),
        ({"act_type": np.array([0, 0, 2**64 - 1], np.uint64), "oA": ZEROS}, "Environment 2: act_type is"),
    ],
    ids=str,
)
def test_wrong_actions_of_a_batch_are_refused_and_change_nothing(actions: Any, words: str) -> None:
    env = NegotiationVectorEnv(3, opens="agent")
    env.reset(seed=0, options=fixed(POOL))
    before = all_bits(env.batch)
    with pytest.raises(IllegalAction, match=words):
        env.step(actions)
    assert all_bits(env.batch) == before


def test_a_refusal_carries_the_rule_and_the_environment() -> None:
    env = NegotiationVectorEnv(3, opens="agent")
    env.reset(seed=0)
    with pytest.raises(IllegalAction) as refused:
        env.step({"act_type": np.array([0, 2, 0]), "oA": ZEROS})
    assert (refused.value.rule, refused.value.env_index) == ("agree_needs_an_offer", 1)
    assert isinstance(refused.value, ValueError)


# Time


@everywhere
def test_stepping_before_reset_is_refused(make: Any) -> None:
    env = make()
    action = {"act_type": 3, "oA": (0, 0, 0)} if isinstance(env, NegotiationEnv) else {"act_type": np.full(3, 3), "oA": ZEROS}
    with pytest.raises(EpisodeOver, match=r"has not begun; call reset\(\) first") as refused:
        env.step(action)
    assert isinstance(refused.value, RuntimeError)


def test_stepping_after_the_end_is_refused_and_changes_nothing() -> None:
    env = NegotiationEnv()
    env.reset(seed=0)
    env.step({"act_type": 3, "oA": (0, 0, 0)})
    before = all_bits(env.batch)
    with pytest.raises(EpisodeOver, match=r"The episode is over; call reset\(\)"):
        env.step({"act_type": 3, "oA": (0, 0, 0)})
    assert all_bits(env.batch) == before


def test_a_batch_that_has_not_begun_cannot_be_rolled_out() -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        BargainingBatch(BargainingConfig(), 3).random_rollout(1)


# Seeds and masks


@everywhere
@pytest.mark.parametrize("seed", [-1, 2**63, 2**70, 1.5, "7", True, {}], ids=str)
def test_a_bad_seed_is_refused_and_changes_nothing(make: Any, seed: Any) -> None:
    env = make()
    env.reset(seed=1)
    before = all_bits(env.batch)
    with pytest.raises(InvalidOption, match="seed"):
        env.reset(seed=seed)
    assert all_bits(env.batch) == before


def test_a_seed_that_would_count_past_the_last_one_is_refused() -> None:
    with pytest.raises(InvalidOption, match="seed"):
        NegotiationVectorEnv(3).reset(seed=2**63 - 2)


@pytest.mark.parametrize("seeds", [[1, 2], [1, 2, 3, 4], [1, 2, -3], [1, 2, "3"], [1.0, 2.0, 3.0], []], ids=str)
def test_a_bad_list_of_seeds_is_refused_and_changes_nothing(seeds: Any) -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=1)
    before = all_bits(env.batch)
    with pytest.raises(InvalidOption, match="seed"):
        env.reset(seed=seeds)
    assert all_bits(env.batch) == before


@pytest.mark.parametrize(
    "mask", [[True, False], [1, 0, 1], [False, False, False], "yes", 1, np.ones((3, 1), bool), [[True], [False, True], []]], ids=str
)
def test_a_bad_reset_mask_is_refused_and_changes_nothing(mask: Any) -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=1)
    before = all_bits(env.batch)
    with pytest.raises(InvalidOption, match="expected 3 booleans, at least one of them true"):
        env.reset(options={"reset_mask": mask})
    assert all_bits(env.batch) == before


def test_a_mistyped_reset_mask_is_answered_with_its_neighbour() -> None:
    env = NegotiationVectorEnv(3)
    env.reset(seed=1)
    with pytest.raises(UnknownKey, match="Did you mean 'reset_mask'"):
        env.reset(options={"reset_masks": np.array([True, False, False])})


def test_a_reset_mask_needs_a_batch_that_is_playing() -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\) without it first"):
        NegotiationVectorEnv(3).reset(options={"reset_mask": np.array([True, False, False])})
