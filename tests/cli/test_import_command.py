"""`edgeworth import` brings an exported session into a store, where it goes on as it would have gone on at home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from edgeworth.cli import app
from edgeworth.errors import EdgeworthError
from running_servers import MECHANISM, client_of, no_longer_file, settings_in


def step(client: TestClient, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/step", json={"session_id": name, "action": MECHANISM}).json()
    return answer


def brought(file: Path, folder: Path, *flags: str) -> dict[str, Any]:
    words = ["import", str(file), "--store", f"sqlite:///{folder / 'sessions.sqlite'}", "--json", *flags]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """An exported session of two steps, and beside it the store that it came from."""
    file = tmp_path / "session.json"
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s", "seed": 7, "episode_length": 3})
        assert [step(client, "s")["steps"], step(client, "s")["steps"]] == [1, 2]
        file.write_text(client.get("/sessions/s/export").text)
    return file


def test_an_imported_session_goes_on_as_at_home_while_its_new_server_runs(exported: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    with client_of(settings_in(elsewhere)) as there, client_of(settings_in(tmp_path)) as home:
        assert brought(exported, elsewhere) == {"session_id": "s", "owner": "local", "game": "auction", "steps": 2}
        assert there.get("/sessions/s/export").json() == home.get("/sessions/s/export").json()
        assert step(there, "s") == step(home, "s")


def test_a_name_that_is_taken_stays_as_it_is(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(EdgeworthError, match="has a session 's' already"):
        brought(exported, tmp_path)
    assert brought(exported, tmp_path, "--name", "copy", "--owner", "ann")["owner"] == "ann"
    with client_of(settings_in(tmp_path)) as client:
        assert [line["session_id"] for line in client.get("/sessions").json()["sessions"]] == ["s"]  # the copy is Ann's


@pytest.mark.parametrize("flags", [("--name", "no name"), ("--owner", "a/b")])
def test_names_that_no_client_could_use_are_refused(exported: Path, tmp_path: Path, flags: tuple[str, str]) -> None:
    with pytest.raises(EdgeworthError, match="The name of the"):
        brought(exported, tmp_path, *flags)


def test_a_session_that_cannot_be_replayed_is_not_stored(exported: Path, tmp_path: Path) -> None:
    content = json.loads(exported.read_text())
    exported.write_text(json.dumps({**content, "actions": [*content["actions"], {"reserve_price": 5}]}))
    with pytest.raises(EdgeworthError, match="action 3 cannot be carried out"):
        brought(exported, tmp_path, "--name", "copy")
    with client_of(settings_in(tmp_path)) as client:
        assert len(client.get("/sessions").json()["sessions"]) == 1


def test_a_store_that_takes_no_write_is_an_error(exported: Path, tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)), no_longer_file(tmp_path), pytest.raises(EdgeworthError, match="disk I/O error"):
        brought(exported, tmp_path, "--name", "copy")
