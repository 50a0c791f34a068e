"""A cache of replies on disk, which is also a recording that can be played back offline.

A reply is kept under the SHA-256 of the canonical JSON of (model, sampling, messages). The first reply that is recorded stays: two
processes with one question at the same time both get that one. A prompt that occurs twice in a batch is asked once; for several samples of
a prompt, vary `Sampling.seed`. Failures are never kept.

The file is an SQLite database in WAL mode, for any number of threads and processes: readers never wait for a writer, and transactions are
written whole or not at all. The questions are kept beside the replies, every text once however many prompts share it, so that the file is
a record of the experiment (`ReplyStore.records`). It belongs on a local disk: WAL does not work over a network file system. A file that is
damaged or another program's is refused and not changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edgeworth.errors import DataError, NotRecorded
from edgeworth.llm.client import Client, Completion, Message, Messages, Reply, Sampling, Samplings, TokenLogprob, Wrapper, sampling_each

SHOWN = 160
"""Characters of a missing prompt that an error shows, from its end: the beginning is mostly the same for all."""
OURS = (0x45444757, 1)
"""The marks of our database: its application (`EDGW`) and the version of its layout."""
UNMARKED = (0, 0)
BUSY_SECONDS = 60.0

CREATE = (
    "CREATE TABLE texts (id BLOB PRIMARY KEY, text TEXT NOT NULL)",
    """CREATE TABLE replies (key BLOB PRIMARY KEY, model TEXT NOT NULL, sampling BLOB NOT NULL, messages TEXT NOT NULL,
       reply TEXT NOT NULL, recorded REAL NOT NULL)""",
)
"""`sampling` and `messages` (a list of role and text) name texts by their id, the beginning of their SHA-256; a text is kept as a JSON
string, which can hold what UTF-8 cannot."""
ID_LENGTH = 16

_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process. SQLite forbids using them here, and closing them might remove what the parent still needs."""

canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
"""JSON that is the same for the same value."""


class Question(NamedTuple):
    """What was asked, and under which key the reply is kept."""

    key: bytes
    messages: Messages
    sampling: Sampling
    settings: str
    """The sampling as canonical JSON."""


def questions(model: str, sampling: Samplings, batch: Sequence[Messages]) -> list[Question]:
    """What is asked, each under the key of its canonical JSON, whose keys stand in order; a shared sampling is written once."""
    each = sampling_each(batch, sampling)
    different = {id(one): one for one in each}
    written = {name: canonical(vars(one)) for name, one in different.items()}
    asked = []
    for messages, one in zip(batch, each, strict=True):
        conversation = canonical([[message.role, message.content] for message in messages])
        request = f'{{"messages":{conversation},"model":{canonical(model)},"sampling":{written[id(one)]}}}'
        asked.append(Question(hashlib.sha256(request.encode("ascii")).digest(), messages, one, written[id(one)]))
    return asked


class Cache(Wrapper):
    """Asks each question once, ever; with `replay`, never, and a question that was not recorded is an error."""

    def __init__(self, client: Client, path: Path | str, replay: bool = False) -> None:
        super().__init__(client)
        self.replay = replay
        self.store = ReplyStore(path, read_only=replay)

    def complete(self, batch: Sequence[Messages], sampling: Samplings, within: float | None = None) -> list[Reply]:
        asked = questions(self.name, sampling, batch)
        replies: dict[bytes, Reply] = dict(self.store.find({question.key for question in asked}))
        missing: dict[bytes, int] = {}
        for i, question in enumerate(asked):
            if question.key not in replies:
                missing.setdefault(question.key, i)
        if missing and self.replay:
            raise self._not_recorded(batch, missing)
        if missing:
            replies |= self._ask([asked[i] for i in missing.values()], within)
        return [_as_asked(replies[q.key]) if i == missing.get(q.key) else replies[q.key] for i, q in enumerate(asked)]

    def _ask(self, unknown: Sequence[Question], within: float | None) -> dict[bytes, Reply]:
        """Ask new questions, and keep the replies."""
        fresh = self.client.complete([q.messages for q in unknown], [q.sampling for q in unknown], within)
        replies = dict(zip((q.key for q in unknown), fresh, strict=True))
        new = [(q, reply) for q, reply in zip(unknown, fresh, strict=True) if isinstance(reply, Completion)]
        self.store.keep(self.name, new)
        return replies | self.store.find(q.key for q, _ in new)

    def _not_recorded(self, batch: Sequence[Messages], missing: dict[bytes, int]) -> NotRecorded:
        key, where = next(iter(missing.items()))
        prompt = " ".join(batch[where][-1].content.split()) if batch[where] else ""
        shown = prompt if len(prompt) <= SHOWN else "…" + prompt[-SHOWN:]
        models = self.store.models()
        others = f" It holds replies of {', '.join(models[:3])}." if models and self.name not in models else ""
        return NotRecorded(
            f"{self.store.path} holds no reply of {self.name} to {len(missing)} of {len(batch)} prompts with this sampling; the first is "
            f"{shown!r} (key {key.hex()[:12]}).{others} Run once without replay, with the model at hand, to record it.",
            key.hex(),
        )

    def check(self) -> None:
        if not self.replay:
            self.client.check()

    def close(self) -> None:
        self.store.close()
        self.client.close()


def _as_asked(reply: Reply) -> Reply:
    """A reply for which a model was asked just now, even where another process was first to record it."""
    return dataclasses.replace(reply, cached=False) if isinstance(reply, Completion) else reply


# The database


