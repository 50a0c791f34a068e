"""The store of sessions: openings and append-only logs of actions, in SQLite or PostgreSQL.

A step is one statement that appends line n behind line n - 1. A second writer with the same n appends nothing, so any number of workers can
serve one store, and an acknowledged step is there whatever happens to the worker. `generation` changes whenever a session is opened anew
under its old name, so that no step goes to an episode that was replaced.
"""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from edgeworth.server.clock import now
from edgeworth.server.database import Cursor, Database
from edgeworth.server.openings import Opening, opening_in
from edgeworth.server.refusals import unreadable_session
from edgeworth.server.schema import prepare

Key = tuple[str, str]
"""The owner and the name of a session: two owners may both have a session called `demo`."""

APPEND = (
    "INSERT INTO edgeworth_log (generation, number, action, done, written)"
    " SELECT generation, :number, :action, :done, :now FROM edgeworth_openings WHERE generation = :generation"
    " AND (:number = 0 OR EXISTS (SELECT 1 FROM edgeworth_log WHERE generation = :generation AND number = :number - 1)){lock}"
    " ON CONFLICT (generation, number) DO NOTHING"
)
KEEP = " FOR KEY SHARE OF edgeworth_openings"
"""In PostgreSQL: keeps the session from being deleted while its log grows."""
LAST = "(SELECT {} FROM edgeworth_log WHERE edgeworth_log.generation = edgeworth_openings.generation ORDER BY number DESC LIMIT 1)"
STEPS = f"COALESCE({LAST.format('number + 1')}, 0)"
TOUCHED = f"COALESCE({LAST.format('written')}, created)"
OWN = "WHERE owner = :owner AND id = :id"
PLACE = f"SELECT generation, named, {STEPS} FROM edgeworth_openings {OWN}"
DONE = f"COALESCE({LAST.format('done')}, FALSE)"
STORED = f"SELECT id, generation, owner, opening, {STEPS}, {DONE}, created, {TOUCHED} FROM edgeworth_openings"
FIND = f"{STORED} {OWN}"
OWNED = f"{STORED} WHERE owner = :owner ORDER BY id"
READ = "SELECT number, action FROM edgeworth_log WHERE generation = :generation AND number >= :first ORDER BY number"
INSERT = (
    "INSERT INTO edgeworth_openings (owner, id, generation, opening, named, created)"
    " VALUES (:owner, :id, :generation, :opening, :named, :now) ON CONFLICT (owner, id) DO NOTHING"
)
COUNT = "SELECT (SELECT COUNT(*) FROM edgeworth_openings), (SELECT COUNT(*) FROM edgeworth_openings WHERE owner = :owner)"
FORGET = "DELETE FROM edgeworth_openings WHERE generation = :generation"
FORGET_LOG = "DELETE FROM edgeworth_log WHERE generation = :generation"
READ_AHEAD = "SELECT SUM(LENGTH(action)) FROM edgeworth_log WHERE generation = :generation"
LIMIT = "CASE WHEN named THEN :before ELSE :unnamed_before END"
IDLE = f"SELECT owner, id, generation FROM edgeworth_openings WHERE created < {LIMIT} AND {TOUCHED} < {LIMIT} LIMIT 1000"
TAKE = "SELECT 1 FROM edgeworth_openings WHERE generation = :generation FOR UPDATE"
"""In PostgreSQL: wait for a step of the session that is being written."""
FORGET_IDLE = f"{FORGET} AND {TOUCHED} < {LIMIT}"


class Place(NamedTuple):
    """How far a session has come, and whether its owner named it."""

    generation: str
    named: bool
    steps: int


class Before(NamedTuple):
    """Sessions that were not touched since these times are idle."""

    before: float
    unnamed_before: float
    """For sessions that have only the name that we gave them."""


class Line(NamedTuple):
    """A step as the log has it."""

    generation: str
    number: int
    action: Any
    done: bool

    def values(self) -> dict[str, Any]:
        """For the statement that appends it."""
        return {
            "generation": self.generation,
            "number": self.number,
            "action": orjson.dumps(self.action).decode(),
            "done": self.done,
            "now": now(),
        }


@dataclass(frozen=True)
class Stored:
    """A session as the store knows it."""

    id: str
    generation: str
    owner: str
    text: str
    """The opening as it was written."""
    steps: int
    done: bool
    created: float
    touched: float

    @property
    def key(self) -> Key:
        """What no other session shares."""
        return self.owner, self.id

    @functools.cached_property
    def opening(self) -> Opening:
        """What the session was opened with; refused where that cannot be read."""
        with unreadable_session(self.id):
            return opening_in(self.text)


