"""Access control: owners by their tokens, this machine by its own names, web pages by their origin.

Without tokens every client is the owner `local`, and only clients on this machine are served. Then, on a loopback address, the Host header
is checked too, so that a web page cannot reach the server by pointing its own domain name at this machine. Pages from other origins may
change nothing and open no socket, unless their origin is on the list.

An address that sends too many bad tokens is answered 429 instead of 401. A good token is always accepted, since people share addresses.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import ipaddress
import logging
import re
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from edgeworth.errors import EdgeworthError
from edgeworth.server.limits import Rate
from edgeworth.server.refusals import Refused, has_body, refusal_response
from edgeworth.server.settings import LOCAL, ServerSettings, Tokens, check_tokens, tokens_in

LOG = logging.getLogger(__name__)
OPEN = frozenset({"", "/", "/health", "/ready"})
"""Paths that need no token, unless a body comes with the request, which a stranger could send slowly."""
PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Paths that a busy server answers too."""
PAGE_FILES = "/page/"
"""The files of the lab page need none either: the page asks for the token."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
REFUSED_SOCKET, LATER_SOCKET = 1008, 1013
NETWORK_BITS = 64
"""The part of an IPv6 address that names a network; the owner of the network chooses the rest."""
TOKEN_IN_URL = re.compile(rb"(?:^|&)(?:access_)?token=", re.IGNORECASE)
USED_HEADERS = frozenset({b"host", b"origin", b"authorization"})


def host_name(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address of a client; None for a name, as the clients of tests have."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@functools.lru_cache(maxsize=1_024)
def is_elsewhere(host: str) -> bool:
    """Whether a client is on another machine."""
    address = address_of(host)
    return address is not None and not address.is_loopback


def network_of(client: tuple[str, int] | None) -> str:
    """The network whose failures are counted together: an IPv4 address, or an IPv6 network of 64 bits."""
    host = "" if client is None else client[0]
    address = address_of(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), NETWORK_BITS), strict=False))
    return host if address is None else str(address)


def path_within(scope: Scope) -> str:
    """The path without the prefix under which a proxy serves us, as the router reads it; the proxy may have removed it already."""
    root, path = str(scope.get("root_path", "")), str(scope["path"])
    return path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path


class KnownTokens:
    """The digests of the tokens, which can be read again from their file."""

    def __init__(self, settings: ServerSettings) -> None:
        self._file = settings.tokens_file
        self._digests = _digests(settings.tokens)
        if self._file:
            self.reread()  # a worker may start long after the settings were made

    def reread(self) -> None:
        """Read the file again; where it cannot be used, the tokens stay as they are and the log says why."""
        if not self._file:
            return
        try:
            tokens = tokens_in(Path(self._file))
            check_tokens(tokens)
        except EdgeworthError as error:
            return LOG.error("The tokens stay as they are: %s", error)
        self._digests = _digests(tokens)
        LOG.info("%d tokens were read.", len(tokens))

    def __bool__(self) -> bool:
        return bool(self._digests)

    def knows(self, digest: bytes) -> bool:
        """Whether a token that was good is good still."""
        return not self._digests or any(digest == known for _, known in self._digests)

    def owner_of(self, token: str) -> str | None:
        """The owner of a token; every token is compared, so that the time taken reveals nothing."""
        given = _digest(token)
        found = [owner for owner, digest in self._digests if hmac.compare_digest(digest, given)]
        return found[0] if found else None


def _digests(tokens: Tokens) -> list[tuple[str, bytes]]:
    return [(owner, _digest(token)) for owner, token in tokens]


def _bearer(authorization: str | None) -> tuple[str, str]:
    """The scheme of an Authorization header, and its token."""
    scheme, _, token = (authorization or "").partition(" ")
    return scheme.lower(), token.strip()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Access:
    """The middleware that finds the owner of a request, or refuses it."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, tokens: KnownTokens) -> None:
        self.app, self.settings, self.tokens = app, settings, tokens
        self.checks_client, self.checks_host = not (settings.tokens or settings.insecure), settings.checks_host
        self.failures = Rate(settings.limits.failures, settings.limits.failures_burst)
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.names = {"localhost", "127.0.0.1", "[::1]", own.lower(), *(name.lower() for name in settings.hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        if self.settings.root_path:
            scope["root_path"] = self.settings.root_path  # for the router, and for links in the API's description
        length = sum(len(name) + len(value) for name, value in scope["headers"])
        sent = {name: value.decode("latin-1") for name, value in scope["headers"] if name in USED_HEADERS}
        host, origin = sent.get(b"host", ""), sent.get(b"origin")
        try:
            if length > self.settings.limits.header_bytes:
                raise self._too_long(length)
            if self.checks_client:
                self._check_client(scope.get("client"))
            self._check_host(host)
            self._check_origin(scope, origin, host)
            _check_query(scope)
            path = path_within(scope)
            scope.setdefault("state", {})["probe"] = path in PROBES
            is_open = (path in OPEN or path.startswith(PAGE_FILES)) and not has_body(scope)
            owner = LOCAL if is_open else self._owner(sent.get(b"authorization"))
        except Refused as refused:
            return await _refuse(self._counted(refused, scope), scope, receive, send)
        scope.setdefault("state", {})["owner"] = owner
        if scope["type"] == "websocket":  # which outlives its request, and perhaps its token
            scope["state"]["token"] = _digest(_bearer(sent.get(b"authorization"))[1])
        await self.app(scope, receive, send)

    def _owner(self, authorization: str | None) -> str:
        """The owner of the token in a header."""
        if not self.tokens:
            return LOCAL
        scheme, token = _bearer(authorization)
        found = self.tokens.owner_of(token)
        if scheme != "bearer" or found is None:
            said = "No token was sent." if authorization is None else "Nobody has the token that was sent."
            raise Refused(401, "unauthorized", said, "Send the header `Authorization: Bearer TOKEN`.", "authorization")
        return found

    def _counted(self, refused: Refused, scope: Scope) -> Refused:
        """Count a failed token against its network; too many are answered 429."""
        if refused.status != 401 or not (wait := self.failures.seconds_to_wait(network_of(scope.get("client")))):
            return refused
        message = f"More than {self.failures.rate:g} requests a second without a good token came from this address."
        return Refused(429, "too_many_failures", message, "Send a good token, or wait as long as Retry-After says.", retry_after=wait)

    def _too_long(self, length: int) -> Refused:
        message = f"The headers have {length} bytes; at most {self.settings.limits.header_bytes} are taken."
        return Refused(431, "headers_too_long", message, "Send shorter ones.")

    def _check_client(self, client: tuple[str, int] | None) -> None:
        if client is not None and is_elsewhere(client[0]):
            message = f"This server has no tokens, so that it serves its own machine only; the request came from {client[0]}."
            raise Refused(403, "not_local", message, "Give it tokens (EDGEWORTH_TOKENS), or allow everybody (--insecure).")

    def _check_host(self, host: str) -> None:
        if self.checks_host and host_name(host) not in self.names:
            message = f"This server was called {host[:100]!r}; it answers to localhost and 127.0.0.1."
            raise Refused(403, "unknown_host", message, "Call it by that name, or start it with --host-name NAME.", "host")

    def _check_origin(self, scope: Scope, origin: str | None, host: str) -> None:
        """Refuse a page from elsewhere that could change something."""
        if origin is None or origin in self.settings.origins or (scope["type"] == "http" and scope["method"] in READING):
            return
        if origin.partition("://")[2].lower() != host.lower():
            message = f"Pages from {origin[:100]!r} may not use this server."
            raise Refused(403, "foreign_origin", message, "Start it with --origin to allow that.", "origin")


def _check_query(scope: Scope) -> None:
    """Refuse a token in the URL, which proxies and browsers write down."""
    if TOKEN_IN_URL.search(scope.get("query_string", b"")):
        message = "The token came in the URL, which proxies and browsers write down; it should be replaced by a new one."
        raise Refused(400, "token_in_url", message, "Send the header `Authorization: Bearer TOKEN`.", "token")


async def _refuse(refused: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    scope.setdefault("state", {})["code"] = refused.code
    if scope["type"] == "http":
        return await refusal_response(refused)(scope, receive, send)
    await receive()  # the request for the connection
    code = REFUSED_SOCKET if refused.retry_after is None else LATER_SOCKET
    await send({"type": "websocket.close", "code": code, "reason": refused.message})
