"""The load generator speaks both protocols correctly, and counts what it should."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from benchmarks.load import Bare, HttpSession, Script, SocketSession, Tally, _load, frame
from benchmarks.server import script
from websockets.frames import Frame
from websockets.streams import StreamReader


def cut_apart(kind: type[Any], stream: bytes, piece: int) -> list[bytes]:
    """The replies in a stream that arrives in pieces."""

    async def read() -> list[bytes]:
        session = kind(Script(b"", b""), Tally())
        session.upgraded, found = True, []
        session.answered = found.append
        for first in range(0, len(stream), piece):
            session.data_received(stream[first : first + piece])
        assert session.tally.problems == []
        return found

    return asyncio.run(read())


@pytest.mark.parametrize("piece", [1, 7, 100_000])
@pytest.mark.parametrize("size", [0, 125, 126, 70_000])
def test_replies_are_cut_out_of_a_stream_however_it_arrives(piece: int, size: int) -> None:
    if piece == 1 and size == 70_000:
        piece = 4_001
    body = b"x" * size
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (size, body)
    assert cut_apart(HttpSession, reply * 3, piece) == [reply] * 3
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65_536 else b"\x7f" + size.to_bytes(8, "big")
    assert cut_apart(SocketSession, (b"\x81" + length + body) * 3, piece) == [body] * 3


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536])
def test_frames_are_what_a_websocket_library_reads(size: int) -> None:
    reader = StreamReader()
    reader.feed_data(frame(b"x" * size))
    parsing = Frame.parse(reader.read_exact, mask=True)
    with pytest.raises(StopIteration) as read:
        next(parsing)
    assert bytes(read.value.value.data) == b"x" * size


def test_a_refusal_is_counted_as_a_problem() -> None:
    async def read() -> list[str]:
        session = HttpSession(Script(b"", b""), Tally())
        session.data_received(b"HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\n{}")
        return session.tally.problems

    assert len(asyncio.run(read())) == 1


def test_steps_are_counted_and_their_latencies_are_positive() -> None:
    async def play() -> Tally:
        server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await _load(HttpSession, port, [script("ours", "http", f"s{k}", k) for k in range(3)], 0.2, lambda: 0.0)

    tally = asyncio.run(play())
    assert len(tally.latencies) > 30 and min(tally.latencies) > 0.0 and not tally.problems
    assert tally.rate() == len(tally.latencies) / tally.seconds
    assert tally.quantile(0.0) <= tally.quantile(0.5) <= tally.quantile(0.99)
