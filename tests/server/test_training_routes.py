"""Training that is started over HTTP: bounded, one at a time, only on one's own machine."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from running_servers import client_of, served, settings_in

SHORT = {"preset": "ppo_fast", "scenario": "lewis", "seed": 3, "steps": 20_000}
LONG = {**SHORT, "steps": 20_000_000}


def ended(client: Any, base: str = "", seconds: float = 120.0) -> dict[str, Any]:
    """The training, once it is over."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        current: dict[str, Any] = client.get(f"{base}/trainings").json()["current"]
        if current["status"] != "running":
            return current
        time.sleep(0.1)
    raise AssertionError("The training goes on.")


def test_a_training_runs_and_its_curve_can_be_read(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        assert client.get("/trainings").json()["current"] is None
        begun = client.post("/trainings", json=SHORT)
        assert begun.status_code == 202 and begun.json()["status"] == "running"
        assert ended(client)["status"] == "finished"
        history = client.get("/runs/history", params={"name": begun.json()["name"]}).json()
        assert history["lines"][-1]["steps"] >= 20_000 and history["settings"]["env"]["scenario"] == "lewis"
        assert "--steps 20000" in begun.json()["command"] and history["checkpoints"]
        again = client.post("/trainings", json=SHORT).json()
        assert again["name"] == begun.json()["name"] + "_2"
        client.post("/trainings/cancel")
        ended(client)


def test_a_second_training_waits_and_a_cancelled_one_makes_room(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        assert client.post("/trainings/cancel").json()["code"] == "no_training"
        client.post("/trainings", json=LONG)
        refused = client.post("/trainings", json=SHORT)
        assert refused.status_code == 409 and refused.json()["code"] == "busy"
        assert client.post("/trainings/cancel").json()["cancelled"]
        assert ended(client)["status"] == "cancelled"
        assert client.post("/trainings", json=SHORT).status_code == 202
        assert ended(client)["status"] == "finished"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"steps": 20_000_001}, "steps"),
        ({"steps": 1}, "steps"),
        ({"preset": "../x"}, "preset"),
        ({"seed": -1}, "seed"),
        ({"out": "/tmp"}, "out"),
    ],
)
def test_only_our_presets_in_bounded_sizes_are_trained(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        refused = client.post("/trainings", json={**SHORT, **changes})
        assert refused.status_code == 422 and refused.json()["field"] == field
        assert client.post("/trainings", json={**SHORT, "scenario": "x.yaml"}).json()["code"] == "unknown_name"
        assert client.get("/trainings").json()["current"] is None


@pytest.mark.parametrize(
    "reach",
    [
        {"tokens": (("alice", "a-token-of-alice"),)},
        {"insecure": True},
        {"behind_proxy": True},
        {"host": "0.0.0.0", "insecure": True},
        {"root_path": "/lab"},
        {"hosts": ("lab",)},
    ],
)
def test_a_server_for_others_trains_nothing(tmp_path: Path, reach: dict[str, Any]) -> None:
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"), **reach)) as client:
        client.headers["authorization"] = "Bearer a-token-of-alice"
        overview = client.get("/trainings").json()
        assert not overview["available"] and overview["why"]
        for path, body in (("/trainings", SHORT), ("/trainings/cancel", None)):
            refused = client.post(path, json=body)
            assert refused.status_code == 403 and refused.json()["code"] == "not_local"


def test_a_training_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeworth.server.training.config_folder", lambda: tmp_path / "nowhere")
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        client.post("/trainings", json=SHORT)
        failed = ended(client)
        assert failed["status"] == "failed" and "ppo_fast.yaml" in failed["message"]


def test_a_training_does_not_know_the_address_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDGEWORTH_STORE", "postgresql://lab:hunter2@db/lab")
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        begun = client.post("/trainings", json=LONG).json()
        known = Path(f"/proc/{begun['pid']}/environ").read_bytes()
        client.post("/trainings/cancel")
        ended(client)
    assert b"hunter2" not in known and b"PATH=" in known


def test_workers_share_one_training_and_a_server_that_stops_ends_it(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as server:
        address = server.address()
        begun = httpx.post(f"{address}/trainings", json=LONG).json()
        others = [httpx.post(f"{address}/trainings", json=SHORT).status_code for _ in range(6)]
        assert others == [409] * 6
        assert {httpx.get(f"{address}/trainings").json()["current"]["pid"] for _ in range(6)} == {begun["pid"]}
        server.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(begun["pid"], 0)


def test_a_training_outlives_a_server_that_is_killed_and_the_next_one_can_cancel_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        begun = httpx.post(f"{server.address()}/trainings", json=LONG).json()
        server.stop(signal.SIGKILL)
    with served(tmp_path) as server:
        address = server.address()
        assert httpx.get(f"{address}/trainings").json()["current"]["status"] == "running"
        assert httpx.post(f"{address}/trainings", json=SHORT).status_code == 409
        assert httpx.post(f"{address}/trainings/cancel").json()["pid"] == begun["pid"]
        assert ended(httpx, address)["status"] == "ended"
