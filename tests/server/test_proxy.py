"""nginx in front of the server, with docker/nginx.conf: games work through it, slow and oversized requests do not.

The clients that have to be timed out run together, in the fixture `slow_clients`; each test then looks at one of them.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest
import uvicorn
from benchmarks.load import frame
from benchmarks.nginx_process import NGINX, documented_nginx

from edgeworth.client import RemoteGame
from running_servers import MECHANISM, in_thread, read_to_the_end, settings_in, wait_for

SECONDS = 10.0
"""All timeouts of the configuration."""
GET = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST /step HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
GET_FIGURE = b"GET /plots/results/large.png HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
FIGURE = bytes(range(250)) * 24_000
"""Six megabytes: more than the kernel buffers for a client that does not read."""
MANY = 200
"""Answers of about a hundred kilobytes each: more than all buffers between here and there hold."""
UPGRADE = b"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
SLOW_SENDERS = {
    "silent": (b"", b""),
    "headers": (b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: ", b"a"),
    "headers of a second request": (b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /health HTTP/1.1\r\nx: ", b"a"),
    "body": (POST + b'content-length: 100\r\n\r\n{"session_id"', b""),
    "trickled body": (POST + b'content-length: 1000\r\n\r\n{"session_id"', b"a"),
    "a byte after an answer": (b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nG", b""),
}
"""What a client sends at once, and then every half second."""
EPISODE = 1_000
"""Steps of about five kilobytes each."""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where nginx has its files."""
    return tmp_path_factory.mktemp("nginx")


@pytest.fixture(scope="module")
def proxied(folder: Path) -> Iterator[tuple[uvicorn.Server, int]]:
    """A server, and the port of nginx in front of it."""
    results = folder / "results"
    results.mkdir()
    (results / "large.png").write_bytes(FIGURE)
    settings = settings_in(folder, port=0, log_requests=False, results=str(results))
    with in_thread(settings) as (server, server_port):
        for listening in server.servers[0].sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)  # nginx has to hold an unread answer, not the kernel
        with documented_nginx(folder, server_port) as port:
            yield server, port


def test_a_session_over_http_works_through_the_proxy(proxied: tuple[uvicorn.Server, int]) -> None:
    with httpx.Client(base_url=f"http://localhost:{proxied[1]}") as client:
        assert client.post("/reset", json={"session_id": "s", "seed": 1}).json()["observation"]["round_number"] == 0
        assert [client.post("/step", json={"session_id": "s", "action": MECHANISM}).json()["steps"] for _ in range(3)] == [1, 2, 3]
        assert client.get("/state", params={"session_id": "s"}).json()["steps"] == 3
        assert client.post("/step", json={"session_id": "s", "action": None}).json()["code"] == "illegal_action"


def test_a_session_over_a_websocket_works_through_the_proxy(proxied: tuple[uvicorn.Server, int]) -> None:
    for game, action in (("auction", MECHANISM), ("bargaining", {"act_type": 0, "oA": [1, 0, 0]})):
        with RemoteGame(f"http://localhost:{proxied[1]}", game) as remote:
            remote.reset(seed=7)
            remote.step(action)
            assert remote.state()["step_count"] == 1


