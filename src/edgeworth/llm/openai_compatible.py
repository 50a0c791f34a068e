"""Clients of servers with OpenAI's chat-completions protocol: Groq, OpenAI, vLLM, Ollama, llama.cpp.

The official SDK (`openai`, extra `llm`) carries the requests, one per conversation, with a bounded number in flight; its own retries are
switched off, because `retry.Retry` does that for all clients. A client can be made without a key, without the SDK and without a
network, so that a recording can be replayed anywhere; `check` or the first question needs them.

The key comes from the environment variable that the provider documents and goes into the Authorization header, nowhere else. What the SDK
reads from the environment for OpenAI (organisation, project, extra headers) is sent to OpenAI's own address only.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, ClassVar, get_args
from urllib.parse import urlsplit

from edgeworth.errors import InvalidOption, MissingExtra, ModelUnavailable, UnknownName, suggestion
from edgeworth.llm import providers
from edgeworth.llm.chat_format import (
    completion_of,
    connection_reason,
    listed_models,
    request_of,
    retry_after_seconds,
    status_reason,
    words_of,
)
from edgeworth.llm.client import Client, Failure, Message, Messages, Reply, Sampling, Samplings, Structured, sampling_each
from edgeworth.llm.providers import Provider, Server

CONNECT_SECONDS = 5.0
CHECK_SECONDS = 10.0
NO_LISTING = (404, 405, 501)
NAMES_SHOWN = 8
PLACEHOLDER_KEY = "none"
"""Sent to servers that ask for no key."""


def checked_base_url(url: str) -> str:
    """The address of a server, or an error that does not repeat what may be secret in it."""
    if not isinstance(url, str) or {"@", "?", "#"} & set(url):
        raise InvalidOption("base_url holds more than an address; expected http://host:port/v1, with the key in its environment variable.")
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        complete = False
    if not complete:
        raise InvalidOption(f"base_url is {url!r}; expected an address such as http://localhost:8000/v1.")
    return url.rstrip("/")


def key_from(variable: str, provider: Provider) -> str | None:
    """The key in an environment variable, or an error that says how to set it; None where none is needed."""
    key = os.environ.get(variable, "").strip()
    if not key:
        if provider.needs_key:
            raise ModelUnavailable("unauthorized", f"{provider.name} needs a key; put it into the environment variable {variable}.")
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelUnavailable("unauthorized", f"The key in {variable} holds characters that no key has; copy it again.")
    return key


class OpenAICompatible(Client):
    """A model behind the chat-completions protocol; subclasses name the provider."""

    provider: ClassVar[Provider]

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        key_variable: str | None = None,
        structured: Structured | None = None,
        timeout: float = 60.0,
        in_flight: int | None = None,
    ) -> None:
        """`timeout` is in seconds per request; what is None is as the provider has it."""
        if not isinstance(model, str) or not model.strip():
            raise InvalidOption(f"model is {model!r}; expected the name of a model. {self.provider.remedy_model.capitalize()}.")
        if not timeout > 0.0:
            raise InvalidOption(f"timeout is {timeout}; expected more than 0 seconds.")
        self.model = model
        self.base_url = checked_base_url(base_url or self.provider.base_url)
        self.key_variable = key_variable or self.provider.key_variable
        self.structured = structured or self.provider.structured
        if self.structured not in get_args(Structured):
            raise UnknownName("way of asking for structure", self.structured, get_args(Structured))
        self.timeout = timeout
        self.in_flight = self.provider.in_flight if in_flight is None else in_flight
        if self.in_flight < 1:
            raise InvalidOption(f"in_flight is {in_flight}; expected 1 or more.")
        self._lock = threading.Lock()
        self._held: tuple[int, Any, Server] | None = None

    @property
    def name(self) -> str:
        """Provider and model, but not the address: a recording can be replayed where another server is meant, or none."""
        return f"{self.provider.name}/{self.model}"

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        each = sampling_each(batch, sampling)
        if not self.provider.has_logprobs and any(one.logprobs for one in each):
            raise InvalidOption(f"{self.provider.name} returns no log-probabilities; ask without `logprobs`.")
        if not batch:
            return []
        _, server = self._sdk()
        started = time.monotonic()
        stop_at = float("inf") if within is None else started + within
        pool = ThreadPoolExecutor(min(self.in_flight, len(batch)), thread_name_prefix="llm")
        try:
            asked = [pool.submit(self._ask, messages, one, stop_at) for messages, one in zip(batch, each, strict=True)]
            wait(asked, timeout=None if within is None or math.isinf(within) else within)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return [_result(future) or server.failure("timeout", time.monotonic() - started) for future in asked]

    def check(self) -> None:
        sdk, server = self._sdk()
        body = self._body(lambda timeout: sdk.models.with_streaming_response.list(timeout=timeout), CHECK_SECONDS)
        if isinstance(body, Failure) and body.status not in NO_LISTING:
            raise ModelUnavailable(body.reason, body.message)
        names = None if isinstance(body, Failure) else listed_models(body)
        if names is None:  # a server that lists nothing is asked for one token
            reply = self.complete([[Message("user", "Hello")]], Sampling(max_tokens=1), CHECK_SECONDS)[0]
            if isinstance(reply, Failure):
                raise ModelUnavailable(reply.reason, reply.message)
        elif self.provider.checks_names and not {self.model, f"{self.model}:latest"} & set(names):
            raise ModelUnavailable("unknown_model", f"{server.failure('unknown_model', 0.0).message} {_offered(self.model, names)}")

    def close(self) -> None:
        with self._lock:
            if self._held is not None and self._held[0] == os.getpid():
                self._held[1].close()
            self._held = None

    def _ask(self, messages: Messages, sampling: Sampling, stop_at: float) -> Reply:
        sdk, server = self._sdk()
        started = time.monotonic()
        seconds = min(self.timeout, stop_at - started)
        if seconds <= 0.0:
            return server.failure("timeout", 0.0)
        request = request_of(self.provider.length_field, self.structured, self.model, messages, sampling)
        body = self._body(lambda timeout: sdk.chat.completions.with_streaming_response.create(**request, timeout=timeout), seconds)
        if isinstance(body, Failure):
            return body
        return completion_of(body, self.provider.name, time.monotonic() - started)

    def _body(self, send: Callable[[Any], Any], seconds: float) -> str | Failure:
        """The body of an answer, without the key, should it repeat it; or why there is none.

        It is read piece by piece against the clock: some servers send spaces to keep a slow connection alive, and a read timeout, which
        restarts with every byte, would never fire.
        """
        openai = _openai()
        _, server = self._sdk()
        started = time.monotonic()
        pieces: list[bytes] = []
        try:
            with send(openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))) as answer:
                for piece in answer.iter_bytes():
                    pieces.append(piece)
                    if time.monotonic() - started > seconds:
                        return server.failure("timeout", time.monotonic() - started)
            return server.without_key(b"".join(pieces).decode("utf-8", "replace"))
        except openai.APIStatusError as error:
            return _failure_of_status(error, server, time.monotonic() - started)
        except openai.APIConnectionError as error:
            return server.failure(connection_reason(type(error.__cause__).__name__), time.monotonic() - started)
        except Exception as error:
            if not type(error).__module__.startswith("httpx"):  # the connection broke while the body was read
                raise
            return server.failure(connection_reason(type(error).__name__), time.monotonic() - started)

    def _sdk(self) -> tuple[Any, Server]:
        """The SDK's client, made when it is first needed, and again in a forked process."""
        with self._lock:
            if self._held is None or self._held[0] != os.getpid():
                key = key_from(self.key_variable, self.provider)
                server = Server(self.provider, self.base_url, self.model, self.key_variable, key)
                self._held = (os.getpid(), _sdk_client(self.base_url, key), server)
            return self._held[1], self._held[2]


