"""Limits on requests: the middleware in front of the routes.

A body has a stated length. It is read within a time and a length, and refused if it is not plain JSON: text that is not UTF-8, numbers
that JSON does not have (NaN, Infinity), integers beyond 64 bits, deep nesting. The requests in progress and the requests a second of each
owner are limited too.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections import OrderedDict
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from edgeworth.server.refusals import Refused, refusal_response
from edgeworth.server.settings import RequestLimits

LONG_NUMBER = re.compile(rb"\d{19}")
"""An integer beyond 64 bits has at least 19 digits."""
STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
NO_BRACKET = re.compile(rb"[^][{}]+")
JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
MOST_BUCKETS = 10_000


def decoded(body: bytes, depth: int) -> Any:
    """The JSON in a body; refused where it is not plain JSON."""
    if body.count(b"[") + body.count(b"{") > depth and _nesting(body) > depth:
        raise Refused(400, "too_deep", f"The body is nested deeper than {depth} levels.", "Send a flatter one.", "body")
    try:
        if LONG_NUMBER.search(body):
            json.loads(body, parse_int=_integer)  # orjson would make a rounded float of an integer that is too long
        return orjson.loads(body)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else "it is not UTF-8 text"
        raise Refused(400, "invalid_json", f"The body is not JSON: {said}.", "Send one JSON object in UTF-8.", "body") from None


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= (value := int(digits)) < 2**63:
        raise Refused(422, "huge_integer", f"The integer {digits[:24]}… does not fit into 64 bits.", "Send a smaller one.", "body")
    return value


def _nesting(body: bytes) -> int:
    """The depth of the brackets in a body; those inside of strings do not count."""
    brackets = NO_BRACKET.sub(b"", STRING.sub(b"", body))
    return max(itertools.accumulate(1 if bracket in b"[{" else -1 for bracket in brackets), default=0)


class Rate:
    """A token bucket for every owner, or every address."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str) -> None:
        """Count a request, or refuse it."""
        if wait := self.seconds_to_wait(owner):
            message = f"More than {self.rate:g} requests a second came from {owner}."
            raise Refused(429, "too_fast", message, "Wait as long as Retry-After says.", retry_after=wait)

    def seconds_to_wait(self, owner: str) -> int:
        """Count a request: 0, or where the bucket is empty the seconds until another may come."""
        now = time.monotonic()
        level, last = self._buckets.pop(owner, (float(self.burst), now))
        level = min(self.burst, level + (now - last) * self.rate)
        self._buckets[owner] = (max(level - 1.0, 0.0) if level >= 1.0 else level, now)
        if len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return 0 if level >= 1.0 else max(1, int((1.0 - level) / self.rate + 0.999))


class Guard:
    """Counts, reads and checks a request before the application sees it."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self.app, self.limits = app, limits
        self.rate = Rate(limits.rate, limits.burst)
        self.in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        probe, body = scope["state"].get("probe"), None
        try:
            if not probe:
                self.rate.take(scope["state"]["owner"])
            body = await self._body(scope, receive)
            if scope["method"] in WITH_BODY and body:
                decoded(body, self.limits.depth)
            if not probe and self.in_progress >= self.limits.requests:
                raise Refused(503, "busy", f"{self.limits.requests} requests are in progress.", "Try again in a moment.", retry_after=1)
        except Refused as refused:
            scope["state"]["code"] = refused.code
            return await refusal_response(refused)(scope, receive, send)
        self.in_progress += 1  # only now: a body that is sent slowly takes nobody's place
        try:
            await self.app(scope, _replayed(body, receive), send)
        finally:
            self.in_progress -= 1

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        length, kind = headers.get("content-length", ""), headers.get("content-type")
        if "transfer-encoding" in headers:  # trailers may follow the chunks without end, and uvicorn keeps them all
            said = "The body came in chunks, without a stated length."
            raise Refused(411, "length_required", said, "Send it with a Content-Length header.", "content-length")
        if length.isdigit() and int(length[:20]) > self.limits.body_bytes:
            raise self._too_long(length[:20])
        chunks, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "gone", "The client went away before its body was read.", "Send it again.")
                    chunk = message.get("body", b"")
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > self.limits.body_bytes:
                        raise self._too_long("more")
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            said = f"The body did not arrive within {self.limits.body_seconds:g} seconds."
            raise Refused(408, "too_slow", said, "Send it in one go.", "body") from None
        if size and scope["method"] in WITH_BODY and not (kind and JSON_TYPE.fullmatch(kind)):
            said = "nothing" if kind is None else repr(kind[:60])
            raise Refused(415, "not_json", f"The content type is {said}.", "Send `Content-Type: application/json`.", "content-type")
        return b"".join(chunks)

    def _too_long(self, size: str) -> Refused:
        message = f"The body has {size} bytes; at most {self.limits.body_bytes} are taken."
        return Refused(413, "body_too_long", message, "Send a shorter one.", "body")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that begins with a body that has been read."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return pending.pop() if pending else await receive()

    return received
