"""Who may come in, and what belongs to whom."""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from edgeworth.errors import DataError, InvalidOption
from edgeworth.server.access import KnownTokens, host_name, network_of
from edgeworth.server.app import create_app
from edgeworth.server.settings import RequestLimits, ServerSettings, tokens_from
from running_servers import MECHANISM, client_of, settings_in

TOKENS = (("alice", "a-token-of-alice"), ("bob", "a-token-of-bobby"))
ALICE, BOB = ({"authorization": f"Bearer {token}"} for _, token in TOKENS)


def test_with_tokens_only_the_front_door_is_open(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        assert [client.get(path).status_code for path in ("/", "/health", "/ready")] == [200, 200, 200]
        for path in ("/state?session_id=s", "/sessions", "/metrics", "/plots/", "/openapi.json", "/blog.md", "/no/such/thing"):
            answer = client.get(path)
            assert answer.status_code == 401 and answer.json()["code"] == "unauthorized", path
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.post("/reset", json={}).status_code == 401
        assert client.get("/sessions", headers=ALICE).status_code == 200


@pytest.mark.parametrize("header", ["Bearer", "Bearer wrong", "Basic a-token-of-alice", "a-token-of-alice", "Bearer a-token-of-alicee", ""])
def test_what_is_not_a_token_opens_nothing_and_is_not_repeated(tmp_path: Path, header: str) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        answer = client.get("/sessions", headers={"authorization": header})
    assert answer.status_code == 401 and "alice" not in answer.text and "wrong" not in answer.text


@pytest.mark.parametrize("token", ["a-token-of-alice", "a-token-of-bobby", "a-token-of-nobody", ""])
def test_every_token_is_compared_in_constant_time_whichever_is_sent(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """Otherwise the time to an answer would tell how much of a token was right, or whose it is."""
    known, compared, compare = KnownTokens(ServerSettings(tokens=TOKENS)), [], hmac.compare_digest

    def counted(mine: bytes, theirs: bytes) -> bool:
        compared.append((len(mine), len(theirs)))
        return compare(mine, theirs)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    assert known.owner_of(token) == {token: owner for owner, token in TOKENS}.get(token)
    assert compared == [(32, 32)] * 2  # digests, so that not even the length shows


def test_a_session_belongs_to_its_owner(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        client.post("/reset", json={"session_id": "mine", "seed": 1}, headers=ALICE)
        step = {"session_id": "mine", "action": MECHANISM}
        assert client.post("/step", json=step, headers=BOB).json()["code"] == "unknown_session"
        for verb, path in (("GET", "/state?session_id=mine"), ("GET", "/sessions/mine/export"), ("DELETE", "/sessions/mine")):
            assert client.request(verb, path, headers=BOB).status_code == 404
        assert client.get("/sessions", headers=BOB).json() == {"sessions": []}
        assert client.post("/step", json=step, headers=ALICE).json()["steps"] == 1


def test_two_owners_play_sessions_of_the_same_name(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        for seed, owner in ((1, ALICE), (2, BOB)):
            assert client.post("/reset", json={"session_id": "demo", "seed": seed}, headers=owner).status_code == 200
        step = {"session_id": "demo", "action": MECHANISM}
        rewards = [client.post("/step", json=step, headers=owner).json()["reward"] for owner in (ALICE, BOB, ALICE)]
        assert len(set(rewards)) == 3
        assert [client.get("/state?session_id=demo", headers=owner).json()["steps"] for owner in (ALICE, BOB)] == [2, 1]
        assert client.delete("/sessions/demo", headers=BOB).status_code == 204
        assert client.get("/state?session_id=demo", headers=ALICE).json()["steps"] == 2


def test_a_token_in_the_file_is_replaced_while_the_server_runs(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("alice:a-token-of-alice\n", encoding="utf-8")
    app = create_app(settings_in(tmp_path, tokens=TOKENS[:1], tokens_file=str(file)))
    with TestClient(app, base_url="http://localhost") as client:

        def admitted() -> list[int]:
            return [client.get("/sessions", headers=owner).status_code for owner in (ALICE, BOB)]

        assert admitted() == [200, 401]
        for broken in ("alice:short\n", "no owner\n", ""):
            file.write_text(broken, encoding="utf-8")
            app.state.tokens.reread()
            assert admitted() == [200, 401]
        file.write_text("bob:a-token-of-bobby\n", encoding="utf-8")
        app.state.tokens.reread()
        assert admitted() == [401, 200]


def test_an_unknown_session_and_somebody_elses_read_the_same(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        client.post("/reset", json={"session_id": "mine"}, headers=ALICE)
        theirs = client.get("/state?session_id=mine", headers=BOB).json()
        nobodys = client.get("/state?session_id=none", headers=BOB).json()
    assert theirs["message"].replace("mine", "none") == nobodys["message"]


def test_a_page_that_points_its_name_at_this_machine_is_refused(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        answer = client.get("/sessions", headers={"host": "evil.example:8000"})
        assert answer.status_code == 403 and answer.json()["code"] == "unknown_host"
        for name in ("localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"):
            assert client.get("/sessions", headers={"host": name}).status_code == 200
    with client_of(settings_in(tmp_path, hosts=("lab.example",))) as client:
        assert client.get("/sessions", headers={"host": "lab.example"}).status_code == 200


def test_a_page_from_elsewhere_changes_nothing(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        foreign = {"origin": "https://evil.example"}
        assert client.post("/reset", json={}, headers=foreign).json()["code"] == "foreign_origin"
        assert client.post("/reset", json={}, headers={"origin": "http://localhost"}).status_code == 200
        assert "access-control-allow-origin" not in client.get("/sessions", headers=foreign).headers
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=foreign):
            pass


def test_a_page_on_the_list_may_use_the_server(tmp_path: Path) -> None:
    page = {"origin": "https://lab.example"}
    with client_of(settings_in(tmp_path, tokens=TOKENS, origins=("https://lab.example",))) as client:
        asked = client.options("/step", headers={**page, "access-control-request-method": "POST"})
        assert asked.status_code == 200 and "authorization" in asked.headers["access-control-allow-headers"]
        answer = client.post("/reset", json={}, headers={**page, **ALICE})
        assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == page["origin"]
        assert client.options("/step", headers={"origin": "https://evil.example"}).status_code == 401


def test_a_socket_needs_a_token_too(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=TOKENS)) as client:
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws"):
            pass
        with client.websocket_connect("/ws", headers=ALICE) as socket:
            socket.send_json({"type": "state", "data": {}})
            assert socket.receive_json()["type"] == "state"


def test_a_socket_is_closed_when_its_token_is_no_longer_good(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("alice:a-token-of-alice\nbob:a-token-of-bobby\n", encoding="utf-8")
    app = create_app(settings_in(tmp_path, tokens=TOKENS, tokens_file=str(file)))
    with TestClient(app, base_url="http://localhost") as client, client.websocket_connect("/ws", headers=BOB) as kept:
        with client.websocket_connect("/ws", headers=ALICE) as lost:
            lost.send_json({"type": "reset", "data": {}})
            assert lost.receive_json()["type"] == "observation"
            file.write_text("alice:another-token-of-alice\nbob:a-token-of-bobby\n", encoding="utf-8")
            client.portal.call(app.state.running.on_hangup)  # type: ignore[union-attr]
            with pytest.raises(WebSocketDisconnect) as closed:
                for _ in range(2):  # a message that came before is still answered
                    lost.send_json({"type": "state", "data": {}})
                    lost.receive_json()
            assert closed.value.code == 1008 and "token" in closed.value.reason
        kept.send_json({"type": "state", "data": {}})
        assert kept.receive_json()["type"] == "state"


def test_an_address_that_fails_too_often_is_told_so_and_a_good_token_is_let_in(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, tokens=TOKENS, limits=RequestLimits(failures=0.01, failures_burst=2))
    with client_of(settings) as client:
        wrong = {"authorization": "Bearer wrong"}
        answers = [client.get("/sessions", headers=headers) for headers in (wrong, {}, wrong, {})]
        assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
        told = answers[-1].json()
        assert told["code"] == "too_many_failures" and told["remedy"] and int(answers[-1].headers["retry-after"]) >= 1
        assert [client.get("/sessions", headers=ALICE).status_code for _ in range(3)] == [200] * 3
        with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect("/ws", headers=wrong):
            pass
        assert closed.value.code == 1013
        with client.websocket_connect("/ws", headers=ALICE):
            pass
        assert 'edgeworth_refusals_total{code="too_many_failures"} 3.0' in client.get("/metrics", headers=ALICE).text
    with TestClient(client.app, base_url="http://localhost", client=("192.0.2.7", 5)) as other:
        assert other.get("/sessions", headers=wrong).status_code == 401


def test_failures_are_counted_by_address_and_by_network_where_one_has_many() -> None:
    hosts = ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "testclient"]
    counted = [network_of((host, 1)) for host in hosts]
    assert counted == ["192.0.2.7", "192.0.2.7", "2001:db8::/64", "2001:db8::/64", "2001:db8:0:1::/64", "testclient"]
    assert network_of(None) == ""


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::1", "::ffff:192.0.2.7", "0.0.0.0", "fe80::1%eth0"])
def test_an_open_application_serves_its_own_machine_only(tmp_path: Path, host: str) -> None:
    with TestClient(create_app(settings_in(tmp_path)), base_url="http://localhost", client=(host, 5)) as client:
        for path in ("/sessions", "/", "/metrics"):
            answer = client.get(path)
            assert answer.status_code == 403 and answer.json()["code"] == "not_local"
        assert "EDGEWORTH_TOKENS" in answer.json()["remedy"] and "--insecure" in answer.json()["remedy"]
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws"):
            pass


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1", "testclient", ""])
def test_its_own_machine_is_known_by_every_name(tmp_path: Path, host: str) -> None:
    with TestClient(create_app(settings_in(tmp_path)), base_url="http://localhost", client=(host, 5)) as client:
        assert client.get("/sessions").status_code == 200


@pytest.mark.parametrize("changes", [{"insecure": True}, {"tokens": TOKENS}], ids=["insecure", "tokens"])
def test_who_says_so_serves_others_too(tmp_path: Path, changes: dict[str, Any]) -> None:
    app = create_app(settings_in(tmp_path, **changes))
    with TestClient(app, base_url="http://localhost", client=("192.0.2.7", 5)) as client:
        assert client.get("/sessions", headers=ALICE).status_code == 200


def test_a_client_without_an_address_is_inside_this_machine(tmp_path: Path) -> None:
    """As over a socket of the file system."""

    async def asked() -> httpx.Response:
        inside = httpx.ASGITransport(create_app(settings_in(tmp_path)), client=None)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=inside, base_url="http://localhost") as client:
            return await client.get("/sessions")

    assert asyncio.run(asked()).status_code == 200


def test_an_application_without_settings_goes_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEWORTH_TOKENS", "alice:a-token-of-alice")
    monkeypatch.setenv("EDGEWORTH_STORE", f"sqlite:///{tmp_path / 'here.sqlite'}")
    settings = create_app().state.settings
    assert settings.tokens == TOKENS[:1] and settings.store.endswith("here.sqlite")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "lab.example"])
def test_an_address_that_others_reach_needs_tokens_and_a_proxy_or_a_word(host: str) -> None:
    for changes, said in (({}, "tokens"), ({"behind_proxy": True}, "tokens"), ({"tokens": TOKENS}, "--behind-proxy")):
        with pytest.raises(InvalidOption, match=f"{said}.*--insecure"):
            ServerSettings(host=host, **changes)
    assert ServerSettings(host=host, insecure=True).host == host
    assert ServerSettings(host=host, tokens=TOKENS, behind_proxy=True).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_this_machine_alone_needs_none(host: str) -> None:
    assert ServerSettings(host=host).checks_host


def test_settings_show_no_secrets() -> None:
    shown = repr(ServerSettings(tokens=TOKENS, store="postgresql://lab:hunter2@db/lab"))
    assert "hunter2" not in shown and "a-token-of" not in shown and "127.0.0.1" in shown


def test_tokens_are_read_from_a_list_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# ours\nalice:a-token-of-alice\n\nbob:a-token-of-bobby\n", encoding="utf-8")
    assert tokens_from("alice:a-token-of-alice, bob:a-token-of-bobby") == TOKENS == tokens_from(f"@{file}")
    assert tokens_from("") == ()


def test_tokens_that_cannot_be_are_refused_without_repeating_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="owner:token") as refused:
        tokens_from("alice:a-token-of-alice,secret-without-owner")
    assert "secret-without-owner" not in str(refused.value)
    with pytest.raises(DataError, match="cannot be read"):
        tokens_from(f"@{tmp_path / 'none'}")
    for tokens in (
        (("alice", ""),),
        (("alice", "15-characters-x"),),
        (("a b", "a-token-of-alice"),),
        (("a", "a-token-of-alice"), ("b", "a-token-of-alice")),
    ):
        with pytest.raises(InvalidOption):
            ServerSettings(tokens=tokens)


def test_a_limit_on_sessions_is_kept_for_each_owner(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, tokens=TOKENS)
    settings = dataclasses.replace(settings, sessions=dataclasses.replace(settings.sessions, per_owner=2))
    with client_of(settings) as client:
        assert [client.post("/reset", json={}, headers=ALICE).status_code for _ in range(3)] == [200, 200, 429]
        assert client.post("/reset", json={}, headers=BOB).status_code == 200


def test_a_host_header_is_read_without_its_port() -> None:
    assert [host_name(host) for host in ("a:1", "[::1]:2", "A.b", "")] == ["a", "[::1]", "a.b", ""]


@pytest.mark.parametrize("prefix", ["", "/lab"])
def test_behind_a_prefix_only_the_page_and_the_probes_are_open(tmp_path: Path, prefix: str) -> None:
    with client_of(settings_in(tmp_path, root_path="/lab", tokens=(("alice", "a-token-of-alice"),))) as client:
        for path in ("/", "/page/app.js", "/health"):
            assert client.get(prefix + path).status_code == 200
        for path in ("/catalog", "/runs", "/labels", "/lab/catalog", "/page"):
            assert client.get(prefix + path).status_code == 401
        found = client.get(f"{prefix}/catalog", headers={"authorization": "Bearer a-token-of-alice"})
        assert found.status_code == 200
        assert client.get("/lab", follow_redirects=False).headers["location"].endswith("/lab/")


@pytest.mark.parametrize("wrong", ["lab", "/lab/", "/a b", "//"])
def test_a_root_path_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidOption, match="root path"):
        ServerSettings(root_path=wrong)
