"""Whatever is wrong with a request is answered in one shape, and nothing has changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from edgeworth.server import readiness
from edgeworth.server.app import create_app
from edgeworth.server.limits import Rate, decoded
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import RequestLimits
from edgeworth.server.store import Store
from running_servers import MECHANISM, OFFER, client_of, settings_in

JSON = {"content-type": "application/json"}
STEP = json.dumps({"session_id": "s", "action": MECHANISM})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("refusals")
    with client_of(settings_in(folder, limits=RequestLimits(body_bytes=4_096, depth=8)), raise_server_exceptions=False) as talks:
        talks.post("/reset", json={"session_id": "s", "seed": 1})
        talks.post("/bargaining/reset", json={"session_id": "t", "seed": 1})
        yield talks


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()
    assert (answer.status_code, told["code"]) == (status, code), told
    assert {"code", "message", "remedy", "field"} <= set(told) and told["message"] and told["remedy"]
    assert "Traceback" not in answer.text
    return told


@contextlib.asynccontextmanager
async def clients_of(apps: list[Any]) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Clients of several applications, closed together."""
    async with contextlib.AsyncExitStack() as stack:
        transports = [httpx.ASGITransport(app) for app in apps]
        yield [await stack.enter_async_context(httpx.AsyncClient(transport=t, base_url="http://localhost")) for t in transports]


BAD_BODIES = {
    "not JSON": ("{", 400, "invalid_json"),
    "two objects": (STEP + STEP, 400, "invalid_json"),
    "NaN": (STEP.replace("0.1", "NaN"), 400, "invalid_json"),
    "Infinity": (STEP.replace("0.1", "-Infinity"), 400, "invalid_json"),
    "a number beyond all floats": (STEP.replace("0.1", "1e999"), 400, "invalid_json"),
    "NaN beside a long number": ('{"session_id": "s", "action": [12345678901234567, NaN]}', 400, "invalid_json"),
    "not UTF-8": (b'{"session_id": "\xff"}', 400, "invalid_json"),
    "half a surrogate": ('{"session_id": "\\ud800", "action": {}}', 400, "invalid_json"),
    "half a surrogate beside a long number": ('{"session_id": "\\ud800", "action": 12345678901234567}', 400, "invalid_json"),
    "a huge integer": (STEP.replace("0.1", "9" * 40), 422, "huge_integer"),
    "an integer of many digits": ('{"seed": ' + "1" * 4_000 + "}", 422, "huge_integer"),
    "deep nesting": ("[" * 100 + "]" * 100, 400, "too_deep"),
    "nesting without end": ("[" * 4_000, 400, "too_deep"),
    "too long": (json.dumps({"session_id": "s" * 5_000}), 413, "body_too_long"),
    "no object": ("[]", 422, "invalid_request"),
    "no action": ('{"session_id": "s"}', 422, "invalid_request"),
    "a session that is a number": ('{"session_id": 5, "action": {}}', 422, "invalid_request"),
    "a path for a name": ('{"session_id": "../../etc/passwd", "action": {}}', 422, "invalid_request"),
    "an unknown key": (STEP[:-1] + ', "x": 1}', 422, "invalid_request"),
    "nobody's session": (STEP.replace('"s"', '"nobody"'), 404, "unknown_session"),
    "an unknown word": (STEP.replace("vcg", "vgc"), 422, "illegal_action"),
    "a reserve out of range": (STEP.replace('"reserve_price": 0.1', '"reserve_price": 5'), 422, "illegal_action"),
    "an action of nothing": ('{"session_id": "s", "action": null}', 422, "illegal_action"),
    "an action of text": ('{"session_id": "s", "action": "vcg"}', 422, "illegal_action"),
    "a negative expectation": (STEP[:-1] + ', "expected": -1}', 422, "invalid_request"),
}


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_a_bad_step_is_refused_and_changes_nothing(client: TestClient, kind: str) -> None:
    body, status, code = BAD_BODIES[kind]
    before = client.get("/state", params={"session_id": "s"}).json()
    problem(client.post("/step", content=body, headers=JSON), status, code)
    assert client.get("/state", params={"session_id": "s"}).json() == before


