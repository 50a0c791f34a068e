"""Steps on the shortest way: checked, carried out and answered without the framework in between, which would take longer than the game.

The same steps stand in `routes_auction` and `routes_bargaining`, where the OpenAPI document describes them; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from edgeworth.server import verbs
from edgeworth.server.answers import REFUSING, told
from edgeworth.server.models import AuctionStep, BargainingStep, StepFrame
from edgeworth.server.sessions import Sessions
from edgeworth.server.wire import CHECKED, encoded, refusal

STEPS: Mapping[str, type[StepFrame]] = {"/step": AuctionStep, "/bargaining/step": BargainingStep}


class Express:
    """Answers steps, and passes everything else on."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self.app, self.sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        frame = STEPS.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" and CHECKED in scope else None
        if frame is None:
            return await self.app(scope, receive, send)
        state = scope["state"]
        state["route"] = scope["path"]
        try:
            result = await verbs.stepped(self.sessions, state, frame.model_validate(scope[CHECKED]))
        except REFUSING as error:
            refused = told(error)
            state["code"] = refused.code
            return await refusal(refused)(scope, receive, send)
        body = encoded(result)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
