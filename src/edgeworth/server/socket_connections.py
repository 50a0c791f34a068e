"""The connection below a socket: whole texts go to whoever can answer them at once, everything else the way of uvicorn and ASGI.

On that way a message passes a parser, a queue, a task and three layers, which takes longer than a step of a market. So an application may
hand in a function that takes a message and answers it within the turn of the event loop, or declines it: a text that arrives while nothing
else is under way is offered to it first. The library below is given whole frames only, so that it always stands where we do; pings,
fragments, binary messages and goodbyes are its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import apply_mask  # type: ignore[attr-defined]  # compiled where it can be

from edgeworth.server.connections import ReadingClock
from edgeworth.server.settings import RequestLimits

AT_ONCE = "edgeworth.at_once"
"""The ASGI extension: a function that takes the application's function for answers."""
Reply = Callable[[bytes], None]
Answer = Callable[[bytes, Reply], bool]
"""Whether it takes a message, and what to reply with."""

TEXT = 0x81
"""The first byte of a text in one frame."""
MASKED, LENGTH = 0x80, 0x7F
SHORT, TWO_BYTES, EIGHT_BYTES = 125, 126, 127
MASK_BYTES = 4


def measured(data: bytes | bytearray) -> tuple[int, int] | None:
    """Where the payload of the first frame begins and where it ends; None where too little has arrived to tell."""
    if len(data) < 2:
        return None
    length, start = data[1] & LENGTH, 2
    if length > SHORT:
        start = 4 if length == TWO_BYTES else 10
        if len(data) < start:
            return None
        length = int.from_bytes(data[2:start], "big")
    if data[1] & MASKED:
        start += MASK_BYTES
    return start, start + length


def framed(text: bytes) -> bytes:
    """A text as a server sends it."""
    size = len(text)
    if size <= SHORT:
        return bytes((TEXT, size)) + text
    if size < 65_536:
        return bytes((TEXT, TWO_BYTES)) + size.to_bytes(2, "big") + text
    return bytes((TEXT, EIGHT_BYTES)) + size.to_bytes(8, "big") + text


class SocketConnection(ReadingClock, WebSocketsSansIOProtocol):
    """uvicorn's connection with a short way for what can be answered at once."""

    def __init__(self, *given: Any, limits: RequestLimits, **named: Any) -> None:
        super().__init__(*given, **named)
        self.read_seconds, self._most = limits.read_seconds, limits.body_bytes
        self._answer: Answer | None = None
        self._waiting = False
        """Whether the application waits for a message, and so has answered all others."""
        self._early = False
        """Whether frames came before the connection was accepted; the library has read them as they came."""
        self._rest = bytearray()
        """The beginning of a frame."""

    def handle_connect(self, event: Any) -> None:
        """Offer the short way to the application."""
        super().handle_connect(event)
        if not self.handshake_complete:
            offered: dict[str, Any] = {**(self.scope.get("extensions") or {}), AT_ONCE: self._answer_with}
            self.scope["extensions"] = offered

    def _answer_with(self, answer: Answer) -> None:
        self._answer = answer

    async def receive(self) -> Any:
        """The next message for the application."""
        self._waiting = True
        message = await super().receive()
        self._waiting = False
        return message

    def data_received(self, data: bytes) -> None:
        """Cut what has arrived into frames."""
        if not self.handshake_complete or self._early:
            self._early = self.handshake_initiated
            return super().data_received(data)
        if self._rest:
            self._rest += data
            if not self._arrived(measured(self._rest), len(self._rest)):
                return
            data = bytes(self._rest)
            self._rest.clear()
        while data and not self.transport.is_closing():
            frame = measured(data)
            if not self._arrived(frame, len(data)):
                self._rest += data
                return
            assert frame is not None
            if not self._taken(data, *frame):
                super().data_received(data[: frame[1]])
            data = data[frame[1] :]

    def _arrived(self, frame: tuple[int, int] | None, size: int) -> bool:
        """Whether a frame is there; for one that is too big the library need not wait."""
        return frame is not None and (frame[1] <= size or frame[1] - frame[0] > self._most)

    def _taken(self, data: bytes, start: int, end: int) -> bool:
        """Whether the application takes the first frame: a whole text, after everything before has been answered and read."""
        if self._answer is None or data[0] != TEXT or not data[1] & MASKED or end > len(data):
            return False
        if not self._waiting or self.frames or self.close_sent or not self.queue.empty() or not self.writable.is_set():
            return False
        return self._answer(apply_mask(data[start:end], data[start - MASK_BYTES : start]), self._reply)

    def _reply(self, text: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(framed(text))
