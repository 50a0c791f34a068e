"""The store keeps openings and logs, in SQLite and in PostgreSQL alike, and lets one of two writers win."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edgeworth.errors import InvalidOption
from edgeworth.server.database import BUSY_SECONDS, LONG_LOG, Database, StoreUnavailable, for_postgresql
from edgeworth.server.openings import Opening, opening_of
from edgeworth.server.refusals import Refused
from edgeworth.server.schema import prepare
from edgeworth.server.store import Before, Store, Stored
from running_servers import no_longer_file


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store(store_url)
    yield opened
    opened.close()


def market(seed: int = 1) -> Opening:
    return opening_of("auction", {"n_agents": 4}, seed)


def opened(store: Store, name: str = "a", owner: str = "ann", seed: int = 1) -> Stored:
    stored = store.open(owner, name, market(seed))
    assert stored is not None
    return stored


def swept(store: Store, seconds: float) -> list[str]:
    """The names of the sessions that expire after so many seconds."""
    before = Before(time.time() - seconds, 0.0)
    return [name for _, name, generation in store.idle(before) if store.expire(generation, before)]


def test_a_session_is_found_as_it_was_opened(store: Store) -> None:
    before = opened(store)
    assert store.find("ann", "a") == before
    assert store.find("ann", "b") is None
    assert store.place("ann", "a") == (before.generation, True, 0)
    assert store.place("ann", "b") is None


def test_actions_come_back_in_order_and_to_the_last_bit(store: Store) -> None:
    session = opened(store)
    log = [{"reserve_price": 0.1 + 0.2, "name": "ä\x00\u2028"}, {"k": [1, 2, {"deep": None}]}, 1e-308]
    for number, action in enumerate(log):
        assert store.advance(session.generation, number, action, done=number == 2)
    assert store.actions(session.generation) == log
    assert store.actions(session.generation, 2) == log[2:]
    found = store.find("ann", "a")
    assert found is not None and (found.steps, found.done) == (3, True)
    assert found.touched >= session.touched


@pytest.mark.parametrize("number", [0, 2, 7])
def test_a_step_at_another_number_writes_nothing(store: Store, number: int) -> None:
    session = opened(store)
    assert store.advance(session.generation, 0, "first", done=False)
    assert not store.advance(session.generation, number, "other", done=True)
    assert store.actions(session.generation) == ["first"]
    found = store.find("ann", "a")
    assert found is not None and (found.steps, found.done) == (1, False)


def test_opening_a_name_again_begins_a_new_log_and_forgets_the_old_one(store: Store) -> None:
    old = opened(store)
    store.advance(old.generation, 0, "old", done=False)
    new = opened(store, seed=2)
    assert not store.advance(old.generation, 1, "late", done=False)
    assert (store.actions(old.generation), store.actions(new.generation)) == ([], [])
    assert store.place("ann", "a") == (new.generation, True, 0)


def test_two_owners_may_have_sessions_of_one_name(store: Store) -> None:
    anns, bobs = opened(store), opened(store, owner="bob")
    assert store.advance(bobs.generation, 0, "x", done=False) and store.forget(bobs.generation)
    assert store.find("ann", "a") == anns and store.find("bob", "a") is None


def test_sessions_are_counted_and_listed_by_owner(store: Store) -> None:
    for name, owner in (("a", "ann"), ("b", "bob"), ("c", "ann")):
        opened(store, name, owner)
    assert [store.count(owner) for owner in ("ann", "bob", "eve")] == [(3, 2), (3, 1), (3, 0)]
    assert [session.id for session in store.owned("ann")] == ["a", "c"]


def test_what_is_forgotten_leaves_nothing_and_cannot_be_stepped(store: Store) -> None:
    session = opened(store)
    store.advance(session.generation, 0, "x", done=False)
    assert not store.forget("another generation")
    assert store.forget(session.generation)
    assert not store.forget(session.generation)
    assert not store.advance(session.generation, 1, "y", done=False)
    assert (store.find("ann", "a"), store.actions(session.generation), store.count("ann")) == (None, [], (0, 0))


def test_only_idle_sessions_expire(store: Store) -> None:
    idle, used = opened(store, "idle"), opened(store, "used")
    for session in (idle, used):
        assert store.advance(session.generation, 0, "x", done=False)
    with store.database.writing() as cursor:  # both were opened long ago, and one was used since
        cursor.execute("UPDATE edgeworth_openings SET created = 0.0")
        cursor.execute("UPDATE edgeworth_log SET written = 0.0 WHERE generation = :generation", {"generation": idle.generation})
    assert swept(store, 3_600.0) == ["idle"]
    assert store.find("ann", "idle") is None and store.actions(idle.generation) == []
    assert store.actions(used.generation) == ["x"]
    assert swept(store, 3_600.0) == []


def test_a_session_that_nobody_named_expires_earlier_also_after_its_next_episode(store: Store) -> None:
    for name, named in (("mine", True), ("given", False), ("given", True)):
        store.open("ann", name, market(), named)
    now = time.time()
    assert [name for _, name, _ in store.idle(Before(now - 60.0, now + 60.0))] == ["given"]
    assert sorted(name for _, name, _ in store.idle(Before(now + 60.0, now + 60.0))) == ["given", "mine"]


def test_of_two_who_write_the_same_step_exactly_one_wins(store: Store, store_url: str) -> None:
    session, other = opened(store), Store(store_url)
    start = threading.Barrier(2)

    def race(hand: tuple[str, Store]) -> list[int]:
        name, mine = hand
        won = []
        for number in range(40):
            start.wait(timeout=30)
            if mine.advance(session.generation, number, [name, number], done=False):
                won.append(number)
        return won

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(race, [("one", store), ("two", other)])
    other.close()
    assert sorted(one + two) == list(range(40))
    winners = {number: name for name, won in (("one", one), ("two", two)) for number in won}
    assert store.actions(session.generation) == [[winners[number], number] for number in range(40)]


def test_of_two_who_open_the_same_name_one_is_left_and_its_log_works(store: Store, store_url: str) -> None:
    other, start = Store(store_url), threading.Barrier(2)

    def race(mine: Store) -> list[Stored | None]:
        made = []
        for number in range(15):
            start.wait(timeout=30)
            made.append(mine.open("ann", f"name{number}", market()))
        return made

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(race, [store, other])
    other.close()
    assert store.count("ann") == (15, 15)
    for number in range(15):
        place = store.place("ann", f"name{number}")
        assert place is not None
        assert place.generation in {made.generation for made in (one[number], two[number]) if made is not None}
        assert store.advance(place.generation, 0, "x", done=False)


def test_a_session_that_is_stepped_while_it_expires_is_either_whole_or_gone(store: Store, store_url: str) -> None:
    other = Store(store_url)
    for lap in range(15):
        name = f"s{lap}"
        session = opened(store, name)
        with ThreadPoolExecutor(2) as pool:
            stepped = pool.submit(store.advance, session.generation, 0, "x", False)
            gone = pool.submit(swept, other, 0.0)
            acknowledged, expired = stepped.result(), name in gone.result()
        assert store.actions(session.generation) == (["x"] if acknowledged and not expired else [])
        assert (store.find("ann", name) is None) == expired
    other.close()


def test_many_threads_on_one_session_leave_a_log_without_gap_or_double(store: Store) -> None:
    session = opened(store)

    def hammer(name: int) -> int:
        won = 0
        for _ in range(25):
            place = store.place("ann", "a")
            assert place is not None
            won += store.advance(session.generation, place.steps, [name, place.steps], done=False)
        return won

    with ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(hammer, range(8)))
    log = store.actions(session.generation)
    assert [number for _, number in log] == list(range(won))
    place = store.place("ann", "a")
    assert place is not None and place.steps == won > 0


def test_check_is_quiet_where_the_store_answers(store: Store) -> None:
    store.check()


# URLs and failures


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "not a URL"),
        ("sessions.sqlite", "not a URL"),
        ("mysql://me:secret@host/db", "of the kind 'mysql'"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:////proc/nobody/may/write.sqlite", "folder cannot be made"),
        ("postgresql://me:secret@127.0.0.1:1/db", "does not answer"),
        ("postgresql://127.0.0.1:1/db?password=secret", "does not answer"),
    ],
)
def test_a_store_that_cannot_be_used_is_an_error_without_its_password(url: str, said: str) -> None:
    with pytest.raises(InvalidOption, match=said) as error:
        Store(url)
    assert "secret" not in str(error.value)
    assert "expected" in str(error.value).lower() or "folder" in said


def test_a_file_that_is_no_database_is_an_error_that_names_it(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("not a database, and longer than a header of sixteen bytes" * 100)
    with pytest.raises(InvalidOption, match=r"not a database.*notes\.txt"):
        Store(f"sqlite:///{place}")


def test_a_store_that_does_not_take_its_tables_is_an_error_that_names_it(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    with no_longer_file(tmp_path), pytest.raises(StoreUnavailable, match=r"disk I/O error.*takes writes at .*sessions\.sqlite"):
        prepare(database)
    database.close()


def test_a_store_that_stops_answering_is_said_to_be_unavailable(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    session = opened(store)
    with store.database.writing() as cursor:
        cursor.execute("DROP TABLE edgeworth_log")
    with pytest.raises(Refused) as refused:
        store.advance(session.generation, 0, "x", done=False)
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (503, "store_unavailable", 1)
    store.close()


def test_statements_are_spelt_for_the_driver_of_postgresql() -> None:
    assert for_postgresql("SET steps = :number + 1 WHERE id = :id") == "SET steps = %(number)s + 1 WHERE id = %(id)s"


def filled_log(store: Store, name: str) -> None:
    """So many pages in SQLite's log that it is copied whole."""
    with store.database.writing() as cursor:
        cursor.execute(f"CREATE TABLE {name} AS SELECT zeroblob({5_000 * LONG_LOG}) AS filling")


