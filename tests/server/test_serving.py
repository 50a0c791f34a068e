"""`edgeworth serve` as a process: the published client, draining, workers that die, slow bodies, and what it refuses to start."""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import websockets.exceptions
import websockets.sync.client

from edgeworth.server.settings import RequestLimits
from running_servers import MECHANISM, Server, has_ended, in_thread, served, settings_in, wait_for

JSON = "content-type: application/json\r\n"


def started_workers(server: Server) -> list[int]:
    lines = [json.loads(line) for line in server.log if line.startswith("{")]
    return [line["pid"] for line in lines if line["event"] == "worker_started"]


def test_the_published_client_works_unchanged(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        base = server.address()
        obs = httpx.post(f"{base}/reset", json={"session_id": "demo", "n_agents": 8, "episode_length": 10}).json()["observation"]
        payload = {name: obs[name] for name in ("round_number", "episode_length", "market_outcomes")}
        mechanism = httpx.post(f"{base}/api/design", json=payload, timeout=60.0).json()["mechanism"]
        reward = httpx.post(f"{base}/step", json={"session_id": "demo", "action": mechanism}).json()["reward"]
        assert 0.0 <= reward <= 1.0
        assert server.stop() == 0
    assert "Traceback" not in server.said()


def test_workers_share_sessions_and_a_killed_one_is_replaced(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        base = server.address()
        httpx.post(f"{base}/reset", json={"session_id": "s", "seed": 1, "episode_length": 100})
        for number in range(1, 9):  # a new connection each, so that both workers come to serve it
            stepped = httpx.post(f"{base}/step", json={"session_id": "s", "action": MECHANISM}).json()
            assert stepped["steps"] == number
        first = started_workers(server)
        os.kill(first[0], signal.SIGKILL)
        wait_for(lambda: len(started_workers(server)) == 3)
        with httpx.Client(base_url=base, transport=httpx.HTTPTransport(retries=5)) as client:
            assert client.get("/state", params={"session_id": "s"}).json()["steps"] == 8
            assert 'edgeworth_steps_total{game="auction"} 8.0' in client.get("/metrics").text
        assert server.stop() == 0
    for pid in started_workers(server):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_workers_leave_with_their_supervisor(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        server.address()
        workers = started_workers(server)
        server.stop(signal.SIGKILL)
        wait_for(lambda: all(has_ended(pid) for pid in workers))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_tokens_are_read_again_on_sighup_and_no_worker_has_them_in_its_environment(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "tokens"
    file.write_text("alice:the-first-token-of-alice", encoding="utf-8")
    first, second = ({"authorization": f"Bearer the-{word}-token-of-alice"} for word in ("first", "second"))
    with served(tmp_path, "--tokens-file", str(file), "--workers", workers, tokens="bob:a-token-of-bobby") as server:
        url = server.address() + "/sessions"
        assert httpx.get(url, headers=first).status_code == 200
        before = started_workers(server)  # none where there is one worker, which stays
        for pid in before:
            assert b"a-token-of-bobby" not in Path(f"/proc/{pid}/environ").read_bytes()
        file.write_text("alice:the-second-token-of-alice", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        until, refused = time.monotonic() + 90.0, 0
        while (refused < 10 or any(Path(f"/proc/{pid}").exists() for pid in before)) and time.monotonic() < until:
            refused = refused + 1 if httpx.get(url, headers=first, timeout=20.0).status_code == 401 else 0
            time.sleep(0.05)
        assert refused >= 10
        assert httpx.get(url, headers=second).status_code == 200
        assert server.stop() == 0


def test_requests_in_hand_are_finished_and_others_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holding, go_on = threading.Event(), threading.Event()
    with in_thread(settings_in(tmp_path, port=0, stop_seconds=20)) as (worker, port):
        store = worker.config.loaded_app.state.sessions.store
        owned = store.owned

        def slowly(owner: str) -> object:
            holding.set()
            go_on.wait(20.0)
            return owned(owner)

        monkeypatch.setattr(store, "owned", slowly)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(httpx.get, f"http://127.0.0.1:{port}/sessions", timeout=30.0)
            assert holding.wait(20.0)
            worker.config.loaded_app.state.running.draining = True
            ready = httpx.get(f"http://127.0.0.1:{port}/ready")
            assert ready.status_code == 503 and ready.json()["code"] == "draining"
            worker.should_exit = True
            wait_for(lambda: not worker.servers[0].is_serving(), 15.0)
            with pytest.raises(httpx.HTTPError):
                httpx.get(f"http://127.0.0.1:{port}/health", timeout=1.0)
            go_on.set()
            assert answer.result(20.0).status_code == 200


def test_an_open_socket_is_closed_when_the_server_leaves(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        with websockets.sync.client.connect(server.address().replace("http", "ws") + "/ws") as line:
            line.send(json.dumps({"type": "reset", "data": {"seed": 1}}))
            assert json.loads(line.recv(20.0))["type"] == "observation"
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
                line.recv(20.0)
        assert closed.value.rcvd is not None and closed.value.rcvd.code in (1001, 1012)
        assert server.process.wait(60.0) == 0


def talk(port: int, text: str) -> str:
    """Send bytes as they are, and hear all there is."""
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as line:
        line.sendall(text.encode("latin-1"))
        heard = b""
        while chunk := line.recv(65_536):
            heard += chunk
    return heard.decode()


def test_slow_bodies_and_broken_requests_are_refused_while_others_are_served(tmp_path: Path) -> None:
    limits = RequestLimits(body_seconds=0.6, keep_alive_seconds=1)
    post = f"POST /step HTTP/1.1\r\nhost: localhost\r\n{JSON}"
    with in_thread(settings_in(tmp_path, port=0, limits=limits)) as (_, port), concurrent.futures.ThreadPoolExecutor(8) as pool:
        half_body = pool.submit(talk, port, f'{post}content-length: 100\r\n\r\n{{"session_id"')
        half_chunks = pool.submit(talk, port, f"{post}transfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n")
        broken = pool.submit(talk, port, "no http at all\r\n\r\n")
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
        assert half_body.result(20.0).startswith("HTTP/1.1 408 ") and '"code":"too_slow"' in half_body.result()
        assert half_chunks.result(20.0).startswith("HTTP/1.1 411 ") and '"code":"length_required"' in half_chunks.result()
        assert broken.result(20.0).startswith("HTTP/1.1 400 ")


def test_a_connection_too_many_is_answered_503(tmp_path: Path) -> None:
    with in_thread(settings_in(tmp_path, port=0, limits=RequestLimits(connections=2))) as (worker, port):
        with socket.create_connection(("127.0.0.1", port)):
            wait_for(lambda: worker.server_state.connections)
            heard = talk(port, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert heard.startswith("HTTP/1.1 503 ")
        wait_for(lambda: not worker.server_state.connections)
        text = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert float(re.search(r"\nedgeworth_turned_away_total (\S+)", text)[1]) >= 1.0  # type: ignore[index]


def serve(*flags: str, tokens: str = "", store: str = "sqlite://") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "EDGEWORTH_TOKENS": tokens, "EDGEWORTH_STORE": store}
    words = [sys.executable, "-m", "edgeworth", "serve", *flags]
    return subprocess.run(words, capture_output=True, text=True, timeout=180.0, env=environment, check=False)


def test_workers_that_cannot_start_are_given_up(tmp_path: Path) -> None:
    answer = serve("--port", "0", "--workers", "2", "--no-openenv", "--warm", "nobody", store=f"sqlite:///{tmp_path / 's.sqlite'}")
    assert answer.returncode == 1 and "do not start" in answer.stderr
    assert "Unknown designer or hint provider to warm 'nobody'" in answer.stderr


def test_it_refuses_to_start_open_to_others() -> None:
    answer = serve("--host", "0.0.0.0", "--port", "0")
    assert answer.returncode == 2 and "EDGEWORTH_TOKENS" in answer.stderr and "--insecure" in answer.stderr


def test_a_port_in_use_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        answer = serve("--port", str(taken.getsockname()[1]), store=f"sqlite:///{tmp_path / 's.sqlite'}")
    assert answer.returncode == 1 and "in use" in answer.stderr and "--port" in answer.stderr and "Traceback" not in answer.stderr


def test_a_store_that_cannot_be_is_an_error_without_its_password() -> None:
    answer = serve("--port", "0", store="postgresql://lab:hunter2@127.0.0.1:1/none")
    assert answer.returncode == 2 and "store" in answer.stderr
    assert "hunter2" not in answer.stderr and "Traceback" not in answer.stderr
