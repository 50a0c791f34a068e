"""Hostile clients of a soak: slow, endless, or too large; all want to keep a connection, or fill the memory. All but one have no token.

They come from an address of their own, through the proxy; what the server itself refuses (bodies and trailers of strangers) goes to the
server directly. A connection ends when the other side ends it; one that is still open after a minute counts as held.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.soak_players import TOKEN

ADDRESS = "127.0.0.2"
"""Where they come from; nginx counts connections and requests by address."""
PATIENCE = 60.0
"""Seconds after which a connection that is still open counts as held; the proxy cuts off slow clients after 10."""
PAUSE = 0.5
"""The most seconds between a client's connections."""
POST = b"POST /step HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
UPGRADE = b"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@dataclass(frozen=True)
class Attack:
    """What is sent at once, and then again and again with a pause; `direct`: to the server, not to the proxy."""

    opening: bytes
    piece: bytes = b""
    pause: float = 0.5
    direct: bool = False


ATTACKS = {
    "bad token": Attack(
        b"GET /sessions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer nobody-has-this-token\r\n\r\n"
    ),
    "unfinished body": Attack(POST + b'content-length: 100\r\n\r\n{"session_id"'),
    "owner's trickled body": Attack(POST + b"authorization: Bearer " + TOKEN.encode() + b"\r\ncontent-length: 1000\r\n\r\n{", b" "),
    "slow headers": Attack(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: ", b"a"),
    "oversized headers": Attack(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 70_000 + b"\r\n\r\n"),
    "socket with a body": Attack(b"GET /ws HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n" + UPGRADE + b"\r\n"),
    "refused body": Attack(POST + b"content-length: 100000000000\r\n\r\n", b" " * 65_536, 0.0, direct=True),
    "endless trailers": Attack(POST + b"transfer-encoding: chunked\r\n\r\n0\r\n", (b"x: " + b"a" * 1_000 + b"\r\n") * 64, 0.0, direct=True),
}


@dataclass
class Encounters:
    """Connections of all hostile clients."""

    made: Counter[str] = field(default_factory=Counter)
    """By kind of attack."""
    ends: Counter[str] = field(default_factory=Counter)
    """By kind of attack and how the connection ended."""
    held: int = 0
    """Connections that stayed open."""


class HostileClient:
    """One attack after another."""

    def __init__(self, number: int, proxy: int, server: int, seed: int, encounters: Encounters) -> None:
        self.proxy, self.server, self.encounters = proxy, server, encounters
        self.chance = random.Random(f"hostile {seed} {number}")

    async def attack(self) -> None:
        """Attack until cancelled."""
        while True:
            await self.once(self.chance.choice(list(ATTACKS)))
            await asyncio.sleep(self.chance.uniform(0.0, PAUSE))

    async def once(self, name: str) -> None:
        """Make one connection, and wait for its end."""
        attack = ATTACKS[name]
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self.server if attack.direct else self.proxy, local_addr=(ADDRESS, 0)
            )
        except OSError:  # the server is being started again
            return
        self.encounters.made[name] += 1
        sending = asyncio.create_task(send(writer, attack))
        try:
            self.encounters.ends[f"{name}: {await end_of(reader)}"] += 1
        except TimeoutError:
            self.encounters.held += 1
        finally:
            sending.cancel()
            writer.transport.abort()
            await asyncio.gather(sending, return_exceptions=True)


async def send(writer: asyncio.StreamWriter, attack: Attack) -> None:
    """Send until cancelled, or until the other side does not take any more."""
    writer.write(attack.opening)
    with contextlib.suppress(ConnectionError):
        while True:
            await writer.drain()
            await asyncio.sleep(attack.pause)
            writer.write(attack.piece)


async def end_of(reader: asyncio.StreamReader) -> str:
    """How the other side ended a connection: the status of its answer, or without one."""
    try:
        heard = await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        return "reset"
    return heard[9:12].decode("latin-1") or "closed"
