"""A step of a market, sale by sale, over HTTP."""

from __future__ import annotations

from pathlib import Path

from running_servers import MECHANISM, client_of, settings_in


def test_the_sales_of_a_step_are_those_that_were_scored(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s", "seed": 8, "stage": 3, "truth": True})
        other = {**MECHANISM, "auction_type": "vcg", "reserve_price": 0.31}
        rewards = [client.post("/step", json={"session_id": "s", "action": action}).json()["reward"] for action in (MECHANISM, other)]
        held = [client.get("/sales", params={"session_id": "s", "step": step}).json() for step in (1, 2)]
    assert [step["composite"] for step in held] == rewards
    assert [step["mechanism"]["auction_type"] for step in held] == [MECHANISM["auction_type"], "vcg"]
    assert [sale["number"] for step in held for sale in step["sales"]] == list(range(1, 11))
    assert all(sale["story"] and len(sale["types"]) == 8 for step in held for sale in step["sales"])


def test_sales_are_told_only_at_the_end_or_where_the_truth_was_asked_for(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s", "seed": 8, "episode_length": 2})
        client.post("/step", json={"session_id": "s", "action": MECHANISM})
        refused = client.get("/sales", params={"session_id": "s", "step": 1})
        assert (refused.status_code, refused.json()["code"]) == (409, "not_over")
        client.post("/step", json={"session_id": "s", "action": MECHANISM})
        assert client.get("/sales", params={"session_id": "s", "step": 1}).status_code == 200


def test_a_step_that_was_not_played_has_no_sales(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "s", "truth": True})
        assert client.get("/sales", params={"session_id": "s", "step": 1}).status_code == 404
        client.post("/bargaining/reset", json={"session_id": "b"})
        assert client.get("/sales", params={"session_id": "b", "step": 1}).json()["code"] == "other_game"
