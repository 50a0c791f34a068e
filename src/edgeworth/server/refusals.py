"""JSON answers and refusals: one shape for everything that is not carried out.

A refusal has a code for programs, a sentence for people, what to do next, and the field concerned. `Refused` is raised anywhere behind a
route or a socket; errors of the games, of Pydantic and of the framework become one here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from edgeworth.errors import (
    EdgeworthError,
    EpisodeOver,
    IllegalAction,
    InvalidContext,
    InvalidOption,
    MissingExtra,
    ModelUnavailable,
    OtherRules,
    UnknownName,
    shown,
)
from edgeworth.validation import problem_in

LOG = logging.getLogger(__name__)
PLACES = ("body", "query", "path")
DESCRIPTIONS = {
    400: "The request cannot be read.",
    401: "No token, or an unknown one.",
    403: "The client's address, host name or origin is not allowed.",
    404: "Not there, or not yours.",
    405: "Another method is expected.",
    408: "The request came too slowly.",
    411: "The body has no stated length.",
    409: "Another step came first, the episode is over, or the session is of other rules or unreadable.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    422: "A field has the wrong type or value, or an action breaks a rule.",
    429: "Too many requests or sessions of one owner.",
    431: "The headers are too long.",
    500: "A fault of the server; the log has it under `request_id`.",
    501: "Not installed on this server.",
    502: "The designer or hint provider failed.",
    503: "Too busy, draining, or not available now.",
    504: "Not answered in time.",
}
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
EVERYWHERE = (400, 401, 403, 408, 411, 413, 415, 422, 429, 431, 500, 503)
"""Statuses that any route may answer with."""


class Refused(Exception):
    """A request that is not carried out; nothing has changed."""

    def __init__(
        self, status: int, code: str, message: str, remedy: str, field: str | None = None, retry_after: int | None = None, **facts: Any
    ) -> None:
        self.status, self.code, self.message, self.remedy, self.field = status, code, message, remedy, field
        self.retry_after, self.facts = retry_after, facts
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy, "field": self.field, **self.facts}


class Problem(BaseModel):
    """Why a request was not carried out; nothing has changed."""

    model_config = ConfigDict(extra="allow")

    code: str = Field(description="For programs: one word for each kind of refusal.")
    message: str = Field(description="For people: what was expected and what arrived.")
    remedy: str = Field(description="What to do next.")
    field: str | None = Field(description="The part of the request that is meant, where there is one.")
    state: dict[str, Any] | None = Field(None, description="With a conflict: where the session stands now.")
    request_id: str | None = Field(None, description="With an error of the server: the name of this request in its log.")


def problems(*statuses: int, page: bool = False) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for its `responses=`; those of a page are JSON too."""
    shape: dict[str, Any] = {"model": Problem}
    if page:
        shape = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}}
    return {status: {**shape, "description": DESCRIPTIONS[status]} for status in sorted({*EVERYWHERE, *statuses})}


class Json(Response):
    """A JSON response; NumPy numbers are allowed."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The body."""
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


def refusal_response(refused: Refused, request_id: str | None = None) -> Json:
    """A refusal as an HTTP response."""
    body = refused.body() if request_id is None else {**refused.body(), "request_id": request_id}
    headers = {} if refused.retry_after is None else {"retry-after": str(refused.retry_after)}
    if "allow" in refused.facts:
        headers["allow"] = refused.facts["allow"]
    if refused.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Json(body, refused.status, headers)


def has_body(scope: Scope) -> bool:
    """Whether a request comes with a body, of a stated length or in chunks."""
    return any(name in BODY_HEADERS and value != b"0" for name, value in scope["headers"])


def unknown_session(session_id: str) -> Refused:
    """A session that was never opened, has expired, or belongs to another owner; the answer does not say which."""
    return Refused(404, "unknown_session", f"There is no session {session_id!r}.", "Open one with POST /reset.", "session_id")


