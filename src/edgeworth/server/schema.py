"""The tables of the store and their version.

A store of the first layout, from before versions, is migrated when it is opened. A store of a newer version than this package knows is
refused by name, and nothing in it is changed.
"""

from __future__ import annotations

from edgeworth.errors import InvalidOption
from edgeworth.server.database import Database, shown

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
FIRST_LAYOUT = {
    False: "SELECT 1 FROM sqlite_master WHERE name = 'edgeworth_sessions'",
    True: "SELECT 1 FROM information_schema.tables WHERE table_name = 'edgeworth_sessions' AND table_schema = current_schema()",
}
"""Whether there are tables of version 1; by whether the database is PostgreSQL."""
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
        (found,) = cursor.execute("SELECT MAX(version) FROM edgeworth_store").fetchone()
        if found is None:
            if cursor.execute(FIRST_LAYOUT[database.server]).fetchone():
                for statement in FROM_FIRST:
                    cursor.execute(statement)
            cursor.execute("INSERT INTO edgeworth_store (version) VALUES (:version)", {"version": VERSION})
        elif found != VERSION:
            raise InvalidOption(
                f"The store at {shown(database.url)} has version {found}; expected {VERSION}. "
                "Use the edgeworth that wrote it or a newer one, or name another store with --store."
            )
