"""nginx in front of the server, with docker/nginx.conf: games work through it, slow and oversized requests do not reach the server."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import uvicorn
from benchmarks.server_process import free_port

from edgeworth.client import RemoteGame
from running_servers import MECHANISM, in_thread, settings_in

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
CONFIGURATION = Path(__file__).resolve().parents[2] / "docker" / "nginx.conf"
MAIN = """
{user}daemon off;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/edgeworth.conf;
}}
"""
HEADER_SECONDS = BODY_SECONDS = SEND_SECONDS = 10.0
GET = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST /step HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
MANY = 200
"""Answers of about a hundred kilobytes each: more than all buffers between here and there hold."""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


@contextlib.contextmanager
def nginx(folder: Path, server_port: int) -> Iterator[int]:
    """Our configuration with free ports in the place of its own; the port of nginx."""
    assert NGINX is not None
    port = free_port()
    text = CONFIGURATION.read_text(encoding="utf-8")
    ours = text.replace("listen 8080;", f"listen 127.0.0.1:{port};").replace("127.0.0.1:8000;", f"127.0.0.1:{server_port};")
    assert ours.count(str(port)) == ours.count(str(server_port)) == 1
    (folder / "edgeworth.conf").write_text(ours, encoding="utf-8")
    (folder / "main.conf").write_text(MAIN.format(folder=folder, user="user root;\n" if os.getuid() == 0 else ""), encoding="utf-8")
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "main.conf")], stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 20.0
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://localhost:{port}/ready", timeout=2.0).status_code == 200:
                    break
            time.sleep(0.05)
        else:
            process.kill()
            pytest.fail(f"nginx did not start: {process.communicate()[1]}")
        yield port
    finally:
        process.terminate()
        process.wait(20.0)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[uvicorn.Server, int]]:
    """A server, and the port of nginx in front of it."""
    folder = tmp_path_factory.mktemp("nginx")
    with in_thread(settings_in(folder, port=0, log_requests=False)) as (server, server_port), nginx(folder, server_port) as port:
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


def connected(port: int) -> socket.socket:
    """A client with a small window."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.settimeout(60.0)
    line.connect(("127.0.0.1", port))
    return line


def read_to_the_end(line: socket.socket) -> bytes:
    heard = b""
    with contextlib.suppress(ConnectionError):
        while chunk := line.recv(65_536):
            heard += chunk
    return heard


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


def unread(port: int) -> bytes:
    """What a client gets that asks much and begins to read only after its time."""
    with connected(port) as line:
        line.sendall(GET * MANY)
        time.sleep(SEND_SECONDS + 5.0)
        return read_to_the_end(line)


def test_slow_and_unreading_clients_are_cut_off_while_others_are_served(proxied: tuple[uvicorn.Server, int]) -> None:
    server, port = proxied
    assert httpx.get(f"http://localhost:{port}/openapi.json", timeout=30.0).status_code == 200
    with ThreadPoolExecutor() as pool:
        silent = pool.submit(trickled, port, b"", b"")
        headers = pool.submit(trickled, port, b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: ", b"a")
        body = pool.submit(trickled, port, POST + b'content-length: 100\r\n\r\n{"session_id"', b"")
        reader = pool.submit(unread, port)
        time.sleep(1.0)
        assert len(server.server_state.tasks) <= 1  # of the four, at most the one that does not read has reached the server
        assert httpx.get(f"http://localhost:{port}/health").status_code == 200
        assert HEADER_SECONDS - 1.0 < silent.result(60.0) < HEADER_SECONDS + 10.0
        assert HEADER_SECONDS - 1.0 < headers.result(60.0) < HEADER_SECONDS + 10.0
        assert BODY_SECONDS - 1.0 < body.result(60.0) < BODY_SECONDS + 10.0
        assert reader.result(90.0).count(b"HTTP/1.1 200 ") < MANY
    assert httpx.get(f"http://localhost:{port}/health").status_code == 200
