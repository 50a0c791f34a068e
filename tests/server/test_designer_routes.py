"""Designers and hint providers over HTTP: answers, what they depend on, and errors."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from stub_model import Stub

from edgeworth.agents.designers.adaptive import Adaptive
from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.policy import Policy
from edgeworth.agents.hints.bayes import BOOKS
from edgeworth.catalog import BEST_DESIGNER
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.server import routes_designers
from edgeworth.server.app import create_app
from edgeworth.server.designers import OFFERED
from edgeworth.server.model_process import ModelProcess
from edgeworth.server.settings import QueueLimits
from running_servers import MECHANISM, OFFER, client_of, in_thread, settings_in, wait_for

SENT = ("round_number", "episode_length", "market_outcomes")
"""What the client of the published environment sends of an observation."""
OTHER = {**MECHANISM, "auction_type": "first_price"}
ADAPTIVE = {"designer": "adaptive"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with client_of(settings_in(tmp_path)) as talks:
        yield talks


def with_stub(monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Replace the language models by a stub in its process."""
    monkeypatch.setattr(routes_designers, "designer_process", lambda pocket: pocket)
    monkeypatch.setattr(routes_designers, "pocket_process", lambda: ModelProcess("stub", functools.partial(Stub, **options)))


def opened(client: TestClient, **options: Any) -> dict[str, Any]:
    return client.post("/reset", json={"session_id": "demo", **options}).json()["observation"]


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, code), body
    assert body["message"] and body["remedy"] and "field" in body
    return body


# Designers


def test_the_published_client_plays_unchanged(client: TestClient) -> None:
    seen = opened(client, n_agents=8, episode_length=10)
    for number in range(10):
        reply = client.post("/api/design", json={name: seen[name] for name in SENT}).json()
        assert (reply["designer"], reply["round_number"]) == (BEST_DESIGNER, number) and reply["assumed"] and reply["elapsed_ms"] > 0
        stepped = client.post("/step", json={"action": reply["mechanism"], "session_id": "demo"}).json()
        seen = stepped["observation"]
        assert 0 <= stepped["reward"] <= 1
    assert stepped["done"]


@pytest.mark.parametrize("stage", ["1", "4"])
def test_adaptive_over_the_wire_is_adaptive_at_home(client: TestClient, stage: str) -> None:
    opened(client, stage=stage, seed=11)
    rewards = []
    for _ in range(10):
        reply = client.post("/api/design", json={"session_id": "demo", "designer": "adaptive"}).json()
        assert reply["assumed"] == []
        rewards.append(client.post("/step", json={"session_id": "demo", "action": reply["mechanism"]}).json()["reward"])
    assert rewards == play(Adaptive(), AuctionConfig.from_options(stage=stage), 1, 11)[0].tolist()


def test_the_policy_over_the_wire_is_the_policy_at_home(client: TestClient) -> None:
    seen, rewards = opened(client, stage="3", seed=11), []
    for _ in range(10):
        told, known = (client.post("/api/design", json={**asked, "designer": "policy"}).json() for asked in (seen, {"session_id": "demo"}))
        assert told["mechanism"] == known["mechanism"] and told["assumed"] == known["assumed"] == []
        stepped = client.post("/step", json={"session_id": "demo", "action": known["mechanism"]}).json()
        seen = stepped["observation"]
        rewards.append(stepped["reward"])
    assert rewards == play(Policy(), AuctionConfig.from_options(stage="3"), 1, 11)[0].tolist()


def test_adaptive_learns_from_steps_that_are_given_in_full(client: TestClient) -> None:
    seen = opened(client, stage="4", seed=5)
    for _ in range(5):
        told, known = (client.post("/api/design", json={**asked, **ADAPTIVE}).json() for asked in (seen, {"session_id": "demo"}))
        assert told["mechanism"] == known["mechanism"] and told["assumed"] == known["assumed"] == []
        seen = client.post("/step", json={"session_id": "demo", "action": told["mechanism"]}).json()["observation"]


@pytest.mark.parametrize(("name", "recent"), [("current_mechanism", "recent_mechanisms"), ("population_proxies", "recent_proxies")])
def test_steps_that_contradict_each_other_are_refused(client: TestClient, name: str, recent: str) -> None:
    opened(client, seed=5)
    seen = [client.post("/step", json={"session_id": "demo", "action": action}).json()["observation"] for action in (MECHANISM, OTHER)]
    refused = problem(client.post("/api/design", json={**seen[1], name: seen[0][name]}), 409, "contradiction")
    assert refused["field"] == name and recent in refused["message"]
    assert problem(client.post("/api/design", json={**seen[1], "round_number": 1, "market_outcomes": []}), 409, "contradiction")
    refused = problem(client.post("/api/design", json={**seen[1], "recent_mechanisms": [{}, OTHER]}), 422, "illegal_action")
    assert refused["field"] == "auction_type"


