"""The outermost layer: every request gets an id, a line in the log and a place in the metrics, and no fault of ours shows its inside."""

from __future__ import annotations

import logging
import os
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from edgeworth.server.logs import note
from edgeworth.server.metrics import Metrics
from edgeworth.server.refusals import Refused
from edgeworth.server.wire import refusal

UNMATCHED = "(no route)"


class Watch:
    """Watches requests pass by."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_requests: bool) -> None:
        self.app, self.metrics, self.log_requests = app, metrics, log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await self._watch_socket(scope, receive, send)
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status, request_id = time.perf_counter(), 0, os.urandom(16).hex()
        state = scope.setdefault("state", {})
        state["request_id"] = request_id

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", request_id.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Exception as error:
            note(logging.ERROR, "fault", error, request_id=request_id, route=route_of(scope))
            if status:
                raise  # half an answer is out; the connection is closed
            await refusal(fault(), request_id)(scope, receive, sent)
            state["code"] = "fault"
        finally:
            self._write_down(scope, status, began)

    async def _watch_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A line when a socket is closed, or turned away."""
        began, state = time.perf_counter(), scope.setdefault("state", {})
        state["request_id"] = os.urandom(16).hex()
        try:
            await self.app(scope, receive, send)
        finally:
            if "code" in state:
                self.metrics.refusals.labels(state["code"]).inc()
            facts = {name: state[name] for name in ("owner", "code", "request_id") if name in state}
            note(logging.INFO, "socket", seconds=round(time.perf_counter() - began, 3), **facts)

    def _write_down(self, scope: Scope, status: int, began: float) -> None:
        state, route, method, seconds = scope["state"], route_of(scope), scope["method"], time.perf_counter() - began
        self.metrics.answered(route, method, status, seconds)
        if "code" in state:
            self.metrics.refusals.labels(state["code"]).inc()
        if self.log_requests:
            facts = {name: state[name] for name in ("owner", "session", "code") if name in state}
            facts |= {"ms": round(seconds * 1e3, 3), "request_id": state["request_id"]}
            note(logging.INFO, "request", method=method, route=route, status=status, **facts)


def fault() -> Refused:
    """What a client is told of an error that we did not foresee."""
    return Refused(500, "fault", "The server made a mistake.", "Try again; whoever runs the server finds request_id in its log.")


def route_of(scope: Scope) -> str:
    """The template of the route, never the path itself."""
    return scope["state"].get("route") or str(getattr(scope.get("route"), "path", UNMATCHED))
