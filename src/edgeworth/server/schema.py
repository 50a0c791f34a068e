"""The tables of the store and their version.

A store of the first layout, from before versions, is migrated when it is opened. A store of a newer version than this package knows is
refused by name, and nothing in it is changed.
"""

from __future__ import annotations

from edgeworth.errors import InvalidOption
from edgeworth.server.database import Cursor, Database, shown

VERSION = 2
"""Of the tables below."""
VERSIONS = "CREATE TABLE IF NOT EXISTS edgeworth_store (version INTEGER NOT NULL)"
OPENINGS = """CREATE TABLE IF NOT EXISTS edgeworth_openings (
    id VARCHAR(128) PRIMARY KEY,
    generation VARCHAR(32) NOT NULL,
    owner VARCHAR(128) NOT NULL,
    opening TEXT NOT NULL,
    created DOUBLE PRECISION NOT NULL
)"""
OWNERS = "CREATE INDEX IF NOT EXISTS edgeworth_owners ON edgeworth_openings (owner)"
LOG = """CREATE TABLE IF NOT EXISTS edgeworth_log (
    generation VARCHAR(32) NOT NULL,
    number INTEGER NOT NULL,
    action TEXT NOT NULL,
    done BOOLEAN NOT NULL,
    written DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (generation, number)
)"""
FOUND = "SELECT MAX(version) FROM edgeworth_store"
TABLE = {
    False: "SELECT 1 FROM sqlite_master WHERE name = :name",
    True: "SELECT 1 FROM information_schema.tables WHERE table_name = :name AND table_schema = current_schema()",
}
"""Whether there is a table of that name; by whether the database is PostgreSQL."""
FIRST_LAYOUT = {"name": "edgeworth_sessions"}
FROM_FIRST = (
    "INSERT INTO edgeworth_openings (id, generation, owner, opening, created)"
    " SELECT id, generation, owner, opening, created FROM edgeworth_sessions WHERE id NOT IN (SELECT id FROM edgeworth_openings)",
    "INSERT INTO edgeworth_log (generation, number, action, done, written)"
    " SELECT actions.generation, actions.number, actions.action, sessions.done AND actions.number = sessions.steps - 1, sessions.touched"
    " FROM edgeworth_actions actions JOIN edgeworth_sessions sessions ON sessions.generation = actions.generation"
    " JOIN edgeworth_openings openings ON openings.generation = actions.generation",
    "DROP TABLE edgeworth_actions",
    "DROP TABLE edgeworth_sessions",
)


def prepare(database: Database) -> None:
    """Make the tables that are not there yet, migrate old ones, and refuse newer ones."""
    with database.setting_up() as cursor:
        for statement in (VERSIONS, OPENINGS, OWNERS, LOG):
            cursor.execute(statement)
        (found,) = cursor.execute(FOUND).fetchone()
        if found is None:
            if cursor.execute(TABLE[database.server], FIRST_LAYOUT).fetchone():
                for statement in FROM_FIRST:
                    cursor.execute(statement)
            cursor.execute("INSERT INTO edgeworth_store (version) VALUES (:version)", {"version": VERSION})
        elif found != VERSION:
            raise other_version(database, found)


def check_version(database: Database, cursor: Cursor) -> None:
    """Refuse a database without our tables, or with those of another version; nothing is migrated."""
    if not cursor.execute(TABLE[database.server], {"name": "edgeworth_store"}).fetchone():
        raise InvalidOption(
            f"There is no store of a known version at {shown(database.url)}; `edgeworth serve` makes one, or migrates an old one."
        )
    (found,) = cursor.execute(FOUND).fetchone()
    if found != VERSION:
        raise other_version(database, found)


def other_version(database: Database, found: int) -> InvalidOption:
    """The error about a store of another version."""
    return InvalidOption(
        f"The store at {shown(database.url)} has version {found}; expected {VERSION}. "
        "Use the edgeworth that wrote it or a newer one, or name another store with --store."
    )
