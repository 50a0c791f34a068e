"""A step of a market, sale by sale: the story that `edgeworth market` tells, for a session.

The steps are played again from the opening and log of the session. They show types, values and the ring, so they are told only when the
episode is over, or in a session that was opened with `truth`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from edgeworth.config import AuctionConfig
from edgeworth.evaluation.story import play_step
from edgeworth.games.auction.action import checked_action
from edgeworth.games.auction.sale_room import SaleRoom
from edgeworth.server.live import LiveAuction
from edgeworth.server.models import SessionId
from edgeworth.server.models_lab import StepHeld
from edgeworth.server.openings import LONGEST_EPISODE, Opening
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.routes_games import owner_of
from edgeworth.server.sessions import Sessions, other_game


def sales_routes(sessions: Sessions) -> APIRouter:
    """What happened in a step."""
    router = APIRouter(tags=["auction"])

    @router.get("/sales", operation_id="sales", response_model=StepHeld, responses=problems(404, 409))
    async def sales(
        request: Request, session_id: Annotated[SessionId, Query()], step: Annotated[int, Query(ge=1, le=LONGEST_EPISODE)]
    ) -> Response:
        """The five sales of a step that was played: bids, lots, prices, the ring, fines, and the story."""
        request.scope["state"]["session"] = session_id
        owner = owner_of(request)
        held = await sessions.held(owner, session_id)
        opening, live = held.stored.opening, held.live
        if not isinstance(live, LiveAuction):
            raise other_game(session_id, opening.game, "auction", "Name a session of that game.")
        if not live.done and not opening.truth:
            message = f"The episode of {session_id!r} goes on; its sales show what no designer knows."
            raise Refused(409, "not_over", message, "Ask when it is over, or open a session with `truth`.", "session_id")
        if step > live.steps:
            message = f"step is {step}; the session has played {live.steps}."
            raise Refused(404, "not_found", message, "Ask for a step that was played.", "step")
        actions = (await sessions.export(owner, session_id))["actions"]
        return Json(await asyncio.to_thread(step_played, opening, actions[:step]))

    return router


def step_played(opening: Opening, actions: Sequence[Any]) -> dict[str, Any]:
    """The account of the last of these steps of a market."""
    room = SaleRoom(AuctionConfig.from_options(**opening.options), opening.seed)
    account: dict[str, Any] = {}
    for action in actions:
        account = play_step(room, checked_action(action))
    return account
