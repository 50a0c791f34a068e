"""Sockets: OpenEnv's WebSocket protocol over durable sessions.

A socket plays one session: the one that `?session_id=` names, or its own, which its first reset opens. Every step is in the store before it
is answered, as over HTTP. A `close` message deletes the socket's own session; if the connection breaks, the session stays, and another
socket can continue it by its name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI
from starlette.websockets import WebSocket, WebSocketDisconnect

from edgeworth.errors import EdgeworthError
from edgeworth.server.limits import Rate, decoded
from edgeworth.server.live import Turn
from edgeworth.server.monitoring import Metrics
from edgeworth.server.refusals import Refused, log_failure, refusal_of
from edgeworth.server.routes_games import PREFIXES
from edgeworth.server.routes_openenv import rpc_answer
from edgeworth.server.sessions import Held, Sessions, other_game
from edgeworth.server.settings import RequestLimits, ServerSettings, SocketLimits

LOG = logging.getLogger(__name__)
LONGEST_EPISODE_ID = 255
GOING_AWAY, REFUSED, TOO_BIG = 1001, 1008, 1009
UNREADABLE = "unreadable"
"""The type under which messages of no known type are counted."""
EXECUTION_ERROR = "EXECUTION_ERROR"
CODES_BY_STATUS = {400: "INVALID_JSON", 404: "SESSION_ERROR", 422: "VALIDATION_ERROR", 429: "CAPACITY_REACHED"}
"""OpenEnv's code for a refusal; EXECUTION_ERROR for any other status."""
CODES = {
    "server_full": "CAPACITY_REACHED",
    "too_fast": EXECUTION_ERROR,
    "unknown_type": "UNKNOWN_TYPE",
    "other_game": "SESSION_ERROR",
    "other_rules": "SESSION_ERROR",
}
"""OpenEnv's code for refusals whose status is not enough."""
RULES_OF_THE_MOMENT = ("agree_needs_an_offer", "share_within_pool")
"""Rules that a well-formed move can break; an action that breaks another one is not well-formed."""
ENDED = "episode_length"
"""Why a market's episode ends: the designer has made all its steps."""


class Conversation:
    """The messages of one socket and their answers."""

    def __init__(self, sessions: Sessions, game: str, owner: str, limits: RequestLimits, rate: Rate, metrics: Metrics) -> None:
        self.sessions, self.game, self.owner = sessions, game, owner
        self.limits, self.rate, self.metrics = limits, rate, metrics
        self.session_id: str | None = None
        self.made = False
        """Whether the session is this socket's own."""
        self.episode_id: str | None = None
        """The name that the client gave to the episode."""
        self.dismissed = False
        """Whether its socket has to be closed, because the token is no longer good."""
        self.waiting: asyncio.Timeout | None = None
        """While the next message is waited for: for how long."""
        self._answers: dict[str, Callable[[Any], Awaitable[bytes]]] = {
            "step": self._step,
            "reset": self._reset,
            "state": self._state,
            "mcp": self._rpc,
        }

    def dismiss(self) -> None:
        """Have the socket closed, once the message in hand is answered."""
        self.dismissed = True
        if self.waiting is not None and not self.waiting.expired():
            self.waiting.reschedule(asyncio.get_running_loop().time())

    async def attach(self, session_id: str) -> None:
        """Continue a session that exists."""
        held = await self.sessions.held(self.owner, session_id)
        game = held.stored.opening.game
        if game != self.game:
            raise other_game(session_id, game, self.game, "Use the socket of that game.")
        self.session_id = session_id

    async def answer(self, text: bytes) -> bytes | None:
        """The reply to a message, or None to a `close`."""
        counted, outcome = UNREADABLE, "refused"
        try:
            self.rate.take(self.owner)
            kind, data = _message(text, self.limits.depth)
            counted = kind if kind == "close" or kind in self._answers else UNREADABLE
            reply = None if kind == "close" else await self._reply(kind, data)
            outcome = "answered"
            return reply
        except (Refused, EdgeworthError) as error:
            refused = refusal_of(error)
            self.metrics.refusals.labels(refused.code).inc()
            log_failure(refused, error)
            return error_message(refused)
        except Exception as error:
            LOG.error("A message on a socket could not be answered.", exc_info=error)
            said = "The server failed over this message; its log says why."
            self.metrics.refusals.labels("internal").inc()
            return error_message(Refused(500, "internal", said, "Ask for the state, and go on from there."))
        finally:
            self.metrics.messages.labels(self.game, counted, outcome).inc()

    async def _reply(self, kind: str, data: dict[str, Any]) -> bytes:
        if kind not in self._answers:
            expected = f"{', '.join(self._answers)} or close"
            raise Refused(422, "unknown_type", f"Unknown message type: {kind[:60]}.", f"Send a message of the type {expected}.", "type")
        return await self._answers[kind](data)

    async def leave(self) -> None:
        """Delete the session if this socket made it."""
        if self.made and self.session_id is not None:
            await self.sessions.close(self.owner, self.session_id)

    async def _reset(self, data: dict[str, Any]) -> bytes:
        options = dict(data)
        seed, episode_id = options.pop("seed", None), options.pop("episode_id", None)
        if episode_id is not None and not (isinstance(episode_id, str) and 0 < len(episode_id) <= LONGEST_EPISODE_ID):
            message = f"episode_id is {str(episode_id)[:60]!r}; expected a text of 1 to {LONGEST_EPISODE_ID} characters."
            raise Refused(422, "invalid_option", message, "Send such a name, or none.", "episode_id")
        held = await self.sessions.open(self.owner, self.game, options, seed, self.session_id)
        self.made = self.made or self.session_id is None
        self.session_id, self.episode_id = held.stored.id, episode_id or held.stored.generation
        info = first_metadata(held.live.info())
        return observation_message(held.live.observation(), None, False, {**info, **self._names()})

    async def _step(self, data: dict[str, Any]) -> bytes:
        if self.session_id is None:
            raise Refused(409, "no_episode", "There is no episode yet.", "Send a reset first.", "type")
        data.pop("metadata", None)  # OpenEnv's own field, which no game knows
        turn, _ = await self.sessions.step(self.owner, self.session_id, data)
        return observation_message(turn.observation, turn.reward, turn.done, {**metadata(turn), **self._names()})

    async def _state(self, _: dict[str, Any]) -> bytes:
        held: Held | None = None
        if self.session_id is not None:
            held = await self.sessions.held(self.owner, self.session_id)
        return state_message(state_fields(held, self.episode_id))

    async def _rpc(self, data: dict[str, Any]) -> bytes:
        return orjson.dumps({"type": "mcp", "data": await rpc_answer(self.sessions, self.owner, self.game, data)})

    def _names(self) -> dict[str, str | None]:
        return {"session_id": self.session_id, "episode_id": self.episode_id}


