"""Clients that ask and do not read: they are hung up on, while slow readers and everybody else are served."""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path

import httpx
import pytest

from edgeworth.server.serving import Worker
from edgeworth.server.settings import RequestLimits
from lodging import in_thread, settings_in

ASK = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
ASK_ONCE = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
MANY = 200
"""Answers of about a hundred kilobytes each: more than all buffers between here and there hold."""


@pytest.fixture(autouse=True)
def warnings_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeworth.server.logs._least", logging.WARNING)


def connected(port: int) -> socket.socket:
    """A client with a small window."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.settimeout(20.0)
    line.connect(("127.0.0.1", port))
    return line


def seconds_until_gone(worker: Worker, seconds: float = 15.0) -> float:
    """How long the server still holds a connection."""
    began = time.monotonic()
    while worker.server_state.connections and time.monotonic() - began < seconds:
        time.sleep(0.01)
    return time.monotonic() - began


def test_a_client_that_reads_nothing_is_hung_up_on_while_others_are_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with in_thread(settings_in(tmp_path, port=0, limits=RequestLimits(read_seconds=0.8))) as (worker, port):
        httpx.get(f"http://127.0.0.1:{port}/openapi.json")  # its first answer takes a while to write
        seconds_until_gone(worker)
        with connected(port) as line:
            line.sendall(ASK * MANY)
            time.sleep(0.2)
            assert len(worker.server_state.connections) == 1
            assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
            assert 0.3 < seconds_until_gone(worker) < 5.0
            with pytest.raises(ConnectionResetError):
                while line.recv(65_536):
                    pass
    logged = capsys.readouterr().err
    assert '"event":"turned_away","code":"not_reading"' in logged and "fault" not in logged


def test_a_client_that_reads_slowly_but_steadily_gets_everything(tmp_path: Path) -> None:
    with in_thread(settings_in(tmp_path, port=0, limits=RequestLimits(read_seconds=0.5))) as (_, port):
        document = httpx.get(f"http://127.0.0.1:{port}/openapi.json").content
        with connected(port) as line:
            asked = 2 + 6_000_000 // len(document)
            line.sendall(ASK * (asked - 1) + ASK_ONCE)
            heard, began = b"", time.monotonic()
            while chunk := line.recv(65_536):
                heard += chunk
                time.sleep(len(chunk) / 2_000_000)
        assert time.monotonic() - began > 2.0
        assert heard.count(b"HTTP/1.1 200 ") == asked == heard.count(document)


@pytest.mark.parametrize("ending", ["", "connection: close\r\n"], ids=["kept alive", "closed"])
def test_the_rest_of_a_last_answer_is_not_kept_for_ever(tmp_path: Path, ending: str) -> None:
    """It is too little for the transport to complain of, and a connection that is to be closed waits until all is read."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x.png").write_bytes(bytes(60_000))
    limits = RequestLimits(read_seconds=0.5, keep_alive_seconds=1)
    with in_thread(settings_in(tmp_path, port=0, limits=limits, results=str(tmp_path / "results"))) as (worker, port):
        for listening in worker.servers[0].sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        with connected(port) as line:
            line.sendall(f"GET /plots/results/x.png HTTP/1.1\r\nhost: localhost\r\n{ending}\r\n".encode())
            time.sleep(0.3)
            (connection,) = worker.server_state.connections
            assert 0 < connection.transport.get_write_buffer_size() < 65_536  # type: ignore[union-attr]
            assert seconds_until_gone(worker) < 8.0
