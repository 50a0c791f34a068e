"""The database behind the sessions: SQLite or PostgreSQL by URL, with plain SQL and transactions that say whether they write.

SQLAlchemy reads the URL and keeps the connections to a server; to a file, each thread has its own. Statements go straight to the driver,
since a step has a few tens of microseconds for them. They name their parameters `:so`; PostgreSQL's driver is given them in its own
spelling.
"""

from __future__ import annotations

import functools
import operator
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from edgeworth.errors import InvalidOption
from edgeworth.server.refusals import Refused

BUSY_SECONDS = 10
"""How long a worker waits for another that is writing to the same SQLite file."""
CONNECT_SECONDS = 10
PAGE_BYTES = 2_048
"""A step changes a few pages of the file, and each is written whole."""
PAGES_BETWEEN_CHECKPOINTS = 8_000
"""SQLite's log may grow to 16 MB before it is copied into the file, which costs a few milliseconds each time."""
BACKENDS = ("sqlite", "postgresql")
EXPECTED = "sqlite:///folder/file.sqlite or postgresql://user:password@host/database"
TABLES_LOCK = 0x45444745
"""The number under which PostgreSQL lets one worker at a time make the tables."""
PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class Cursor:
    """A transaction's hand on the database."""

    def __init__(self, cursor: Any, server: bool) -> None:
        self._cursor, self._server = cursor, server

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:
        """Carry out a statement; the driver's cursor, to fetch from or to count rows by."""
        self._cursor.execute(for_server(statement) if self._server else statement, values or {})
        return self._cursor


class FileConnection(sqlite3.Connection):
    """A connection to a file; a class of its own, so that it can be referred to without being kept."""


class File:
    """Connections to a SQLite file: one for each thread, as long as the thread lives."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, url: URL) -> None:
        self._path = Path(str(url.database))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidOption(f"The store's folder cannot be made: {error.strerror}: {self._path.parent}.") from error
        self._own, self._all = threading.local(), WeakSet[FileConnection]()

    def take(self) -> FileConnection:
        """This thread's connection."""
        own: FileConnection | None = getattr(self._own, "connection", None)
        if own is None:
            own = self._own.connection = self._connected()
            self._all.add(own)
        return own

    def _connected(self) -> FileConnection:
        """Readers beside a writer, and a commit that a dead process cannot undo; only a power cut could."""
        connection = sqlite3.connect(
            self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=FileConnection
        )
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")  # of a new file
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BETWEEN_CHECKPOINTS}")
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode = WAL")
        return connection

    def give_back(self, connection: FileConnection) -> None:
        """The thread keeps it."""

    def close(self) -> None:
        """Close them all; a thread that comes again is given a new one."""
        for connection in list(self._all):
            connection.close()
        self._own = threading.local()


class Server:
    """A pool of connections to PostgreSQL; one that has died is noticed and replaced."""

    def __init__(self, url: URL) -> None:
        try:
            drawn = url.set(drivername="postgresql+psycopg")
            self._engine = create_engine(drawn, connect_args={"connect_timeout": CONNECT_SECONDS}, pool_pre_ping=True)
        except ImportError as error:
            raise InvalidOption("The store's driver is missing; install it with the `server` extra.") from error
        event.listen(self._engine, "connect", _commit_by_statement)
        self.errors: tuple[type[Exception], ...] = (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error)

    def take(self) -> Any:
        """A connection that answers."""
        return self._engine.raw_connection()

    def give_back(self, connection: Any) -> None:
        """Back into the pool."""
        connection.close()

    def close(self) -> None:
        """Close them all."""
        self._engine.dispose()


def _commit_by_statement(connection: Any, _: Any) -> None:
    connection.autocommit = True


class Database:
    """Transactions in one database, for any number of threads."""

    def __init__(self, url: str) -> None:
        self.url = checked_url(url)
        self.server = self.url.get_backend_name() == "postgresql"
        """Whether it is at the other end of a network, and not a file beside us."""
        self._connections: File | Server = Server(self.url) if self.server else File(self.url)
        try:
            self._connections.give_back(self._connections.take())
        except self._connections.errors as error:
            raise InvalidOption(f"The store does not answer: {self._told(error)} Expected a database at {shown(self.url)}.") from error

    def changed(self, statement: str, values: Mapping[str, Any]) -> int:
        """Carry out one statement, which is a transaction by itself; how many rows it changed."""
        count: int = self._alone(statement, values, operator.attrgetter("rowcount"))
        return count

    def row(self, statement: str, values: Mapping[str, Any] | None = None) -> Any:
        """The first row that a statement finds, or None."""
        return self._alone(statement, values or {}, operator.methodcaller("fetchone"))

    def rows(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """All rows that a statement finds."""
        found: list[Any] = self._alone(statement, values, operator.methodcaller("fetchall"))
        return found

    def _alone(self, statement: str, values: Mapping[str, Any], result: Callable[[Any], Any]) -> Any:
        """One statement, and what is wanted of it."""
        connections = self._connections
        try:
            connection = connections.take()
            try:
                return result(Cursor(connection.cursor(), self.server).execute(statement, values))
            finally:
                connections.give_back(connection)
        except connections.errors as error:
            raise self._unavailable(error) from error

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """A transaction of several statements: everything in it happens, or nothing. In SQLite it is the writer from its first moment."""
        connections = self._connections
        try:
            connection = connections.take()
            cursor = Cursor(connection.cursor(), self.server)
            try:
                cursor.execute("BEGIN" if self.server else "BEGIN IMMEDIATE")
                try:
                    yield cursor
                    cursor.execute("COMMIT")
                except BaseException:
                    cursor.execute("ROLLBACK")
                    raise
            finally:
                connections.give_back(connection)
        except connections.errors as error:
            raise self._unavailable(error) from error

    def create(self, *statements: str) -> None:
        """Make tables that are not there yet, one worker at a time."""
        with self.writing() as cursor:
            if self.server:
                cursor.execute("SELECT pg_advisory_xact_lock(:lock)", {"lock": TABLES_LOCK})
            for statement in statements:
                cursor.execute(statement)

    def close(self) -> None:
        """Let go of all connections."""
        self._connections.close()

    def _told(self, error: Exception) -> str:
        """The first line of what the driver said, without the password."""
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".") + "."
        return said.replace(str(self.url.password), "***") if self.url.password else said

    def _unavailable(self, error: Exception) -> Refused:
        message = f"The store does not answer: {self._told(error)}"
        return Refused(503, "store_unavailable", message, "Try again; GET the session's state to see which step it is at.", retry_after=1)


@functools.lru_cache
def for_server(statement: str) -> str:
    """A statement with its parameters as PostgreSQL's driver spells them."""
    return PARAMETER.sub(r"%(\1)s", statement)


def checked_url(url: str) -> URL:
    """The store's URL, or an error that says what one looks like and repeats nothing of it that could be secret."""
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
