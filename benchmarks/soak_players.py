"""Clients that play through a server's deaths: what was acknowledged is written down here, and compared with a replay of our own.

A client sends its step with the number that it expects the session to be at. Where no answer comes, or a refusal, it asks for the state:
the step was carried out without our hearing of it, or it was not, or not yet. In that case the client sends the same step again over HTTP,
for the same number, so that it is carried out once whichever of the two arrives first. Anything else is a loss, or a step made twice, and
is counted as such.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.seeding import generator
from edgeworth.server.live import Live, open_live
from edgeworth.server.openings import Opening, opening_of

PATIENCE = 10.0
"""Seconds that a client waits for an answer."""
PAUSE = 0.1
"""Seconds between a client's tries while nobody answers."""
OPTIONS: dict[str, dict[str, Any]] = {
    "auction": {"n_agents": 4, "episode_length": 400},
    "bargaining": {"on_illegal": "penalty", "max_turns": 50, "disagree": "passes"},
}
"""Long episodes: sessions are kept for the check at the end, and an owner may have so many."""
OWNER, TOKEN = "soak", "a-token-of-the-soak"
"""Whose the sessions are."""
PREFIX = {"auction": "", "bargaining": "/bargaining"}
Answer = tuple[int, Any]
"""A status and a body; the status is 0 where nobody answered."""


@dataclass
class Episode:
    """One session: what it was opened with, and what we know of it."""

    name: str
    opening: Opening
    live: Live
    actions: list[bytes] = field(default_factory=list)
    unsure: Any = None
    """An action that was sent without an answer; it may still be under way, and be carried out later."""


@dataclass
class Ledger:
    """What all clients together have seen."""

    acknowledged: int = 0
    unheard: int = 0
    """Steps that were carried out although no answer reached us."""
    lost: int = 0
    doubled: int = 0
    mismatches: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    """Answers other than a step's, by their code."""
    episodes: list[Episode] = field(default_factory=list)
    heard: list[tuple[float, float]] = field(default_factory=list)
    """When acknowledged steps were sent, and when their answers came."""
    over: bool = False
    """Whether it is time to stop."""