def test_adaptive_learns_from_a_first_step_that_is_given_in_full(client: TestClient) -> None:
    seen = opened(client, stage="4", seed=5)
    first = client.post("/api/design", json={**seen, **ADAPTIVE}).json()
    seen = client.post("/step", json={"session_id": "demo", "action": first["mechanism"]}).json()["observation"]
    told, known = (client.post("/api/design", json={**asked, **ADAPTIVE}).json() for asked in (seen, {"session_id": "demo"}))
    assert told["mechanism"] == known["mechanism"] != first["mechanism"] and told["assumed"] == []
    blind = client.post("/api/design", json={**{name: seen[name] for name in SENT}, **ADAPTIVE}).json()
    assert blind["mechanism"] == first["mechanism"] and "session_id" in blind["assumed"][0]


def test_adaptive_says_which_steps_taught_it_nothing(client: TestClient) -> None:
    opened(client, stage="4", seed=5)
    client.post("/step", json={"session_id": "demo", "action": MECHANISM})
    reply = client.post("/api/design", json={"session_id": "demo", **ADAPTIVE}).json()
    assert reply["assumed"] == ["step 1: played under mechanisms that are not in its library, so nothing was learned from them"]


def test_every_designer_that_needs_no_model_answers_with_its_name(client: TestClient) -> None:
    opened(client)
    for name in set(OFFERED) - {"language_model"}:
        reply = client.post("/api/design", json={"session_id": "demo", "designer": name}).json()
        assert reply["designer"] == name and "confidence" not in reply and DaedalusAction(**reply["mechanism"])


def test_uniform_draws_the_same_for_the_same_session_and_step_and_anew_otherwise(client: TestClient) -> None:
    seen = opened(client, seed=3)
    ask = {"session_id": "demo", "designer": "uniform"}
    first, again = (client.post("/api/design", json=ask).json()["mechanism"] for _ in range(2))
    client.post("/step", json={"session_id": "demo", "action": first})
    assert first == again != client.post("/api/design", json=ask).json()["mechanism"]
    blind = {**{name: seen[name] for name in SENT}, "designer": "uniform"}
    assert client.post("/api/design", json=blind).json()["mechanism"] != client.post("/api/design", json=blind).json()["mechanism"]


def test_outcomes_may_be_rows_and_more_than_an_observation_shows(client: TestClient) -> None:
    rows = [[0.5, 0.6, 0.7, 0.8, 0.168]] * 7
    body = {"round_number": 7, "episode_length": 10, "market_outcomes": rows, "designer": "best_constant"}
    assert client.post("/api/design", json=body).json()["assumed"] == []


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"round_number": 0, "episode_length": 10}, 422, "missing_field", "market_outcomes"),
        ({}, 422, "missing_field", "market_outcomes"),
        ({"round_number": 50, "market_outcomes": []}, 409, "episode_over", "round_number"),
        ({"round_number": 10, "episode_length": 10, "market_outcomes": []}, 409, "episode_over", "round_number"),
        ({"round_number": 0, "episode_length": 10, "market_outcomes": [[0.1] * 5]}, 409, "contradiction", "market_outcomes"),
        ({"round_number": 0, "episode_length": 10, "market_outcomes": [], "designr": "uniform"}, 422, "invalid_request", "designr"),
        ({"round_number": 0, "episode_length": 10, "market_outcomes": [], "n_agents": 99}, 422, "invalid_request", "n_agents"),
        ({"round_number": True, "episode_length": 10, "market_outcomes": []}, 422, "invalid_request", "round_number"),
    ],
)
def test_impossible_requests_are_refused_with_the_field(
    client: TestClient, body: dict[str, Any], status: int, code: str, field: str
) -> None:
    assert problem(client.post("/api/design", json=body), status, code)["field"] == field


@pytest.mark.parametrize("played", [0, 1])
def test_a_mechanism_in_force_is_judged_by_the_game(client: TestClient, played: int) -> None:
    body = {"round_number": played, "episode_length": 10, "market_outcomes": [[0.1] * 5] * played}
    refused = client.post("/api/design", json={**body, "current_mechanism": {**MECHANISM, "auction_type": "vgc"}})
    assert "Did you mean 'vcg'?" in problem(refused, 422, "illegal_action")["message"]


