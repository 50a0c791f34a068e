"""Where sessions are kept: openings and logs of actions, in SQLite or PostgreSQL.

A step is one transaction that moves the session's counter from n to n + 1 and writes the action down. Whoever comes second with the same n
moves nothing, so that any number of workers can serve one store, and what was acknowledged is there whatever happens to the
worker. `generation` changes whenever a session is opened anew under its old name, so that nobody steps an episode that is gone.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from edgeworth.server.database import Cursor, Database
from edgeworth.server.live import Opening

DEFAULT_STORE = "sqlite:///runs/sessions.sqlite"

SESSIONS = """CREATE TABLE IF NOT EXISTS edgeworth_sessions (
    id VARCHAR(128) PRIMARY KEY,
    generation VARCHAR(32) NOT NULL,
    owner VARCHAR(128) NOT NULL,
    opening TEXT NOT NULL,
    steps INTEGER NOT NULL,
    done BOOLEAN NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    touched DOUBLE PRECISION NOT NULL
)"""
OWNERS = "CREATE INDEX IF NOT EXISTS edgeworth_owners ON edgeworth_sessions (owner)"
ACTIONS = """CREATE TABLE IF NOT EXISTS edgeworth_actions (
    generation VARCHAR(32) NOT NULL,
    number INTEGER NOT NULL,
    action TEXT NOT NULL,
    PRIMARY KEY (generation, number)
)"""

ADVANCE = (
    "UPDATE edgeworth_sessions SET steps = :number + 1, done = :done, touched = :now"
    " WHERE id = :id AND generation = :generation AND steps = :number"
)
WRITE = "INSERT INTO edgeworth_actions (generation, number, action) VALUES (:generation, :number, :action)"
ADVANCE_AND_WRITE = (
    f"WITH moved AS ({ADVANCE} RETURNING generation)"
    " INSERT INTO edgeworth_actions (generation, number, action) SELECT generation, :number, :action FROM moved"
)
"""Both in one journey over the network."""
PLACE = "SELECT generation, owner, steps FROM edgeworth_sessions WHERE id = :id"
ALL = "id, generation, owner, opening, steps, done, created, touched"
FIND = f"SELECT {ALL} FROM edgeworth_sessions WHERE id = :id"
OWNED = f"SELECT {ALL} FROM edgeworth_sessions WHERE owner = :owner ORDER BY id"
READ = "SELECT action FROM edgeworth_actions WHERE generation = :generation AND number >= :first ORDER BY number"
INSERT = (
    f"INSERT INTO edgeworth_sessions ({ALL}) VALUES (:id, :generation, :owner, :opening, 0, :done, :now, :now) ON CONFLICT (id) DO NOTHING"
)
COUNT = "SELECT (SELECT COUNT(*) FROM edgeworth_sessions), (SELECT COUNT(*) FROM edgeworth_sessions WHERE owner = :owner)"
FORGET = "DELETE FROM edgeworth_sessions WHERE id = :id AND generation = :generation"
FORGET_ACTIONS = "DELETE FROM edgeworth_actions WHERE generation = :generation"
IDLE = "SELECT id, generation FROM edgeworth_sessions WHERE touched < :before LIMIT 1000"
FORGET_IDLE = f"{FORGET} AND touched < :before"


class Place(NamedTuple):
    """How far a session has come, and whose it is."""

    generation: str
    owner: str
    steps: int


@dataclass(frozen=True)
class Stored:
    """A session as the store knows it."""

    id: str
    generation: str
    owner: str
    opening: Opening
    steps: int
    done: bool
    created: float
    touched: float


class Store:
    """Sessions in a database; every method is one transaction, and may be called from any thread."""

    def __init__(self, url: str = DEFAULT_STORE) -> None:
        self.database = Database(url)
        self.local = not self.database.server
        """Whether a call is a matter of microseconds, not of a network."""
        clustered = " WITHOUT ROWID" if self.local else ""
        self.database.create(SESSIONS + clustered, OWNERS, ACTIONS + clustered)

    def find(self, session_id: str) -> Stored | None:
        """A session by its name."""
        with self.database.reading() as cursor:
            row = cursor.execute(FIND, {"id": session_id}).fetchone()
        return None if row is None else _stored(row)

    def place(self, session_id: str) -> Place | None:
        """How far a session has come."""
        with self.database.reading() as cursor:
            row = cursor.execute(PLACE, {"id": session_id}).fetchone()
        return None if row is None else Place(*row)

    def open(self, session_id: str, owner: str, opening: Opening) -> Stored | None:
        """Write an opening down, in the place of an older session of that name; None where the name is another owner's."""
        stored = Stored(session_id, uuid.uuid4().hex, owner, opening, 0, False, now := time.time(), now)
        facts = {"id": session_id, "generation": stored.generation, "owner": owner, "opening": json.dumps(opening.as_dict())}
        written = False
        while not written:  # again only where another worker opened the same name in this moment
            with self.database.writing() as cursor:
                before = cursor.execute(PLACE, {"id": session_id}).fetchone()
                if before is not None:
                    if Place(*before).owner != owner:
                        return None
                    _forget(cursor, session_id, Place(*before).generation)
                written = cursor.execute(INSERT, {**facts, "done": False, "now": now}).rowcount > 0
        return stored

    def advance(self, session_id: str, generation: str, number: int, action: Any, done: bool) -> bool:
        """Write action `number` down; False, and nothing written, where the session is no longer at that number."""
        place = {"generation": generation, "number": number}
        move, line = {**place, "id": session_id, "done": done, "now": time.time()}, orjson.dumps(action).decode()
        if self.database.server:
            with self.database.reading() as cursor:
                return bool(cursor.execute(ADVANCE_AND_WRITE, {**move, "action": line}).rowcount > 0)
        with self.database.writing() as cursor:
            if cursor.execute(ADVANCE, move).rowcount == 0:
                return False
            cursor.execute(WRITE, {**place, "action": line})
        return True

    def actions(self, generation: str, first: int = 0) -> list[Any]:
        """The log, from an action on."""
        with self.database.reading() as cursor:
            rows = cursor.execute(READ, {"generation": generation, "first": first}).fetchall()
        return [orjson.loads(action) for (action,) in rows]

    def count(self, owner: str) -> tuple[int, int]:
        """How many sessions there are, in all and of an owner."""
        with self.database.reading() as cursor:
            everybody, own = cursor.execute(COUNT, {"owner": owner}).fetchone()
        return int(everybody), int(own)

    def owned(self, owner: str) -> list[Stored]:
        """All sessions of an owner."""
        with self.database.reading() as cursor:
            return [_stored(row) for row in cursor.execute(OWNED, {"owner": owner}).fetchall()]

    def forget(self, session_id: str, generation: str) -> bool:
        """Delete a session and its log."""
        with self.database.writing() as cursor:
            return _forget(cursor, session_id, generation)

    def expire(self, seconds: float) -> list[str]:
        """Delete the sessions that nobody has touched for so long; their names."""
        before = time.time() - seconds
        with self.database.writing() as cursor:
            idle = cursor.execute(IDLE, {"before": before}).fetchall()
            return [name for name, generation in idle if _forget(cursor, name, generation, before)]

    def check(self) -> None:
        """Raise where the database does not answer."""
        with self.database.reading() as cursor:
            cursor.execute("SELECT 1").fetchone()

    def close(self) -> None:
        """Let go of all connections."""
        self.database.close()


def _forget(cursor: Cursor, session_id: str, generation: str, before: float | None = None) -> bool:
    """Delete a session, if it has not been touched since, and then its log: whoever steps it at the same time waits for the session."""
    statement = FORGET if before is None else FORGET_IDLE
    if not cursor.execute(statement, {"id": session_id, "generation": generation, "before": before}).rowcount:
        return False
    cursor.execute(FORGET_ACTIONS, {"generation": generation})
    return True


def _stored(row: Any) -> Stored:
    name, generation, owner, opening, steps, done, created, touched = row
    return Stored(name, generation, owner, Opening(**json.loads(opening)), steps, bool(done), created, touched)
