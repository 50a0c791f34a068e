"""Upkeep of a store, also while servers use it: a copy of it, a check of everything in it, and free space given back.

PostgreSQL has its own programs for copies (pg_dump) and gives space back by itself; SQLite has neither, so both are here. A copy and a
check read the store as it is at one moment, and nobody who writes waits for them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edgeworth.errors import EdgeworthError, InvalidOption
from edgeworth.files import writing
from edgeworth.server.database import INCREMENTAL, Cursor, Database, checked_url, shown
from edgeworth.server.openings import opening_in
from edgeworth.server.refusals import Refused, unreadable_session
from edgeworth.server.schema import check_version
from edgeworth.server.store import READ, parsed

SIZE = {
    False: "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    True: "SELECT pg_total_relation_size('edgeworth_openings') + pg_total_relation_size('edgeworth_log')",
}
"""Bytes; by whether the database is PostgreSQL."""
COUNTS = "SELECT (SELECT COUNT(*) FROM edgeworth_openings), (SELECT COUNT(*) FROM edgeworth_log)"
OPENINGS = "SELECT id, owner, generation, opening FROM edgeworth_openings ORDER BY owner, id"
LEFT_OVER = "SELECT COUNT(*) FROM edgeworth_log WHERE generation NOT IN (SELECT generation FROM edgeworth_openings)"
PROBLEMS_SHOWN = 100


class StoreFailed(EdgeworthError):
    """A store that does not answer, or a copy that cannot be made."""


class Checked(NamedTuple):
    """What a check has found."""

    sessions: int
    steps: int
    problems: tuple[str, ...]


@contextlib.contextmanager
def opened(url: str) -> Iterator[Database]:
    """A store that exists; what it refuses becomes an error."""
    parsed = checked_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(str(parsed.database)).is_file():
        raise InvalidOption(f"There is no store at {shown(parsed)}; name one with --store.")
    database = Database(url)
    try:
        yield database
    except Refused as refused:
        raise StoreFailed(refused.message) from refused
    finally:
        database.close()


def back_up(url: str, target: Path) -> int:
    """Copy a store in SQLite to a file that does not exist yet, whole or not at all; the bytes written."""
    if target.exists():
        raise InvalidOption(f"{target} exists already; name a new file for the copy.")
    fresh = target.with_name(target.name + ".new")
    with opened(url) as database, writing(target):
        if database.server:
            raise InvalidOption("A store in PostgreSQL is copied by its own program: pg_dump --format=custom --file=FILE URL.")
        fresh.unlink(missing_ok=True)
        try:
            with database.reading() as cursor:
                check_version(database, cursor)
            database.changed("VACUUM INTO :file", {"file": str(fresh)})
            _force(fresh)
            os.replace(fresh, target)
            _force(target.absolute().parent)
        finally:
            fresh.unlink(missing_ok=True)
    return target.stat().st_size


def _force(path: Path) -> None:
    """Force a file or a folder to the disk; SQLite does not do so with a copy."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def check(url: str) -> Checked:
    """Read everything in a store: SQLite's pages, every opening, every log."""
    with opened(url) as database:
        try:
            with database.reading() as cursor:
                check_version(database, cursor)
                damage = [] if database.server else _damage(cursor)
                sessions, steps = cursor.execute(COUNTS).fetchone()
                return Checked(sessions, steps, (*damage, *_problems(cursor)))
        except Refused as refused:
            return Checked(0, 0, (refused.message,))


def _damage(cursor: Cursor) -> list[str]:
    """What is wrong with the pages of SQLite's file."""
    found = [said for (said,) in cursor.execute(f"PRAGMA integrity_check({PROBLEMS_SHOWN})").fetchall()]
    return [] if found == ["ok"] else found


def _problems(cursor: Cursor) -> Iterator[str]:
    """Sessions that cannot be read, and logs without a session."""
    for name, owner, generation, opening in cursor.execute(OPENINGS).fetchall():
        try:
            with unreadable_session(name):
                opening_in(opening)
                parsed(cursor.execute(READ, {"generation": generation, "first": 0}).fetchall())
        except Refused as refused:
            yield f"{refused.message} Its owner is {owner}."
    (left_over,) = cursor.execute(LEFT_OVER).fetchone()
    if left_over:
        yield f"{left_over} steps belong to no session."


def give_back(url: str) -> tuple[int, int]:
    """Give free space back to the file system; bytes before and after.

    A file made before it could give single pages back is rebuilt, once, and steps wait meanwhile.
    """
    with opened(url) as database:
        with database.reading() as cursor:
            check_version(database, cursor)
        (before,) = database.row(SIZE[database.server])
        if database.server:
            database.changed("VACUUM edgeworth_openings, edgeworth_log", {})
        elif database.row("PRAGMA auto_vacuum") != (INCREMENTAL,):
            database.changed("VACUUM", {})
        else:
            while database.give_pages_back():
                continue
        if not database.server:
            database.row("PRAGMA wal_checkpoint(TRUNCATE)")
        (after,) = database.row(SIZE[database.server])
    return int(before), int(after)
