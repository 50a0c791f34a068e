"""What a language model is to us: a batch of conversations goes in, a reply to each comes out.

Batch first: a caller with one prompt sends a batch of one. A reply is a `Completion` or a `Failure`; failures are values, so that one dead
prompt does not lose the batch, and whoever asked decides what a missing reply means. Only what no reply could mend is raised: an
option that makes no sense, a key that is missing, a package that is not installed.

Clients are wrapped, not extended: `retry.Retry`, `cache.Cache` and `counters.Counted` are clients around a client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from edgeworth.errors import InvalidOption, UnknownName

Role = Literal["system", "user", "assistant"]

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


@dataclass(frozen=True)
class Sampling:
    """How a reply is drawn; one for all conversations of a batch, or one each where their schemas differ."""

    temperature: float | None = 0.0
    """0 is greedy; None leaves it to the server, for models that accept no temperature."""
    max_tokens: int = 256
    """Longest reply."""
    stop: tuple[str, ...] = ()
    """Texts that end a reply."""
    seed: int | None = None
    """For servers that honour one; another seed is also another entry in a cache."""
    top_p: float | None = None
    """Draw from the smallest set of tokens with this much probability."""
    json_schema: Mapping[str, Any] | None = None
    """What the reply must look like, where the server can enforce it."""
    logprobs: bool = False
    """Return the log-probability of every token of the reply."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop", _texts("stop", self.stop))
        if self.temperature is not None and not 0.0 <= self.temperature <= 2.0:
            raise InvalidOption(f"temperature is {self.temperature}; expected 0.0 to 2.0.")
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise InvalidOption(f"top_p is {self.top_p}; expected more than 0.0, and 1.0 at most.")
        if self.max_tokens < 1:
            raise InvalidOption(f"max_tokens is {self.max_tokens}; expected 1 or more.")


def _texts(option: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(text, str) and text for text in value):
        return tuple(value)
    raise InvalidOption(f"{option} is {value!r}; expected a list of texts.")


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

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        """A reply to every conversation, in order; what is not there after `within` seconds is a failure."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise ModelUnavailable, with the remedy, if asking is bound to fail; to be called before anything long starts."""

    def close(self) -> None:
        """Let go of connections and files."""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
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

    def check(self) -> None:
        self.client.check()

    def close(self) -> None:
        self.client.close()