def test_a_body_over_the_limit_is_refused(proxied: tuple[uvicorn.Server, int]) -> None:
    body = b'{"session_id": "' + b"s" * 300_000 + b'"}'
    answer = httpx.post(f"http://localhost:{proxied[1]}/step", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_headers_over_the_limit_are_refused(proxied: tuple[uvicorn.Server, int]) -> None:
    answer = httpx.get(f"http://localhost:{proxied[1]}/health", headers={"x": "a" * 70_000})
    assert answer.status_code == 400


@pytest.mark.parametrize("head", [POST, b"GET /ws HTTP/1.1\r\nhost: localhost\r\n" + UPGRADE], ids=["request", "socket"])
def test_chunks_are_refused_and_trailers_without_end_are_not_read(proxied: tuple[uvicorn.Server, int], head: bytes) -> None:
    with connected(proxied[1]) as line, pytest.raises(ConnectionError):
        line.sendall(head + b"transfer-encoding: chunked\r\n\r\n0\r\n")
        assert read_to_the_end(line).startswith(b"HTTP/1.1 411 ")
        until = time.monotonic() + 30.0
        while time.monotonic() < until:
            line.sendall((b"x: " + b"a" * 1_000 + b"\r\n") * 64)
            time.sleep(0.2)


def test_the_access_log_has_the_client_and_the_path_but_no_query_string(proxied: tuple[uvicorn.Server, int], folder: Path) -> None:
    assert httpx.get(f"http://localhost:{proxied[1]}/health?token=a-token-of-alice").status_code == 400
    said = (folder / "edgeworth.log").read_text(encoding="utf-8")
    assert re.search(r'^127\.0\.0\.1 \[\S+\] "GET /health" 400 ', said, re.MULTILINE) and "a-token-of-alice" not in said


def connected(port: int) -> socket.socket:
    """A client with a small window."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.settimeout(60.0)
    line.connect(("127.0.0.1", port))
    return line


def trickled(port: int, sent: bytes, piece: bytes) -> float:
    """Seconds until a client that sends something, and then a byte now and then, is cut off."""
    began = time.monotonic()
    with connected(port) as line:
        line.sendall(sent)
        line.settimeout(0.5)
        while time.monotonic() - began < 60.0:
            try:
                if not line.recv(65_536):
                    break
            except TimeoutError:
                with contextlib.suppress(ConnectionError):
                    line.sendall(piece)
            except ConnectionError:
                break
    return time.monotonic() - began


def cut_off(line: socket.socket) -> bool:
    """Whether the other side resets a connection within a minute and a half, without reading from it."""
    watching = select.poll()
    watching.register(line, 0)  # errors are always reported
    return bool(watching.poll(90_000.0))


def unread(port: int) -> bool:
    """Whether a client that asks much and reads nothing is cut off."""
    with connected(port) as line:
        line.sendall(GET * MANY)
        return cut_off(line)


def unread_socket(port: int) -> bool:
    """Whether a WebSocket client that makes the steps of two episodes and reads nothing is cut off."""
    begin = frame(orjson.dumps({"type": "reset", "data": {"episode_length": EPISODE, "seed": 1}}))
    step = frame(orjson.dumps({"type": "step", "data": MECHANISM}))
    with connected(port) as line:
        line.sendall(b"GET /ws HTTP/1.1\r\nhost: localhost\r\n" + UPGRADE + b"\r\n")
        assert line.recv(65_536).startswith(b"HTTP/1.1 101 ")
        with contextlib.suppress(ConnectionError):
            line.sendall((begin + step * EPISODE) * 2)
        return cut_off(line)


def read_steadily(port: int) -> bytes:
    """What a client gets that reads a large answer for longer than any timeout, a piece at a time."""
    with connected(port) as line:
        line.sendall(GET_FIGURE)
        heard, began = bytearray(), time.monotonic()
        while chunk := line.recv(65_536):
            heard += chunk
            time.sleep(max(0.0, began + (SECONDS + 2.0) * len(heard) / len(FIGURE) - time.monotonic()))
    assert time.monotonic() - began > SECONDS + 1.0
    return bytes(heard)


@dataclass
class SlowClients:
    """Clients that are slow all at once, and what the others saw meanwhile."""

    senders: dict[str, Future[float]]
    unread: Future[bool]
    unread_socket: Future[bool]
    read_steadily: Future[bytes]
    server_tasks: int
    health: int


@pytest.fixture(scope="module")
def slow_clients(proxied: tuple[uvicorn.Server, int]) -> Iterator[SlowClients]:
    server, port = proxied
    assert httpx.get(f"http://localhost:{port}/openapi.json", timeout=30.0).status_code == 200  # the first is slow to make
    with ThreadPoolExecutor(len(SLOW_SENDERS) + 3) as pool:
        senders = {name: pool.submit(trickled, port, *what) for name, what in SLOW_SENDERS.items()}
        with contextlib.suppress(AssertionError):  # the test says so
            wait_for(lambda: len(server.server_state.tasks) == sum("body" in name for name in SLOW_SENDERS), SECONDS / 2)
        time.sleep(0.5)
        tasks = len(server.server_state.tasks)
        readers = pool.submit(unread, port), pool.submit(unread_socket, port), pool.submit(read_steadily, port)
        time.sleep(1.0)
        yield SlowClients(senders, *readers, tasks, httpx.get(f"http://localhost:{port}/health", timeout=20.0).status_code)


@pytest.mark.parametrize("name", SLOW_SENDERS)
def test_a_client_that_sends_slowly_is_cut_off(slow_clients: SlowClients, name: str) -> None:
    assert SECONDS - 1.0 < slow_clients.senders[name].result(60.0) < SECONDS + 10.0


def test_requests_without_all_their_headers_do_not_reach_the_server(slow_clients: SlowClients) -> None:
    assert slow_clients.server_tasks == sum("body" in name for name in SLOW_SENDERS)


def test_others_are_served_meanwhile(slow_clients: SlowClients) -> None:
    assert slow_clients.health == 200


def test_a_client_that_does_not_read_is_cut_off(slow_clients: SlowClients) -> None:
    assert slow_clients.unread.result(100.0)


def test_a_socket_whose_client_does_not_read_is_closed(slow_clients: SlowClients, proxied: tuple[uvicorn.Server, int]) -> None:
    assert slow_clients.unread_socket.result(100.0)
    wait_for(lambda: "edgeworth_sockets 0.0" in httpx.get(f"http://localhost:{proxied[1]}/metrics", timeout=20.0).text)


def test_a_client_that_reads_slowly_but_steadily_gets_everything(slow_clients: SlowClients) -> None:
    assert slow_clients.read_steadily.result(100.0).endswith(b"\r\n\r\n" + FIGURE)


def test_an_answer_that_is_not_read_yet_does_not_occupy_the_server(proxied: tuple[uvicorn.Server, int]) -> None:
    server, port = proxied
    with connected(port) as line:
        line.sendall(GET_FIGURE)
        line.recv(1, socket.MSG_PEEK)  # the answer has begun
        wait_for(lambda: not server.server_state.tasks, 20.0)
        assert read_to_the_end(line).endswith(b"\r\n\r\n" + FIGURE)
