"""Both games over HTTP: the verbs, what they answer, and that sessions play what the environments play."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from edgeworth.envs.daedalus import DaedalusEnv
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.games.auction.action import DaedalusAction, row_values
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.server import models
from edgeworth.server.app import create_app
from edgeworth.server.openings import AUCTION_OPTIONS, BARGAINING_OPTIONS, CONTEXT_KEYS
from running_servers import MECHANISM, OFFER, client_of, settings_in


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(settings_in(tmp_path)) as talks:
        yield talks


def test_a_market_over_http_plays_what_the_environment_plays(client: TestClient) -> None:
    opened = client.post("/reset", json={"session_id": "m", "seed": 7, "stage": 4, "n_agents": 6, "episode_length": 7}).json()
    env = DaedalusEnv(stage=4, n_agents=6, episode_length=7)
    env.reset(seed=7)
    assert opened["seed"] == 7 and opened["done"] is False and opened["observation"]["n_agents"] == 6
    for number in range(1, 8):
        stepped = client.post("/step", json={"session_id": "m", "action": MECHANISM}).json()
        seen, reward, done, _, info = env.step(MECHANISM)
        assert (stepped["reward"], stepped["done"], stepped["steps"]) == (reward, done, number)
        assert stepped["observation"]["market_outcomes"][-1]["composite"] == reward
        assert_tells(stepped["observation"], seen)
        assert stepped["info"]["rules"] == info["rules"]


def test_a_partial_mechanism_over_http_is_logged_whole(client: TestClient) -> None:
    client.post("/reset", json={"session_id": "m", "seed": 7})
    client.post("/step", json={"session_id": "m", "action": MECHANISM})
    changed = client.post("/step", json={"session_id": "m", "action": {"reserve_price": 0.4, "partial": True}}).json()
    whole = {**MECHANISM, "reserve_price": 0.4}
    assert changed["observation"]["current_mechanism"] == whole and set(changed["info"]["filled"]) == set(MECHANISM) - {"reserve_price"}
    assert client.get("/sessions/m/export").json()["actions"] == [MECHANISM, whole]


def assert_tells(told: dict[str, Any], seen: dict[str, Any]) -> None:
    """The observation over the wire tells of the same steps as the environment's, by name and without those not played."""
    played = min(told["round_number"], 5)
    for name in ("market_outcomes", "recent_proxies"):
        assert [[*step.values()] for step in told[name]] == seen[name][-played:].tolist()
    assert [[*row_values(DaedalusAction(**step))] for step in told["recent_mechanisms"]] == seen["recent_mechanisms"][-played:].tolist()
    assert told["current_mechanism"] == told["recent_mechanisms"][-1] and told["population_proxies"] == told["recent_proxies"][-1]


def test_talks_over_http_play_what_the_environment_plays(client: TestClient) -> None:
    opened = client.post("/bargaining/reset", json={"session_id": "t", "seed": 3, "scenario": "lewis"}).json()
    env = NegotiationEnv("lewis")
    seen, _ = env.reset(seed=3)
    assert opened["observation"]["counts"] == seen["counts"].tolist()
    while True:
        stepped = client.post("/bargaining/step", json={"session_id": "t", "action": OFFER}).json()
        seen, reward, done, _, info = env.step(OFFER)
        assert (stepped["reward"], stepped["done"]) == (reward, done)
        assert stepped["observation"]["turns_remaining"] == seen["turns_remaining"]
        if done:
            assert stepped["info"]["outcome"] == info["outcome"]
            break


def test_a_seed_that_the_server_draws_opens_the_same_episode_again(client: TestClient) -> None:
    first = client.post("/bargaining/reset", json={}).json()
    again = client.post("/bargaining/reset", json={"seed": first["seed"]}).json()
    assert first["session_id"] != again["session_id"] and first["observation"] == again["observation"]


def test_reset_needs_no_body(client: TestClient) -> None:
    assert client.post("/reset").status_code == 200


def test_the_truth_is_told_only_to_those_who_ask(client: TestClient) -> None:
    assert "truth" not in client.post("/reset", json={"seed": 1}).json()["info"]
    assert "truth" in client.post("/reset", json={"seed": 1, "truth": True}).json()["info"]