def _failure_of_status(error: Any, server: Server, seconds: float) -> Failure:
    """The failure behind an error status (`openai.APIStatusError`)."""
    status, says = int(error.status_code), words_of(error.body)
    reason = status_reason(status, (str(error.code), str(error.type)), says)
    wait = retry_after_seconds(error.response.headers.get("retry-after"), time.time())
    return server.failure(reason, seconds, status, says, wait)


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("Asking a language model over HTTP", "the `openai` package", "llm") from error
    return openai


def _sdk_client(base_url: str, key: str | None) -> Any:
    openai = _openai()
    local = urlsplit(base_url).hostname in ("localhost", "127.0.0.1", "::1")
    http_client = openai.DefaultHttpxClient(trust_env=False) if local else None  # a local server is reached without a proxy
    key = key or PLACEHOLDER_KEY
    if base_url == providers.OPENAI.base_url:
        return openai.OpenAI(api_key=key, base_url=base_url, max_retries=0, http_client=http_client)
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()  # meant for OpenAI; may even hold another Authorization
    headers = {**{line.partition(":")[0].strip(): openai.Omit() for line in lines}, "Authorization": f"Bearer {key}"}
    sdk = openai.OpenAI(api_key=key, base_url=base_url, max_retries=0, http_client=http_client, default_headers=headers)
    sdk.organization = sdk.project = None
    return sdk


def _result(future: Future[Reply]) -> Reply | None:
    return future.result() if future.done() and not future.cancelled() else None


def _offered(model: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"There: {', '.join(names[:NAMES_SHOWN]) or 'none'}{more}.{suggestion(model, names)}"


class Groq(OpenAICompatible):
    """Models in Groq's cloud."""

    provider = providers.GROQ


class OpenAI(OpenAICompatible):
    """OpenAI's own models."""

    provider = providers.OPENAI


class VLLM(OpenAICompatible):
    """A model served by vLLM."""

    provider = providers.VLLM


class Ollama(OpenAICompatible):
    """A model served by Ollama."""

    provider = providers.OLLAMA


class LlamaCpp(OpenAICompatible):
    """A model served by llama.cpp's `llama-server`."""

    provider = providers.LLAMA_CPP
