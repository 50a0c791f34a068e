"""Pages and probes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from starlette.websockets import WebSocketDisconnect

import edgeworth
from edgeworth.server import monitoring
from edgeworth.server.routes_lab import PAGE
from running_servers import MECHANISM, client_of, settings_in


def test_the_lab_page_and_all_its_files_are_served_without_a_token(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, tokens=(("alice", "a-token-of-alice"),))) as client:
        page = client.get("/")
        files = re.findall(r'(?:href|src)="(page/[^"]+)"', page.text)
        modules = {f"page/{name}" for file in files for name in re.findall(r'from "\./([a-z]+\.js)"', client.get(file).text)}
        assert page.headers["content-type"].startswith("text/html") and len(modules) >= 4
        found = {file: client.get(f"/{file}").headers for file in {*files, *modules}}
        assert {file: headers["content-type"].split(";")[0] for file, headers in found.items()} == {
            file: {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}[file.rpartition(".")[2]] for file in found
        }
        assert client.get("/catalog").status_code == 401 and client.get("/page/other.js").status_code == 404


def test_the_lab_page_runs_no_inline_script_and_names_no_other_host(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        page = client.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"] and "unsafe" not in page.headers["content-security-policy"]
    assert "style=" not in page.text and not re.search(r"<script(?! type=\"module\" src=)|\son\w+=", page.text)
    texts = {file.name: file.read_text(encoding="utf-8") for file in PAGE.iterdir()}
    allowed = {"http://www.w3.org/2000/svg"}
    assert [name for name, text in texts.items() if set(re.findall(r"https?://[^\s\"'`<>]+", text)) - allowed] == []
    assert [name for name, text in texts.items() if "innerHTML" in text or "insertAdjacentHTML" in text] == []


def test_a_page_without_scripts_leads_to_pages_that_exist(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        links = re.findall(r'href="([^"#]+)"', client.get("/").text.partition("<noscript>")[2])
        assert len(links) == 5 and {link: client.get(f"/{link}").status_code for link in links} == dict.fromkeys(links, 200)


def test_the_catalog_names_what_a_negotiation_can_be_opened_with(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        found = client.get("/catalog").json()
        for scenario in found["scenarios"]:
            assert scenario["what"] and client.post("/bargaining/reset", json={"scenario": scenario["name"]}).status_code == 200
        assert {"heuristic", "self_play", "human_clone"} <= {partner["name"] for partner in found["partners"]}
    assert found["version"] == edgeworth.__version__ and set(found["rules"]) == {"auction", "bargaining"}


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