BAD_OPENINGS = {
    "a mistyped option": ({"n_agent": 8}, "unknown_name", "n_agents"),
    "too many bidders": ({"n_agents": 99}, "invalid_option", "2 to 16"),
    "a word for a number": ({"n_agents": "eight"}, "invalid_option", "whole number"),
    "an unknown stage": ({"stage": "mixd"}, "invalid_option", "mixed"),
    "an endless episode": ({"episode_length": 10_000}, "invalid_option", "1 to 1000"),
    "a mix that is a list": ({"mix": [1]}, "invalid_option", "mapping"),
    "a model of nothing": ({"model": {"no": 1}}, "invalid_option", "no"),
    "a negative seed": ({"seed": -1}, "invalid_request", "seed"),
    "truth that is a word": ({"truth": "yes"}, "invalid_request", "truth"),
}


@pytest.mark.parametrize("kind", BAD_OPENINGS)
def test_a_bad_opening_is_refused_with_what_was_expected(client: TestClient, kind: str) -> None:
    body, code, word = BAD_OPENINGS[kind]
    told = client.post("/reset", json={"session_id": "fresh", **body})
    assert told.status_code == 422 and told.json()["code"] in (code, "unknown_name") and word in told.text
    problem(client.get("/state", params={"session_id": "fresh"}), 404, "unknown_session")


@pytest.mark.parametrize(
    "options",
    [
        {"partner": "/etc/passwd"},
        {"partner": "expert", "partner_options": {"checkpoint": "/etc/passwd"}},
        {"scenario": "/etc/passwd"},
        {"scenario": "../../secret.yaml"},
        {"contexts": "dataset"},
        {"context_options": {"folder": "/etc"}},
    ],
)
def test_no_file_of_the_server_can_be_named(client: TestClient, options: dict[str, Any]) -> None:
    answer = client.post("/bargaining/reset", json=options)
    assert answer.status_code == 422 and "root:" not in answer.text


def test_an_illegal_move_names_its_rule(client: TestClient) -> None:
    told = problem(client.post("/bargaining/step", json={"session_id": "t", "action": {**OFFER, "oA": [99, 0, 0]}}), 422, "illegal_action")
    assert told["field"]


