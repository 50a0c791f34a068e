"""A load generator: sessions that each send their next step when the last one is answered, over HTTP or WebSocket.

It speaks both protocols itself, in as few instructions as it can, so that the server is what is measured: requests are encoded before the
clock runs, replies are cut out of the stream and looked at for one word. `Bare` is a server that answers without doing
anything, by which the generator's own ceiling is measured.
"""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import uvloop

CONNECT_AT_A_TIME = 32
READY_SECONDS = 120.0
END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "


@dataclass(frozen=True)
class Script:
    """What a session says: how it begins, what it repeats, and the word in a reply after which it begins again."""

    begin: bytes
    step: bytes
    over: bytes = b'"done":true'


@dataclass
class Tally:
    """What all sessions together have come to."""

    latencies: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    until: float = 0.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Processor time of the generator itself."""
    server_seconds: float = 0.0
    """Processor time of the server."""

    def rate(self) -> float:
        """Steps per second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """The latency, in milliseconds, that this share of the steps stays below."""
        ordered = sorted(self.latencies)
        return 1000.0 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Session(asyncio.Protocol):
    """One session: a connection, and the step that is under way on it."""

    def __init__(self, script: Script, tally: Tally) -> None:
        self.script, self.tally = script, tally
        loop = asyncio.get_running_loop()
        self.ready, self.idle = loop.create_future(), loop.create_future()
        self.buffer = b""
        self.sent, self.beginning = 0.0, True
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.greet()

    def greet(self) -> None:
        """Begin the episode."""
        self.transport.write(self.script.begin)

    def cut(self) -> bytes | None:
        """The next whole reply, taken out of the buffer."""
        raise NotImplementedError

    def go(self) -> None:
        """Send the first step."""
        self.sent = time.perf_counter()
        self.transport.write(self.script.step)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (reply := self.cut()) is not None:
            self.answered(reply)

    def answered(self, reply: bytes) -> None:
        """Note a reply, and send what comes next."""
        now = time.perf_counter()
        if not self.ready.done():
            self.beginning = False
            self.ready.set_result(None)
            return
        if self.beginning:
            self.beginning = False
        else:
            self.tally.latencies.append(now - self.sent)
        if now >= self.tally.until:
            if not self.idle.done():
                self.idle.set_result(None)
            return
        self.sent = now
        self.beginning = self.script.over in reply
        self.transport.write(self.script.begin if self.beginning else self.script.step)

    def connection_lost(self, error: Exception | None) -> None:
        for waited_for in (self.ready, self.idle):
            if not waited_for.done():
                waited_for.set_exception(ConnectionError(f"The server hung up: {error}"))

    def refuse(self, reply: bytes) -> None:
        """Note a reply that is not what was asked for."""
        self.tally.problems.append(reply[:200].decode(errors="replace"))


class HttpSession(Session):
    """Over HTTP, one connection kept alive."""

    def cut(self) -> bytes | None:
        head = self.buffer.find(END_OF_HEAD)
        if head < 0:
            return None
        place = self.buffer.find(LENGTH, 0, head)
        if place < 0:
            raise ValueError("A reply without a length; the generator knows no other.")
        start = place + len(LENGTH)
        size = int(self.buffer[start : self.buffer.find(b"\r", start)])
        end = head + len(END_OF_HEAD) + size
        if len(self.buffer) < end:
            return None
        reply, self.buffer = self.buffer[:end], self.buffer[end:]
        if not reply.startswith(b"HTTP/1.1 200"):
            self.refuse(reply)
        return reply


class SocketSession(Session):
    """Over a WebSocket."""

    upgraded = False
    path = "/ws"

    def greet(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.transport.write(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())

    def cut(self) -> bytes | None:
        if not self.upgraded:
            self.upgrade()
            return None
        if len(self.buffer) < 2:
            return None
        start, size = 2, self.buffer[1]
        if size >= 126:
            start = 4 if size == 126 else 10
            size = int.from_bytes(self.buffer[2:start], "big")
        if len(self.buffer) < start + size:
            return None
        reply, self.buffer, kind = self.buffer[start : start + size], self.buffer[start + size :], self.buffer[0] & 15
        if kind == 9:  # a ping wants its words back
            self.transport.write(frame(reply, kind=10))
            return self.cut()
        if kind != 1 or reply.startswith(b'{"type":"error"'):
            self.refuse(reply)
        return reply

    def upgrade(self) -> None:
        """Begin the episode once the server speaks WebSocket."""
        head = self.buffer.find(END_OF_HEAD)
        if head >= 0:
            if b" 101 " not in self.buffer[:head]:
                self.refuse(self.buffer)
            self.buffer, self.upgraded = self.buffer[head + len(END_OF_HEAD) :], True
            self.transport.write(self.script.begin)


def frame(text: bytes, kind: int = 1) -> bytes:
    """A client's frame; its mask is zero, which leaves the text as it is."""
    size = len(text)
    if size < 126:
        length = bytes([128 | size])
    elif size < 65_536:
        length = b"\xfe" + size.to_bytes(2, "big")
    else:
        length = b"\xff" + size.to_bytes(8, "big")
    return bytes([128 | kind]) + length + bytes(4) + text


def post(path: str, body: Any) -> bytes:
    """A POST request."""
    text = orjson.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


def load(kind: type[Session], port: int, scripts: list[Script], seconds: float, meter: Callable[[], float] = lambda: 0.0) -> Tally:
    """Play all scripts at once for so many seconds, after everybody is ready; `meter` tells the server's processor time."""
    return uvloop.run(_load(kind, port, scripts, seconds, meter))


async def _load(kind: type[Session], port: int, scripts: list[Script], seconds: float, meter: Callable[[], float]) -> Tally:
    loop, tally, sessions = asyncio.get_running_loop(), Tally(), []
    try:
        for first in range(0, len(scripts), CONNECT_AT_A_TIME):
            some = [
                loop.create_connection(_maker(kind, script, tally), "127.0.0.1", port) for script in scripts[first:][:CONNECT_AT_A_TIME]
            ]
            made = [session for _, session in await asyncio.gather(*some)]
            await asyncio.wait_for(asyncio.gather(*(session.ready for session in made)), READY_SECONDS)
            sessions += made
        begin, used, server = time.perf_counter(), time.process_time(), meter()
        tally.until = begin + seconds
        for session in sessions:
            session.go()
        await asyncio.gather(*(session.idle for session in sessions))
        tally.seconds, tally.cpu_seconds = time.perf_counter() - begin, time.process_time() - used
        tally.server_seconds = meter() - server
    finally:
        for session in sessions:
            session.idle.cancel()
            session.transport.close()
    return tally


def _maker(kind: type[Session], script: Script, tally: Tally) -> Callable[[], Session]:
    return lambda: kind(script, tally)


class Bare(asyncio.Protocol):
    """A server that answers whatever arrives with the same reply."""

    REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(self.REPLY)
