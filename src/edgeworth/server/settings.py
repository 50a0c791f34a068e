"""Settings of the server: where it listens, who may come in, what it keeps, and how much it takes.

Whoever binds an address that others can reach gives tokens, or says aloud that the server is open: the settings refuse anything else.
Neither tokens nor the store's URL, which may hold a password, are part of what is printed.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Annotated

from edgeworth.errors import DataError, InvalidOption
from edgeworth.server.sessions import SessionLimits
from edgeworth.server.store import DEFAULT_STORE
from edgeworth.validation import between, settings

LOCAL = "local"
"""The owner of everything on a server without tokens."""
IN_MEMORY = re.compile(r"sqlite(\+\w+)?://(/:memory:)?/?")
OWNER = re.compile(r"[A-Za-z0-9._-]{1,64}")
TOKEN = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
"""Visible ASCII without commas, as a header can carry it and a list can separate it."""


@settings
class RequestLimits:
    """What a single request, an owner and everybody together may ask of a worker."""

    body_bytes: int = 262_144
    """The longest body."""
    depth: int = 24
    """The deepest nesting of its JSON."""
    header_seconds: float = 10.0
    """How long a client may take to send its headers."""
    body_seconds: float = 10.0
    """How long it may take to send its body."""
    read_seconds: float = 30.0
    """How long it may leave answers unread, once more of them wait than its connection holds."""
    keep_alive_seconds: int = 75
    """How long a connection may wait for its next request."""
    connections: int = 4_096
    """Open connections of a worker."""
    requests: int = 1_024
    """Requests that a worker has in hand at a time."""
    rate: float = 10_000.0
    """Requests a second of one owner to one worker, in the long run."""
    burst: int = 20_000
    """Requests that an owner may send at once after a pause."""
    failures: float = 5.0
    """Requests a second without a good token that one address is told 401 for, in the long run; more are told 429."""
    failures_burst: int = 50
    """Such requests at once after a pause."""


@settings
class SocketLimits:
    """How many sockets a worker holds, and for how long."""

    sockets: int = 4_096
    """Sockets of a worker; one more is told CAPACITY_REACHED."""
    idle_seconds: float = 3_600.0
    """A socket that says nothing for so long is closed; its session stays."""


@settings
class DeskLimits:
    """How designers and hint providers are asked."""

    queue: int = 128
    """Questions that may wait for one of them; more are answered with 503."""
    per_owner: int = 32
    """Questions of one owner among them; more are answered with 429. On a server without tokens the queue is everybody's."""
    batch: int = 32
    """Questions that are answered together."""
    gather_seconds: float = 0.004
    """How long the first question waits for company."""
    deadline_seconds: float = 30.0
    """How long a client waits for an answer."""


@settings
class ServerSettings:
    """Everything that `edgeworth serve` can be told."""

    host: str = "127.0.0.1"
    port: Annotated[int, between(0, 65_535)] = 8000
    """0 takes any free one."""
    workers: Annotated[int, between(1, 64)] = 1
    store: str = field(default=DEFAULT_STORE, repr=False)
    """Where sessions are kept: a URL of SQLite or PostgreSQL."""
    tokens: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Owners and their tokens; none means that whoever reaches the server is the owner `local`."""
    insecure: bool = False
    """Serve without tokens on an address that others can reach."""
    hosts: tuple[str, ...] = ()
    """Names besides localhost by which a server without tokens may be called."""
    origins: tuple[str, ...] = ()
    """Pages elsewhere that may use the server from a browser (CORS), such as https://example.org."""
    sessions: SessionLimits = field(default_factory=SessionLimits)
    limits: RequestLimits = field(default_factory=RequestLimits)
    sockets: SocketLimits = field(default_factory=SocketLimits)
    designer: str = "adaptive"
    """Who designs where a request names nobody."""
    warm: tuple[str, ...] = ()
    """Designers and hint providers that are loaded at the start."""
    desk: DeskLimits = field(default_factory=DeskLimits)
    results: str = "results"
    """The folder whose figures are shown under /plots/."""
    runs: str = "runs"
    """The folder of runs whose figures are shown there too."""
    sweep_seconds: float = 60.0
    """How often idle sessions are looked for."""
    drain_seconds: float = 0.0
    """How long the server says that it is leaving, and still answers, before it stops listening."""
    stop_seconds: int = 15
    """How long requests in hand may take to finish after that."""
    log_requests: bool = True
    """A line for every request."""
    openenv: bool = True
    """Whether OpenEnv's routes are served; loading them takes seconds."""

    def __post_init__(self) -> None:
        if self.workers > 1 and IN_MEMORY.fullmatch(self.store):
            raise InvalidOption("Several workers cannot share a store in memory; give a file or PostgreSQL with --store.")
        for owner, token in self.tokens:
            _check_token(owner, token)
        if len({token for _, token in self.tokens}) < len(self.tokens):
            raise InvalidOption("Two owners have the same token; give each one of its own.")
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s*]+", origin):
                raise InvalidOption(f"The origin is {origin!r}; expected a scheme and a host, such as https://example.org.")
        if not (self.tokens or self.insecure or is_loopback(self.host)):
            raise InvalidOption(
                f"Serving on {self.host} would let everybody in who can reach it. Give tokens (EDGEWORTH_TOKENS or --tokens-file), "
                "bind 127.0.0.1, or say --insecure."
            )

    @property
    def alone(self) -> bool:
        """Whether one process has the store to itself, as far as it can know: a file, and no other worker."""
        return self.workers == 1 and self.store.startswith("sqlite")

    @property
    def checks_host(self) -> bool:
        """Whether the name that the client called is compared with our own, against pages that point their name at this machine."""
        return not self.tokens and is_loopback(self.host)


def _check_token(owner: str, token: str) -> None:
    if not OWNER.fullmatch(owner):
        raise InvalidOption(f"The owner of a token is {owner!r}; expected 1 to 64 letters, digits, dots, dashes or underscores.")
    if not TOKEN.fullmatch(token):
        raise InvalidOption(f"The token of {owner} is empty or has characters that a header cannot carry; expected visible ASCII.")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_of_environment() -> ServerSettings:
    """EDGEWORTH_TOKENS and EDGEWORTH_STORE, for an application that somebody else's server runs."""
    return ServerSettings(store=os.environ.get("EDGEWORTH_STORE") or DEFAULT_STORE, tokens=tokens_of_environment())


def tokens_of_environment() -> tuple[tuple[str, str], ...]:
    """Owners and tokens out of EDGEWORTH_TOKENS."""
    return tokens_from(os.environ.get("EDGEWORTH_TOKENS", ""))


def tokens_from(text: str) -> tuple[tuple[str, str], ...]:
    """Owners and tokens out of `alice:token1,bob:token2`, or out of the file behind an @."""
    if text.startswith("@"):
        return tokens_in(Path(text[1:]))
    return _tokens(text.split(","))


def tokens_in(path: Path) -> tuple[tuple[str, str], ...]:
    """Owners and tokens out of a file: one `owner:token` a line, lines with # in front left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, "cannot be read; expected a text file with one owner:token a line.") from error
    found = _tokens(line for line in lines if not line.lstrip().startswith("#"))
    if not found:
        raise DataError(path, "has no tokens; expected one owner:token a line.")
    return found


def _tokens(parts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for number, part in enumerate((part.strip() for part in parts), 1):
        if not part:
            continue
        owner, colon, token = part.partition(":")
        if not colon:
            raise InvalidOption(f"Token {number} has no owner; expected owner:token.")  # the text itself may be a token
        found.append((owner.strip(), token.strip()))
    return tuple(found)
