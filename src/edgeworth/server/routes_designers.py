"""Designers over HTTP: asking for a mechanism, listing the designers, and loading one beforehand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation, create_model

from edgeworth import catalog
from edgeworth.config import BIDDER_RANGE
from edgeworth.errors import EpisodeOver, UnknownName
from edgeworth.games.auction.action import DaedalusAction
from edgeworth.games.auction.market_view import HIGHEST_VARIATION
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.games.auction.vocabulary import MAX_BIDDERS
from edgeworth.seeding import fresh_seed
from edgeworth.server.designers import OFFERED, Design, KnownMarket, market_described, market_in
from edgeworth.server.live import LONGEST_EPISODE, LiveAuction
from edgeworth.server.model_queue import RequestQueue
from edgeworth.server.models import SessionId
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.sessions import Held, Sessions

Answer = TypeVar("Answer")
Queues = Mapping[str, RequestQueue[Any, Any]]
LOOK_SECONDS = 0.25
"""How often a waiting request checks that its client is still connected."""
NEEDED = ("round_number", "episode_length", "market_outcomes")
UNREAD = {"current_mechanism", "recent_mechanisms"}
"""What the game reads itself, so that its errors name the field."""
ANSWERS = (404, 409, 501, 502, 503, 504)
EXACT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def whole(value: Any) -> Any:
    """A number without a fraction as an integer, as JSON Schema has it; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(whole)
Round = Annotated[int, Field(ge=0, le=LONGEST_EPISODE), WHOLE]
Length = Annotated[int, Field(ge=1, le=LONGEST_EPISODE), WHOLE]
Bidders = Annotated[int, Field(ge=BIDDER_RANGE[0], le=BIDDER_RANGE[1]), WHOLE]
Score = Annotated[float, Field(ge=0.0, le=1.0)]
Proxy = Annotated[float, Field(ge=0.0, le=float(max(HIGHEST_VARIATION, MAX_BIDDERS)))]
SCORE_FIELDS: dict[str, Any] = dict.fromkeys(SCORES, (Score, ...))
PROXY_FIELDS: dict[str, Any] = dict.fromkeys(PROXIES, (Proxy, ...))
ScoresGiven: Any = create_model("ScoresGiven", __config__=EXACT, **SCORE_FIELDS)
ProxiesGiven: Any = create_model("ProxiesGiven", __config__=EXACT, **PROXY_FIELDS)
ScoreRow = Annotated[list[Score], Field(min_length=len(SCORES), max_length=len(SCORES), description=f"In the order {', '.join(SCORES)}.")]
ProxyRow = Annotated[
    list[Proxy], Field(min_length=len(PROXIES), max_length=len(PROXIES), description=f"In the order {', '.join(PROXIES)}.")
]
NEEDED_FIELDS = {"round_number": {"type": "integer"}, "episode_length": {"type": "integer"}, "market_outcomes": {"type": "array"}}
NAMED: dict[str, Any] = {"properties": {"session_id": {"type": "string"}}, "required": ["session_id"]}
OBSERVED: dict[str, Any] = {"properties": NEEDED_FIELDS, "required": [*NEEDED_FIELDS]}


class DesignRequest(BaseModel):
    """A market before its next step: a session of yours, or an observation, of which three fields are needed."""

    model_config = EXACT | ConfigDict(json_schema_extra={"anyOf": [NAMED, OBSERVED]})

    session_id: SessionId | None = Field(None, description="Take everything from this session; the best way, and all that is needed.")
    round_number: Round | None = Field(None, description="Steps played. With a session: 409 where it is elsewhere.")
    episode_length: Length | None = None
    market_outcomes: list[ScoresGiven | ScoreRow] | None = Field(
        None, max_length=LONGEST_EPISODE, description="The last steps, oldest first; empty before the first."
    )
    population_proxies: ProxiesGiven | ProxyRow | None = None
    n_agents: Bidders | None = None
    current_mechanism: SkipValidation[DaedalusAction] | None = Field(None, description="The mechanism in force.")
    recent_mechanisms: list[SkipValidation[DaedalusAction]] | None = Field(
        None, max_length=LONGEST_EPISODE, description="The mechanisms of the last steps, oldest first."
    )
    recent_proxies: list[ProxiesGiven | ProxyRow] | None = Field(
        None, max_length=LONGEST_EPISODE, description="What was seen of the bidders in the last steps, oldest first."
    )
    designer: str | None = Field(
        None, description="Who is asked; the default where nobody is named.", json_schema_extra={"enum": [*OFFERED, None]}
    )


class DesignReply(BaseModel):
    """A mechanism, and who made it."""

    mechanism: DaedalusAction = Field(description="To be posted to /step as `action`.")
    designer: str = Field(description="Who answered.")
    round_number: int = Field(description="The step that it is for.")
    elapsed_ms: float
    assumed: list[str] = Field(description="What the designer did not know, and what it assumed instead.")
    confidence: float | None = Field(None, description="The probability that a language model gives to this mechanism.")
    model: str | None = Field(None, description="The language model that wrote it.")


