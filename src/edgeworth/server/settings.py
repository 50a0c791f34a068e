"""Settings of the server: address, access, store and limits.

An address that other machines can reach needs tokens and a proxy in front, or the explicit setting `insecure`. Neither tokens nor the
store's URL, which may hold a password, are part of the settings' `repr`.
"""

from __future__ import annotations

import ipaddress
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal

from edgeworth.catalog import BEST_DESIGNER
from edgeworth.errors import DataError, InvalidOption
from edgeworth.validation import between, settings

DEFAULT_STORE = "sqlite:///runs/sessions.sqlite"
LOCAL = "local"
"""The owner of everything on a server without tokens."""
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
OWNER = re.compile(r"[A-Za-z0-9._-]{1,64}")
TOKEN = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
"""Visible ASCII without commas, which separate tokens in a list."""
SHORTEST_TOKEN = 16
TOKENS_VARIABLE, STORE_VARIABLE = "EDGEWORTH_TOKENS", "EDGEWORTH_STORE"
HIDING = threading.Lock()
"""Held while the two are hidden from processes that are being started."""
Tokens = tuple[tuple[str, str], ...]
"""Owners and their tokens."""


@settings
class RequestLimits:
    """Limits on a single request, on one owner, and on all requests of a worker together."""

    header_bytes: int = 65_536
    """The names and values of all headers together."""
    body_bytes: int = 262_144
    """The longest body."""
    depth: int = 24
    """The deepest nesting of its JSON."""
    body_seconds: float = 10.0
    """How long a client may take to send its body."""
    keep_alive_seconds: int = 75
    """How long a connection may wait for its next request."""
    connections: int = 4_096
    """Open connections of a worker; uvicorn answers further ones with 503."""
    requests: int = 1_024
    """Requests in progress in a worker."""
    rate: float = 10_000.0
    """Requests a second of one owner to one worker, in the long run."""
    burst: int = 20_000
    """Requests that an owner may send at once after a pause."""
    failures: float = 5.0
    """Requests a second without a good token that one address may send, in the long run; further ones are answered 429 instead of 401."""
    failures_burst: int = 50
    """Such requests at once after a pause."""


@settings
class SessionLimits:
    """How many sessions there may be, and for how long."""

    total: int = 20_000
    per_owner: int = 5_000
    idle_seconds: float = 24 * 3600.0
    """A session that is not touched for so long is deleted."""
    unnamed_idle_seconds: float = 2 * 3600.0
    """The same for a session whose owner gave it no name, if that is shorter."""
    kept_live: int = 4_096
    """Episodes that a worker keeps in memory; others are replayed from their log."""


@settings
class SocketLimits:
    """How many sockets a worker holds, and for how long."""

    sockets: int = 4_096
    """Sockets of a worker; one more is answered CAPACITY_REACHED."""
    idle_seconds: float = 3_600.0
    """A socket without messages for so long is closed; its session stays."""


@settings
class QueueLimits:
    """The queues of designers and hint providers."""

    queue: int = 128
    """Requests that may wait for one of them; more are answered with 503."""
    per_owner: int = 32
    """Requests of one owner among them; more are answered with 429. On a server without tokens all clients share the queue."""
    batch: int = 32
    """Requests that are answered together."""
    gather_seconds: float = 0.004
    """How long the first request waits for others to join its batch."""
    deadline_seconds: float = 30.0
    """How long a client waits for an answer."""