@contextmanager
def unreadable_session(session_id: str) -> Iterator[None]:
    """Refuse a stored session that cannot be read or replayed; one of other rules is refused as such."""
    try:
        yield
    except (Refused, OtherRules):
        raise
    except Exception as error:
        message = f"The session {session_id!r} cannot be read as it was stored: {shown(str(error))}."
        remedy = "Export it as it is, or delete it; POST /reset begins a new episode in its place."
        raise Refused(409, "unreadable_session", message, remedy, "session_id") from error


def refusal_of(error: Refused | EdgeworthError) -> Refused:
    """The refusal that an error of a game, a model or a setting stands for."""
    said = str(error)
    if isinstance(error, Refused):
        return error
    if isinstance(error, IllegalAction):
        return Refused(422, "illegal_action", said, "Send an action that the rules allow now; the session is unchanged.", error.rule)
    if isinstance(error, OtherRules):
        remedy = "Open a new session with POST /reset; this one can still be exported and deleted."
        return Refused(409, "other_rules", error.what, remedy, "session_id", found=error.found, expected=error.expected)
    if isinstance(error, EpisodeOver):
        return Refused(409, "episode_over", said, "Open the next episode with POST /reset.", "session_id")
    if isinstance(error, UnknownName):
        return Refused(422, "unknown_name", said, "Use one of the known names.", None)
    if isinstance(error, InvalidOption | InvalidContext):
        return Refused(422, "invalid_option", said, "Change the option as the message says.", None)
    if isinstance(error, ModelUnavailable):
        return Refused(503, "model_unavailable", said, "Ask for another one, or set it up on the server.", None)
    if isinstance(error, MissingExtra):
        return Refused(501, "not_installed", said, "Install the extra on the server.", None)
    return Refused(422, "refused", said, "Change the request as the message says.", None)


def invalid_request(error: RequestValidationError | ValidationError) -> Refused:
    """What Pydantic finds wrong with a request, as a refusal."""
    problem = problem_in([{**each, "loc": tuple(part for part in each["loc"] if part not in PLACES)} for each in error.errors()])
    name = problem.field or "body"
    expected = "a JSON object" if problem.kind == "mapping" else problem.expected
    short = {"missing": f"{name} is missing.", "unknown": f"{name} is not known here."}
    said = short.get(problem.kind) or f"{name} is {shown(problem.arrived)}; expected {expected}."
    return Refused(422, "invalid_request", said, "GET /openapi.json describes what is expected.", name)


def framework_refusal(request: Request, error: HTTPException) -> Refused:
    """What the router refuses, as a refusal of ours."""
    if error.status_code == 404:
        return Refused(404, "no_such_route", "There is nothing at this path.", "GET /openapi.json lists all routes.", "path")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        said = f"{request.method} is not served here; {allowed} is."
        return Refused(405, "wrong_method", said, "Use that method.", "method", allow=allowed)
    return Refused(error.status_code, "refused", str(error.detail), "Change the request as the message says.")


def log_failure(refused: Refused, error: Exception, request_id: str = "on a socket") -> None:
    """Write down with its traceback what failed behind a refusal, such as the database or a model."""
    if error.__cause__ is not None and (refused.status >= 500 or refused.code == "unreadable_session"):
        LOG.error("Request %s failed: %s", request_id, refused.code, exc_info=error)


def add_exception_handlers(app: FastAPI) -> None:
    """Answer every error that is a refusal as a `Problem`; others are faults, which `Monitor` answers."""

    def answer(request: Request, refused: Refused, error: Exception) -> Response:
        state = request.scope["state"]
        state["code"] = refused.code
        log_failure(refused, error, state["request_id"])
        return refusal_response(refused)

    @app.exception_handler(Refused)
    @app.exception_handler(EdgeworthError)
    async def on_refusal(request: Request, error: Refused | EdgeworthError) -> Response:
        return answer(request, refusal_of(error), error)

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    async def on_invalid(request: Request, error: RequestValidationError | ValidationError) -> Response:
        return answer(request, invalid_request(error), error)

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        return answer(request, framework_refusal(request, error), error)
