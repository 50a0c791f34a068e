"""Markets that a client describes without a session: shapes of outcomes, how missing parts are found, and what is said about it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_features import scales
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import SEEN
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.seeding import generator
from edgeworth.server.known_markets import completed
from running_servers import client_of, settings_in


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client_of(settings_in(tmp_path_factory.mktemp("server"))) as client:
        yield client


def refused(answer: httpx.Response) -> str:
    """The message of a request that is not understood."""
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body["code"]) == (422, "invalid_request"), body
    return str(body["message"])


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ([0.1] * 2, "three to five numbers"),
        ([0.1] * 6, "three to five numbers"),
        ([0.1, None, None, 0.1], "at least three of welfare_ratio"),
        ([0.1, 0.2, "high"], "market_outcomes.0.participation_rate is 'high'; expected a number."),
        ([1.5] * 5, "market_outcomes.0.welfare_ratio is 1.5"),
        ([1e300] * 5, "welfare_ratio"),
        ({"composite": 0.5}, "at least three of welfare_ratio"),
        ({"welfare_ratio": 0.5, "fairness_score": 0.5, "compsite": 0.2}, "compsite is not known here"),
        (
            {"welfare_ratio": 0.5, "fairness_score": 0.5, "gini_coefficient": 0.5, "composite": 0.1},
            "either fairness_score or gini_coefficient",
        ),
        ("0.5", "three to five numbers"),
        (None, "three to five numbers"),
    ],
)
def test_an_outcome_that_is_none_is_refused_with_what_was_expected(client: TestClient, outcome: Any, expected: str) -> None:
    body = {"round_number": 1, "episode_length": 10, "market_outcomes": [outcome]}
    assert expected in refused(client.post("/api/design", json=body))


@pytest.mark.parametrize(
    ("outcome", "scores"),
    [
        ({"welfare_ratio": 0.8, "fairness_score": 0.5, "participation_rate": 1.0, "composite": 0.3}, (0.8, 0.5, 1.0, 0.75, 0.3)),
        ({"welfare_ratio": 0.8, "gini_coefficient": 0.5, "participation_rate": 1.0, "composite_reward": 0.3}, (0.8, 0.5, 1.0, 0.75, 0.3)),
        ({"welfare_ratio": 0.8, "fairness_score": 0.5, "participation_rate": 1.0, "stability_score": 0.75}, (0.8, 0.5, 1.0, 0.75, 0.3)),
    ],
)
def test_a_missing_part_of_an_outcome_follows_from_the_product(outcome: dict[str, float], scores: tuple[float, ...]) -> None:
    assert completed(outcome)[0] == pytest.approx(scores)


def test_parts_that_do_not_follow_are_those_of_an_average_market() -> None:
    usual = dict(zip(SEEN, scales()[0], strict=True))
    scores, how = completed({"welfare_ratio": 0.8, "fairness_score": 0.5, "participation_rate": 0.9})
    assert scores[3] == usual["stability_score"] and scores[4] == pytest.approx(math.prod(scores[:4]))
    assert "average" in how["stability_score"] and "product" in how["composite"]
    scores, how = completed({"welfare_ratio": 0.8, "fairness_score": 0.5, "composite": 0.2})
    assert math.prod(scores[:4]) == pytest.approx(0.2) and scores[3] / scores[2] == pytest.approx(
        usual["stability_score"] / usual["participation_rate"]
    )
    assert set(how) == {"participation_rate", "stability_score"}
    assert completed({"welfare_ratio": 0.0, "fairness_score": 0.5, "composite": 0.0})[0][2] == usual["participation_rate"]
    assert max(completed({"welfare_ratio": 0.2, "fairness_score": 0.2, "participation_rate": 0.2, "composite": 1.0})[0]) == 1.0


@pytest.mark.parametrize(
    ("outcome", "missing"),
    [
        ([0.5, 0.6, 0.7], ["stability_score", "composite"]),
        ([0.5, 0.6, 0.7, 0.8], ["composite"]),
        ([0.5, 0.6, 0.7, 0.8, 0.168], []),
        ({"welfare_ratio": 0.5, "fairness_score": 0.6, "composite": 0.168}, ["participation_rate", "stability_score"]),
        (
            {"welfare_ratio": 0.5, "gini_coefficient": 0.4, "participation_rate": 0.7, "composite_reward": 0.2},
            ["fairness_score", "stability_score"],
        ),
    ],
)
def test_what_was_assumed_to_complete_an_outcome_is_in_the_reply(client: TestClient, outcome: Any, missing: list[str]) -> None:
    body = {"round_number": 1, "episode_length": 10, "market_outcomes": [outcome], "designer": "best_constant"}
    assumed = client.post("/api/design", json=body).json()["assumed"]
    assert [line.split()[2] for line in assumed] == missing


def test_the_page_of_the_published_environment_plays_unchanged(client: TestClient) -> None:
    part = {"welfare_ratio": 0.9, "gini_coefficient": 0.4, "participation_rate": 1, "composite_reward": 0.5}
    for played in (0, 1, 49):
        reply = client.post("/api/design", json={"round_number": played, "market_outcomes": [part] * played}).json()
        assert reply["round_number"] == played and "episode_length: not given, taken to be 50" in reply["assumed"]
    reply = client.post("/api/design", json={"market_outcomes": [{**part, "stability_score": 0.9, "clearing_price_mean": 2.0}]}).json()
    assert reply["round_number"] == 1 and "round_number: not given, taken to be 1" in reply["assumed"]


# The default designer


def published(*scores: float) -> dict[str, float]:
    """An outcome as the page of the published environment sends it."""
    welfare, fairness, participation, stability = scores
    composite = welfare * fairness * participation * stability
    return {"welfare_ratio": welfare, "gini_coefficient": 1 - fairness, "participation_rate": participation, "composite_reward": composite}


MARKETS = (
    (),
    ((0.95, 0.9, 1.0, 0.95),),
    ((0.5, 0.8, 0.9, 0.8),),
    ((0.9, 0.3, 0.9, 0.9),),
    ((0.9, 0.8, 0.3, 0.7),),
    ((0.9, 0.8, 0.9, 0.9), (0.95, 0.85, 1.0, 0.95)),
    ((0.9, 0.8, 0.9, 0.9), (0.5, 0.5, 0.5, 0.6), (0.3, 0.3, 0.9, 0.7)),
)
SHAPES = {
    "published": lambda scores: published(*scores),
    "three": lambda scores: scores[:3],
    "four": lambda scores: scores,
    "five": lambda scores: (*scores, math.prod(scores)),
    "named": lambda scores: dict(zip(SCORES, scores, strict=False)),
}


def asked(client: TestClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/api/design", json=body)
    assert answer.status_code == 200, answer.json()
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_different_histories_get_different_mechanisms_from_the_trained_designer(client: TestClient, shape: str) -> None:
    replies = [asked(client, market_outcomes=[SHAPES[shape](scores) for scores in market]) for market in MARKETS]
    assert {reply["designer"] for reply in replies} == {"policy"}
    assert len({str(reply["mechanism"]) for reply in replies}) >= 5


def test_all_shapes_of_one_history_get_one_mechanism(client: TestClient) -> None:
    for market in MARKETS:
        whole = {
            str(asked(client, market_outcomes=[SHAPES[shape](scores) for scores in market])["mechanism"])
            for shape in ("four", "five", "named")
        }
        assert len(whole) == 1


def test_what_the_policy_fills_in_is_said(client: TestClient) -> None:
    rows = [[0.9, 0.8, 0.9, 0.9, 0.5832]] * 3
    assert asked(client, round_number=3, episode_length=10, market_outcomes=rows[1:])["assumed"] == [
        "n_agents: not given, taken to be 8",
        "market_outcomes: given for 2 of 3 recent steps; average ones are assumed for the rest",
        "recent_proxies: given for 0 of 3 recent steps; average ones, with entrants by the participation rate, are assumed for the rest",
        "recent_mechanisms: given for 0 of 3 recent steps; its own are assumed for the rest",
    ]
    assert asked(client, round_number=0, episode_length=10, n_agents=8, market_outcomes=[])["assumed"] == []


def test_mechanisms_that_are_not_given_are_those_that_were_answered(client: TestClient) -> None:
    outcomes, answered = [[0.9, 0.8, 0.9], [0.6, 0.5, 0.9], [0.8, 0.7, 0.8]], []
    for played in range(4):
        answered.append(asked(client, market_outcomes=outcomes[:played])["mechanism"])
    assert asked(client, market_outcomes=outcomes, recent_mechanisms=answered[:3])["mechanism"] == answered[3]
    others = [{**mechanism, "auction_type": "first_price", "reserve_price": 0.9} for mechanism in answered[:3]]
    assert asked(client, market_outcomes=outcomes, recent_mechanisms=others)["mechanism"] != answered[3]


def test_proxies_and_the_number_of_bidders_change_the_mechanism(client: TestClient) -> None:
    body = {"market_outcomes": [[0.9, 0.8, 0.9, 0.9, 0.5832]]}
    ring = dict.fromkeys(PROXIES, 0.0) | {"bid_mean": 0.3, "bid_variation": 1.5, "cover_share": 0.6, "winner_gap": 0.3, "entrants": 8.0}
    seen = {str(asked(client, **body, **more)["mechanism"]) for more in ({}, {"population_proxies": ring}, {"n_agents": 3})}
    assert len(seen) == 3


def test_a_market_described_in_full_is_designed_as_the_session(client: TestClient) -> None:
    seen = client.post("/reset", json={"session_id": "demo", "seed": 3, "stage": "4", "episode_length": 8}).json()["observation"]
    for _ in range(8):
        told, known = asked(client, **seen), asked(client, session_id="demo")
        assert told["mechanism"] == known["mechanism"] and told["assumed"] == known["assumed"] == []
        seen = client.post("/step", json={"session_id": "demo", "action": known["mechanism"]}).json()["observation"]


def test_entrants_are_the_participation_rate_times_the_bidders() -> None:
    batch = MarketBatch(AuctionConfig(stage="mixed", n_agents=5), 50)
    batch.seed(0)
    batch.reset()
    outcomes = batch.step(random_mechanisms(generator(0), 50))
    assert np.allclose(outcomes["participation_rate"] * 5, outcomes["entrants"])
