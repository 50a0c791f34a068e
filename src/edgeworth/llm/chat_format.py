"""The chat-completions format: what a request says, and what a body, a status or a broken connection means.

What comes back is data from outside: any body at all becomes a `Completion` or a `Failure`, and nothing is raised. Errors differ by HTTP
status, by the code that servers put into the body, and by the kind of broken connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import Any

from edgeworth.llm.client import Completion, Failure, Messages, Reason, Reply, Sampling, Structured, TokenLogprob

SHOWN = 80
SCHEMA_NAME = "reply"

STATUS_REASONS: dict[int, Reason] = {
    401: "unauthorized",
    403: "unauthorized",
    404: "unknown_model",
    408: "timeout",
    409: "conflict",
    413: "too_long",
    429: "rate_limited",
}
"""Any other 4xx is a bad request, any 5xx an error of the server."""

CODE_REASONS: dict[str, Reason] = {
    "insufficient_quota": "out_of_quota",
    "context_length_exceeded": "too_long",
    "exceed_context_size_error": "too_long",
    "model_not_found": "unknown_model",
    "model_decommissioned": "unknown_model",
    "json_validate_failed": "bad_reply",
}
"""Codes in a body that say more than its status."""

TOO_LONG = re.compile(r"context.{0,20}(length|size|window)", re.IGNORECASE)
NOT_REACHED = ("ConnectError", "ConnectTimeout", "ProxyError", "UnsupportedProtocol")
UNREADABLE = ("DecodingError", "TooManyRedirects")


def request_of(length_field: str, structured: Structured, model: str, messages: Messages, sampling: Sampling) -> dict[str, Any]:
    """The request for one conversation; what the sampling leaves open is not mentioned."""
    request: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        length_field: sampling.max_tokens,
    }
    optional = {"temperature": sampling.temperature, "seed": sampling.seed, "top_p": sampling.top_p}
    request |= {name: value for name, value in optional.items() if value is not None}
    if sampling.stop:
        request["stop"] = list(sampling.stop)
    if sampling.logprobs:
        request["logprobs"] = True
    if sampling.json_schema is not None and structured != "none":
        request["response_format"] = response_format(structured, sampling.json_schema)
    return request


def response_format(structured: Structured, schema: Any) -> dict[str, Any]:
    """How to ask for JSON."""
    if structured == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema, "strict": True}}


def completion_of(body: str, server: str, seconds: float) -> Reply:
    """What a body says, whatever it is."""
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        message, finish = choice["message"], str(choice.get("finish_reason") or "stop")
        text = message.get("content")
        if message.get("refusal") or finish == "content_filter":
            return Failure("refused", f"{server} refused to answer: {shown(message.get('refusal') or finish)}.", seconds=seconds)
        if text is None and finish == "length":
            text = ""  # everything went into reasoning
        if isinstance(text, str):
            model, used = str(content.get("model") or ""), content.get("usage") or {}
            tokens = [int(used.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")]
            return Completion(text, finish, tokens[0], tokens[1], logprobs_of(choice), model, seconds=seconds)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    return Failure("bad_reply", f"{server} answered with something that is no chat completion: {shown(body)}.", seconds=seconds)


def logprobs_of(choice: dict[str, Any]) -> tuple[TokenLogprob, ...] | None:
    """The log-probabilities of a choice, where it has any."""
    tokens = (choice.get("logprobs") or {}).get("content")
    return None if tokens is None else tuple(TokenLogprob(str(token["token"]), float(token["logprob"])) for token in tokens)


def listed_models(body: str) -> list[str] | None:
    """The names in a list of models, or None where it is no such list."""
    try:
        return sorted(str(model["id"]) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def shown(value: object) -> str:
    """The beginning of what came, on one line and in quotes."""
    text = " ".join(str(value).split())
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def status_reason(status: int, codes: Iterable[str], says: str) -> Reason:
    """Why a server answered with an error."""
    for code in codes:
        if code in CODE_REASONS:
            return CODE_REASONS[code]
    if status >= 500:
        return "server_error"
    if status == 400 and TOO_LONG.search(says):
        return "too_long"
    return STATUS_REASONS.get(status, "bad_request")


def connection_reason(kind: str) -> Reason:
    """Why a connection failed, by the name of the error's class."""
    if kind in NOT_REACHED:
        return "unreachable"
    if kind.endswith("Timeout"):
        return "timeout"
    return "bad_reply" if kind in UNREADABLE else "dropped"


def retry_after_seconds(header: str | None, now: float) -> float | None:
    """What a Retry-After header asks for, in seconds from `now` (Unix time): it names seconds or an HTTP date."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - now
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def words_of(body: object) -> str:
    """What a server says about an error."""
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail") or body.get("error") or ""
        return words_of(message) if isinstance(message, dict) else str(message)
    return body if isinstance(body, str) else ""