def test_unknown_designers_get_a_suggestion(client: TestClient) -> None:
    opened(client)
    refused = client.post("/api/design", json={"session_id": "demo", "designer": "adaptiv"})
    assert "Did you mean 'adaptive'?" in problem(refused, 422, "unknown_name")["message"]
    problem(client.post("/api/design", json={"session_id": "demo", "designer": "oracle"}), 422, "unknown_name")
    assert "Did you mean 'uniform'?" in problem(client.post("/api/designers/unifrom/warm-up"), 404, "unknown_name")["message"]


def test_sessions_that_are_missing_over_elsewhere_or_of_another_game_are_refused(client: TestClient) -> None:
    problem(client.post("/api/design", json={"session_id": "nobody"}), 404, "unknown_session")
    opened(client, episode_length=1)
    problem(client.post("/api/design", json={"session_id": "demo", "round_number": 3}), 409, "conflict")
    client.post("/step", json={"session_id": "demo", "action": MECHANISM})
    problem(client.post("/api/design", json={"session_id": "demo"}), 409, "episode_over")
    client.post("/bargaining/reset", json={"session_id": "t"})
    problem(client.post("/api/design", json={"session_id": "t"}), 409, "other_game")


def test_a_session_of_another_owner_is_unknown(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=(("ann", "a" * 16), ("bob", "b" * 16)))) as client:
        ann, bob = ({"authorization": f"Bearer {token}"} for token in ("a" * 16, "b" * 16))
        client.post("/reset", json={"session_id": "demo"}, headers=ann)
        client.post("/bargaining/reset", json={"session_id": "t"}, headers=ann)
        assert client.post("/api/design", json={"session_id": "demo"}, headers=ann).status_code == 200
        problem(client.post("/api/design", json={"session_id": "demo"}, headers=bob), 404, "unknown_session")
        problem(client.post("/bargaining/hint", json={"session_id": "t", "provider": "random"}, headers=bob), 404, "unknown_session")


# The language model


def test_the_model_answers_for_itself_with_its_confidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM))
    with client_of(settings_in(tmp_path)) as client:
        seen = opened(client)
        reply = client.post("/api/design", json={"session_id": "demo", "designer": "language_model"}).json()
        assert reply["mechanism"] == MECHANISM and (reply["designer"], reply["model"]) == ("language_model", "stub")
        assert reply["confidence"] == pytest.approx(0.25) and reply["assumed"] == []
        client.post("/step", json={"session_id": "demo", "action": MECHANISM})
        seen = client.get("/state", params={"session_id": "demo"}).json()["observation"]
        blind = {**{name: seen[name] for name in SENT}, "designer": "language_model"}
        assumed = client.post("/api/design", json=blind).json()["assumed"]
        assert [line.partition(":")[0] for line in assumed] == ["n_agents", "population_proxies", "current_mechanism"]


def test_a_market_that_the_model_was_not_trained_on_is_named_in_the_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), knows={"mechanism": {"n_agents": [3, 6]}})
    with client_of(settings_in(tmp_path)) as client:
        opened(client)
        (note,) = client.post("/api/design", json={"session_id": "demo", "designer": "language_model"}).json()["assumed"]
        assert "n_agents is 8 (trained on 3 to 6)" in note


def test_an_illegal_mechanism_of_a_model_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps({**MECHANISM, "reserve_price": 7}))
    with client_of(settings_in(tmp_path)) as client:
        opened(client)
        refused = problem(client.post("/api/design", json={"session_id": "demo", "designer": "language_model"}), 502, "no_mechanism")
        assert refused["reason"] == "out_of_range" and refused["who"] == "language_model"


def test_a_killed_model_process_is_an_error_and_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=2.0, log=str(log))
    app = create_app(settings_in(tmp_path))
    with TestClient(app, base_url="http://localhost") as client, ThreadPoolExecutor(1) as pool:
        opened(client)
        ask = {"session_id": "demo", "designer": "language_model"}
        assert client.post("/api/design", json=ask).status_code == 200
        asked = pool.submit(client.post, "/api/design", json=ask)
        wait_for(lambda: len(log.read_text(encoding="utf-8").split()) == 2)  # it writes
        os.kill(app.state.model_process.pid, signal.SIGKILL)
        answer = asked.result()
        assert problem(answer, 503, "model_unavailable")["reason"] == "dropped" and int(answer.headers["retry-after"]) >= 1
        assert client.post("/api/design", json=ask).status_code == 200 and app.state.model_process.starts == 2


