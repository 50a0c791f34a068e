"""What went wrong on the way to a server, in our own words: an error of the SDK becomes a `Failure` with its reason, sentence and remedy.

Errors are told apart by HTTP status, by the code that servers put into the body, and by the kind of broken connection. A server's own
words are quoted, short and without the key; Retry-After is read here, and heeded by `retry`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from edgeworth.llm.chat_format import shown
from edgeworth.llm.client import Failure, Reason
from edgeworth.llm.providers import Provider

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


@dataclass(frozen=True)
class Server:
    """The server in a sentence: who it is, where, for which model, and the key that must not be shown."""

    provider: Provider
    base_url: str
    model: str
    key_variable: str
    key: str | None = field(repr=False)

    def without_key(self, text: str) -> str:
        """The text, and the key nowhere in it, plain or as some write it in JSON."""
        if not self.key:
            return text
        return text.replace(self.key, "[key]").replace(self.key.replace("/", "\\/"), "[key]")

    def failure(self, reason: Reason, seconds: float, status: int | None = None, told: str = "", wait: float | None = None) -> Failure:
        """A failure in a sentence, with the server's own words where it has any."""
        sentence = self._sentence(reason, f" (HTTP {status})" if status else "", seconds)
        quoted = f" It says {shown(self.without_key(told))}." if told and reason != "unauthorized" else ""  # some repeat half the key
        return Failure(reason, self.without_key(sentence) + quoted, status, wait, seconds)

    def _sentence(self, reason: Reason, status: str, seconds: float) -> str:
        name, model, provider = self.provider.name, repr(self.model), self.provider
        sentences: dict[Reason, str] = {
            "timeout": f"{name} did not answer in {seconds:.3g} s{status}; allow more time (`timeout`, `deadline`) or ask fewer at a time.",
            "rate_limited": f"{name} wants fewer requests{status}; lower `in_flight` or wait.",
            "server_error": f"{name} has a fault of its own{status}; try again later.",
            "conflict": f"{name} could not serve the request beside another{status}.",
            "dropped": f"{name} closed the connection before the reply was complete.",
            "unreachable": f"No server answers at {self.base_url}; {provider.remedy_unreachable}.",
            "unauthorized": f"{name} does not accept the key{status}; put a valid one into {self.key_variable}.",
            "unknown_model": f"{name} has no model {model} at {self.base_url}{status}; {provider.remedy_model}.",
            "out_of_quota": f"The account at {name} has no credit left{status}; top it up or choose another provider.",
            "too_long": f"The prompt is longer than the context of {model}{status}; shorten it or its history.",
            "bad_reply": f"{name} answered with something that is no chat completion{status}.",
            "refused": f"{name} refused to answer{status}.",
        }
        return sentences.get(reason, f"{name} does not accept the request{status}.")


def status_reason(status: int, codes: Iterable[str], told: str) -> Reason:
    """Why a server answered with an error."""
    for code in codes:
        if code in CODE_REASONS:
            return CODE_REASONS[code]
    if status >= 500:
        return "server_error"
    if status == 400 and TOO_LONG.search(told):
        return "too_long"
    return STATUS_REASONS.get(status, "bad_request")


def connection_reason(kind: str) -> Reason:
    """Why a connection failed, by the name of the error's class."""
    if kind in NOT_REACHED:
        return "unreachable"
    if kind.endswith("Timeout"):
        return "timeout"
    return "bad_reply" if kind in UNREADABLE else "dropped"


def failure_of_status(error: Any, server: Server, seconds: float) -> Failure:
    """The failure behind an error status (`openai.APIStatusError`)."""
    status, told = int(error.status_code), words_of(error.body)
    reason = status_reason(status, (str(error.code), str(error.type)), told)
    wait = retry_after_seconds(error.response.headers.get("retry-after"), time.time())
    return server.failure(reason, seconds, status, told, wait)


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