def _message(text: bytes, depth: int) -> tuple[str, dict[str, Any]]:
    """The type and the data of a message."""
    message = decoded(text, depth)
    if not isinstance(message, dict):
        raise Refused(422, "invalid_message", "The message is not a JSON object.", 'Send {"type": …, "data": {…}}.', None)
    kind, data = str(message.get("type", "")), message.get("data", {})
    if not isinstance(data, dict) or (kind == "step" and "data" not in message):
        raise Refused(422, "invalid_message", f"The data of a {kind[:60]} is missing or not an object.", "Send it as an object.", "data")
    for name in message:
        if name not in ("type", "data"):
            raise Refused(422, "invalid_message", f"Unknown key {name[:60]!r} in a message.", "A message has `type` and `data`.", name[:60])
    return kind, data


def first_metadata(info: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the first observation; nothing has been scored yet."""
    return {name: value for name, value in info.items() if name != "components"}


def metadata(turn: Turn) -> dict[str, Any]:
    """The metadata of an observation; at the end, with the reason why the episode ended."""
    if not turn.done:
        return turn.info
    return {**turn.info, "end_reason": str(turn.info.get("outcome", ENDED)).lower()}


def observation_message(observation: Mapping[str, Any], reward: float | None, done: bool, info: Mapping[str, Any]) -> bytes:
    """OpenEnv's observation message, which has the metadata in two places."""
    beside = orjson.Fragment(orjson.dumps(info))
    data = {"observation": {"metadata": beside, **observation}, "reward": reward, "done": done, "metadata": beside}
    return orjson.dumps({"type": "observation", "data": data})


def state_fields(held: Held | None, episode_id: str | None) -> dict[str, Any]:
    """The state of a session without its seed, which would reveal everything hidden; empty before the first reset."""
    if held is None:
        return {"episode_id": None, "step_count": 0, "session_id": None, "game": None, "options": {}, "done": False}
    opening, live = held.stored.opening, held.live
    return {
        "episode_id": episode_id or held.stored.generation,
        "step_count": live.steps,
        "session_id": held.stored.id,
        "game": opening.game,
        "options": dict(opening.options),
        "done": live.done,
    }


def state_message(fields: Mapping[str, Any]) -> bytes:
    """OpenEnv's state message."""
    return orjson.dumps({"type": "state", "data": fields})


def error_message(refused: Refused) -> bytes:
    """OpenEnv's error message: its own code, and ours as the `reason`."""
    body = refused.body()
    rule_of_the_game = body["code"] == "illegal_action" and body["field"] in RULES_OF_THE_MOMENT
    code = EXECUTION_ERROR if rule_of_the_game else CODES.get(body["code"], CODES_BY_STATUS.get(refused.status, EXECUTION_ERROR))
    return orjson.dumps({"type": "error", "data": {**body, "code": code, "reason": body["code"]}})


class Sockets:
    """All sockets of a worker."""

    def __init__(self, sessions: Sessions, limits: RequestLimits, own: SocketLimits, metrics: Metrics) -> None:
        self.sessions, self.limits, self.own, self.metrics = sessions, limits, own, metrics
        self.rate = Rate(limits.rate, limits.burst)
        self.open = 0
        self._tokens: dict[Conversation, bytes] = {}
        """Digests of the tokens with which they were opened."""

    def close_unless(self, knows: Callable[[bytes], bool]) -> None:
        """Close the sockets whose tokens are no longer known."""
        for conversation, token in self._tokens.items():
            if not knows(token):
                conversation.dismiss()

    def routes(self, prefixes: dict[str, str]) -> APIRouter:
        """The socket of each game, under its prefix."""
        router = APIRouter()
        for game, prefix in prefixes.items():
            router.add_api_websocket_route(f"{prefix}/ws", self._endpoint(game), name=f"{game}_socket")
        return router

    def _endpoint(self, game: str) -> Callable[[WebSocket], Awaitable[None]]:
        async def endpoint(websocket: WebSocket) -> None:
            await self.serve(websocket, game)

        return endpoint

    async def serve(self, websocket: WebSocket, game: str) -> None:
        """Answer messages until one side closes the socket."""
        state = websocket.scope["state"]
        conversation = Conversation(self.sessions, game, state["owner"], self.limits, self.rate, self.metrics)
        self.open += 1
        self._tokens[conversation] = state["token"]
        try:
            await websocket.accept()
            if await self._admit(websocket, conversation):
                await self._converse(websocket, conversation)
        except WebSocketDisconnect:
            pass
        finally:
            self.open -= 1
            del self._tokens[conversation]

    async def _admit(self, websocket: WebSocket, conversation: Conversation) -> bool:
        """Accept a client, or close its socket with the reason."""
        try:
            if self.open > self.own.sockets:
                facts = {"active_sessions": self.open - 1, "max_sessions": self.own.sockets}
                message = f"This worker holds {self.own.sockets} sockets, the most allowed."
                raise Refused(429, "server_full", message, "Try again later, or close another one.", None, None, **facts)
            session_id = websocket.query_params.get("session_id")
            if session_id:
                await conversation.attach(session_id)
        except (Refused, EdgeworthError) as error:
            refused = refusal_of(error)
            websocket.scope["state"]["code"] = refused.code
            log_failure(refused, error)
            await websocket.send_text(error_message(refused).decode())
            await websocket.close(REFUSED, refused.code)
            return False
        return True

    async def _converse(self, websocket: WebSocket, conversation: Conversation) -> None:
        while True:
            if conversation.dismissed:
                return await _close(websocket, conversation)
            try:
                async with asyncio.timeout(self.own.idle_seconds) as conversation.waiting:
                    message = await websocket.receive()
            except TimeoutError:
                return await _close(websocket, conversation)
            finally:
                conversation.waiting = None
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            raw = text.encode("utf-8", "surrogatepass") if text is not None else message["bytes"]
            if len(raw) > self.limits.body_bytes:
                return await websocket.close(TOO_BIG, f"A message has at most {self.limits.body_bytes} bytes.")
            reply = await conversation.answer(raw)
            if reply is None:
                await conversation.leave()
                return await websocket.close()
            await websocket.send_text(reply.decode())


async def _close(websocket: WebSocket, conversation: Conversation) -> None:
    """Close a socket that was dismissed, or silent for too long."""
    if conversation.dismissed:
        return await websocket.close(REFUSED, "The token of this socket is no longer good.")
    await websocket.close(GOING_AWAY, "Nothing was heard for too long.")


def add_sockets(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> Sockets:
    """Add the sockets of both games, and a gauge of how many are open."""
    metrics: Metrics = app.state.metrics
    sockets = Sockets(sessions, settings.limits, settings.sockets, metrics)
    metrics.watch("sockets", "Open sockets.", lambda: sockets.open, everywhere=False)
    app.include_router(sockets.routes(PREFIXES))
    return sockets