def test_a_model_that_is_not_there_is_failed_in_the_list_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, missing=True)
    with client_of(settings_in(tmp_path)) as client:
        assert client.post("/api/designers/language_model/warm-up").status_code == 202
        line = line_in_state(client, "language_model", "failed")
        assert line["reason"] == "There is no such model; train one."
        opened(client)
        problem(client.post("/api/design", json={"session_id": "demo", "designer": "language_model"}), 503, "model_unavailable")


def line_in_state(client: TestClient, name: str, state: str) -> dict[str, Any]:
    """The line of a designer, when it has come to a state."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        line = next(line for line in client.get("/api/designers").json()["designers"] if line["name"] == name)
        if line["state"] == state:
            return line
        time.sleep(0.05)
    raise AssertionError(f"{name} is {line['state']}")


def test_the_list_names_the_default_and_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch)
    with client_of(settings_in(tmp_path, designer="best_constant", warm=("language_model", "random"))) as client:
        found = client.get("/api/designers").json()
        assert found["default"] == "best_constant" and [line["name"] for line in found["designers"]] == list(OFFERED)
        line_in_state(client, "language_model", "loaded")
        providers = {line["name"]: line["state"] for line in client.get("/bargaining/hints").json()["providers"]}
        assert providers["random"] == "loaded" and providers["bayes"] == "cold"


def test_a_server_does_not_start_with_an_unknown_designer(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Did you mean 'adaptive'"):
        create_app(settings_in(tmp_path, designer="adaptiv"))
    with pytest.raises(ValueError, match="Did you mean 'language_model'"):
        create_app(settings_in(tmp_path, warm=("language_modle",)))


@contextlib.asynccontextmanager
async def calls(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application in this event loop."""
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
        yield client


async def asked_at_once(app: Any, bodies: list[dict[str, Any]], tokens: Sequence[str] = ("",)) -> list[httpx.Response]:
    """The answers to requests that arrive together, from the owners of these tokens in turn."""
    headers = [{"authorization": f"Bearer {token * 16}"} for token in tokens]
    async with calls(app) as client:
        asking = (client.post("/api/design", json=body, headers=headers[number % len(headers)]) for number, body in enumerate(bodies))
        return list(await asyncio.gather(*asking))


def market(number: int) -> dict[str, Any]:
    """A request about a market of its own."""
    scores = [0.5, 0.5, 0.5, 0.5, number / 1000]
    return {"round_number": 1, "episode_length": 10, "market_outcomes": [scores], "designer": "language_model"}


def test_requests_of_many_clients_become_few_calls_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    with_stub(monkeypatch, text=json.dumps(MECHANISM), log=str(log))
    answers = asyncio.run(asked_at_once(create_app(settings_in(tmp_path)), [market(number) for number in range(40)]))
    calls = [int(line) for line in log.read_text(encoding="utf-8").split()]
    assert {answer.status_code for answer in answers} == {200} and sum(calls) == 40 and len(calls) <= 3


def test_a_full_queue_is_503_with_retry_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=0.3)
    settings = settings_in(tmp_path, queues=QueueLimits(queue=4, batch=2))
    answers = asyncio.run(asked_at_once(create_app(settings), [market(number) for number in range(30)]))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert 4 <= len(answers) - len(refused) <= 8
    assert all(problem(answer, 503, "busy") and int(answer.headers["retry-after"]) >= 1 for answer in refused)


def test_an_owner_who_asks_too_much_is_429_while_another_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=0.3)
    settings = settings_in(tmp_path, queues=QueueLimits(queue=16, batch=2, per_owner=3), tokens=(("alice", "a" * 16), ("bob", "b" * 16)))
    answers = asyncio.run(asked_at_once(create_app(settings), [market(number) for number in range(20)], "aaaaaaaaab"))
    of_bob = answers[9::10]
    refused = [answer for answer in answers if answer not in of_bob and answer.status_code != 200]
    assert [answer.status_code for answer in of_bob] == [200, 200] and 13 <= len(refused) <= 15
    assert all(problem(answer, 429, "too_many_questions") and int(answer.headers["retry-after"]) >= 1 for answer in refused)


def test_without_tokens_all_clients_share_the_whole_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=0.1)
    settings = settings_in(tmp_path, queues=QueueLimits(queue=16, batch=8, per_owner=2))
    answers = asyncio.run(asked_at_once(create_app(settings), [market(number) for number in range(16)]))
    assert {answer.status_code for answer in answers} == {200}


