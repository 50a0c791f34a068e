"""The usual way to a language model: counted, cached, retried, by the client's name in the catalog."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from edgeworth import catalog
from edgeworth.errors import InvalidOption, UnknownKey
from edgeworth.llm.cache import Cache
from edgeworth.llm.client import Client, Counted, Counters
from edgeworth.llm.retry import Retry


def make_client(name: str, **options: Any) -> Client:
    """A bare client by name; a mistyped option gets a suggestion."""
    kind = catalog.resolve("language model client", name)
    known = inspect.signature(kind).parameters
    for key in options:
        if key not in known:
            raise UnknownKey(f"option of {name}", key, known)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in options:
            raise InvalidOption(f"The client {name} needs the option {key!r}.")
    client: Client = kind(**options)
    return client


def open_client(
    name: str,
    cache: Path | str | None = None,
    replay: bool = False,
    attempts: int = 5,
    deadline: float = 60.0,
    seed: int | None = None,
    counters: Counters | None = None,
    **options: Any,
) -> Counted:
    """A client by name, with retries around it, a cache around those where a path is given, and counters around everything.

    `replay` answers from the cache alone, without key, server or network.
    """
    if replay and cache is None:
        raise InvalidOption("replay needs the path of a cache that was recorded before.")
    counters = Counters() if counters is None else counters
    client: Client = Retry(make_client(name, **options), seed, counters, attempts=attempts, deadline=deadline)
    if cache is not None:
        client = Cache(client, cache, replay)
    return Counted(client, counters)
