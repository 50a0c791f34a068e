"""A light client: both games on a server, over a socket, without OpenEnv.

    with RemoteGame("http://127.0.0.1:8765", "auction") as market:
        reply = market.reset(seed=7, stage=3)
        while not reply.done:
            reply = market.step(market.design(reply.observation)["mechanism"])

`AsyncRemoteGame` has the same methods with `await`. The server keeps every answered step: where the connection breaks, `take_up` goes on
from there, on another machine too, by the name of the session. Needs `websockets` and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from edgeworth.errors import MissingExtra, ServerRefused, UnknownName

try:
    from websockets.asyncio.client import ClientConnection as AsyncConnection
    from websockets.asyncio.client import connect as connect_async
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import ClientConnection, connect
except ModuleNotFoundError as error:
    raise MissingExtra("The client", "websockets", "client") from error

PLACES = {"auction": "", "bargaining": "/bargaining"}
LONGEST_MESSAGE = 16 * 2**20
DESIGN_FIELDS = ("round_number", "episode_length", "market_outcomes", "n_agents", "recent_mechanisms", "recent_proxies")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Reply(NamedTuple):
    """What the server answers to a reset or a step."""

    observation: dict[str, Any]
    reward: float | None
    done: bool
    info: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """The server, the game, and the owner's token."""

    url: str
    game: str = "auction"
    token: str | None = None
    seconds: float = 60.0
    """How long an answer may take."""

    def __post_init__(self) -> None:
        if self.game not in PLACES:
            raise UnknownName("game", self.game, PLACES)

    def socket(self, session_id: str | None) -> str:
        """The address of the game's sockets."""
        base = self.url.rstrip("/").replace("http", "ws", 1) if self.url.startswith("http") else self.url.rstrip("/")
        return f"{base}{PLACES[self.game]}/ws" + (f"?session_id={quote(session_id)}" if session_id else "")

    def headers(self) -> dict[str, str]:
        """The headers that name the owner."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def options(self) -> dict[str, Any]:
        """How a socket is opened; to this machine, without a proxy."""
        shared = {"additional_headers": self.headers(), "open_timeout": self.seconds, "max_size": LONGEST_MESSAGE, "compression": None}
        return {**shared, "proxy": None} if urlsplit(self.url).hostname in LOOPBACK else shared

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """GET, or POST where there is a body."""
        data = None if body is None else json.dumps(body).encode()
        base = self.url.rstrip("/").replace("ws", "http", 1) if self.url.startswith("ws") else self.url.rstrip("/")
        request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **self.headers()})
        try:
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise refused(_problem(error)) from None

    def design(self, observation: Mapping[str, Any], designer: str | None) -> dict[str, Any]:
        """The next mechanism by a designer of the server."""
        body = {name: observation[name] for name in DESIGN_FIELDS}
        answer: dict[str, Any] = self.ask("/api/design", body if designer is None else {**body, "designer": designer})
        return answer


def _problem(error: urllib.error.HTTPError) -> dict[str, Any]:
    try:
        problem = json.load(error)
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"message": f"The server answered {error.code}.", "code": str(error.code)}


def refused(problem: Mapping[str, Any]) -> ServerRefused:
    """What the server refused, as an error."""
    code, state = str(problem.get("reason", problem.get("code", ""))), problem.get("state")
    return ServerRefused(str(problem.get("message", "")), code, str(problem.get("remedy", "")), problem.get("field"), state)


def read_reply(text: str | bytes) -> dict[str, Any]:
    """The data of a message, or the refusal in it."""
    message = json.loads(text)
    if message["type"] == "error":
        raise refused(message["data"])
    data: dict[str, Any] = message["data"]
    return data


def as_reply(data: dict[str, Any]) -> Reply:
    """An observation as the player reads it."""
    observation = {name: value for name, value in data["observation"].items() if name != "metadata"}
    return Reply(observation, data["reward"], data["done"], data.get("metadata", {}))


def opening(**options: Any) -> dict[str, Any]:
    """What a reset says: the options that are given."""
    return {name: value for name, value in options.items() if value is not None}


def broken(session_id: str | None) -> ConnectionError:
    """The error of a broken connection, and what to do about it."""
    if session_id is None:
        return ConnectionError("The connection to the server broke before an episode began; make a new client.")
    return ConnectionError(
        f"The connection to the server broke. Session {session_id!r} is kept: call take_up(), look at state(), and go on."
    )


class RemoteGame:
    """A game on a server, for ordinary code."""

    def __init__(
        self, url: str, game: str = "auction", token: str | None = None, session_id: str | None = None, seconds: float = 60.0
    ) -> None:
        """`session_id` takes up a session that is already there."""
        self.place, self.session_id = Place(url, game, token, seconds), session_id
        self._socket: ClientConnection = self._connected()

    def __enter__(self) -> RemoteGame:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Reply:
        """Begin an episode."""
        reply = as_reply(self._request("reset", opening(seed=seed, episode_id=episode_id, **options)))
        self.session_id = reply.info["session_id"]
        return reply

    def step(self, action: Mapping[str, Any]) -> Reply:
        """Make a move; the answer says that it is stored."""
        return as_reply(self._request("step", dict(action)))

    def state(self) -> dict[str, Any]:
        """Where the session stands."""
        return self._request("state")

    def design(self, observation: Mapping[str, Any], designer: str | None = None) -> dict[str, Any]:
        """Ask a designer of the server for the next mechanism."""
        return self.place.design(observation, designer)

    def take_up(self) -> dict[str, Any]:
        """Continue the session over a new connection; returns where it stands."""
        self._socket.close()
        self._socket = self._connected()
        return self.state()

    def close(self) -> None:
        """Close the connection; a session that this client opened without a name is deleted."""
        with contextlib.suppress(ConnectionClosed):
            self._socket.send('{"type": "close"}')
        self._socket.close()

    def _connected(self) -> ClientConnection:
        opened: ClientConnection = connect(self.place.socket(self.session_id), **self.place.options()).__enter__()  # until close()
        return opened

    def _request(self, kind: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
        with contextlib.suppress(ConnectionClosed):  # a refusal may lie unread in a closed connection
            self._socket.send(json.dumps({"type": kind, "data": data or {}}))
        try:
            return read_reply(self._socket.recv(self.place.seconds))
        except (ConnectionClosed, TimeoutError) as error:
            self._socket.close()  # a late answer would be taken for that of the next question
            raise broken(self.session_id) from error


class AsyncRemoteGame:
    """A game on a server, for code that awaits: `async with AsyncRemoteGame(…) as game`."""

    def __init__(
        self, url: str, game: str = "auction", token: str | None = None, session_id: str | None = None, seconds: float = 60.0
    ) -> None:
        self.place, self.session_id = Place(url, game, token, seconds), session_id
        self._socket: AsyncConnection | None = None

    async def __aenter__(self) -> AsyncRemoteGame:
        self._socket = await connect_async(self.place.socket(self.session_id), **self.place.options())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Reply:
        """Begin an episode."""
        reply = as_reply(await self._request("reset", opening(seed=seed, episode_id=episode_id, **options)))
        self.session_id = reply.info["session_id"]
        return reply

    async def step(self, action: Mapping[str, Any]) -> Reply:
        """Make a move; the answer says that it is stored."""
        return as_reply(await self._request("step", dict(action)))

    async def state(self) -> dict[str, Any]:
        """Where the session stands."""
        return await self._request("state")

    async def design(self, observation: Mapping[str, Any], designer: str | None = None) -> dict[str, Any]:
        """Ask a designer of the server for the next mechanism."""
        return await asyncio.to_thread(self.place.design, observation, designer)

    async def take_up(self) -> dict[str, Any]:
        """Continue the session over a new connection; returns where it stands."""
        if self._socket is not None:
            await self._socket.close()
        await self.__aenter__()
        return await self.state()

    async def close(self) -> None:
        """Close the connection; a session that this client opened without a name is deleted."""
        if self._socket is None:
            return
        with contextlib.suppress(ConnectionClosed):
            await self._socket.send('{"type": "close"}')
        await self._socket.close()

    async def _request(self, kind: str, data: dict[str, Any] | None = None) -> dict[str, Any]:
        if self._socket is None:
            raise ConnectionError("There is no connection to the server yet; use `async with AsyncRemoteGame(…) as game`.")
        with contextlib.suppress(ConnectionClosed):
            await self._socket.send(json.dumps({"type": kind, "data": data or {}}))
        try:
            return read_reply(await asyncio.wait_for(self._socket.recv(), self.place.seconds))
        except (ConnectionClosed, TimeoutError) as error:
            await self._socket.close()
            raise broken(self.session_id) from error
