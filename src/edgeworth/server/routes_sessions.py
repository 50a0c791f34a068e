"""The sessions of an owner: what there is, one as a file, one deleted."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from edgeworth.server.models import Export, SessionId, SessionList
from edgeworth.server.sessions import Sessions
from edgeworth.server.store import Stored
from edgeworth.server.verbs import owner_of
from edgeworth.server.wire import Json, problems

Named = Annotated[SessionId, Path()]


def line(stored: Stored) -> dict[str, object]:
    """A session in a list."""
    opening = stored.opening
    facts = {"session_id": stored.id, "game": opening.game, "rules": opening.rules, "seed": opening.seed}
    return {**facts, "steps": stored.steps, "done": stored.done, "created": stored.created, "touched": stored.touched}


def session_routes(sessions: Sessions) -> APIRouter:
    """List, export and delete."""
    router = APIRouter(prefix="/sessions", tags=["sessions"])

    @router.get("", operation_id="list_sessions", response_model=SessionList, responses=problems())
    async def listed(request: Request) -> Response:
        """All sessions of whoever asks."""
        found = await asyncio.to_thread(sessions.store.owned, owner_of(request))
        return Json({"sessions": [line(stored) for stored in found]})

    @router.get("/{session_id}/export", operation_id="export_session", response_model=Export, responses=problems(404))
    async def exported(request: Request, session_id: Named) -> Response:
        """Opening and log; `edgeworth replay FILE` plays them again."""
        request.scope["state"]["session"] = session_id
        return Json(await sessions.export(owner_of(request), session_id))

    @router.delete(
        "/{session_id}", operation_id="close_session", status_code=204, response_class=Response, responses=problems(404, page=True)
    )
    async def closed(request: Request, session_id: Named) -> Response:
        """Delete a session and its log."""
        request.scope["state"]["session"] = session_id
        await sessions.close(owner_of(request), session_id)
        return Response(status_code=204)

    return router