@settings
class ServerSettings:
    """All settings of `edgeworth serve`."""

    host: str = "127.0.0.1"
    port: Annotated[int, between(0, 65_535)] = 8765
    """0 takes any free one."""
    workers: Annotated[int, between(1, 64)] = 1
    store: str = field(default=DEFAULT_STORE, repr=False)
    """Where sessions are kept: a URL of SQLite or PostgreSQL."""
    durability: Literal["process", "power"] = "process"
    """What an acknowledged step survives: the death of every process, or a power cut too, for which the disk is waited for."""
    tokens: Tokens = field(default=(), repr=False)
    """Owners and their tokens; without any, every client is the owner `local`."""
    tokens_file: str = ""
    """The file that the tokens came from, which is read again on SIGHUP."""
    insecure: bool = False
    """Serve on an address that others can reach without tokens, or without a proxy in front."""
    behind_proxy: bool = False
    """A proxy is in front, which limits connections and slow clients. What it says of the client's address and protocol is believed if it
    is on this machine, or if uvicorn's variable FORWARDED_ALLOW_IPS names its address."""
    hosts: tuple[str, ...] = ()
    """Host names besides localhost that a server without tokens answers to."""
    origins: tuple[str, ...] = ()
    """Origins of web pages that may use the server (CORS), such as https://example.org."""
    root_path: str = ""
    """The path under which a proxy serves this server, such as /lab; whether the proxy removes it from requests or not."""
    sessions: SessionLimits = field(default_factory=SessionLimits)
    limits: RequestLimits = field(default_factory=RequestLimits)
    sockets: SocketLimits = field(default_factory=SocketLimits)
    designer: str = BEST_DESIGNER
    """The designer where a request names none."""
    warm: tuple[str, ...] = ()
    """Designers and hint providers that are loaded at the start."""
    speech_client: str = ""
    """The client of the language model that puts moves into words, by name; with neither this nor a model there are templates only."""
    speech_model: str = ""
    """Its model."""
    speech_options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    """Further options of the client."""
    queues: QueueLimits = field(default_factory=QueueLimits)
    results: str = "results"
    """The folder whose figures and tables are shown under /plots/results/."""
    runs: str = "runs"
    """The folder of runs whose figures, metrics and histories are shown under /plots/runs/."""
    sweep_seconds: float = 60.0
    """How often idle sessions are deleted."""
    drain_seconds: float = 0.0
    """How long /ready answers 503 after SIGTERM, while requests are still served, before the server stops listening."""
    stop_seconds: int = 15
    """How long requests in progress may take to finish after that."""
    log_requests: bool = True
    """A line for every request."""
    openenv: bool = True
    """Whether OpenEnv's routes are served; loading them takes seconds."""

    def __post_init__(self) -> None:
        check_tokens(self.tokens)
        for origin in self.origins:
            if not re.fullmatch(r"https?://[^/\s*]+", origin):
                raise InvalidOption(f"The origin is {origin!r}; expected a scheme and a host, such as https://example.org.")
        if not ROOT_PATH.fullmatch(self.root_path):
            raise InvalidOption(f"The root path is {self.root_path!r}; expected one such as /lab, without a slash at its end.")
        if not (self.insecure or is_loopback(self.host)):
            self._check_public()

    def _check_public(self) -> None:
        """Refuse an address that others can reach without tokens or without a proxy."""
        if not self.tokens:
            raise InvalidOption(
                f"Serving on {self.host} would allow everybody who can reach it. Give tokens (EDGEWORTH_TOKENS or --tokens-file), "
                "bind 127.0.0.1, or add --insecure."
            )
        if not self.behind_proxy:
            raise InvalidOption(
                f"Serving on {self.host} lets anybody who can reach it hold connections open, without a token. Put a proxy in front "
                "(docs/server.md has a configuration) and add --behind-proxy, bind 127.0.0.1, or add --insecure."
            )

    @property
    def alone(self) -> bool:
        """Whether this process is the only user of the store: a file, and no other worker."""
        return self.workers == 1 and self.store.startswith("sqlite")

    @property
    def checks_host(self) -> bool:
        """Whether the Host header is checked, against web pages that point their domain name at this machine."""
        return not self.tokens and is_loopback(self.host)


def check_tokens(tokens: Tokens) -> None:
    """Refuse tokens that could be guessed, that a header cannot carry, or that two owners share."""
    for owner, token in tokens:
        _check_token(owner, token)
    if len({token for _, token in tokens}) < len(tokens):
        raise InvalidOption("Two owners have the same token; give each one of its own.")


def _check_token(owner: str, token: str) -> None:
    if not OWNER.fullmatch(owner):
        raise InvalidOption(f"The owner of a token is {owner!r}; expected 1 to 64 letters, digits, dots, dashes or underscores.")
    if not TOKEN.fullmatch(token):
        raise InvalidOption(f"The token of {owner} is empty or has characters that a header cannot carry; expected visible ASCII.")
    if len(token) < SHORTEST_TOKEN:
        raise InvalidOption(
            f"The token of {owner} has {len(token)} characters; expected {SHORTEST_TOKEN} or more, such as "
            '`python -c "import secrets; print(secrets.token_urlsafe(32))"` prints.'
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def settings_of_environment() -> ServerSettings:
    """Settings from EDGEWORTH_TOKENS and EDGEWORTH_STORE, for an application that another server runs."""
    given = os.environ.get(TOKENS_VARIABLE, "")
    return ServerSettings(store=os.environ.get(STORE_VARIABLE) or DEFAULT_STORE, tokens=tokens_from(given), tokens_file=file_behind(given))


@contextmanager
def secrets_hidden() -> Iterator[None]:
    """Processes that are started inside know neither the tokens nor the store's URL."""
    with HIDING:
        hidden = {name: os.environ.pop(name) for name in (TOKENS_VARIABLE, STORE_VARIABLE) if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(hidden)


def file_behind(text: str) -> str:
    """The file that `@FILE` names, or nothing."""
    return text[1:] if text.startswith("@") else ""


def tokens_from(text: str) -> Tokens:
    """Owners and tokens from `alice:token1,bob:token2`, or from the file behind an @."""
    return tokens_in(Path(file)) if (file := file_behind(text)) else _tokens(text.split(","))


def tokens_in(path: Path) -> Tokens:
    """Owners and tokens from a file: one `owner:token` a line; lines that begin with # are comments."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, "cannot be read; expected a text file with one owner:token a line.") from error
    found = _tokens(line for line in lines if not line.lstrip().startswith("#"))
    if not found:
        raise DataError(path, "has no tokens; expected one owner:token a line.")
    return found


def _tokens(parts: Iterable[str]) -> Tokens:
    found = []
    for number, part in enumerate((part.strip() for part in parts), 1):
        if not part:
            continue
        owner, colon, token = part.partition(":")
        if not colon:
            raise InvalidOption(f"Token {number} has no owner; expected owner:token.")  # the text itself may be a token
        found.append((owner.strip(), token.strip()))
    return tuple(found)