def test_a_deadline_is_504(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=5.0)
    settings = settings_in(tmp_path, queues=QueueLimits(deadline_seconds=0.5))
    began = time.monotonic()
    (answer,) = asyncio.run(asked_at_once(create_app(settings), [market(0)]))
    problem(answer, 504, "deadline")
    assert time.monotonic() - began < 30


def test_the_server_answers_while_the_model_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=2.0)
    app = create_app(settings_in(tmp_path))

    async def use() -> tuple[list[float], float]:
        async with calls(app) as client:
            opening = {"session_id": "demo", "episode_length": 1000}
            await client.post("/reset", json=opening)
            await client.post("/step", json={"session_id": "demo", "action": MECHANISM})  # compiles, where nothing is compiled yet
            done = True
            await client.post("/api/design", json=market(0))  # loads
            began, seconds = time.perf_counter(), []
            writing = asyncio.create_task(client.post("/api/design", json=market(1)))
            while not writing.done():
                if done:
                    await client.post("/reset", json=opening)
                start = time.perf_counter()
                done = (await client.post("/step", json={"session_id": "demo", "action": MECHANISM})).json()["done"]
                seconds.append(time.perf_counter() - start)
                await asyncio.sleep(0)
            assert writing.result().status_code == 200
            return seconds, time.perf_counter() - began

    seconds, whole = asyncio.run(use())
    assert whole > 2.0 and len(seconds) > 10 and max(seconds) < 1.5


def test_a_request_is_cancelled_when_its_client_disconnects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "calls"
    with_stub(monkeypatch, text=json.dumps(MECHANISM), seconds=3.0, log=str(log))
    with in_thread(settings_in(tmp_path, queues=QueueLimits(batch=1))) as (_, port):
        address = f"http://127.0.0.1:{port}"
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(httpx.post, f"{address}/api/design", json=market(0), timeout=60)
            wait_for(log.exists)
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{address}/api/design", json=market(1), timeout=1.5)
            gone = 'edgeworth_queue_requests_total{ending="gone",queue="language_model"} 1.0'
            wait_for(lambda: gone in httpx.get(f"{address}/metrics", timeout=20.0).text)
            assert first.result().status_code == 200
    assert log.read_text(encoding="utf-8").split() == ["1"]


def test_torch_stays_out_of_the_web_worker() -> None:
    script = "import sys, edgeworth.server.routes_designers; print('torch' in sys.modules, 'transformers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]


