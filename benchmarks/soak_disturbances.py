"""What happens to a server in a soak: its processes are killed, it is restarted and drained, its database goes away.

The moments are drawn from a seed, and different kinds of disturbances overlap as they come. A `Service` is started again whenever it has
ended, as systemd does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from benchmarks.server_process import START_SECONDS, ServerProcess, free_port, our_server
from benchmarks.soak_players import OWNER, TOKEN, Ledger

KILLS = {"one worker": 0.8, "all workers": 0.14, "everything": 0.06}
"""What is killed, and how often."""
RESTARTS = {"rolling restart": 0.75, "drain": 0.25}
"""SIGHUP to the supervisor, or SIGTERM to it; the server is then started again."""
DRAIN_SECONDS = 1
OUTAGE_SECONDS = {"sqlite": (1.0, 12.0), "postgresql": (1.0, 6.0)}
"""A worker waits 10 seconds for a locked SQLite file before it refuses a step."""
STEPS_BETWEEN = 20
"""Steps that are acknowledged between a kill and the next one."""
PROCESS_BYTES = 300 * 2**20
"""The memory that a process of the server may have, on average."""
LOOK_SECONDS = 0.5
"""How often the server's memory is read, and whether it has ended."""
Event = tuple[float, str]
"""When something happened, and what."""


async def at_random_moments(count: int, until: float, chance: random.Random, act: Callable[[], Awaitable[None]]) -> None:
    """Act so many times, spread at random over the time there is."""
    begin = time.monotonic()
    for done in range(count):
        due = begin + (until - begin) * (done + chance.random()) / count
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await act()


class Service:
    """A server with a token for the players, kept running, and the memory that it has."""

    def __init__(self, store: str, workers: int, folder: Path, *flags: str) -> None:
        self.store, self.workers, self.port = store, workers, free_port()
        tokens = folder / "tokens"
        tokens.write_text(f"{OWNER}:{TOKEN}\n", encoding="utf-8")
        self.flags = ("--tokens-file", str(tokens), "--drain-seconds", str(DRAIN_SECONDS), *flags)
        self.faults = Counter[str]()
        self.worst_bytes = self.last_bytes = 0
        self.bound_bytes = PROCESS_BYTES * (1 if workers == 1 else workers + 2)  # a supervisor, and a worker that replaces another
        self.server = self._started()

    def _started(self) -> ServerProcess:
        return our_server(self.store, self.port, self.workers, *self.flags)

    async def keep(self) -> None:
        """Start the server again whenever it has ended; until cancelled."""
        while True:
            if self.server.process.poll() is not None:
                self._note_faults()
                self.server = self._started()
            self.measure()
            await asyncio.sleep(LOOK_SECONDS)

    def measure(self) -> None:
        """Read the memory of all its processes."""
        self.last_bytes = self.server.resident_bytes()
        self.worst_bytes = max(self.worst_bytes, self.last_bytes)

    def stop(self) -> None:
        """End the server."""
        self.server.stop()
        self._note_faults()

    def aborted_restarts(self) -> int:
        """Rolling restarts that the supervisor gave up, because a new worker was killed or could not reach the store in time."""
        return sum(count for fault, count in self.faults.items() if "aborting the restart" in fault)

    def _note_faults(self) -> None:
        self.faults.update(fault_of(line) for line in self.server.failures())


def fault_of(line: str) -> str:
    """What a line of the log reports, without what is different each time."""
    try:
        facts = json.loads(line)
    except ValueError:
        return line.strip()[:100]
    said = facts["event"] if facts["event"] != "message" else facts["message"]
    return re.sub(r"[0-9a-f]{32}|\d+", "…", str(said))[:100]


async def traffic(service: Service, ledger: Ledger) -> None:
    """Until some more steps have been acknowledged."""
    wanted, patience, before = ledger.acknowledged + STEPS_BETWEEN, time.monotonic() + START_SECONDS, ledger.answers.copy()
    while ledger.acknowledged < wanted:
        if time.monotonic() > patience:
            answers = dict(ledger.answers - before)
            raise RuntimeError(f"The server did not recover; it answered {answers}; its log:\n" + "".join(service.server.log[-40:]))
        await asyncio.sleep(0.01)


class Kills:
    """SIGKILL to a worker, to all of them, or to the whole server, while steps are being made."""

    def __init__(self, service: Service, ledger: Ledger, chance: random.Random) -> None:
        self.service, self.ledger, self.chance = service, ledger, chance
        self.done: list[Event] = []
        self.processes = 0

    async def act(self) -> None:
        """Kill something once steps are acknowledged again."""
        await traffic(self.service, self.ledger)
        self.kill(self.chance.choices(list(KILLS), list(KILLS.values()))[0])

    def kill(self, how: str) -> None:
        """End something; a server of one worker is everything there is."""
        server = self.service.server
        alive = server.workers()
        if self.service.workers == 1:
            how = "everything"
        place = self.chance.random()  # drawn every time, so that what is killed next does not depend on how many are alive
        victims = [alive[int(place * len(alive))]] if how == "one worker" and alive else alive
        if how == "everything":
            victims = [server.process.pid, *alive]
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.processes += len(victims)
        self.done.append((time.monotonic(), how))


class Restarts:
    """Workers that are replaced one by one, and whole servers that drain and end."""

    def __init__(self, service: Service, chance: random.Random) -> None:
        self.service, self.chance = service, chance
        self.done: list[Event] = []

    async def act(self) -> None:
        """Send the server a signal, and wait until a drain is over; on SIGHUP a single worker would only read its tokens again."""
        how = "drain" if self.service.workers == 1 else self.chance.choices(list(RESTARTS), list(RESTARTS.values()))[0]
        process = self.service.server.process
        process.send_signal(signal.SIGTERM if how == "drain" else signal.SIGHUP)
        self.done.append((time.monotonic(), how))
        while how == "drain" and process.poll() is None:
            await asyncio.sleep(0.1)


class Outages:
    """A database that refuses everybody for some seconds, or a SQLite file that somebody else has locked."""

    def __init__(self, store: str, chance: random.Random) -> None:
        self.store, self.chance = store, chance
        self.kind = make_url(store).get_backend_name()
        self.done: list[Event] = []
        """When outages ended."""
        self.seconds = 0.0

    async def act(self) -> None:
        """Take the store away and give it back."""
        seconds = self.chance.uniform(*OUTAGE_SECONDS[self.kind])
        with self.away():
            await asyncio.sleep(seconds)
        self.seconds += seconds
        self.done.append((time.monotonic(), "an outage"))

    def away(self) -> AbstractContextManager[None]:
        """The store cannot be written to meanwhile."""
        return database_away(self.store) if self.kind == "postgresql" else file_locked(str(make_url(self.store).database))


@contextlib.contextmanager
def file_locked(path: str) -> Iterator[None]:
    """Hold the write lock of a SQLite file; sessions can still be read."""
    with contextlib.closing(sqlite3.connect(path, timeout=60.0, isolation_level=None)) as outside:
        outside.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            outside.execute("ROLLBACK")


@contextlib.contextmanager
def database_away(url: str) -> Iterator[None]:
    """Terminate all connections to a PostgreSQL database and refuse new ones."""
    there = make_url(url)
    elsewhere = there.set(drivername="postgresql", database="template1" if there.database == "postgres" else "postgres")
    change = SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    name = Identifier(str(there.database))
    with psycopg.connect(elsewhere.render_as_string(hide_password=False), autocommit=True) as outside:
        outside.execute(change.format(name, SQL("false")))
        try:
            outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [there.database])
            yield
        finally:
            outside.execute(change.format(name, SQL("true")))
