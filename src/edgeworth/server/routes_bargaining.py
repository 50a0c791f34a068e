"""The bargaining game over HTTP: the agent is the client, its partner plays here."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from edgeworth.server import verbs
from edgeworth.server.models import BargainingReset, BargainingStep, SessionId, TalksOpened, TalksState, TalksStepped
from edgeworth.server.sessions import Sessions
from edgeworth.server.wire import CheckedRoute, Json, problems

GAME = "bargaining"


def bargaining_routes(sessions: Sessions) -> APIRouter:
    """Reset, step and state of talks."""
    router = APIRouter(prefix="/bargaining", tags=[GAME], route_class=CheckedRoute)

    @router.post("/reset", operation_id="bargaining_reset", response_model=TalksOpened, responses=problems(409, 429, 503))
    async def reset(request: Request, body: BargainingReset | None = None) -> Response:
        """Open a session; without a name it is given one."""
        return Json(await verbs.opened(sessions, GAME, request.scope["state"], body or BargainingReset.model_validate({})))

    @router.post("/step", operation_id="bargaining_step", response_model=TalksStepped, responses=problems(404, 409))
    async def step(request: Request, body: BargainingStep) -> Response:
        """Make a move and hear the partner's reply."""
        return Json(await verbs.stepped(sessions, request.scope["state"], body))

    @router.get("/state", operation_id="bargaining_state", response_model=TalksState, responses=problems(404, 409))
    async def state(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """Where a session stands."""
        return Json(await verbs.looked_at(sessions, GAME, request.scope["state"], session_id))

    return router
