"""Whether the server can do its work: whether the store takes a write, tried at most once a second however many ask.

A worker asks itself at every sweep too, so that the log says when the store was lost, with the traceback, and when it came back.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time

from edgeworth.server.monitoring import note
from edgeworth.server.refusals import Refused
from edgeworth.server.store import Store

REMEMBERED_SECONDS = 1.0
PATIENCE_SECONDS = 3.0
"""How long an answer may take; probes give up after a few seconds."""


class Readiness:
    """The last trial of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._trial: asyncio.Task[str | None] | None = None
        self._until = -math.inf
        self._problem: str | None = None
        self.sessions = math.nan
        """Sessions in the store; not a number where it does not say."""

    @property
    def writable(self) -> bool:
        """Whether the store took a write when it was last tried."""
        return self._problem is None

    async def problem(self) -> str | None:
        """Why the store cannot take a write, or None where it can; all who ask meanwhile share one trial."""
        if self._trial is None or (self._trial.done() and time.monotonic() >= self._until):
            self._trial = asyncio.create_task(self._tried())
        try:
            return await asyncio.wait_for(asyncio.shield(self._trial), PATIENCE_SECONDS)
        except TimeoutError:
            self._become(f"The store has not answered for {PATIENCE_SECONDS:g} seconds.")
            return self._problem

    async def _tried(self) -> str | None:
        try:
            self.sessions = await asyncio.to_thread(self._try)
            self._become(None)
        except Refused as refused:
            self._become(refused.message, refused)
        except Exception as error:
            self._become(f"The store does not answer ({type(error).__name__}).", error)
        self._until = time.monotonic() + REMEMBERED_SECONDS
        return self._problem

    def _try(self) -> int:
        self._store.check()
        return self._store.count("")[0]

    def _become(self, problem: str | None, error: Exception | None = None) -> None:
        """Remember how the trial went, and write a line where that has changed."""
        if problem is not None:
            self.sessions = math.nan
        if problem is None and self._problem is not None:
            note(logging.WARNING, "store_back")
        elif problem is not None and problem != self._problem:
            note(logging.ERROR, "store_lost", error, reason=problem)
        self._problem = problem