class WorkerState(BaseModel):
    """A designer or hint provider that can be asked."""

    name: str
    what: str
    state: Literal["cold", "loading", "loaded", "failed"] = Field(description="A cold one is loaded when it is first asked.")
    reason: str | None = Field(None, description="Why it could not be loaded.")
    waiting: int = Field(description="Requests in its queue in this worker.")
    in_hand: int = Field(description="Requests that it is answering in this worker.")


class Designers(BaseModel):
    """All designers on offer."""

    default: str
    designers: list[WorkerState]


def designer_routes(queues: Mapping[str, RequestQueue[KnownMarket, Design]], default: str, sessions: Sessions) -> APIRouter:
    """Routes that ask designers and list them."""
    router = APIRouter(prefix="/api", tags=["designers"])

    @router.post(
        "/design", operation_id="design", response_model=DesignReply, response_model_exclude_none=True, responses=problems(*ANSWERS)
    )
    async def design(request: Request, body: DesignRequest) -> Response:
        """Ask a designer for the next mechanism of a market."""
        began, owner = time.perf_counter(), request.scope["state"]["owner"]
        name = known_name("designer", body.designer or default, queues)
        market = described(body) if body.session_id is None else await _in_session(owner, body.session_id, body.round_number, sessions)
        made = await while_connected(request, queues[name].ask(market, owner))
        facts: dict[str, Any] = {"mechanism": made.mechanism.model_dump(), "designer": name, "round_number": market.round_number}
        extra = {"confidence": made.confidence, "model": made.model}
        facts |= {key: value for key, value in extra.items() if value is not None}
        return Json({**facts, "assumed": list(made.assumed), "elapsed_ms": elapsed(began)})

    @router.get("/designers", operation_id="designers", response_model=Designers, responses=problems())
    async def designers() -> Response:
        """List the designers, which of them are loaded, and the default."""
        return Json({"default": default, "designers": listed("designer", queues)})

    @router.post("/designers/{name}/warm-up", operation_id="warm_up", status_code=202, response_model=WorkerState, responses=problems(404))
    async def warm_up(name: str) -> Response:
        """Load a designer beforehand, without waiting for it; GET /api/designers shows when it is loaded."""
        if name not in queues:
            raise Refused(404, "unknown_name", str(UnknownName("designer", name, queues)), "Use one of the known names.", "name")
        queues[name].warm_up()
        return Json(listed("designer", {name: queues[name]})[0], 202)

    return router


def known_name(kind: str, name: str, queues: Queues) -> str:
    """The name, if there is such a designer or provider; typos get a suggestion."""
    if name not in queues:
        raise UnknownName(kind, name, queues)
    return name


def described(body: DesignRequest) -> KnownMarket:
    """The market that the fields of a request describe."""
    observation = body.model_dump(exclude_none=True, exclude=UNREAD)
    for name in NEEDED:
        if name not in observation:
            message = f"{name} is missing; expected a session_id, or all of {', '.join(NEEDED)}."
            raise Refused(422, "missing_field", message, "Send it as the last observation has it.", name)
    return market_described({**observation, **{name: getattr(body, name) for name in UNREAD}}, fresh_seed())


async def _in_session(owner: str, session_id: str, expected: int | None, sessions: Sessions) -> KnownMarket:
    held = await held_in("auction", owner, session_id, sessions)
    assert isinstance(held.live, LiveAuction)
    if expected is not None and expected != held.live.steps:
        message = f"round_number is {expected}, but the session {session_id!r} is at step {held.live.steps}."
        raise Refused(409, "conflict", message, "Leave round_number out, or send that of the session.", "round_number")
    return market_in(held.live, held.stored.opening.seed)


async def held_in(game: str, owner: str, session_id: str, sessions: Sessions) -> Held:
    """A session of this owner and game that is not over."""
    held = await sessions.held(owner, session_id)
    if held.stored.opening.game != game:
        message = f"The session {session_id!r} plays {held.stored.opening.game}; here {game} was expected."
        raise Refused(409, "other_game", message, "Name a session of that game.", "session_id")
    if held.live.done:
        raise EpisodeOver(f"The episode of {session_id!r} is over after {held.live.steps} steps; nothing is left to decide.")
    return held


async def while_connected(request: Request, asking: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer; the request is cancelled when its client disconnects."""
    task = asyncio.ensure_future(asking)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                raise Refused(400, "gone", "The client went away before there was an answer.", "Ask again.")
        return task.result()
    finally:
        task.cancel()


def listed(kind: str, queues: Queues) -> list[dict[str, Any]]:
    """The designers or providers behind queues, as `WorkerState` describes them."""
    return [
        {
            "name": name,
            "what": (catalog.resolve(kind, name).__doc__ or "").strip().splitlines()[0],
            "state": queue.state,
            "reason": queue.fault if queue.state == "failed" else None,
            "waiting": queue.waiting,
            "in_hand": queue.in_hand,
        }
        for name, queue in queues.items()
    ]


def elapsed(began: float) -> float:
    """Milliseconds since a reading of the clock."""
    return round(1e3 * (time.perf_counter() - began), 3)
