"""How routes read and answer: JSON that was checked on its way in, JSON out, one shape for refusals."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from edgeworth.server.models import Problem
from edgeworth.server.refusals import Refused

CHECKED = "edgeworth.json"
"""Where the guard leaves the body that it has read and checked."""

WORDS = {
    400: "The request cannot be read.",
    401: "No token, or one that nobody has.",
    403: "A page that may not use this server.",
    404: "Not there, or not yours.",
    405: "Another method is expected.",
    408: "The request came too slowly.",
    409: "Somebody was faster, the name is taken, the episode is over, or the session is of other rules.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    422: "A field has the wrong type or value, or an action breaks a rule.",
    429: "Too many requests or sessions of one owner.",
    500: "A fault of the server; the log has it under `request_id`.",
    501: "Not installed on this server.",
    502: "Who was asked has failed.",
    503: "Too busy, draining, or not available now.",
    504: "Not answered in time.",
}
EVERYWHERE = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)
"""What any route may answer, because of who asks and how."""


def problems(*statuses: int, page: bool = False) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for its `responses=`; those of a page are JSON too."""
    shape: dict[str, Any] = {"model": Problem}
    if page:
        shape = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}}
    return {status: {**shape, "description": WORDS[status]} for status in sorted({*EVERYWHERE, *statuses})}


def encoded(content: Any) -> bytes:
    """JSON; numbers of NumPy included."""
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


class Json(Response):
    """An answer as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return encoded(content)


def refusal(refused: Refused, request_id: str | None = None) -> Json:
    """A refusal as an answer."""
    body = refused.body() if request_id is None else {**refused.body(), "request_id": request_id}
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    if "allow" in refused.facts:
        headers["allow"] = refused.facts["allow"]
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refused.status in (408, 413):
        headers["connection"] = "close"
    return Json(body, refused.status, headers)


class CheckedRequest(Request):
    """A request whose body the guard has decoded."""

    async def json(self) -> Any:
        """The decoded body; decoded here where no guard stands in front."""
        return self.scope[CHECKED] if CHECKED in self.scope else await super().json()


class CheckedRoute(APIRoute):
    """A route that uses the body as the guard has decoded it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            return await handler(CheckedRequest(request.scope, request.receive))

        return handled