def test_the_state_is_what_the_last_answer_said(client: TestClient) -> None:
    client.post("/reset", json={"session_id": "s", "seed": 1})
    stepped = client.post("/step", json={"session_id": "s", "action": MECHANISM}).json()
    state = client.get("/state", params={"session_id": "s"}).json()
    assert (state["observation"], state["info"], state["steps"]) == (stepped["observation"], stepped["info"], 1)
    models.MarketState.model_validate(state)


def test_the_state_of_the_other_game_is_not_told_here(client: TestClient) -> None:
    client.post("/bargaining/reset", json={"session_id": "t"})
    answer = client.get("/state", params={"session_id": "t"})
    assert answer.status_code == 409 and answer.json()["code"] == "other_game" and "/bargaining/state" in answer.json()["remedy"]


def test_sessions_are_listed_exported_and_deleted(client: TestClient) -> None:
    client.post("/reset", json={"session_id": "b", "seed": 1})
    client.post("/reset", json={"session_id": "a", "seed": 2})
    client.post("/step", json={"session_id": "a", "action": MECHANISM})
    lines = client.get("/sessions").json()["sessions"]
    assert [(line["session_id"], line["steps"]) for line in lines] == [("a", 1), ("b", 0)]
    export = client.get("/sessions/a/export").json()
    assert export["actions"] == [MECHANISM] and export["seed"] == 2
    assert client.delete("/sessions/a").status_code == 204
    assert client.delete("/sessions/a").status_code == 404
    assert client.get("/sessions/a/export").json()["code"] == "unknown_session"


def test_a_step_that_expects_another_number_is_told_the_state(client: TestClient) -> None:
    client.post("/reset", json={"session_id": "s", "seed": 1})
    first = client.post("/step", json={"session_id": "s", "action": MECHANISM, "expected": 0})
    late = client.post("/step", json={"session_id": "s", "action": MECHANISM, "expected": 0})
    assert first.status_code == 200 and late.status_code == 409
    assert late.json()["code"] == "conflict" and late.json()["state"]["steps"] == 1
    assert late.json()["state"]["observation"] == first.json()["observation"]


def test_a_step_after_the_end_is_refused(client: TestClient) -> None:
    client.post("/reset", json={"session_id": "s", "episode_length": 1})
    client.post("/step", json={"session_id": "s", "action": MECHANISM})
    assert client.post("/step", json={"session_id": "s", "action": MECHANISM}).json()["code"] == "episode_over"


def test_what_is_answered_is_what_the_document_describes(client: TestClient) -> None:
    models.MarketOpened.model_validate(client.post("/reset", json={"session_id": "m"}).json(), extra="forbid")
    models.MarketStepped.model_validate(client.post("/step", json={"session_id": "m", "action": MECHANISM}).json(), extra="forbid")
    models.NegotiationOpened.model_validate(client.post("/bargaining/reset", json={"session_id": "t"}).json(), extra="forbid")
    models.NegotiationStepped.model_validate(
        client.post("/bargaining/step", json={"session_id": "t", "action": OFFER}).json(), extra="forbid"
    )
    models.NegotiationState.model_validate(client.get("/bargaining/state?session_id=t").json(), extra="forbid")
    models.Export.model_validate(client.get("/sessions/t/export").json(), extra="forbid")
    models.SessionList.model_validate(client.get("/sessions").json(), extra="forbid")


def test_the_document_has_the_options_of_the_games() -> None:
    common = set(models.Reset.model_fields)
    assert set(models.AuctionReset.model_fields) - common == set(AUCTION_OPTIONS)
    assert set(models.BargainingReset.model_fields) - common == {*BARGAINING_OPTIONS, *CONTEXT_KEYS}
    assert tuple(models.MarketOutcome.model_fields) == SCORES and tuple(models.PopulationProxies.model_fields) == PROXIES


def test_every_route_of_the_document_has_a_name_of_its_own_and_says_what_it_refuses(tmp_path: Path) -> None:
    document: dict[str, Any] = create_app(settings_in(tmp_path)).openapi()
    routes = [(path, verb, route) for path, verbs in document["paths"].items() for verb, route in verbs.items()]
    names = [route["operationId"] for _, _, route in routes]
    assert len(set(names)) == len(names) and len(routes) >= 15
    for path, verb, route in routes:
        problems = [answer for status, answer in route["responses"].items() if int(status) >= 400]
        assert {"400", "401", "422", "429", "500"} <= set(route["responses"]), (verb, path)
        for answer in problems:
            assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/Problem"), (verb, path)
