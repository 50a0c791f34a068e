"""The database behind the sessions: SQLite or PostgreSQL by URL, with plain SQL on the connections of SQLAlchemy's pool.

A single statement commits by itself. `writing` is a transaction of several; in SQLite it takes the write lock at its beginning. An error of
the driver becomes a refusal that says why without naming hosts, users or files, and has the driver's error as its cause, for the log.
"""

from __future__ import annotations

import asyncio
import functools
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from edgeworth.errors import InvalidOption
from edgeworth.server.refusals import Refused

BUSY_SECONDS = 10
"""How long a thread waits for another process that is writing to the same SQLite file."""
LOOP_SECONDS = 0.0
"""An event loop, which serves everybody else, does not wait; a thread has to in its place."""
CONNECT_SECONDS = 10
GONE = {"tcp_user_timeout": 10_000, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""When a PostgreSQL machine that has vanished from the network counts as gone: after 10 seconds (in milliseconds) without an
acknowledgement of what was sent, or 25 seconds of silence. The system by itself would wait a quarter of an hour or longer."""
PAGES_BETWEEN_CHECKPOINTS = 4_000
"""SQLite's log may grow to 16 MB before a thread copies it into the file, which waits for the disk."""
LONG_LOG = 4 * PAGES_BETWEEN_CHECKPOINTS
"""How long it may become where steps come so fast that a thread never copies all of it; then writers wait until it has."""
PAGES_ON_LOOP = 2 * LONG_LOG
"""How long it may be before an event loop copies it, where no thread has."""
PAGES_AT_ONCE = 64
"""Free pages that are given back in one transaction, which takes half a millisecond."""
INCREMENTAL = 2
"""SQLite's number for files that can give pages back without being rebuilt."""
FILES = ("", "-wal", "-shm")
"""Endings of SQLite's files: its own, its log, and the log's index. All of them stay while a connection is open."""
BACKENDS = ("sqlite", "postgresql")
EXPECTED = "sqlite:///folder/file.sqlite or postgresql://user:password@host/database"
TABLES_LOCK = 0x45444745
"""The number under which PostgreSQL lets one worker at a time make the tables."""

READABLE = functools.partial(str, encoding="utf-8", errors="backslashreplace")
"""Reads SQLite's text. Where that is damaged and not UTF-8 it is no JSON, but whoever lists or deletes sessions can read the row."""
PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class StoreUnavailable(InvalidOption):
    """A database that cannot be reached now."""


class Locked(Refused):
    """A SQLite file that somebody else is writing to, for longer than an event loop can wait; nothing has changed."""


class Cursor:
    """A driver's cursor that takes parameters written as `:name`."""

    def __init__(self, cursor: Any, server: bool) -> None:
        self._cursor, self._server = cursor, server

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:
        """Carry out a statement; the driver's cursor, to fetch from or to count rows by."""
        self._cursor.execute(for_postgresql(statement) if self._server else statement, values or {})
        return self._cursor

    def run(self, statement: str) -> None:
        """Carry out a statement of SQLite's to its end, where `execute` would take its first step only."""
        self._cursor.executescript(statement)


class Database:
    """Statements and transactions in one database, for any number of threads."""

    def __init__(self, url: str, power: bool = False) -> None:
        """`power`: a commit waits until the disk has it, so that it survives a power cut."""
        self.url = checked_url(url)
        self.server = self.url.get_backend_name() == "postgresql"
        """Whether it is reached over a network, and not a local file."""
        self.path = str(self.url.database)
        """Of SQLite's file."""
        make = _postgresql_engine if self.server else _sqlite_engine
        self._engine, self._fresh = make(self.url, power), make(self.url, power, poolclass=NullPool)
        self._on_loop = self._engine if self.server else _sqlite_engine(self.url, power, LOOP_SECONDS, PAGES_ON_LOOP)
        self._errors: tuple[type[Exception], ...] = (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error)
        try:
            connection = self._engine.raw_connection()  # stays open in the pool, and with it SQLite's log
            try:
                connection.cursor().execute("SELECT 1" if self.server else "PRAGMA schema_version").fetchone()
            finally:
                connection.close()
        except self._errors as error:
            raise StoreUnavailable(f"The store does not answer: {self._said(error)} Expected a database at {shown(self.url)}.") from error
        self._files = () if self.server else _files_at(self.path, len(FILES))

    def changed(self, statement: str, values: Mapping[str, Any]) -> int:
        """Carry out one statement; how many rows it changed."""
        with self._cursor() as cursor:
            count: int = cursor.execute(statement, values).rowcount
            return count

    def row(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:
        """The first row that a statement finds, or None."""
        with self._cursor() as cursor:
            return cursor.execute(statement, values).fetchone()

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """All rows that a statement finds."""
        with self._cursor() as cursor:
            return list(cursor.execute(statement, values).fetchall())

    @contextmanager
    def writing(self, fresh: bool = False) -> Iterator[Cursor]:
        """A transaction: everything in it happens, or nothing; `fresh`: on a new connection, which has nothing in its cache."""
        with self._cursor(self._fresh if fresh else None) as cursor:
            cursor.execute("BEGIN" if self.server else "BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException as error:
                try:
                    cursor.execute("ROLLBACK")
                except self._errors as second:  # as after a full disk, where SQLite has ended the transaction itself
                    error.add_note(f"ROLLBACK failed too: {second}")
                raise

    def _check_files(self, count: int) -> None:
        """Refuse where one of SQLite's first files is gone: an open connection would go on writing to what nobody can open any more."""
        if not self.server and self._files[:count] != _files_at(self.path, count):
            raise _unavailable("its file, or the log beside it, was deleted or replaced.")

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Statements that all see the database as it is at one moment; nobody who writes waits for them."""
        with self._cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if self.server else "BEGIN")
            try:
                yield cursor
            finally:
                cursor.execute("ROLLBACK")

    @contextmanager
    def setting_up(self) -> Iterator[Cursor]:
        """A transaction that makes tables, of one worker at a time."""
        with self.writing(fresh=True) as cursor:  # which also waits on an event loop that serves nobody yet
            if self.server:
                cursor.execute("SELECT pg_advisory_xact_lock(:lock)", {"lock": TABLES_LOCK})
            yield cursor

    def give_pages_back(self) -> bool:
        """Give some of SQLite's free pages back to the file system, in one short transaction; whether there are more."""
        free = 0 if self.server else int(self.row("PRAGMA freelist_count")[0])
        if free:
            with self._cursor() as cursor:
                cursor.run(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")
        return free > PAGES_AT_ONCE

    def copy_log(self) -> None:
        """Copy SQLite's log into its file, for a thread: this waits for the disk, and nobody who writes waits for it unless it is long."""
        if self.server:
            return
        with self._cursor(self._on_loop) as cursor:  # not with the patience of other threads: who waits for readers keeps writers out
            (_, pages, _) = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages > LONG_LOG:
                cursor.execute("PRAGMA wal_checkpoint(FULL)").fetchone()

    def close(self) -> None:
        """Close all connections."""
        for engine in (self._engine, self._on_loop):
            engine.dispose()

    @contextmanager
    def _cursor(self, engine: Engine | None = None) -> Iterator[Cursor]:
        """A connection of the pool, on which every statement commits by itself; errors become refusals."""
        self._check_files(1 if engine is None else len(FILES))  # a new connection would make new ones; each takes microseconds
        engine = engine or (self._on_loop if _is_event_loop() else self._engine)
        try:
            connection = engine.raw_connection()
            try:
                yield Cursor(connection.cursor(), self.server)
            finally:
                connection.close()
            self._check_files(len(FILES))  # they may have gone while we waited for somebody else to write
        except self._errors as error:
            if engine is self._on_loop and _is_locked(error):
                raise _unavailable("somebody else is writing to its file.", Locked) from error
            unreached = self.server and getattr(error, "sqlstate", None) is None  # the driver's message then names host and user
            raise _unavailable("no connection to the database can be made." if unreached else self._said(error)) from error

    def _said(self, error: Exception) -> str:
        """The first line of the driver's message, without the password."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        said = (str(cause).strip().splitlines() or [type(cause).__name__])[0].rstrip(".") + "."
        return said.replace(str(self.url.password), "***") if self.url.password else said


def _unavailable(said: str, kind: type[Refused] = Refused) -> Refused:
    remedy = "Try again; GET the session's state to see which step it is at."
    return kind(503, "store_unavailable", f"The store does not answer: {said}", remedy, retry_after=1)


def _is_event_loop() -> bool:
    """Whether this is the thread of an event loop, which nobody may keep waiting."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _is_locked(error: Exception) -> bool:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _files_at(path: str, count: int) -> tuple[tuple[int, int] | None, ...]:
    """Which files the path and its endings lead to, for the first of them."""
    return tuple(_file_at(path + ending) for ending in FILES[:count])


def _file_at(path: str) -> tuple[int, int] | None:
    """Which file a path leads to."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _sqlite_engine(url: URL, power: bool, patience: float = BUSY_SECONDS, pages: int = PAGES_BETWEEN_CHECKPOINTS, **pool: Any) -> Engine:
    """Readers beside a writer, and commits that survive the death of the process; without `power`, a power cut could undo the last ones."""
    folder = Path(str(url.database)).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidOption(f"The store's folder cannot be made: {error.strerror}: {folder}.") from error
    engine = create_engine(url.set(drivername="sqlite"), connect_args={"timeout": patience}, **pool)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions by itself
        connection.text_factory = READABLE
        if connection.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:  # setting it where it is set takes the write lock
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file, and of one that is rebuilt
        connection.execute(f"PRAGMA synchronous = {'FULL' if power else 'NORMAL'}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")

    return engine


def _postgresql_engine(url: URL, power: bool, **pool: Any) -> Engine:
    """A pool of connections, each checked before it is used; without `power`, the database's own setting says what a commit waits for."""
    patience = {"connect_timeout": CONNECT_SECONDS, **GONE}
    try:
        engine = create_engine(url.set(drivername="postgresql+psycopg"), connect_args=patience, pool_pre_ping=True, **pool)
    except ImportError as error:
        raise InvalidOption("The store's driver is missing; install it with the `server` extra.") from error

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.autocommit = True
        if power:
            connection.execute("SET synchronous_commit = on")

    return engine


@functools.lru_cache
def for_postgresql(statement: str) -> str:
    """A statement with its parameters as PostgreSQL's driver spells them."""
    return PARAMETER.sub(r"%(\1)s", statement)


def checked_url(url: str) -> URL:
    """The store's URL; errors repeat nothing of it that could be secret."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidOption(f"The store is not a URL; expected {EXPECTED}.") from error
    backend = parsed.get_backend_name()
    if backend not in BACKENDS:
        raise InvalidOption(f"The store is of the kind {backend!r}; expected {EXPECTED}.")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise InvalidOption(f"The store names no file, and sessions outlive the server; expected {EXPECTED}.")
    return parsed


def shown(url: URL) -> str:
    """A URL without what could be secret in it."""
    return url.set(drivername=url.get_backend_name(), query={}).render_as_string(hide_password=True)
