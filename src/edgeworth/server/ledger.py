"""Steps that were made within one turn of the event loop, written down together and only then answered.

A transaction costs more than the line it writes, and a hundred sockets have a hundred steps at a time. Whoever looks at a session settles
the ledger first, so that nobody sees a step that is not in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from edgeworth.server.store import Line, Store

LOG = logging.getLogger(__name__)
MOST_LINES = 16
"""Lines of one transaction; while clients read the answers to these, the next ones are played."""
Settled = Callable[[bool | Exception], None]
"""Told whether a line was written, or what kept the store from it."""


class Ledger:
    """Lines that wait to be written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lines: dict[str, tuple[Line, Settled]] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._lines

    def add(self, line: Line, settled: Settled) -> None:
        """Take a line of a session that has none waiting."""
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.settle)
        self._lines[line.session_id] = line, settled
        if len(self._lines) >= MOST_LINES:
            self.settle()

    def settle(self) -> None:
        """Write everything down, and say so."""
        if not self._lines:
            return
        waiting, self._lines = list(self._lines.values()), {}
        outcomes: list[bool | Exception]
        try:
            outcomes = [*self._store.advance_all([line for line, _ in waiting])]
        except Exception as error:
            outcomes = [error] * len(waiting)
        for (_, settled), outcome in zip(waiting, outcomes, strict=True):
            try:
                settled(outcome)
            except Exception:  # the next ones are waiting, and have nothing to do with it
                LOG.exception("A step that was written down could not be answered.")
