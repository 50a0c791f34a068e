"""The interface of language models: a batch of conversations goes in, a reply to each comes out.

A caller with one prompt sends a batch of one. A reply is a `Completion` or a `Failure`; failures are values, so that one failed prompt does
not lose the batch, and the caller decides what a missing reply means. Raised are only mistakes that no reply could repair: an option that
makes no sense, a key that is missing, a package that is not installed.

Clients are wrapped, not extended: `retry.Retry`, `cache.Cache` and `Counted` are clients around a client. `Counted` belongs outside every
other wrapper, where a cached reply and one that took three tries are one prompt each; tokens and seconds are counted only where a model
was asked.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BeforeValidator, Field

from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.validation import between, settings

Role = Literal["system", "user", "assistant"]
Structured = Literal["json_schema", "json_object", "none"]
"""How a server is asked for JSON: by schema, as any JSON object, or by the prompt alone."""

Reason = Literal[
    "timeout",
    "rate_limited",
    "server_error",
    "conflict",
    "dropped",
    "unreachable",
    "unauthorized",
    "unknown_model",
    "out_of_quota",
    "too_long",
    "bad_request",
    "bad_reply",
    "refused",
]
"""Why there is no reply; `docs/llm.md` explains each."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise UnknownName("role", self.role, get_args(Role))


Messages: TypeAlias = Sequence[Message]
"""A conversation, oldest message first."""


def _texts(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(text, str) and text for text in value):
        return value
    raise InvalidOption(f"stop is {value!r}; expected a list of texts.")


@settings
class Sampling:
    """How a reply is drawn; one for all conversations of a batch, or one each where their schemas differ."""

    temperature: Annotated[float | None, between(0.0, 2.0)] = 0.0
    """0 is greedy; None leaves it to the server, for models that accept no temperature."""
    max_tokens: Annotated[int, Field(ge=1)] = 256
    """Longest reply."""
    stop: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()
    """Texts that end a reply."""
    seed: int | None = None
    """For servers that honour one; another seed is also another entry in a cache."""
    top_p: Annotated[float | None, Field(gt=0.0, le=1.0)] = None
    """Draw from the smallest set of tokens with this much probability."""
    json_schema: Mapping[str, Any] | None = None
    """What the reply must look like, where the server can enforce it."""
    logprobs: bool = False
    """Return the log-probability of every token of the reply."""


class TokenLogprob(NamedTuple):
    """A token of a reply and its log-probability."""

    token: str
    logprob: float


@dataclass(frozen=True)
class Completion:
    """What a model wrote; the text is data and has not been judged."""

    text: str
    finish_reason: str = "stop"
    """`stop`, or `length` where the reply was cut off at `max_tokens`; other words are the server's own."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    logprobs: tuple[TokenLogprob, ...] | None = None
    model: str = ""
    """Which model answered, in the server's words."""
    cached: bool = False
    """Whether the reply was read from a cache."""
    seconds: float = 0.0
    """How long the model took; of a cached reply, when it was asked."""


@dataclass(frozen=True)
class Failure:
    """Why there is no reply: a reason for programs and a sentence for people."""

    reason: Reason
    message: str
    status: int | None = None
    """The HTTP status, where there was one."""
    retry_after: float | None = None
    """Seconds that the server asks us to wait."""
    seconds: float = 0.0
    """How long the attempt took."""


Reply: TypeAlias = Completion | Failure
Samplings: TypeAlias = Sampling | Sequence[Sampling]
"""One sampling for a whole batch, or one for each of its conversations."""


def sampling_each(batch: Sequence[Messages], sampling: Samplings) -> Sequence[Sampling]:
    """The sampling of every conversation of a batch."""
    if isinstance(sampling, Sampling):
        return [sampling] * len(batch)
    if len(sampling) != len(batch):
        raise InvalidOption(f"{len(sampling)} samplings for {len(batch)} conversations; expected one for all, or one each.")
    return sampling


class Client:
    """A language model that can be asked."""

    @property
    def name(self) -> str:
        """The model, as a cache and a report know it: everything that changes replies, except the sampling."""
        raise NotImplementedError

    @property
    def trained_on(self) -> Mapping[str, Any]:
        """By game, what its training text had: [least, most] of a number, or names; empty where that is not known."""
        return {}

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        """A reply to every conversation, in order; what is not there after `within` seconds is a failure."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise ModelUnavailable, with the remedy, if asking is bound to fail; to be called before anything long starts."""

    def close(self) -> None:
        """Close connections and files."""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Wrapper(Client):
    """A client around a client; it is known by the same name."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def name(self) -> str:
        return self.client.name

    @property
    def trained_on(self) -> Mapping[str, Any]:
        return self.client.trained_on

    def check(self) -> None:
        self.client.check()

    def close(self) -> None:
        self.client.close()


# Counters

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
LATENCIES_KEPT = 4096
"""Quantiles are those of the latest replies, so that the memory of a long run does not grow."""


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


class Counters:
    """What happened so far; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._rejections: Counter[str] = Counter()
        self._latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)

    def observe(self, replies: Sequence[Reply]) -> None:
        """Count the replies to a batch of prompts."""
        with self._lock:
            for reply in replies:
                self._totals["prompts"] += 1
                if not isinstance(reply, Completion):
                    self._failures[reply.reason] += 1
                elif reply.cached:
                    self._totals["cache_hits"] += 1
                else:
                    self._totals["prompt_tokens"] += reply.prompt_tokens
                    self._totals["completion_tokens"] += reply.completion_tokens
                    self._latencies.append(reply.seconds)

    def retried(self, prompts: int) -> None:
        """Count prompts that were asked once more."""
        with self._lock:
            self._totals["retries"] += prompts

    def spared(self, prompts: int) -> None:
        """Count prompts that were not sent, because the server had just failed."""
        with self._lock:
            self._totals["spared"] += prompts

    def rejected(self, reason: str) -> None:
        """Count a reply that arrived and was no legal action."""
        with self._lock:
            self._rejections[reason] += 1

    def snapshot(self) -> dict[str, Any]:
        """Everything counted so far; `calls` are the prompts that a model was asked, `latency` is in seconds per answered prompt."""
        with self._lock:
            ordered = sorted(self._latencies)
            names = ("prompts", "cache_hits", "retries", "spared", "prompt_tokens", "completion_tokens")
            totals = {name: self._totals[name] for name in names}
            return {
                **totals,
                "calls": totals["prompts"] - totals["cache_hits"] - totals["spared"] + totals["retries"],
                "failures": dict(sorted(self._failures.items())),
                "rejections": dict(sorted(self._rejections.items())),
                "latency": {name: quantile(ordered, share) for name, share in QUANTILES.items()} if ordered else {},
            }


class Counted(Wrapper):
    """Counts what passes through."""

    def __init__(self, client: Client, counters: Counters | None = None) -> None:
        super().__init__(client)
        self.counters = Counters() if counters is None else counters

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        replies = self.client.complete(batch, sampling, within)
        self.counters.observe(replies)
        return replies
