"""Progress of a long computation: the function that it calls now and then, and that a command shows as a bar."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches; the default."""


ON_COMPILING: list[Callable[[], object]] = []
"""Called once, when something is compiled that no cache holds: the first use takes a while, and a command says so."""
