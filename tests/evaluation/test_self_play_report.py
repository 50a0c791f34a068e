"""The report on self-play: measures of hand-made episodes, and who is compared with whom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgeworth.evaluation.episodes import Episodes
from edgeworth.evaluation.self_play_report import (
    GAMES,
    KINDS,
    Measured,
    Plan,
    _over,
    cell_of,
    differences,
    play_with_itself,
    response_cell,
)
from edgeworth.evaluation.study import game_of_cell
from edgeworth.games.bargaining.vocabulary import AGENT_AGREED, TIMED_OUT


def episodes(reward: list[float], partner: list[float], deals: list[tuple[int, int, int]], agreed: list[bool]) -> Episodes:
    """Talks over one unit of each type, worth 6, 3 and 1 to the agent and 1, 3 and 6 to the partner."""
    n = len(reward)
    outcome = np.where(agreed, AGENT_AGREED, TIMED_OUT).astype(np.int8)
    contexts = np.tile([1, 1, 1, 6, 3, 1, 1, 3, 6], (n, 1))
    return Episodes(
        np.array(reward), np.array(partner), np.full(n, 10.0), outcome, np.full(n, 4, np.int16), contexts, np.array(deals, np.int64)
    )


def test_talks_with_itself_are_measured_by_role_and_by_deal() -> None:
    # An efficient deal, a wasteful one that gives each side what the other wants, and none. The best Nash product is 9 × 6 = 54.
    played = episodes([9.0, 1.0, 0.0], [6.0, 4.0, 0.0], [(1, 1, 0), (0, 0, 1), (0, 0, 0)], [True, True, False])
    found = {name: number.value for name, number in play_with_itself(played, np.array([True, False, False]), (0.0, 0.0)).items() if number}
    assert found["opener_share"] == pytest.approx(0.9) and found["responder_share"] == pytest.approx(0.05)
    assert found["deal_rate"] == pytest.approx(2 / 3) and found["pareto_rate"] == pytest.approx(1 / 2)
    assert found["nash_ratio"] == pytest.approx((54 + 4) / (3 * 54))


def test_where_nobody_agrees_there_is_no_share_of_efficient_deals() -> None:
    played = episodes([0.0, 0.0], [0.0, 0.0], [(0, 0, 0)] * 2, [False, False])
    assert play_with_itself(played, np.array([True, False]), (0.0, 0.0))["pareto_rate"] is None


def test_pool_and_naive_are_compared_seed_by_seed_on_the_same_episodes() -> None:
    def agent(reward: list[float], exploited: float) -> Measured:
        row = {"exploitability_trained": {"value": exploited}, "exploitability_exact": None}
        return Measured(row, {"heuristic": episodes(reward, [0.0, 0.0], [(1, 0, 0)] * 2, [True, True])})

    found = differences([agent([6.0, 4.0], 0.1), agent([8.0, 4.0], 0.2)], [agent([5.0, 3.0], 0.3), agent([3.0, 3.0], 0.3)])
    assert found["against"]["heuristic"]["value"] == pytest.approx((2 / 20 + 6 / 20) / 2)
    assert found["exploitability_trained"]["value"] == pytest.approx(-0.15) and "exploitability_exact" not in found


def test_both_kinds_play_the_same_game_and_differ_in_the_pool_alone() -> None:
    for game in GAMES:
        pool, naive = (cell_of(kind, game).settings(0) for kind in KINDS)
        assert pool.game == naive.game and pool.ppo == naive.ppo and pool.num_train_steps == naive.num_train_steps
        assert pool.self_play is not None and naive.self_play is not None
        assert (naive.self_play.past_selves, naive.self_play.latest) == (0, 1.0) and pool.self_play.past_selves > 1
    assert [game_of_cell(cell_of("pool", game)).max_turns for game in GAMES] == [10, 3]


def test_a_best_response_meets_the_frozen_agent_alone() -> None:
    met = response_cell("pool", "short", Path("runs/agent"), Plan()).settings(0).self_play
    assert met is not None and (met.members, met.latest, met.past_selves, met.likeliest) == (("runs/agent",), 0.0, 0, True)


def test_the_interval_of_a_rate_is_cut_to_what_a_rate_can_be_and_an_unknown_one_stays_unknown() -> None:
    seeds = [{"value": 0.99}, {"value": 1.0}, {"value": 0.97}]
    wide, cut = _over(seeds, rate=False), _over(seeds, rate=True)
    assert wide is not None and cut is not None and wide["high"] > 1.0 == cut["high"] and wide["low"] == cut["low"]
    assert _over(seeds[:1], rate=True) == {"value": 0.99, "low": None, "high": None, "n": 1}
    assert _over([*seeds, None]) is None
