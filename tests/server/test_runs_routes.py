"""Runs over HTTP."""

from __future__ import annotations

from pathlib import Path

from edgeworth.runlog import RunLog
from running_servers import client_of, settings_in


def a_run(folder: Path, lines: int) -> None:
    log = RunLog.begin(folder, {"algo": "ppo"}, "edgeworth train", with_tensorboard=False)
    for number in range(lines):
        log.add({"steps": 10 * number, "reward": float("nan") if number == 0 else number / 10})
    log.close()


def test_runs_are_listed_with_their_metrics_and_settings(tmp_path: Path) -> None:
    a_run(tmp_path / "runs" / "study" / "one", 3)
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        listed = client.get("/runs").json()["runs"]
        assert [(run["name"], run["command"], run["checkpoints"]) for run in listed] == [("study/one", "edgeworth train", [])]
        found = client.get("/runs/history", params={"name": "study/one"}).json()
    assert found["settings"] == {"algo": "ppo"} and found["total"] == 3
    assert found["lines"] == [{"steps": 0, "reward": None}, {"steps": 10, "reward": 0.1}, {"steps": 20, "reward": 0.2}]


def test_a_long_history_is_thinned_out_and_keeps_its_last_line(tmp_path: Path) -> None:
    a_run(tmp_path / "runs" / "long", 1000)
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        found = client.get("/runs/history", params={"name": "long"}).json()
    assert len(found["lines"]) <= 401 and found["lines"][-1]["steps"] == 9990 and found["total"] == 1000


def test_only_runs_in_the_list_are_opened(tmp_path: Path) -> None:
    a_run(tmp_path / "elsewhere", 1)
    (tmp_path / "runs").mkdir()
    with client_of(settings_in(tmp_path, runs=str(tmp_path / "runs"))) as client:
        for name in ("../elsewhere", str(tmp_path / "elsewhere"), "", "nothing"):
            assert client.get("/runs/history", params={"name": name}).status_code == 404
        assert client.get("/runs").json() == {"runs": []}