def test_the_default_designer_needs_neither_torch_nor_scipy() -> None:
    script = """
import sys
for name in ("torch", "scipy", "transformers", "matplotlib"):
    sys.modules[name] = None
from edgeworth.catalog import BEST_DESIGNER
from edgeworth.server.designers import designer_workers
from edgeworth.server.known_markets import market_described
worker = designer_workers(None)[BEST_DESIGNER]
worker.load()
print(worker.answer([market_described({"market_outcomes": []}, 0)], 0.0)[0].mechanism.auction_type)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() in ("first_price", "second_price", "vcg")


# Hints


@pytest.mark.parametrize("provider", ["bayes", "random"])
def test_hints_are_legal_moves_of_the_session(client: TestClient, provider: str) -> None:
    for seed in range(4):
        client.post("/bargaining/reset", json={"session_id": "t", "seed": seed})
        done, number = False, 0
        while not done:
            said = client.post("/bargaining/hint", json={"session_id": "t", "provider": provider}).json()
            assert said["provider"] == provider and said["steps"] == number and said["rejection"] is None
            action = {name: said["hint"][name] for name in ("act_type", "oA")}
            stepped = client.post("/bargaining/step", json={"session_id": "t", "action": action})
            assert stepped.status_code == 200, stepped.json()
            done, number = stepped.json()["done"], number + 1
        problem(client.post("/bargaining/hint", json={"session_id": "t", "provider": provider}), 409, "episode_over")


def test_a_described_moment_gets_the_hint_of_the_session(client: TestClient) -> None:
    told = client.post("/bargaining/reset", json={"session_id": "t", "seed": 8, "opens": "agent"}).json()
    stepped = client.post(
        "/bargaining/step", json={"session_id": "t", "action": {"act_type": 0, "oA": told["observation"]["counts"]}}
    ).json()
    assert not stepped["done"]
    situation = {name: told["observation"][name] for name in ("counts", "my_utilities")}
    situation |= {"history": stepped["info"]["history"], "options": {"opens": "agent"}}
    there = client.post("/bargaining/hint", json={"session_id": "t", "provider": "bayes"}).json()
    here = client.post("/bargaining/hint", json={"situation": situation, "provider": "bayes"}).json()
    assert here["hint"] == there["hint"] and here["steps"] is None and there["steps"] == 1


def test_an_illegal_hint_of_a_model_is_reported_as_a_rejection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(monkeypatch, text=json.dumps({"act_type": 2, "oA": [0, 0, 0], "confidence": 1.0}))
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json={"session_id": "t", "opens": "agent"})
        said = client.post("/bargaining/hint", json={"session_id": "t", "provider": "llm"}).json()
        assert said["hint"] is None and said["rejection"]["reason"] == "masked_act" and said["model"] == "stub"
        client.post("/bargaining/step", json={"session_id": "t", "action": OFFER})


def test_a_provider_that_cannot_play_the_game_is_an_error(client: TestClient) -> None:
    client.post("/bargaining/reset", json={"session_id": "t", "partner": "human_clone"})
    unable = client.post("/bargaining/hint", json={"session_id": "t", "provider": "bayes"})
    assert "partners of the rules" in problem(unable, 422, "invalid_option")["message"]
    refused = client.post("/bargaining/hint", json={"session_id": "t", "provider": "bayse"})
    assert "Did you mean 'bayes'?" in problem(refused, 422, "unknown_name")["message"]
    problem(client.post("/bargaining/hint", json={"provider": "bayes"}), 422, "invalid_request")
    said = client.post("/bargaining/hint", json={"session_id": "t", "provider": "none"}).json()
    assert said["hint"] is None and said["rejection"] is None


@pytest.mark.parametrize(
    ("situation", "says"),
    [
        ({"history": [{"side": 0, "act": 0, "share": [1, 1, 1]}]}, "the next is the partner's"),
        ({"history": [{"side": 1, "act": 2}]}, "is not legal"),
        ({"history": [{"side": 1, "act": 0, "share": [9, 9, 9]}]}, "is not legal"),
        ({"options": {"partner": "/etc/passwd"}}, "Unknown partner"),
        ({"options": {"partner_options": {"checkpoint": "x"}}}, "names a file"),
        ({"options": {"max_trns": 4}}, "Did you mean 'max_turns'?"),
        ({"options": {"reveal_partner_utilities": True}}, "add partner_utilities"),
        ({"counts": [0, 0, 0]}, "at least one item"),
    ],
)
def test_an_impossible_moment_is_refused(client: TestClient, situation: dict[str, Any], says: str) -> None:
    body = {"provider": "random", "situation": {"counts": [2, 1, 1], "my_utilities": [1, 2, 3], **situation}}
    answer = client.post("/bargaining/hint", json=body)
    assert answer.status_code == 422 and says in answer.json()["message"], answer.json()


def test_clients_that_name_ever_new_games_do_not_fill_the_memory(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeworth.server.hints.MOST_GAMES", 3)
    BOOKS.clear()
    said = []
    for number in range(8):
        situation = {"counts": [1, 1, 1], "my_utilities": [3, 1, 2], "options": {"discount": 0.9 + number / 100}}
        said.append(client.post("/bargaining/hint", json={"provider": "bayes", "situation": situation}).json()["hint"])
        assert len(BOOKS) <= 3
    assert all(said)


def test_moments_under_different_rules_are_answered_by_their_own_rules(tmp_path: Path) -> None:
    app = create_app(settings_in(tmp_path))
    situation = {"counts": [2, 2, 1], "my_utilities": [3, 1, 2]}
    bodies = [{"provider": "bayes", "situation": {**situation, "options": {"max_turns": turns}}} for turns in (2, 10, 2, 10, 4)]

    async def use() -> list[dict[str, Any]]:
        async with calls(app) as client:
            together = await asyncio.gather(*(client.post("/bargaining/hint", json=body) for body in bodies))
            alone = [await client.post("/bargaining/hint", json=body) for body in bodies]
            assert [answer.json()["hint"] for answer in together] == [answer.json()["hint"] for answer in alone]
            return [answer.json()["hint"] for answer in alone]

    hints = asyncio.run(use())
    assert hints[0] == hints[2] and hints[1] == hints[3] and hints[0] != hints[1]
    assert all(np.all(np.array(hint["oA"]) <= [2, 2, 1]) for hint in hints)