def written_reply(reply: Completion) -> str:
    """A completion as JSON."""
    fields = dataclasses.asdict(reply)
    del fields["cached"]
    return json.dumps(fields)


def read_reply(text: str) -> Completion:
    """The completion that `written_reply` wrote, marked as cached."""
    fields = json.loads(text)
    if fields["logprobs"] is not None:
        fields["logprobs"] = tuple(TokenLogprob(*pair) for pair in fields["logprobs"])
    return Completion(**fields, cached=True)


class Record(NamedTuple):
    """A question and its reply, as they were recorded."""

    model: str
    sampling: dict[str, Any]
    messages: list[Message]
    reply: Completion


def text_id(text: str) -> bytes:
    """The name of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:ID_LENGTH]


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """The application and the layout that a database is marked with."""
    owner, layout = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version"))
    return owner, layout


class ReplyStore:
    """The database: replies by key, for any number of threads and processes."""

    def __init__(self, path: Path | str, read_only: bool = False) -> None:
        self.path = Path(path)
        self._read_only = read_only
        self._local = threading.local()
        if read_only and not self.path.is_file():
            raise DataError(self.path, "there is no recording to replay; run once without replay, with the model at hand, to make it.")
        self._connection()

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Completion]:
        """The replies that are there."""
        with self._errors_in_words():
            connection = self._connection()
            rows = {key: connection.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone() for key in keys}
            return {key: read_reply(row[0]) for key, row in rows.items() if row is not None}

    def keep(self, model: str, new: Sequence[tuple[Question, Completion]]) -> None:
        """Record replies, all or none; where another process was first, its reply stays."""
        contents = {text for asked, _ in new for text in (asked.settings, *(message.content for message in asked.messages))}
        texts = [(text_id(text), json.dumps(text)) for text in contents]
        rows = []
        for asked, reply in new:
            named = json.dumps([[message.role, text_id(message.content).hex()] for message in asked.messages])
            rows.append((asked.key, model, text_id(asked.settings), named, written_reply(reply), time.time()))
        with self._errors_in_words():
            connection = self._connection()
            with contextlib.suppress(sqlite3.OperationalError):  # another process is just doing the same
                connection.execute("PRAGMA journal_mode = WAL")
            with connection:
                connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
                connection.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", rows)

    def records(self) -> Iterator[Record]:
        """Everything that was asked and answered, oldest first."""
        with self._errors_in_words():
            connection = self._connection()
            for model, sampling, messages, reply in connection.execute(
                "SELECT model, sampling, messages, reply FROM replies ORDER BY recorded, key"
            ):
                asked = [Message(role, self._text(bytes.fromhex(name))) for role, name in json.loads(messages)]
                yield Record(model, json.loads(self._text(sampling)), asked, read_reply(reply))

    def _text(self, name: bytes) -> str:
        row = self._connection().execute("SELECT text FROM texts WHERE id = ?", (name,)).fetchone()
        return str(json.loads(row[0]))

    def models(self) -> list[str]:
        """The models whose replies are kept."""
        with self._errors_in_words():
            return [row[0] for row in self._connection().execute("SELECT DISTINCT model FROM replies ORDER BY model")]

    def __len__(self) -> int:
        with self._errors_in_words():
            return int(self._connection().execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close this thread's connection; the next question opens another.

        The last process to close it leaves a plain file without a log, which can be read even where nothing can be written.
        """
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            if not self._read_only:
                with contextlib.suppress(sqlite3.OperationalError):  # another process still has it open
                    held[1].execute("PRAGMA busy_timeout = 0")
                    held[1].execute("PRAGMA journal_mode = DELETE")
            held[1].close()
        self._local.held = None

    def _connection(self) -> sqlite3.Connection:
        """This thread's own connection, in this process."""
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == os.getpid():
            return held[1]
        if held is not None:
            _inherited.append(held[1])
        connection = self._opened()
        self._local.held = (os.getpid(), connection)
        return connection

    def _opened(self) -> sqlite3.Connection:
        with self._errors_in_words():
            if not self._read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._address(), timeout=BUSY_SECONDS, uri=True)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _address(self) -> str:
        if not self._read_only:
            return f"{self.path.absolute().as_uri()}?mode=rwc"
        # In a folder that cannot be written, SQLite reads a WAL database only with the promise that no process writes to it.
        frozen = "" if os.access(self.path.absolute().parent, os.W_OK) else "&immutable=1"
        return f"{self.path.absolute().as_uri()}?mode=ro{frozen}"

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Check that the database is ours before anything is written to it; create the tables of an empty one."""
        if _marks(connection) != OURS:
            with connection:
                connection.execute("BEGIN" if self._read_only else "BEGIN IMMEDIATE")  # one process creates the tables
                self._create_tables(connection)
        connection.execute("PRAGMA synchronous = NORMAL")

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        marks = _marks(connection)
        if marks == OURS:
            return
        if self._read_only or marks != UNMARKED or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise DataError(self.path, "is a database, but not a cache of replies; give another path. It has not been changed.")
        for table in CREATE:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {OURS[0]}")
        connection.execute(f"PRAGMA user_version = {OURS[1]}")

    @contextlib.contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        """Turn an error into one that names the file and the remedy."""
        try:
            yield
        except DataError:
            raise
        except (sqlite3.OperationalError, OSError) as error:
            raise DataError(self.path, f"the cache of replies cannot be used ({error}); look at the disk and its permissions.") from error
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            problem = f"is damaged or no cache of replies ({error}); move it away or give another path. It has not been changed."
            raise DataError(self.path, problem) from error
