"""The auction game over HTTP, under the paths that users of the published environment know."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from edgeworth.server import verbs
from edgeworth.server.models import AuctionReset, AuctionStep, MarketOpened, MarketState, MarketStepped, SessionId
from edgeworth.server.sessions import Sessions
from edgeworth.server.wire import CheckedRoute, Json, problems

GAME = "auction"


def auction_routes(sessions: Sessions) -> APIRouter:
    """Reset, step and state of markets."""
    router = APIRouter(prefix="", tags=[GAME], route_class=CheckedRoute)

    @router.post("/reset", operation_id="reset", response_model=MarketOpened, responses=problems(409, 429, 503))
    async def reset(request: Request, body: AuctionReset | None = None) -> Response:
        """Open a session; without a name it is given one."""
        return Json(await verbs.opened(sessions, GAME, request.scope["state"], body or AuctionReset.model_validate({})))

    @router.post("/step", operation_id="step", response_model=MarketStepped, responses=problems(404, 409))
    async def step(request: Request, body: AuctionStep) -> Response:
        """Post a mechanism: five sales, then the score."""
        return Json(await verbs.stepped(sessions, request.scope["state"], body))

    @router.get("/state", operation_id="state", response_model=MarketState, responses=problems(404, 409))
    async def state(request: Request, session_id: Annotated[SessionId, Query()]) -> Response:
        """Where a session stands."""
        return Json(await verbs.looked_at(sessions, GAME, request.scope["state"], session_id))

    return router
