"""Pages and probes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.websockets import WebSocketDisconnect

from edgeworth.server import monitoring
from running_servers import MECHANISM, client_of, settings_in


def test_the_start_page_leads_to_pages_that_exist(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        page = client.get("/")
        links = [part.partition('"')[0] for part in page.text.split('href="')[1:]]
        assert page.headers["content-type"].startswith("text/html") and len(links) >= 5
        assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)
        assert "http://" not in page.text.replace("http://localhost", "") and "src=" not in page.text


def test_the_write_up_is_served(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        answer = client.get("/blog.md")
    assert answer.headers["content-type"].startswith("text/markdown") and answer.text.startswith("# ")


def test_metrics_count_requests_steps_refusals_and_sessions(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s"})
        client.post("/step", json={"session_id": "s", "action": MECHANISM})
        client.post("/step", json={"session_id": "s", "action": None})
        client.get("/a/path/with/a/secret")
        text = client.get("/metrics").text
    assert 'edgeworth_requests_total{method="POST",route="/step",status="200"} 1.0' in text
    assert 'edgeworth_steps_total{game="auction"} 1.0' in text
    assert 'edgeworth_refusals_total{code="illegal_action"} 1.0' in text
    assert 'edgeworth_request_seconds_count{route="/step"} 2.0' in text
    assert "edgeworth_sessions 1.0" in text and "edgeworth_sockets 0.0" in text
    assert "secret" not in text


def test_the_log_has_a_line_for_a_request_and_nothing_that_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(monitoring, "_lowest_level", 0)
    with client_of(settings_in(tmp_path, tokens=(("alice", "a-token-of-alice"),))) as client:
        client.post("/reset?q=hidden", json={"session_id": "s"}, headers={"authorization": "Bearer a-token-of-alice", "cookie": "hidden"})
        client.get("/hidden/path")
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws?hidden=1"):
            pass
    said = capsys.readouterr().err
    lines = [json.loads(line) for line in said.splitlines()]
    first, second = (line for line in lines if line["event"] == "request")
    assert (first["method"], first["route"], first["status"], first["owner"], first["session"]) == ("POST", "/reset", 200, "alice", "s")
    assert first["ms"] > 0 and len(first["request_id"]) == 32
    assert (second["route"], second["code"]) == ("(no route)", "unauthorized")
    assert [line["code"] for line in lines if line["event"] == "socket"] == ["unauthorized"]
    assert "hidden" not in said and "a-token-of-alice" not in said