def pages_in_log(store: Store) -> int:
    return int(store.database.row("PRAGMA wal_checkpoint(PASSIVE)")[1])


def test_a_log_that_was_copied_begins_anew(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    store.database.row("PRAGMA wal_autocheckpoint = 0")
    filled_log(store, "one")
    store.database.copy_log()
    opened(store)
    assert 0 < pages_in_log(store) < 100
    store.close()


def test_a_log_that_somebody_still_reads_keeps_no_writer_waiting(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    opened(store)
    began = time.monotonic()
    with store.database.reading() as cursor:
        assert cursor.execute("SELECT COUNT(*) FROM edgeworth_openings").fetchone() == (1,)
        filled_log(store, "two")
        with ThreadPoolExecutor() as pool:
            copying = [pool.submit(store.database.copy_log) for _ in range(10)]
            for number in range(10):
                opened(store, f"s{number}")
            for each in copying:
                each.result(60.0)
    assert time.monotonic() - began < BUSY_SECONDS / 2
    store.close()


def test_a_postgresql_machine_that_vanished_from_the_network_is_noticed(postgres_url: str) -> None:
    """Its connections would wait for a quarter of an hour, and with them every request."""
    store = Store(postgres_url)
    connection = store.database._engine.raw_connection()
    with socket.socket(fileno=os.dup(connection.driver_connection.fileno())) as line:  # type: ignore[union-attr]
        assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 10_000
        assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        waits = [line.getsockopt(socket.IPPROTO_TCP, each) for each in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)]
    connection.close()
    store.close()
    assert waits == [10, 5, 3]


def test_a_dead_connection_to_postgresql_is_replaced(postgres_url: str) -> None:
    store = Store(postgres_url)
    session = opened(store)
    (mine,) = store.database.row("SELECT pg_backend_pid()")
    Store(postgres_url).database.row("SELECT pg_terminate_backend(:pid)", {"pid": mine})
    assert store.advance(session.generation, 0, "x", done=False)
    assert store.actions(session.generation) == ["x"]
    store.close()
