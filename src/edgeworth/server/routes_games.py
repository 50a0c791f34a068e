"""The games over HTTP: reset, step and state of both, and the list, export and deletion of an owner's sessions.

A market's routes are at the root, as the published environment has them; those of bargaining are under /bargaining.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from edgeworth.server import models
from edgeworth.server.models import SessionId
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.sessions import Sessions, other_game
from edgeworth.server.store import Stored

PREFIXES = {"auction": "", "bargaining": "/bargaining"}


def owner_of(request: Request) -> str:
    """The owner who sent a request."""
    return str(request.scope["state"]["owner"])


async def opened(sessions: Sessions, game: str, request: Request, body: models.Reset) -> Response:
    """Open a session, or a new episode in the place of an old one."""
    held = await sessions.open(owner_of(request), game, body.options(), body.seed, body.session_id, body.truth)
    request.scope["state"]["session"] = held.stored.id
    facts = {"session_id": held.stored.id, "seed": held.stored.opening.seed}
    return Json({"observation": held.live.observation(), **facts, "info": held.live.info(), "done": False})


async def stepped(sessions: Sessions, request: Request, body: models.Step) -> Response:
    """Carry out a step; answered when it is in the store."""
    request.scope["state"]["session"] = body.session_id
    turn, steps = await sessions.step(owner_of(request), body.session_id, body.action, body.expected)
    return Json({**turn._asdict(), "steps": steps})


async def looked_at(sessions: Sessions, game: str, request: Request, session_id: str) -> Response:
    """Answer with the state of a session of this game."""
    request.scope["state"]["session"] = session_id
    found = await sessions.state(owner_of(request), session_id)
    if found["game"] != game:
        raise other_game(session_id, found["game"], game, f"Ask {PREFIXES[found['game']]}/state.")
    return Json(found)


def auction_routes(sessions: Sessions) -> APIRouter:
    """Reset, step and state of markets."""
    router = APIRouter(prefix=PREFIXES["auction"], tags=["auction"])

    @router.post("/reset", operation_id="reset", response_model=models.MarketOpened, responses=problems(409, 429, 503))
    async def reset(request: Request, body: models.AuctionReset | None = None) -> Response:
        """Open a session; without a name it is given one."""
        return await opened(sessions, "auction", request, body or models.AuctionReset.model_validate({}))

    @router.post("/step", operation_id="step", response_model=models.MarketStepped, responses=problems(404, 409))
    async def step(request: Request, body: models.AuctionStep) -> Response:
        """Post a mechanism: five sales, then the score."""
        return await stepped(sessions, request, body)

    @router.get("/state", operation_id="state", response_model=models.MarketState, responses=problems(404, 409))
    async def state(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """Where a session stands."""
        return await looked_at(sessions, "auction", request, session_id)

    return router


def bargaining_routes(sessions: Sessions) -> APIRouter:
    """Reset, step and state of negotiations."""
    router = APIRouter(prefix=PREFIXES["bargaining"], tags=["bargaining"])

    @router.post("/reset", operation_id="bargaining_reset", response_model=models.NegotiationOpened, responses=problems(409, 429, 503))
    async def reset(request: Request, body: models.BargainingReset | None = None) -> Response:
        """Open a session; without a name it is given one."""
        return await opened(sessions, "bargaining", request, body or models.BargainingReset.model_validate({}))

    @router.post("/step", operation_id="bargaining_step", response_model=models.NegotiationStepped, responses=problems(404, 409))
    async def step(request: Request, body: models.BargainingStep) -> Response:
        """Make a move; the partner replies."""
        return await stepped(sessions, request, body)

    @router.get("/state", operation_id="bargaining_state", response_model=models.NegotiationState, responses=problems(404, 409))
    async def state(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """Where a session stands."""
        return await looked_at(sessions, "bargaining", request, session_id)

    return router


def session_routes(sessions: Sessions) -> APIRouter:
    """List, export and delete."""
    router = APIRouter(prefix="/sessions", tags=["sessions"])

    @router.get("", operation_id="list_sessions", response_model=models.SessionList, responses=problems())
    async def listed(request: Request) -> Response:
        """All sessions of the owner who asks."""
        found = await asyncio.to_thread(sessions.store.owned, owner_of(request))
        return Json({"sessions": [list_entry(stored) for stored in found]})

    @router.get(
        "/{session_id}/export", operation_id="export_session", response_model=models.Export | models.RawExport, responses=problems(404)
    )
    async def exported(request: Request, session_id: Annotated[SessionId, Path()]) -> Response:
        """Opening and log; `edgeworth replay FILE` plays them again."""
        request.scope["state"]["session"] = session_id
        return Json(await sessions.export(owner_of(request), session_id))

    @router.delete(
        "/{session_id}", operation_id="close_session", status_code=204, response_class=Response, responses=problems(404, page=True)
    )
    async def closed(request: Request, session_id: Annotated[SessionId, Path()]) -> Response:
        """Delete a session and its log."""
        request.scope["state"]["session"] = session_id
        await sessions.close(owner_of(request), session_id)
        return Response(status_code=204)

    return router


def list_entry(stored: Stored) -> dict[str, Any]:
    """A session in the list of its owner."""
    facts: dict[str, Any] = {"session_id": stored.id, "game": None, "rules": None, "seed": None, "problem": None}
    try:
        opening = stored.opening
        facts |= {"game": opening.game, "rules": opening.rules, "seed": opening.seed}
    except Refused as unreadable:
        facts["problem"] = unreadable.message
    return {**facts, "steps": stored.steps, "done": stored.done, "created": stored.created, "touched": stored.touched}
