"""Two learners at one table: PettingZoo's own tests, turn order and pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from bargaining_table import POOL, fixed
from edgeworth import bargaining_aec, bargaining_parallel
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption, UnknownKey, UnknownName
from edgeworth.games.bargaining.joint_actions import encode
from edgeworth.games.bargaining.vocabulary import Act

OPTIONS: list[dict[str, Any]] = [{}, {"normalize": True, "reveal_partner_utilities": True}, {"disagree": "passes", "contexts": "lewis"}]


def joint(act: Act, *share: int, max_count: int = 4) -> int:
    a, b, c = share or (0, 0, 0)
    return encode(int(act), (a, b, c), max_count)


def seated(**options: Any) -> Any:
    env = bargaining_aec(**{"opens": "agent", **options})
    env.reset(seed=0, options=fixed(POOL))
    return env


def talk(env: Any, *actions: int) -> None:
    for action in actions:
        env.step(action)


# PettingZoo's own tests; it warns of observations that are dictionaries, as those with a mask are

pytestmark = pytest.mark.filterwarnings("ignore:Observation")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros")  # after the end nothing is legal
def test_pettingzoo_accepts_the_game_in_turns(options: dict[str, Any]) -> None:
    api_test(bargaining_aec(**options), num_cycles=200)


def test_pettingzoo_finds_the_game_in_turns_repeatable() -> None:
    seed_test(bargaining_aec, num_cycles=50)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_pettingzoo_accepts_the_parallel_game(options: dict[str, Any]) -> None:
    parallel_api_test(bargaining_parallel(**options), num_cycles=200)


def test_pettingzoo_finds_the_parallel_game_repeatable() -> None:
    parallel_seed_test(bargaining_parallel, num_cycles=50)


# The game


def test_the_players_take_turns_from_the_one_that_opens() -> None:
    for opens, first in (("agent", "player_0"), ("partner", "player_1")):
        env = seated(opens=opens)
        order = []
        for _ in range(5):
            order.append(env.agent_selection)
            env.step(joint(Act.PROPOSE, 2, 1, 3))
        assert order == [first, *[p for _ in range(2) for p in (sorted({"player_0", "player_1"} - {first})[0], first)]]


def test_an_accepted_offer_pays_each_player_its_own_points() -> None:
    env = seated()
    talk(env, joint(Act.PROPOSE, 0, 1, 1), joint(Act.AGREE))
    assert env.rewards == {"player_0": 6.0, "player_1": 6.0}
    assert env.terminations == {"player_0": True, "player_1": True} and not any(env.truncations.values())
    assert env.infos["player_0"] == env.infos["player_1"] == {"outcome": "PARTNER_AGREED", "deal": (0, 1, 1)}


def test_rewards_are_the_payoffs_of_the_rules_less_what_insisting_cost() -> None:
    env = seated(insist_price=0.5)
    talk(env, joint(Act.INSIST, 2, 1, 3))
    assert env.rewards == {"player_0": -0.5, "player_1": 0.0}
    talk(env, joint(Act.INSIST, 1, 0, 2))
    assert env.rewards == {"player_0": 0.0, "player_1": -0.5}
    talk(env, joint(Act.AGREE))
    assert [env.rewards[p] for p in env.possible_agents] == env.batch.state["payoff"][0].tolist() == [7.0, 4.0]


def test_cumulative_rewards_reach_both_players_through_last() -> None:
    env = seated(insist_price=0.5)
    talk(env, joint(Act.INSIST, 0, 1, 1), joint(Act.AGREE))
    received = {}
    for player in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        received[player] = reward
        assert terminated
        env.step(None)
    assert received == {"player_0": 5.5, "player_1": 6.0}
    assert env.agents == []


def test_each_player_sees_the_table_from_its_own_seat() -> None:
    env = seated()
    talk(env, joint(Act.PROPOSE, 0, 1, 1))
    mine, theirs = env.observe("player_0"), env.observe("player_1")
    assert (mine["my_utilities"].tolist(), theirs["my_utilities"].tolist()) == ([1, 5, 1], [2, 3, 1])
    assert theirs["last_partner_offer_for_me"].tolist() == [2, 0, 2]
    assert (mine["last_partner_act"], theirs["last_partner_act"]) == (Act.DISAGREE, Act.PROPOSE)
    assert not mine["partner_utilities"].any() and not theirs["partner_utilities"].any()


def test_only_the_player_who_heard_an_offer_may_agree() -> None:
    env = seated()
    talk(env, joint(Act.PROPOSE, 0, 1, 1))
    agree = joint(Act.AGREE)
    assert (env.observe("player_0")["action_mask"][agree], env.observe("player_1")["action_mask"][agree]) == (0, 1)


def test_nobody_speaks_for_the_second_player() -> None:
    env = seated(opens="partner")
    assert env.batch.state["turn"][0] == 0 and env.agent_selection == "player_1"


def test_the_parallel_game_does_not_read_the_player_whose_turn_it_is_not() -> None:
    env = bargaining_parallel(opens="agent")
    env.reset(seed=0, options=fixed(POOL))
    _, _, _, _, infos = env.step({"player_0": joint(Act.PROPOSE, 0, 1, 1), "player_1": joint(Act.DISAGREE)})
    assert infos["player_0"]["active_agent"] == infos["player_1"]["active_agent"] == "player_1"
    _, rewards, terminations, _, _ = env.step({"player_0": joint(Act.DISAGREE), "player_1": joint(Act.AGREE)})
    assert rewards == {"player_0": 6.0, "player_1": 6.0} and all(terminations.values())


def test_the_talks_can_be_rendered() -> None:
    env = seated(render_mode="ansi")
    talk(env, joint(Act.PROPOSE, 0, 1, 1))
    assert "1  agent   PROPOSE     1 hat, 1 ball" in env.render()


@pytest.mark.parametrize("action", [-1, 377, 1.0, "0", True, None], ids=str)
def test_what_is_no_action_is_refused_and_changes_nothing(action: Any) -> None:
    env = seated()
    with pytest.raises(IllegalAction):
        env.step(action)
    assert env.batch.state["turn"][0] == 0 and env.agent_selection == "player_0"
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}


def test_a_number_that_is_no_action_is_told_the_range_of_actions() -> None:
    for action in (400, 1.5):
        with pytest.raises(IllegalAction, match="0 to 376"):
            seated().step(action)


def test_an_illegal_move_is_refused_and_changes_nothing() -> None:
    env = seated()
    with pytest.raises(IllegalAction) as refused:
        env.step(joint(Act.AGREE))
    assert refused.value.rule == "agree_needs_an_offer"
    assert env.batch.state["turn"][0] == 0 and env.agent_selection == "player_0"


def test_stepping_before_reset_is_refused() -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        bargaining_aec().step(0)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", True], ids=str)
def test_a_bad_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidOption, match="expected a whole number from 0"):
        bargaining_aec().reset(seed=seed)


def test_unknown_options_and_render_modes_are_answered_with_their_neighbours() -> None:
    with pytest.raises(UnknownKey, match="Did you mean 'discount'"):
        bargaining_aec(discont=0.9)
    with pytest.raises(UnknownName, match="Did you mean 'ansi'"):
        bargaining_parallel(render_mode="ansii")


def test_observations_are_fresh_arrays() -> None:
    env = seated()
    seen = env.observe("player_0")
    kept = {key: np.copy(value) for key, value in seen.items()}
    talk(env, joint(Act.PROPOSE, 2, 1, 3))
    for key, value in seen.items():
        np.testing.assert_array_equal(value, kept[key])