class Store:
    """Sessions in a database; every method is one transaction, and may be called from any thread."""

    def __init__(self, url: str, power: bool = False) -> None:
        """`power`: what was written survives a power cut too."""
        self.database = Database(url, power)
        self.local = not self.database.server
        """Whether the database is a local file; then a call takes microseconds and may run on the event loop."""
        try:
            prepare(self.database)
        except BaseException:
            self.database.close()
            raise
        self._append = APPEND.format(lock="" if self.local else KEEP)

    def find(self, owner: str, session_id: str) -> Stored | None:
        """A session of an owner by its name."""
        row = self.database.row(FIND, {"owner": owner, "id": session_id})
        return None if row is None else _stored(row)

    def place(self, owner: str, session_id: str) -> Place | None:
        """How far a session has come."""
        row = self.database.row(PLACE, {"owner": owner, "id": session_id})
        return None if row is None else Place(*row)

    def open(self, owner: str, session_id: str, opening: Opening, named: bool = True) -> Stored:
        """Write an opening down, in the place of the owner's older session of that name; `named`: by the owner, and not by us."""
        text = json.dumps(opening.as_dict())
        stored = Stored(session_id, uuid.uuid4().hex, owner, text, 0, False, opened := now(), opened)
        facts = {"owner": owner, "id": session_id, "generation": stored.generation, "opening": text, "now": opened}
        written = False
        while not written:  # again only where another worker opened the same name in this moment
            with self.database.writing() as cursor:
                row = cursor.execute(PLACE, {"owner": owner, "id": session_id}).fetchone()
                if row is not None:
                    before = Place(*row)
                    _forget(cursor, before.generation)
                    named = bool(before.named)
                written = cursor.execute(INSERT, {**facts, "named": named}).rowcount > 0
        return stored

    def bring(self, owner: str, session_id: str, opening: Opening, log: Sequence[tuple[Any, bool]]) -> bool:
        """Write a whole session down, with its actions and whether each ended the episode; False where the owner has that name already."""
        generation, text = uuid.uuid4().hex, json.dumps(opening.as_dict())
        facts = {"owner": owner, "id": session_id, "generation": generation, "opening": text, "named": True, "now": now()}
        with self.database.writing() as cursor:
            if not cursor.execute(INSERT, facts).rowcount:
                return False
            for number, (action, done) in enumerate(log):
                cursor.execute(self._append, Line(generation, number, action, done).values())
        return True

    def advance(self, generation: str, number: int, action: Any, done: bool) -> bool:
        """Write action `number` down; False, and nothing written, where the session is no longer at that number."""
        return self.database.changed(self._append, Line(generation, number, action, done).values()) > 0

    def advance_all(self, lines: Sequence[Line]) -> list[bool]:
        """Write lines of different sessions in one transaction; for each, whether it was written."""
        if len(lines) == 1:
            return [self.advance(*lines[0])]
        outcomes = {}
        with self.database.writing() as cursor:
            for line in sorted(lines, key=lambda line: line.generation):  # in one order everywhere, so that no two wait for each other
                outcomes[line.generation] = cursor.execute(self._append, line.values()).rowcount > 0
        return [outcomes[line.generation] for line in lines]

    def actions(self, generation: str, first: int = 0) -> list[Any]:
        """The actions in the log, from one on."""
        return parsed(self.log(generation, first), first)

    def log(self, generation: str, first: int = 0) -> list[tuple[int, str]]:
        """Numbers and actions from one on, as they were written."""
        return [(number, action) for number, action in self.database.rows(READ, {"generation": generation, "first": first})]

    def count(self, owner: str) -> tuple[int, int]:
        """How many sessions there are, in all and of an owner."""
        everybody, own = self.database.row(COUNT, {"owner": owner})
        return int(everybody), int(own)

    def owned(self, owner: str) -> list[Stored]:
        """All sessions of an owner."""
        return [_stored(row) for row in self.database.rows(OWNED, {"owner": owner})]

    def forget(self, generation: str) -> bool:
        """Delete a session and its log."""
        with self.database.writing() as cursor:
            return _forget(cursor, generation)

    def idle(self, before: Before) -> list[tuple[str, str, str]]:
        """Owners, names and generations of idle sessions; at most a thousand."""
        return [(owner, name, generation) for owner, name, generation in self.database.rows(IDLE, before._asdict())]

    def read_ahead(self, generation: str) -> None:
        """Read a log that will be deleted, so that nobody has to wait for the disk while it is."""
        self.database.row(READ_AHEAD, {"generation": generation})

    def expire(self, generation: str, before: Before) -> bool:
        """Delete a session, unless it has been touched since."""
        with self.database.writing() as cursor:
            if not self.local:
                cursor.execute(TAKE, {"generation": generation})
            return _forget(cursor, generation, before)

    def check(self) -> None:
        """Open, step and delete a session in one transaction; refused, with the reason, where the store cannot take that."""
        line = Line(uuid.uuid4().hex, 0, None, done=False)
        opened = {"owner": "", "id": line.generation, "opening": "{}", "named": False}  # no client is the owner without a name
        with self.database.writing(fresh=True) as cursor:
            cursor.execute(INSERT, {**line.values(), **opened})
            cursor.execute(self._append, line.values())
            _forget(cursor, line.generation)

    def close(self) -> None:
        """Close all connections."""
        self.database.close()


def parsed(log: Sequence[tuple[int, str]], first: int = 0) -> list[Any]:
    """The actions of a log from one on; an error where one is missing or cannot be read."""
    for place, (number, _) in enumerate(log, first):
        if number != place:
            raise ValueError(f"step {place} is missing from its log")
    return [orjson.loads(action) for _, action in log]


def _forget(cursor: Cursor, generation: str, before: Before | None = None) -> bool:
    """Delete a session, unless it was touched since `before`, and then its log."""
    statement, times = (FORGET, {}) if before is None else (FORGET_IDLE, before._asdict())
    if not cursor.execute(statement, {"generation": generation, **times}).rowcount:
        return False
    cursor.execute(FORGET_LOG, {"generation": generation})
    return True


def _stored(row: Any) -> Stored:
    name, generation, owner, opening, steps, done, created, touched = row
    return Stored(name, generation, owner, opening, steps, bool(done), created, touched)
