"""What an operator learns: who asked, what failed and where, how busy sockets and the process are; and never what was secret."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from edgeworth.server.settings import RequestLimits
from edgeworth.server.store import Store
from running_servers import MECHANISM, client_of, served, settings_in, wait_for

TOKEN = "a-token-of-alice"
ALICE = {"authorization": f"Bearer {TOKEN}"}


def test_the_log_has_the_address_of_a_client_and_no_query_string(tmp_path: Path) -> None:
    with served(tmp_path, tokens=f"alice:{TOKEN}") as server:
        address = server.address()
        assert httpx.get(f"{address}/sessions?q=hidden", headers=ALICE).status_code == 200
        assert httpx.get(f"{address}/sessions?token={TOKEN}").json()["code"] == "token_in_url"
        socket = address.replace("http", "ws") + "/ws"
        with connect(f"{socket}?hidden=1", additional_headers=ALICE) as line:
            line.send(json.dumps({"type": "reset", "data": {}}))
            line.recv()
        with pytest.raises(InvalidStatus), connect(f"{socket}?access_token={TOKEN}", additional_headers=ALICE):
            pass
        server.stop()
        said = server.said()
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert {line["client"] for line in lines if line["event"] in ("request", "socket")} == {"127.0.0.1"}
    assert [line.get("code") for line in lines if line["event"] == "socket"] == [None, "token_in_url"]
    assert "hidden" not in said and TOKEN not in said


def test_metrics_count_messages_of_sockets_and_their_refusals(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, hosts=("testserver",))) as client:
        with client.websocket_connect("/ws") as line:
            for message in (
                {"type": "reset", "data": {}},
                {"type": "step", "data": MECHANISM},
                {"type": "step", "data": {}},
                {"type": "x"},
            ):
                line.send_json(message)
                line.receive_json()
        with client.websocket_connect("/ws?session_id=nobody") as line:
            line.receive_json()
        text = client.get("/metrics").text
    for kind, outcome in (("reset", "answered"), ("step", "answered"), ("step", "refused"), ("unreadable", "refused")):
        assert f'edgeworth_socket_messages_total{{game="auction",outcome="{outcome}",type="{kind}"}} 1.0' in text
    assert 'edgeworth_steps_total{game="auction"} 1.0' in text
    for code in ("illegal_action", "unknown_type", "unknown_session"):
        assert f'edgeworth_refusals_total{{code="{code}"}} 1.0' in text
    assert "process_resident_memory_bytes" in text and "process_open_fds" in text and "process_cpu_seconds_total" in text


def test_one_worker_tells_the_memory_of_all_soon_after_they_have_started(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server, httpx.Client(base_url=server.address(), timeout=20.0) as client:

        def told() -> int:  # by the worker that has the client's connection
            return client.get("/metrics").text.count("process_resident_memory_bytes{")

        wait_for(lambda: told() == 2, 30.0)


def test_probes_are_answered_where_nothing_else_is(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, limits=RequestLimits(requests=0))) as client:
        assert client.get("/sessions").json()["code"] == "busy"
        assert [client.get(path).status_code for path in ("/health", "/ready", "/metrics")] == [200, 200, 200]


def test_a_failure_behind_a_refusal_is_logged_with_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("edgeworth.server"), "propagate", True)
    with client_of(settings_in(tmp_path, hosts=("testserver",))) as client, client.websocket_connect("/ws") as line:
        line.send_json({"type": "reset", "data": {}})
        line.receive_json()
        client.post("/reset", json={"session_id": "s"})
        sqlite3.connect(tmp_path / "sessions.sqlite").execute("DROP TABLE edgeworth_log").connection.close()
        answer = client.post("/step", json={"session_id": "s", "action": MECHANISM})
        line.send_json({"type": "step", "data": MECHANISM})
        assert line.receive_json()["data"]["reason"] == "store_unavailable"
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    over_http, over_socket = (record for record in caplog.records if "store_unavailable" in record.getMessage())
    assert answer.headers["x-request-id"] in over_http.getMessage() and "on a socket" in over_socket.getMessage()
    assert all(isinstance(record.exc_info[1].__cause__, sqlite3.OperationalError) for record in (over_http, over_socket))  # type: ignore


def test_workers_that_share_a_pipe_do_not_write_into_the_lines_of_each_other() -> None:
    script = (
        "import logging; from edgeworth.server import monitoring; monitoring.set_up_log()\n"
        "for number in range(2_000): monitoring.note(logging.INFO, 'line', number=number, padding='x' * (number % 300))\n"
        "monitoring.FLUSH_SECONDS = 60.0"
    )
    reading, writing = os.pipe()
    workers = [subprocess.Popen([sys.executable, "-c", script], stderr=writing) for _ in range(4)]
    os.close(writing)
    with open(reading, encoding="utf-8") as log:
        numbers = [json.loads(line)["number"] for line in log]
    assert sorted(numbers) == sorted(list(range(2_000)) * 4) and [worker.wait(60.0) for worker in workers] == [0] * 4


def test_what_others_log_or_warn_of_is_in_the_log_too() -> None:
    script = (
        "import logging, warnings; from edgeworth.server.monitoring import note, set_up_log; set_up_log()\n"
        "note(logging.INFO, 'ours'); logging.getLogger('asyncio').error('accept failed'); warnings.warn('outdated')\n"
        "logging.getLogger('asyncio').info('not said')"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    ours, logged, warned = (json.loads(line) for line in said.splitlines())
    assert ours["event"] == "ours" and (logged["logger"], logged["message"]) == ("asyncio", "accept failed")
    assert warned["logger"] == "py.warnings" and "outdated" in warned["message"]


def test_a_rollback_that_fails_does_not_hide_the_first_error(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    with pytest.raises(ValueError, match="the first") as error, store.database.writing() as cursor:
        cursor.execute("ROLLBACK")  # as SQLite does by itself when the disk is full
        raise ValueError("the first error")
    assert "ROLLBACK failed too" in error.value.__notes__[0]
    store.close()