class Line:
    """A connection that is made anew whenever it breaks."""

    def __init__(self, port: int, game: str) -> None:
        self.port, self.prefix = port, PREFIX[game]
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._socket: tuple[str, ClientConnection] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer to a request, or status 0."""
        try:
            return await asyncio.wait_for(self._asked(method, self.prefix + path, body), PATIENCE)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.hang_up()
            return 0, {"code": type(error).__name__}

    async def _asked(self, method: str, path: str, body: Any) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        text = b"" if body is None else orjson.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        size = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        said = await reader.readexactly(size)
        reply = orjson.loads(said) if "content-type: application/json" in lines else {"code": "from the proxy"}
        if "connection: close" in lines:
            self.hang_up()
        return int(lines[0].split()[1]), reply

    async def step_on_socket(self, name: str, action: Any) -> Answer:
        """A step over a WebSocket that has taken up the session."""
        try:
            return await asyncio.wait_for(self._stepped_on_socket(name, action), PATIENCE)
        except (OSError, TimeoutError, WebSocketException) as error:
            self.hang_up()
            return 0, {"code": type(error).__name__}

    async def _stepped_on_socket(self, name: str, action: Any) -> Answer:
        if self._socket is None or self._socket[0] != name:
            if self._socket is not None:
                await self._socket[1].close()
            url = f"ws://127.0.0.1:{self.port}{self.prefix}/ws?session_id={name}"
            owner = {"Authorization": f"Bearer {TOKEN}"}
            self._socket = name, await connect(url, additional_headers=owner, compression=None, close_timeout=1)
        socket = self._socket[1]
        await socket.send(orjson.dumps({"type": "step", "data": action}).decode())
        reply = orjson.loads(await socket.recv())
        if reply["type"] == "error":
            return 409, {"code": reply["data"]["reason"]}
        data = reply["data"]
        info = {key: value for key, value in data["metadata"].items() if key not in ("session_id", "episode_id", "end_reason")}
        observation = {key: value for key, value in data["observation"].items() if key != "metadata"}
        return 200, {"observation": observation, "reward": data["reward"], "done": data["done"], "info": info}

    def hang_up(self) -> None:
        """Let go of what is open."""
        if self._streams is not None:
            self._streams[1].close()
        if self._socket is not None:
            self._socket[1].transport.abort()
        self._streams = self._socket = None


class Player:
    """A client with one session at a time."""

    def __init__(self, number: int, port: int, seed: int, pause: float, ledger: Ledger) -> None:
        self.number, self.seed, self.pause, self.ledger = number, seed, pause, ledger
        self.game = "bargaining" if number % 4 == 3 else "auction"
        self.over_socket = number % 3 == 2
        self.line, self.chance = Line(port, self.game), random.Random(seed * 1_000_003 + number)

    async def play(self) -> None:
        """Episode after episode, until the time is up."""
        count = 0
        while not self.ledger.over:
            episode = await self.opened(count)
            count += 1
            while episode is not None and not episode.live.done and not self.ledger.over:
                await self.step(episode)
                await asyncio.sleep(self.pause * self.chance.uniform(0.5, 1.5))
        self.line.hang_up()

    async def opened(self, count: int) -> Episode | None:
        """A new session; asking twice for it does no harm."""
        opening = opening_of(self.game, OPTIONS[self.game], self.chance.randrange(1 << 31))
        name = f"soak-{self.seed}-{self.number}-{count}"
        body = {**opening.options, "seed": opening.seed, "session_id": name}
        while not self.ledger.over:
            status, reply = await self.line.ask("POST", "/reset", body)
            if status == 200:
                episode = Episode(name, opening, open_live(opening))
                self.compare(episode, reply, "reset")
                self.ledger.episodes.append(episode)
                return episode
            await self.failed(status, reply)
        return None

    async def step(self, episode: Episode) -> None:
        """One step, or what is known of it in the end."""
        again, number, sent = episode.unsure is not None, episode.live.steps, time.monotonic()
        action = episode.unsure if again else self.action()
        if self.over_socket and not again:
            status, reply = await self.line.step_on_socket(episode.name, action)
        else:
            status, reply = await self.line.ask("POST", "/step", {"session_id": episode.name, "action": action, "expected": number})
        episode.unsure = action
        if status == 200:
            reward = self.carried_out(episode, action)
            self.ledger.acknowledged += 1
            self.ledger.heard.append((sent, time.monotonic()))
            return self.compare(episode, reply, f"step {number}", reward)
        await self.failed(status, reply)
        await self.find_out(episode, action)

    async def find_out(self, episode: Episode, action: Any) -> None:
        """Whether a step without an answer was carried out."""
        while True:
            status, reply = await self.line.ask("GET", f"/state?session_id={episode.name}")
            if status == 200:
                break
            if status == 404:
                self.ledger.lost += len(episode.actions) or 1
                episode.live.done = True
                return
            await self.failed(status, reply)
        there, here = reply["steps"], episode.live.steps
        if there == here + 1:
            self.carried_out(episode, action)
            self.ledger.unheard += 1
        elif there != here:
            self.ledger.lost += max(0, here - there)
            self.ledger.doubled += max(0, there - here - 1)
            episode.live.done = True
            return
        self.compare(episode, reply, f"state at {there}")

    def carried_out(self, episode: Episode, action: Any) -> float:
        """Make the same step here; its reward."""
        turn, episode.unsure = episode.live.step(action), None
        episode.actions.append(orjson.dumps(episode.live.logged()))
        return turn.reward

    def compare(self, episode: Episode, reply: Any, what: str, reward: float | None = None) -> None:
        """Our own episode against what the server says of it, to the last bit."""
        live = episode.live
        ours = orjson.loads(orjson.dumps([live.observation(), live.info(), live.done, reward]))
        if ours != [reply["observation"], reply["info"], reply["done"], reply.get("reward")]:
            self.ledger.mismatches.append(f"{episode.name}, {what}")

    async def failed(self, status: int, reply: Any) -> None:
        """Count a refusal or a silence, and breathe."""
        code = str(reply.get("code", "?")) if isinstance(reply, dict) else "?"
        self.ledger.answers[f"{status} {code}" if status else code] += 1
        await asyncio.sleep(PAUSE)

    def action(self) -> Any:
        """Any mechanism; in a negotiation hardly ever a deal, so that it lasts, and a share beyond the pool now and then."""
        if self.game == "auction":
            return action_of(random_mechanisms(generator(self.chance.randrange(1 << 31)), 1)[0]).model_dump()
        return {"act_type": self.chance.choice((0, 1, 3)), "oA": [self.chance.randrange(3, 5) for _ in range(3)]}
