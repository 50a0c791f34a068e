"""Sessions: episodes in play, each with its log in the store; any worker can continue any session.

A worker keeps its latest episodes in memory, and replays the rest of a log where another worker has gone further. A step is carried out,
written to the log, and only then answered. Of two simultaneous steps of one session, one is carried out and the other is refused with the
resulting state.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from edgeworth import __version__
from edgeworth.server.clock import now
from edgeworth.server.database import Locked
from edgeworth.server.group_commit import GroupCommit
from edgeworth.server.live import Live, Turn, open_live
from edgeworth.server.openings import opening_of
from edgeworth.server.refusals import Refused, unknown_session, unreadable_session
from edgeworth.server.settings import SessionLimits
from edgeworth.server.store import Before, Key, Line, Store, Stored, parsed

Result = TypeVar("Result")
NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""The name of a session."""
SWEEP_PAUSE_SECONDS = 0.01
"""Between the parts of a sweep, each of which keeps writers out for a millisecond: a session is deleted, some pages are given back."""


@dataclass
class Held:
    """An episode that this worker has in memory."""

    stored: Stored
    live: Live


class Sessions:
    """All sessions of a store, as one worker serves them."""

    def __init__(self, store: Store, limits: SessionLimits | None = None, alone: bool = False) -> None:
        """`alone`: no other worker serves this store, so episodes in memory need not be compared with it."""
        self.store, self.limits, self.alone = store, limits or SessionLimits(), alone
        self._held: OrderedDict[Key, Held] = OrderedDict()
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        """A session is used under its lock, so that it is never seen in the middle of a step or of a replay."""
        self._stepping: set[Key] = set()
        self._commit = GroupCommit(store)
        self.on_step: Callable[[str], None] = lambda game: None
        """Called with the game of every step that is in the log."""

    async def open(
        self,
        owner: str,
        game: str,
        options: Mapping[str, Any],
        seed: int | None = None,
        session_id: str | None = None,
        truth: bool = False,
    ) -> Held:
        """A new session, or a new episode in the place of one's own old session of that name."""
        name, named = session_id or uuid.uuid4().hex, bool(session_id)
        opening = opening_of(game, options, seed, truth)
        live = await asyncio.to_thread(open_live, opening)
        async with self._lock((owner, name)):
            await self._refuse_too_many(owner, name)
            stored = await self._asked(lambda: self.store.open(owner, name, opening, named))
            return self._hold(Held(stored, live))

    async def _refuse_too_many(self, owner: str, name: str) -> None:
        if await self._asked(lambda: self.store.place(owner, name)) is not None:
            return
        everybody, own = await self._asked(lambda: self.store.count(owner))
        if own >= self.limits.per_owner:
            message = f"You have {own} sessions, the most allowed for one owner."
            raise Refused(429, "too_many_sessions", message, "Close some with DELETE /sessions/{id}.", retry_after=60)
        if everybody >= self.limits.total:
            message = f"The server holds {everybody} sessions, the most allowed."
            raise Refused(503, "server_full", message, "Try again later; idle sessions expire.", retry_after=60)

    async def step(self, owner: str, session_id: str, action: Any, expected: int | None = None) -> tuple[Turn, int]:
        """Carry out an action and write it to the log; its result, and the number of steps made."""
        key = (owner, session_id)
        raced = key in self._stepping and not self.store.local  # a local store is fast: the second step waits for the first
        async with self._lock(key):
            held = await self._current(owner, session_id)
            if raced or (expected is not None and expected != held.live.steps):
                raise conflict(held)
            self._stepping.add(key)
            try:
                turn = await self._carry_out(held, action)
            finally:
                self._stepping.discard(key)
            if turn is None:
                raise conflict(await self._current(owner, session_id))
            self.on_step(held.stored.opening.game)
            return turn, held.live.steps

    async def _carry_out(self, held: Held, action: Any) -> Turn | None:
        """A step that is also in the log, or None where another worker has made it first."""
        live, stored, number, written = held.live, held.stored, held.live.steps, False
        try:
            turn = live.step(action)
            line = Line(stored.generation, number, live.logged(), turn.done)
            written = await self._commit.write(line)
            return turn if written else None
        finally:
            if not written and live.steps != number:  # the episode is ahead of its log
                self._held.pop(stored.key, None)
                self._commit.flush()  # a step whose client is gone

    async def held(self, owner: str, session_id: str) -> Held:
        """A session of this owner, as far as its log goes."""
        async with self._lock((owner, session_id)):
            return await self._current(owner, session_id)

    def _lock(self, key: Key) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())

    async def _current(self, owner: str, session_id: str) -> Held:
        """A session of this owner, as far as its log goes; the caller holds its lock."""
        held = self._held.get((owner, session_id))
        if held is None:
            return await self._fetched(owner, session_id)
        if self.alone:
            return self._hold(held)
        place = await self._asked(lambda: self.store.place(owner, session_id))
        if place is None or place.generation != held.stored.generation or place.steps < held.live.steps:
            self._held.pop((owner, session_id), None)
            return await self._fetched(owner, session_id)
        if place.steps > held.live.steps:
            await asyncio.to_thread(self._catch_up, held)
        return self._hold(held)

    async def _fetched(self, owner: str, session_id: str) -> Held:
        """A session from the store, its log replayed; one of other rules is refused."""
        stored = await self._record(owner, session_id)
        return self._hold(await asyncio.to_thread(self._rebuilt, stored))

    async def _record(self, owner: str, session_id: str) -> Stored:
        """A session as the store has it, whatever its rules are; nothing is replayed."""
        stored = await self._asked(lambda: self.store.find(owner, session_id)) if NAME.fullmatch(session_id) else None
        if stored is None:
            raise unknown_session(session_id)
        return stored

    def _rebuilt(self, stored: Stored) -> Held:
        with unreadable_session(stored.id):
            held = Held(stored, open_live(stored.opening))
        if stored.steps:
            self._catch_up(held)
        return held

    def _catch_up(self, held: Held) -> None:
        with unreadable_session(held.stored.id):
            for action in self.store.actions(held.stored.generation, held.live.steps):
                held.live.step(action)

    def _hold(self, held: Held) -> Held:
        self._held[held.stored.key] = held
        self._held.move_to_end(held.stored.key)
        while len(self._held) > self.limits.kept_live:
            self._held.popitem(last=False)
        return held

    async def state(self, owner: str, session_id: str) -> dict[str, Any]:
        """Where a session stands."""
        async with self._lock((owner, session_id)):
            return state_of(await self._current(owner, session_id))

    async def export(self, owner: str, session_id: str) -> dict[str, Any]:
        """Opening and log, which replay the session elsewhere; also of other rules, and as they were written where they cannot be read."""
        async with self._lock((owner, session_id)):
            stored = await self._record(owner, session_id)
            log = await self._asked(lambda: self.store.log(stored.generation))
        facts = {"session_id": session_id, "edgeworth": __version__}
        try:
            with unreadable_session(session_id):
                return {**facts, **stored.opening.as_dict(), "actions": parsed(log)}
        except Refused as unreadable:
            return {**facts, "problem": unreadable.message, "opening": str(stored.text), "log": [str(action) for _, action in log]}

    async def close(self, owner: str, session_id: str) -> None:
        """Delete a session, whatever its rules are."""
        async with self._lock((owner, session_id)):
            stored = await self._record(owner, session_id)
            self._held.pop(stored.key, None)
            await self._asked(lambda: self.store.forget(stored.generation))

    async def expire(self) -> int:
        """Delete what has been idle for too long, one session at a time, with pauses in which requests are served."""
        moment, gone, kept = now(), 0, self.limits.idle_seconds
        before = Before(moment - kept, moment - min(kept, self.limits.unnamed_idle_seconds))
        for owner, name, generation in await asyncio.to_thread(self.store.idle, before):
            await asyncio.to_thread(self.store.read_ahead, generation)  # what is in memory is deleted within a millisecond
            if await self._asked(functools.partial(self.store.expire, generation, before)):
                self._held.pop((owner, name), None)
                gone += 1
            await asyncio.sleep(SWEEP_PAUSE_SECONDS)
            while await asyncio.to_thread(self.store.database.give_pages_back):
                await asyncio.sleep(SWEEP_PAUSE_SECONDS)
        return gone

    async def _asked(self, question: Callable[[], Result]) -> Result:
        """Ask the store: directly where it is a local file, in a thread where it is reached over a network or is locked."""
        if self.store.local:
            with contextlib.suppress(Locked):
                return question()
        return await asyncio.to_thread(question)


def conflict(held: Held) -> Refused:
    """A step that came second; with the state after the first."""
    return Refused(
        409,
        "conflict",
        f"The session is at step {held.live.steps}, and another step was under way or has been made.",
        "Look at `state`, and decide from there.",
        "session_id",
        state=state_of(held),
    )


def other_game(session_id: str, plays: str, expected: str, remedy: str) -> Refused:
    """A session of one game where the other was expected."""
    message = f"The session {session_id!r} plays {plays}; here {expected} was expected."
    return Refused(409, "other_game", message, remedy, "session_id")


def state_of(held: Held) -> dict[str, Any]:
    """Where a session stands, in plain JSON."""
    opening, live = held.stored.opening, held.live
    facts = {"session_id": held.stored.id, "game": opening.game, "seed": opening.seed, "options": dict(opening.options)}
    return {**facts, "steps": live.steps, "done": live.done, "observation": live.observation(), "info": live.info()}
