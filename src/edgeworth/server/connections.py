"""Connections around their requests: headers that come too slowly, never end or are no HTTP; answers that nobody reads; too many of them.

uvicorn gives a client all the time in the world for its headers, and for reading what it asked for. Here a clock runs from the first
moment, and again from the first byte of every further request on the same connection; another runs while answers wait for their reader.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import sys
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from edgeworth.server.logs import note
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import RequestLimits

if sys.platform == "linux":
    import fcntl
    import termios

MOST_HEADER_BYTES = 65_536
LEAST_READ_BYTES = 16_384
"""What a client that is behind reads at least before its clock runs out; then it is given the same time again."""


def unread(transport: asyncio.Transport) -> int:
    """Bytes that wait for a client: ours, and where the kernel tells (Linux) those that it holds, which can be megabytes."""
    waiting, line = transport.get_write_buffer_size(), transport.get_extra_info("socket")
    if waiting and line is not None and sys.platform == "linux":
        waiting += int.from_bytes(fcntl.ioctl(line.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    return waiting


def hang_up(transport: asyncio.Transport) -> None:
    """Close a connection at once. What was not read is thrown away here and in the kernel, which would keep it for minutes."""
    line = transport.get_extra_info("socket")
    if line is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


class ReadingClock(asyncio.Protocol):
    """Hangs up on a client that does not read what it asked for. For protocols with a loop and a transport, in front of them."""

    read_seconds: float
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _reading_clock: asyncio.TimerHandle | None = None
    _unread: int = 0
    """Bytes that waited for the client when its clock was set."""

    def pause_writing(self) -> None:
        """More waits than the transport likes to hold: the clock starts."""
        super().pause_writing()
        self.expect_reading()

    def resume_writing(self) -> None:
        """The client has caught up. Where nothing more will be written, it still has to read the rest."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop_reading_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_reading_clock()
        super().connection_lost(exc)

    def expect_reading(self) -> None:
        """Start the clock, unless it runs."""
        if self._reading_clock is None and (waiting := unread(self.transport)):
            self._unread = waiting
            self._reading_clock = self.loop.call_later(self.read_seconds, self._look)

    def _look(self) -> None:
        self._reading_clock = None
        waiting = unread(self.transport)
        if waiting and self._unread - waiting < LEAST_READ_BYTES:
            note(logging.WARNING, "turned_away", code="not_reading", unread=waiting)
            return hang_up(self.transport)
        self.expect_reading()

    def _stop_reading_clock(self) -> None:
        if self._reading_clock is not None:
            self._reading_clock.cancel()
            self._reading_clock = None


class WatchedConnection(ReadingClock, HttpToolsProtocol):
    """uvicorn's connection with a clock for headers, and one for reading answers."""

    def __init__(self, *given: Any, limits: RequestLimits, **named: Any) -> None:
        super().__init__(*given, **named)
        self.read_seconds = limits.read_seconds
        self._limits, self._clock, self._pending, self._one_too_many = limits, None, 0, False

    _answering: RequestResponseCycle | None = None
    _clock: asyncio.TimerHandle | None
    _pending: int | None
    """Bytes of the headers that are being read; None while there are none."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._one_too_many = len(self.connections) > self._limits.connections
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock, and tell whoever works on an answer; uvicorn tells only the last of several requests that came in one go."""
        self._stop_clock()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Read on; while headers are incomplete, their bytes and their time count."""
        if self._one_too_many:  # told only now: whoever is hung up on while still speaking may not hear it
            most = self._limits.connections
            return self._turn_away(Refused(503, "busy", f"{most} connections are open.", "Try again in a moment.", retry_after=1))
        super().data_received(data)
        if self._pending is None or self.transport.is_closing():
            return
        self._pending += len(data)
        if self._pending > MOST_HEADER_BYTES:
            message = f"The headers have more than {MOST_HEADER_BYTES} bytes."
            return self._turn_away(Refused(431, "headers_too_long", message, "Send fewer or shorter ones."))
        if self._clock is None:
            self._start_clock()

    def on_message_begin(self) -> None:
        """Headers begin."""
        self._pending = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Headers are here."""
        self._pending = None
        self._stop_clock()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """An answer is out; after the last one it is to be read."""
        super().on_response_complete()
        if self.transport.is_closing():
            self.expect_reading()

    def timeout_keep_alive_handler(self) -> None:
        """No further request came; what has not been read by now is waited for as long as ever, but no longer."""
        super().timeout_keep_alive_handler()
        self.expect_reading()

    def send_400_response(self, msg: str) -> None:
        """Bytes that are no HTTP, answered in our shape."""
        self._turn_away(Refused(400, "invalid_http", msg, "Send HTTP/1.1."))

    def _start_clock(self) -> None:
        self._clock = self.loop.call_later(self._limits.header_seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        self._clock = None
        message = f"The headers did not arrive within {self._limits.header_seconds:g} seconds."
        self._turn_away(Refused(408, "too_slow", message, "Send them in one go."))

    def _turn_away(self, refused: Refused) -> None:
        """Answer without a request, and hang up."""
        self._stop_clock()
        if self.transport.is_closing():
            return
        note(logging.WARNING, "turned_away", status=refused.status, code=refused.code)
        body = orjson.dumps(refused.body())
        again = f"retry-after: {refused.retry_after}\r\n" if refused.retry_after else ""
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n{again}connection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[refused.status] + head.encode() + body)
        self.transport.close()
        self.expect_reading()
