"""Connections before there is a request: headers that come too slowly, that never end, or that are no HTTP, and too many connections.

uvicorn gives a client all the time in the world for its headers; here a clock runs from the first moment, and again from the first byte of
every further request on the same connection.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from edgeworth.server.logs import note
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import RequestLimits

MOST_HEADER_BYTES = 65_536


class WatchedConnection(HttpToolsProtocol):
    """uvicorn's connection with a clock for headers."""

    def __init__(self, *given: Any, limits: RequestLimits, **named: Any) -> None:
        super().__init__(*given, **named)
        self._limits, self._clock, self._pending, self._one_too_many = limits, None, 0, False

    _clock: asyncio.TimerHandle | None
    _pending: int | None
    """Bytes of the headers that are being read; None while there are none."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._one_too_many = len(self.connections) > self._limits.connections
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

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
