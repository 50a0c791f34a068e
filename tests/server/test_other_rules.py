"""Sessions that were opened under other rules: refused wherever they would be played, exported and deleted all the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from edgeworth.client import RemoteGame
from edgeworth.errors import OtherRules, ServerRefused
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.server.live import open_live
from edgeworth.server.models import Export, SessionList
from edgeworth.server.openings import Opening, opening_of
from running_servers import MECHANISM, OFFER, client_of, served_in_thread, settings_in


def store_old_sessions(folder: Path) -> None:
    """Leave a market of the first rules, as they were stored before rules had numbers, beside one of now and old talks."""
    with client_of(settings_in(folder)) as client:
        for name in ("old", "new"):
            client.post("/reset", json={"session_id": name, "seed": 7})
            client.post("/step", json={"session_id": name, "action": MECHANISM})
        client.post("/bargaining/reset", json={"session_id": "talks", "seed": 7, "opens": "agent"})
    with sqlite3.connect(folder / "sessions.sqlite") as store:
        for name in ("old", "talks"):
            (text,) = store.execute("SELECT opening FROM edgeworth_openings WHERE id = ?", (name,)).fetchone()
            opening = json.loads(text)
            del opening["rules"]
            store.execute("UPDATE edgeworth_openings SET opening = ? WHERE id = ?", (json.dumps(opening), name))
    store.close()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    store_old_sessions(tmp_path)
    with client_of(settings_in(tmp_path)) as found:
        yield found


def assert_refused(answer: httpx.Response) -> None:
    told = answer.json()
    assert (answer.status_code, told["code"], told["field"]) == (409, "other_rules", "session_id")
    assert f"opened under rules 1 of the auction game; rules {RULES} are in force here" in told["message"]
    assert "Open a new session" in told["remedy"] and (told["found"], told["expected"]) == (1, RULES)


def step(name: str, action: Any = MECHANISM) -> dict[str, Any]:
    return {"session_id": name, "action": action}


def test_a_market_of_other_rules_is_refused_at_every_door(client: TestClient) -> None:
    assert_refused(client.post("/step", json=step("old")))
    assert_refused(client.get("/state", params={"session_id": "old"}))
    for designer in ("adaptive", "uniform"):
        assert_refused(client.post("/api/design", json={"session_id": "old", "designer": designer}))


def test_other_sessions_are_not_hurt(client: TestClient) -> None:
    assert_refused(client.post("/step", json=step("old")))
    assert client.post("/step", json=step("new")).json()["steps"] == 2
    assert client.post("/bargaining/step", json=step("talks", OFFER)).json()["steps"] == 1


def test_a_session_of_other_rules_is_still_listed_exported_and_deleted(client: TestClient) -> None:
    lines = SessionList.model_validate(client.get("/sessions").json()).sessions
    assert {line.session_id: line.rules for line in lines} == {"new": RULES, "old": 1, "talks": 1}
    export = Export.model_validate(client.get("/sessions/old/export").json())
    assert (export.rules, export.seed, export.actions) == (1, 7, [MECHANISM])
    assert client.delete("/sessions/old").status_code == 204
    assert client.get("/sessions/old/export").status_code == 404


def test_a_new_episode_may_begin_in_the_place_of_an_old_session(client: TestClient) -> None:
    opened = client.post("/reset", json={"session_id": "old", "seed": 7}).json()
    assert opened["info"]["rules"] == RULES and client.post("/step", json=step("old")).json()["steps"] == 1


def test_a_socket_does_not_take_up_a_session_of_other_rules(tmp_path: Path) -> None:
    store_old_sessions(tmp_path)
    with served_in_thread(tmp_path) as url:
        with pytest.raises(ServerRefused, match="opened under rules 1 of the auction game") as refused:
            RemoteGame(url, session_id="old").state()
        assert refused.value.code == "other_rules"
        with RemoteGame(url, session_id="new") as market:
            assert market.step(MECHANISM).observation["round_number"] == 2


@pytest.mark.parametrize("rules", [1, RULES + 1])
def test_an_opening_of_other_rules_begins_no_episode(rules: int) -> None:
    with pytest.raises(OtherRules, match=f"under rules {rules} of the auction game; rules {RULES} are"):
        open_live(Opening("auction", 1, {}, rules=rules))


def test_an_opening_without_a_number_is_of_the_first_rules() -> None:
    assert Opening("auction", 1, {}).rules == 1
    assert (opening_of("auction", {}).rules, opening_of("bargaining", {}).rules) == (RULES, 1)