@pytest.mark.parametrize("move", [{**OFFER, "oa": 1}, {**OFFER, "oA": [False, 0, 0]}, {"act_type": True, "oA": [0, 0, 0]}, [0, 0], {}])
def test_a_move_of_another_shape_is_refused(client: TestClient, move: Any) -> None:
    problem(client.post("/bargaining/step", json={"session_id": "t", "action": move}), 422, "illegal_action")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_of_another_type_is_refused(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    problem(client.post("/step", content=STEP.encode(), headers=headers), 415, "not_json")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/JSON", "application/problem+json"])
def test_every_spelling_of_json_is_read(client: TestClient, kind: str) -> None:
    assert client.post("/reset", content=b"{}", headers={"content-type": kind}).status_code == 200


def test_a_length_that_is_declared_too_long_is_refused_before_it_is_read(client: TestClient) -> None:
    problem(client.post("/step", content=b"{}", headers={**JSON, "content-length": "999999999999"}), 413, "body_too_long")


def test_what_the_framework_refuses_has_the_same_shape(client: TestClient) -> None:
    problem(client.get("/nothing/here"), 404, "no_such_route")
    answer = client.get("/step")
    assert problem(answer, 405, "wrong_method")["field"] == "method" and answer.headers["allow"] == "POST"
    problem(client.get("/state"), 422, "invalid_request")


def test_a_fault_of_ours_shows_an_id_and_no_inside(client: TestClient, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(client.app.state.sessions.store, "owned", broken)  # type: ignore[attr-defined]
    answer = client.get("/sessions")
    told = problem(answer, 500, "fault")
    assert "secret" not in answer.text and told["request_id"] == answer.headers["x-request-id"]
    logged = capsys.readouterr().err
    assert told["request_id"] in logged and "the secret inside" in logged


OUTSIDE = ["../pyproject.toml", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "results/../x.png"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_the_figures(client: TestClient, path: str) -> None:
    answer = client.get(f"/plots/{path}")
    assert answer.status_code == 404 and answer.json()["code"] in ("not_found", "no_such_route")


def test_integers_of_64_bits_are_read_and_longer_ones_are_not() -> None:
    assert decoded(b"[9223372036854775807, -9223372036854775808, 0.12345678901234567]", 3)[0] == 2**63 - 1
    with pytest.raises(Refused, match="64 bits"):
        decoded(b"[9223372036854775808]", 3)


def test_brackets_inside_of_text_are_no_nesting() -> None:
    assert decoded(json.dumps(["[" * 50 + '"\\']).encode(), 2) == ["[" * 50 + '"\\']


def test_an_owner_who_is_too_fast_waits_and_another_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    rate = Rate(rate=2.0, burst=3)
    for _ in range(3):
        rate.take("alice")
    with pytest.raises(Refused) as refused:
        rate.take("alice")
    assert refused.value.status == 429 and refused.value.retry_after == 1
    rate.take("bob")
    now += 0.5
    rate.take("alice")
    with pytest.raises(Refused):
        rate.take("alice")


def test_the_rate_is_kept_over_http(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, limits=RequestLimits(rate=0.01, burst=2))) as client:
        assert [client.get("/sessions").status_code for _ in range(3)] == [200, 200, 429]
        assert int(client.get("/sessions").headers["retry-after"]) >= 1


def test_more_requests_than_a_worker_takes_are_told_to_come_again(tmp_path: Path) -> None:
    app = create_app(settings_in(tmp_path, limits=RequestLimits(requests=2)))

    async def crowd() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return await asyncio.gather(*(client.get("/sessions") for _ in range(6)))

    answers = asyncio.run(crowd())
    busy = [answer for answer in answers if answer.status_code == 503]
    assert len(busy) == 4 and all(answer.json()["code"] == "busy" and answer.headers["retry-after"] for answer in busy)


def test_two_steps_at_once_are_one_step_and_a_conflict_with_the_state(tmp_path: Path) -> None:
    apps = [create_app(settings_in(tmp_path, workers=2)) for _ in range(2)]

    async def race() -> list[httpx.Response]:
        async with clients_of(apps) as clients:
            await clients[0].post("/reset", json={"session_id": "s", "seed": 1, "episode_length": 100})
            await asyncio.gather(*(client.get("/state", params={"session_id": "s"}) for client in clients))
            body = {"session_id": "s", "action": MECHANISM, "expected": 0}
            return list(await asyncio.gather(*(client.post("/step", json=body) for client in clients for _ in range(4))))

    answers = asyncio.run(race())
    won = [answer for answer in answers if answer.status_code == 200]
    lost = [answer for answer in answers if answer.status_code == 409]
    assert len(won) == 1 and len(lost) == 7
    assert all(answer.json()["state"]["observation"] == won[0].json()["observation"] for answer in lost)


def test_a_store_that_does_not_answer_makes_the_server_unready_and_shows_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Store) -> None:
        raise OSError("postgresql://lab:hunter2@db/edgeworth is gone")

    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", 0.0)
    with client_of(settings_in(tmp_path)) as client:
        assert client.get("/ready").json() == {"status": "ready"}
        monkeypatch.setattr(Store, "check", gone)
        answer = client.get("/ready")
    assert problem(answer, 503, "no_store") and "hunter2" not in answer.text
