"""Group commit: several steps are written in one transaction, which costs more than the lines in it.

In a local file these are the steps of one turn of the event loop. Over a network, or while somebody else has locked the file, they are
those that arrive while the group before is being written, in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib

from edgeworth.server.database import Locked
from edgeworth.server.refusals import Refused
from edgeworth.server.store import Line, Store

MOST_LINES = 16
"""Lines of one transaction."""
LINES_BETWEEN_CHECKPOINTS = 1_000
"""Lines that an event loop writes before a thread copies the log of a local file into the file; about three pages each."""
Waiting = tuple[Line, "asyncio.Future[bool]"]
"""A line, and who waits for it."""


class GroupCommit:
    """The steps of one worker that wait to be written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None
        self._copying: asyncio.Task[None] | None = None
        self._written = 0

    async def write(self, line: Line) -> bool:
        """Write a line of a session that has none waiting; whether it was written, or the store's error."""
        loop = asyncio.get_running_loop()
        written: asyncio.Future[bool] = loop.create_future()
        self._waiting.append((line, written))
        if self._is_writing():
            pass  # the thread takes this line too
        elif not self._store.local:
            self._write_in_thread()
        elif len(self._waiting) == 1:
            loop.call_soon(self.flush)
        elif len(self._waiting) >= MOST_LINES:
            self.flush()
        return await written

    def flush(self) -> None:
        """Write all lines that wait for a local file now."""
        if not self._store.local or self._is_writing():
            return
        group, self._waiting = self._waiting, []
        outcomes = self._tried(group)
        if isinstance(outcomes, Locked):
            self._waiting = group
            self._write_in_thread()
        else:
            _settle(group, outcomes)
            self._copy_log(len(group))

    def _copy_log(self, lines: int) -> None:
        """Have the log copied by a thread once enough lines were written."""
        self._written += lines
        if self._written >= LINES_BETWEEN_CHECKPOINTS and (self._copying is None or self._copying.done()):
            self._written, self._copying = 0, asyncio.create_task(self._copied())

    async def _copied(self) -> None:
        with contextlib.suppress(Refused):  # whoever writes next is told
            await asyncio.to_thread(self._store.database.copy_log)

    def _is_writing(self) -> bool:
        """Whether a thread is writing."""
        return self._writing is not None and not self._writing.done()

    def _write_in_thread(self) -> None:
        self._writing = asyncio.create_task(self._write_groups())

    async def _write_groups(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting[:MOST_LINES], self._waiting[MOST_LINES:]
            _settle(group, await asyncio.to_thread(self._tried, group))

    def _tried(self, group: list[Waiting]) -> list[bool] | Exception:
        try:
            return self._store.advance_all([line for line, _ in group]) if group else []
        except Exception as error:
            return error


def _settle(group: list[Waiting], outcomes: list[bool] | Exception) -> None:
    """Give everybody who waits their result; a client may be gone."""
    for place, (_, written) in enumerate(group):
        if written.done():
            continue
        if isinstance(outcomes, Exception):
            written.set_exception(outcomes)
        else:
            written.set_result(outcomes[place])
