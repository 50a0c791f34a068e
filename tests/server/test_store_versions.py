"""The store has a version; a session that cannot be read hurts no other, and can be exported and deleted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from edgeworth import __version__
from edgeworth.errors import InvalidOption
from edgeworth.server.database import Database
from edgeworth.server.models import Export, RawExport, SessionList
from edgeworth.server.openings import opening_of
from edgeworth.server.schema import VERSION
from edgeworth.server.store import Store
from running_servers import MECHANISM, client_of, served, settings_in

FIRST_LAYOUT = (
    "CREATE TABLE edgeworth_sessions (id VARCHAR(128) PRIMARY KEY, generation VARCHAR(32) NOT NULL, owner VARCHAR(128) NOT NULL,"
    " opening TEXT NOT NULL, steps INTEGER NOT NULL, done BOOLEAN NOT NULL, created DOUBLE PRECISION NOT NULL,"
    " touched DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE edgeworth_actions (generation VARCHAR(32) NOT NULL, number INTEGER NOT NULL, action TEXT NOT NULL,"
    " PRIMARY KEY (generation, number))",
    "INSERT INTO edgeworth_sessions VALUES ('a', 'g', 'ann', '{opening}', 2, TRUE, 10.0, 20.0)",
    "INSERT INTO edgeworth_actions VALUES ('g', 0, '\"x\"'), ('g', 1, '\"y\"')",
)


SECOND_LAYOUT = (
    "CREATE TABLE edgeworth_store (version INTEGER NOT NULL)",
    "INSERT INTO edgeworth_store VALUES (2)",
    "CREATE TABLE edgeworth_openings (id VARCHAR(128) PRIMARY KEY, generation VARCHAR(32) NOT NULL, owner VARCHAR(128) NOT NULL,"
    " opening TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
    "CREATE INDEX edgeworth_owners ON edgeworth_openings (owner)",
    "CREATE TABLE edgeworth_log (generation VARCHAR(32) NOT NULL, number INTEGER NOT NULL, action TEXT NOT NULL, done BOOLEAN NOT NULL,"
    " written DOUBLE PRECISION NOT NULL, PRIMARY KEY (generation, number))",
    "INSERT INTO edgeworth_openings VALUES ('a', 'g', 'ann', '{opening}', 10.0)",
    "INSERT INTO edgeworth_log VALUES ('g', 0, '\"x\"', FALSE, 15.0), ('g', 1, '\"y\"', TRUE, 20.0)",
)


@pytest.mark.parametrize("layout", [FIRST_LAYOUT, SECOND_LAYOUT], ids=["first", "second"])
def test_an_old_store_is_migrated_once(store_url: str, layout: tuple[str, ...]) -> None:
    opening, database = opening_of("auction", {"n_agents": 4}, 1), Database(store_url)
    with database.writing() as cursor:
        for statement in layout:
            cursor.execute(statement.replace("{opening}", json.dumps(opening.as_dict())))
    database.close()
    for _ in range(2):
        store = Store(store_url)
        found = store.find("ann", "a")
        assert found is not None and found.opening == opening
        assert (found.owner, found.steps, found.done, found.created, found.touched) == ("ann", 2, True, 10.0, 20.0)
        assert store.actions("g") == ["x", "y"] and store.count("ann") == (1, 1)
        assert store.open("bob", "a", opening).owner == "bob" and store.forget(store.open("bob", "a", opening).generation)
        store.close()


def test_a_newer_store_is_refused_by_name_and_left_as_it_is(store_url: str) -> None:
    store = Store(store_url)
    with store.database.writing() as cursor:
        cursor.execute("UPDATE edgeworth_store SET version = 99")
        cursor.execute("DROP TABLE edgeworth_log")
    with pytest.raises(InvalidOption, match=f"version 99; expected {VERSION}"):
        Store(store_url)
    with pytest.raises(Exception, match="edgeworth_log"):  # it was not made again
        store.database.row("SELECT 1 FROM edgeworth_log")
    store.close()


def test_a_server_does_not_start_on_a_newer_store(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}").close()
    with sqlite3.connect(tmp_path / "sessions.sqlite") as connection:
        connection.execute("UPDATE edgeworth_store SET version = 99")
    connection.close()
    with served(tmp_path) as server:
        assert server.process.wait(60.0) != 0
        assert "version 99" in (said := server.said()) and "Traceback" not in said


LOG_OF_BAD = "WHERE generation = (SELECT generation FROM edgeworth_openings WHERE id = 'bad')"
HARM = {
    "no JSON": ("UPDATE edgeworth_openings SET opening = '{' WHERE id = 'bad'", False),
    "no opening": ("UPDATE edgeworth_openings SET opening = '[1]' WHERE id = 'bad'", False),
    "no such game": ("""UPDATE edgeworth_openings SET opening = '{"game": "go", "seed": 1, "options": {}}' WHERE id = 'bad'""", False),
    "no seed": ("""UPDATE edgeworth_openings SET opening = '{"game": "auction", "options": {}}' WHERE id = 'bad'""", False),
    "no UTF-8": ("UPDATE edgeworth_openings SET opening = CAST(x'7bff' AS TEXT) WHERE id = 'bad'", False),
    "no text": ("UPDATE edgeworth_openings SET opening = x'7bff' WHERE id = 'bad'", False),
    "log without JSON": (f"UPDATE edgeworth_log SET action = '{{' {LOG_OF_BAD}", True),
    "log without UTF-8": (f"UPDATE edgeworth_log SET action = CAST(x'7bff' AS TEXT) {LOG_OF_BAD}", True),
    "log without text": (f"UPDATE edgeworth_log SET action = x'7bff' {LOG_OF_BAD}", True),
    "log with a gap": (f"UPDATE edgeworth_log SET number = 1 {LOG_OF_BAD}", True),
}
"""What is done to a session, and whether its opening can still be read."""


@pytest.fixture(params=HARM)
def harmed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[TestClient, bool]]:
    """A server whose session `bad` was harmed while it was down, and whether its opening can be read."""
    statement, opening_is_readable = HARM[request.param]
    with client_of(settings_in(tmp_path)) as client:
        for name in ("good", "bad"):
            client.post("/reset", json={"session_id": name, "seed": 1})
            client.post("/step", json={"session_id": name, "action": MECHANISM})
    with sqlite3.connect(tmp_path / "sessions.sqlite") as connection:
        connection.execute(statement)
    connection.close()
    with client_of(settings_in(tmp_path)) as client:
        yield client, opening_is_readable


def test_an_unreadable_session_is_refused_listed_exported_and_deleted(harmed: tuple[TestClient, bool]) -> None:
    client, opening_is_readable = harmed
    for answer in (
        client.post("/step", json={"session_id": "bad", "action": MECHANISM}),
        client.get("/state", params={"session_id": "bad"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "unreadable_session")
    listed = SessionList.model_validate(client.get("/sessions").json()).sessions
    assert [(line.session_id, line.problem is None) for line in listed] == [("bad", opening_is_readable), ("good", True)]
    raw = RawExport.model_validate(client.get("/sessions/bad/export").json())
    assert "cannot be read" in raw.problem and raw.edgeworth == __version__ and len(raw.log) == 1
    assert client.post("/step", json={"session_id": "good", "action": MECHANISM}).json()["steps"] == 2
    assert client.delete("/sessions/bad").status_code == 204
    assert [line["session_id"] for line in client.get("/sessions").json()["sessions"]] == ["good"]


def test_an_unreadable_session_can_be_opened_anew(harmed: tuple[TestClient, bool]) -> None:
    client, _ = harmed
    assert client.post("/reset", json={"session_id": "bad", "seed": 2}).status_code == 200
    assert client.post("/step", json={"session_id": "bad", "action": MECHANISM}).json()["steps"] == 1


def test_an_export_names_the_version_of_the_rules_and_of_the_package(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s", "seed": 1})
        export = Export.model_validate(client.get("/sessions/s/export").json())
    assert export.edgeworth == __version__ and export.rules == opening_of("auction", {}, 1).rules
