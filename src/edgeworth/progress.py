"""Progress of a long computation: the function that it calls now and then, and that a command shows as a bar."""

from __future__ import annotations

import logging
from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches; the default."""


COMPILING = "Compiling the rules that this needs: up to two minutes the first time; later calls load them from a cache."


def _log_compiling() -> None:
    """Log a warning, which Python shows unless a program sets up its logging otherwise."""
    logging.getLogger("edgeworth").warning(COMPILING)


ON_COMPILING: list[Callable[[], object]] = [_log_compiling]
"""Called once, when something is compiled that no cache holds: the first use takes a while, and somebody should say so."""
