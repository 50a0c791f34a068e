"""What a client is told when something is refused, whoever refuses it: the house, the games, the checks of a request, or the framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from edgeworth.errors import EdgeworthError
from edgeworth.server.refusals import Refused, refusal_of
from edgeworth.server.wire import refusal

PLACES = ("body", "query", "path")
NO_OBJECT = ("model_type", "model_attributes_type", "dict_type")
REFUSING = (Refused, EdgeworthError, RequestValidationError, ValidationError)
"""Errors that are answers; any other is a fault of ours."""


def told(error: Exception) -> Refused:
    """The answer that an error stands for."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, EdgeworthError):
        return refusal_of(error)
    if isinstance(error, RequestValidationError | ValidationError):
        return invalid(error.errors()[0])
    raise error


def invalid(problem: Mapping[str, Any]) -> Refused:
    """The first thing that is wrong with a request's frame."""
    name = ".".join(str(part) for part in problem["loc"] if part not in PLACES) or "body"
    arrived = repr(problem.get("input"))
    arrived = arrived if len(arrived) <= 60 else arrived[:57] + "..."
    if problem["type"] == "missing":
        said = f"{name} is missing."
    elif problem["type"] == "extra_forbidden":
        said = f"{name} is not known here."
    elif problem["type"] in NO_OBJECT:
        said = f"{name} is {arrived}; expected a JSON object."
    else:
        said = f"{name} is {arrived}: {problem['msg'][0].lower()}{problem['msg'][1:]}."
    return Refused(422, "invalid_request", said, "GET /openapi.json describes what is expected.", name)


def of_the_framework(request: Request, error: HTTPException) -> Refused:
    """What the router refuses."""
    if error.status_code == 404:
        return Refused(404, "no_such_route", "There is nothing at this path.", "GET /openapi.json lists all routes.", "path")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        said = f"{request.method} is not served here; {allowed} is."
        return Refused(405, "wrong_method", said, "Use that method.", "method", allow=allowed)
    return Refused(error.status_code, "refused", str(error.detail), "Change the request as the message says.")


def answer_in_one_shape(app: FastAPI) -> None:
    """Every refusal, also the framework's, as a `Problem`."""

    def answer(request: Request, refused: Refused) -> Response:
        request.scope["state"]["code"] = refused.code
        return refusal(refused)

    async def on_refusal(request: Request, error: Exception) -> Response:
        return answer(request, told(error))

    for kind in REFUSING:
        app.add_exception_handler(kind, on_refusal)

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        return answer(request, of_the_framework(request, error))
