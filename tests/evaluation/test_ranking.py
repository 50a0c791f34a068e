"""Rankings of tournaments: games counted once, opponents left out, and α-rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeworth.config import BargainingConfig
from edgeworth.evaluation.ranking import alpha_rank, distinct_payoffs, mean_scores, places_left_out, places_of, robust_ranking


def scenario(name: str, shares: dict[str, dict[str, float]]) -> dict[str, Any]:
    pairs = [
        {"agent": row, "partner": column, "agent_share": {"value": shares[row][column]}, "partner_share": {"value": shares[column][row]}}
        for row in shares
        for column in shares
    ]
    return {"scenario": name, "scores": [{"name": row} for row in shares], "pairs": pairs}


GAMES = {name: BargainingConfig.from_options(name) for name in ("classic", "walkaway", "one_shot")}
ONE = {"a": {"a": 0.5, "b": 0.6, "c": 0.6}, "b": {"a": 0.4, "b": 0.5, "c": 0.9}, "c": {"a": 0.3, "b": 0.2, "c": 0.5}}
OTHER = {row: dict.fromkeys(ONE, 0.0) for row in ONE}


def test_scenarios_that_differ_only_in_their_own_partner_are_one_game() -> None:
    scenarios = [scenario("classic", ONE), scenario("walkaway", ONE), scenario("one_shot", OTHER)]
    names, payoffs = distinct_payoffs(scenarios, GAMES)
    assert names == ["a", "b", "c"] and payoffs[0, 1] == pytest.approx(0.3)


def test_the_mean_leaves_out_what_a_negotiator_gets_from_itself() -> None:
    assert mean_scores(np.array([[9.0, 0.2], [0.4, 9.0]])).tolist() == [0.2, 0.4]


def test_a_weak_opponent_that_one_negotiator_exploits_moves_its_place_when_left_out() -> None:
    best = robust_ranking({"scenarios": [scenario("classic", ONE)]}, GAMES)[0]
    assert (best["name"], best["place"], best["left_out"]) == ("b", 1, [1, 2])
    assert places_left_out(np.array([[ONE[row][column] for column in ONE] for row in ONE])) == [[1, 1], [1, 2], [2, 2]]


def test_equal_scores_share_a_place() -> None:
    assert places_of(np.array([0.5, 0.7, 0.5])).tolist() == [2, 1, 2]


def test_alpha_rank_gives_a_cycle_equal_parts_and_the_dominated_nothing() -> None:
    cycle = np.array([[0.5, 0.9, 0.1, 0.9], [0.1, 0.5, 0.9, 0.9], [0.9, 0.1, 0.5, 0.9], [0.0, 0.0, 0.0, 0.5]])
    assert alpha_rank(cycle, 10.0) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-3)


def test_alpha_rank_prefers_those_who_do_well_among_themselves() -> None:
    demanding, modest, fair = [0.0, 0.9, 0.0], [0.1, 0.5, 0.5], [0.0, 0.5, 0.6]
    masses = alpha_rank(np.array([demanding, modest, fair]), 10.0)
    assert masses[2] > 0.5 > masses[0]
