"""Clients without a token get no memory, no connection that stays open, and behind the proxy no place that others need."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from benchmarks.load import frame
from benchmarks.nginx_process import CONFIGURATION, NGINX, nginx_with
from benchmarks.server_process import free_port

from edgeworth.server.settings import RequestLimits
from running_servers import Server, in_thread, read_to_the_end, served, settings_in

TOKENS = (("alice", "a-token-of-alice"),)
OWNER = "authorization: Bearer a-token-of-alice\r\n"
CHUNKED = "POST /step HTTP/1.1\r\nhost: localhost\r\n{owner}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
TRAILERS = b"x: " + b"a" * 1_000 + b"\r\n"
UNFINISHED = f"POST /step HTTP/1.1\r\nhost: localhost\r\n{OWNER}content-length: 5\r\n\r\n"
BODY = "content-length: 5\r\n"
UPGRADE = (
    "GET /ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n"
    f"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{BODY}\r\n"
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server with tokens, and without a proxy."""
    settings = settings_in(tmp_path_factory.mktemp("strangers"), port=0, tokens=TOKENS, limits=RequestLimits(body_seconds=30.0))
    with in_thread(settings) as (_, port):
        yield port


@pytest.mark.parametrize(("owner", "status"), [("", 401), (OWNER, 411)])
def test_trailers_without_end_are_not_read(port: int, owner: str, status: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as line:
        line.sendall(CHUNKED.format(owner=owner).encode())
        assert f" {status} " in read_to_the_end(line).decode()
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as line, pytest.raises(ConnectionError):
        line.sendall(CHUNKED.format(owner=owner).encode())
        for _ in range(64):
            line.sendall(TRAILERS * 1_000)  # a megabyte; 64 of them do not fit into the kernel's buffers


@pytest.mark.parametrize("path", ["/step", "/", "/health", "/page/app.js"])
@pytest.mark.parametrize("length", ["5", "100000000000"])
def test_a_refused_body_is_not_waited_for(port: int, path: str, length: str) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as line:
        line.sendall(f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n".encode())
        assert read_to_the_end(line).decode().startswith("HTTP/1.1 401 ")


@pytest.mark.parametrize("body", ["transfer-encoding: chunked\r\n\r\n0\r\n", "content-length: 5\r\n\r\n"])
def test_a_page_that_asks_whether_it_may_send_is_not_waited_for(tmp_path: Path, body: str) -> None:
    """A preflight request needs no token, and is answered before anybody looks at its body."""
    asked = f"origin: https://example.org\r\naccess-control-request-method: POST\r\n{body}"
    settings = settings_in(tmp_path, port=0, tokens=TOKENS, origins=("https://example.org",))
    with in_thread(settings) as (_, port), socket.create_connection(("127.0.0.1", port), timeout=20.0) as line:
        line.sendall(f"OPTIONS /step HTTP/1.1\r\nhost: localhost\r\n{asked}".encode())
        assert read_to_the_end(line).decode().startswith("HTTP/1.1 200 ")


def test_a_refusal_without_a_body_keeps_the_connection(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        assert [client.get("/sessions").headers.get("connection") for _ in range(2)] == [None, None]


def test_headers_beyond_the_limit_are_refused(port: int) -> None:
    for size, status in ((60_000, 200), (70_000, 431)):
        answer = httpx.get(f"http://127.0.0.1:{port}/health", headers={"x": "a" * size})
        assert answer.status_code == status


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server process with tokens."""
    with served(tmp_path_factory.mktemp("process"), "--behind-proxy", tokens="alice:a-token-of-alice") as server:
        server.address()
        yield server


def port_of(server: Server) -> int:
    return int(server.address().rpartition(":")[2])


def test_a_flood_of_pings_on_one_socket_leaves_the_others_their_turn(process: Server) -> None:
    pings, over = frame(b"", kind=9) * 10_000, threading.Event()
    with socket.create_connection(("127.0.0.1", port_of(process))) as line:
        line.sendall(UPGRADE.replace(BODY, OWNER).encode())
        assert b" 101 " in line.recv(65_536)

        def flood() -> None:
            with contextlib.suppress(OSError):
                while not over.is_set():
                    line.sendall(pings)

        flooding = threading.Thread(target=flood)
        flooding.start()
        time.sleep(2.0)  # the server is behind by now
        began = time.monotonic()
        with httpx.Client(base_url=process.address(), timeout=60.0) as client:
            assert [client.get("/health").status_code for _ in range(5)] == [200] * 5
        taken = time.monotonic() - began
        over.set()
        line.shutdown(socket.SHUT_RDWR)
        flooding.join(30.0)
    assert taken < 5.0


HANDSHAKES = {
    "a long line": UPGRADE.replace(BODY, f"x: {'a' * 9_000}\r\n"),
    "many lines": UPGRADE.replace(BODY, "".join(f"x{k}: a\r\n" for k in range(200))),
    "a long query": UPGRADE.replace(BODY, "").replace("/ws", f"/ws?x={'a' * 9_000}"),
}


def answer_to(port: int, request: str) -> str:
    """The beginning of an answer, from a connection that may stay open."""
    with socket.create_connection(("127.0.0.1", port), timeout=20.0) as line:
        line.sendall(request.encode())
        return line.recv(65_536).decode()[:12]


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_handshake_with_long_headers_is_answered(process: Server, name: str) -> None:
    assert answer_to(port_of(process), HANDSHAKES[name]) == "HTTP/1.1 403"
    assert answer_to(port_of(process), HANDSHAKES[name].replace("upgrade:", f"{OWNER}upgrade:", 1)) == "HTTP/1.1 101"


@pytest.fixture(scope="module")
def proxied(process: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of nginx before the process, on all addresses of this machine."""
    folder, front = tmp_path_factory.mktemp("proxied"), free_port()
    text = CONFIGURATION.read_text(encoding="utf-8").replace("listen 8080;", f"listen {front};")
    with nginx_with(folder, text.replace("127.0.0.1:8765;", f"127.0.0.1:{port_of(process)};"), f"http://localhost:{front}/ready"):
        yield front
        said = process.stop() == 0 and process.said()
    clients = {json.loads(line).get("client") for line in str(said).splitlines() if line.startswith("{")}
    assert "127.0.0.3" in clients, "the log has the address of the proxy, not of the client"


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize("path", ["/ws", "/health"])
def test_behind_the_proxy_a_socket_with_a_body_is_answered(proxied: int, path: str) -> None:
    """uvicorn would keep the connection, whether the body comes or not."""
    assert answer_to(proxied, UPGRADE.replace("/ws", path) + "hello") == "HTTP/1.1 400"


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_behind_the_proxy_one_address_cannot_take_the_connections_of_others(proxied: int) -> None:
    """Unfinished bodies, even of an owner: the proxy limits their connections, and the server gives none of them a place."""
    with contextlib.ExitStack() as lines:
        opened = []
        for _ in range(4_200):
            line = lines.enter_context(socket.create_connection(("127.0.0.1", proxied), timeout=20.0, source_address=("127.0.0.2", 0)))
            line.sendall(UNFINISHED.encode())
            opened.append(line)
        assert read_to_the_end(opened[-1]).decode().startswith("HTTP/1.1 429 ")
        with httpx.Client(base_url=f"http://127.0.0.1:{proxied}", transport=httpx.HTTPTransport(local_address="127.0.0.3")) as client:
            assert client.get("/health").status_code == 200
            owner = {"authorization": "Bearer a-token-of-alice"}
            assert client.post("/reset", json={"session_id": "s"}, headers=owner).status_code == 200
