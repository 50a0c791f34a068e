"""The options of `reset`: wrappers share them, so keys that are not ours are left alone, unless they look like one of ours mistyped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgeworth.errors import UnknownKey, nearest


def refuse_mistyped(given: Iterable[str], known: Sequence[str]) -> None:
    """Answer a key that comes near one of ours with its neighbour."""
    for key in given:
        if key not in known and nearest(str(key), known) is not None:
            raise UnknownKey("reset option", key, known)
