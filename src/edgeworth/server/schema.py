"""The tables of the store and their version.

A store of an older version is migrated when it is opened; the first had no number. A store of a newer version than this package knows is
refused by name, and nothing in it is changed.
"""

from __future__ import annotations

from edgeworth.errors import InvalidOption
from edgeworth.server.database import Cursor, Database, StoreUnavailable, shown
from edgeworth.server.refusals import Refused

VERSION = 3
"""Of the tables below."""
VERSIONS = "CREATE TABLE IF NOT EXISTS edgeworth_store (version INTEGER NOT NULL)"
OPENINGS = """CREATE TABLE IF NOT EXISTS edgeworth_openings (
    owner VARCHAR(128) NOT NULL,
    id VARCHAR(128) NOT NULL,
    generation VARCHAR(32) NOT NULL UNIQUE,
    opening TEXT NOT NULL,
    named BOOLEAN NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, id)
)"""
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
    "INSERT INTO edgeworth_openings (owner, id, generation, opening, named, created)"
    " SELECT owner, id, generation, opening, TRUE, created FROM edgeworth_sessions WHERE id NOT IN (SELECT id FROM edgeworth_openings)",
    "INSERT INTO edgeworth_log (generation, number, action, done, written)"
    " SELECT actions.generation, actions.number, actions.action, sessions.done AND actions.number = sessions.steps - 1, sessions.touched"
    " FROM edgeworth_actions actions JOIN edgeworth_sessions sessions ON sessions.generation = actions.generation"
    " JOIN edgeworth_openings openings ON openings.generation = actions.generation",
    "DROP TABLE edgeworth_actions",
    "DROP TABLE edgeworth_sessions",
)
SECOND = 2
SET_ASIDE = "ALTER TABLE edgeworth_openings RENAME TO edgeworth_openings_2"
FROM_SECOND = (
    "INSERT INTO edgeworth_openings (owner, id, generation, opening, named, created)"
    " SELECT owner, id, generation, opening, TRUE, created FROM edgeworth_openings_2",
    "DROP TABLE edgeworth_openings_2",
)
"""Version 2 had names that belonged to whoever took them first."""


def prepare(database: Database) -> None:
    """Make the tables that are not there yet, migrate old ones, and refuse newer ones."""
    try:
        _set_up(database)
    except Refused as refused:  # locked, full, read-only, or gone since it was opened
        raise StoreUnavailable(f"{refused.message} Expected a database that takes writes at {shown(database.url)}.") from refused


def _set_up(database: Database) -> None:
    with database.setting_up() as cursor:
        cursor.execute(VERSIONS)
        (found,) = cursor.execute(FOUND).fetchone()
        if found not in (None, SECOND, VERSION):
            raise other_version(database, found)
        if found == SECOND:
            cursor.execute(SET_ASIDE)
        cursor.execute(OPENINGS)
        cursor.execute(LOG)
        if found != VERSION:
            first = found is None and cursor.execute(TABLE[database.server], FIRST_LAYOUT).fetchone()
            for statement in FROM_SECOND if found == SECOND else FROM_FIRST if first else ():
                cursor.execute(statement)
            cursor.execute("INSERT INTO edgeworth_store (version) VALUES (:version)", {"version": VERSION})


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
