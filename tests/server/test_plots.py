"""Figures and data under /plots/: which files are shown, and figures drawn from histories."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from fastapi.testclient import TestClient

from edgeworth.errors import MissingExtra
from edgeworth.server import plots
from edgeworth.server.settings import ServerSettings
from running_servers import client_of, served, settings_in

PNG = b"\x89PNG\r\n"
GRPO = [{"steps": step, "seconds": 2.0 * step, "reward": step / 10, "reward_std": 0.1, "kl": 0.0, "loss": 0.5} for step in range(1, 6)]


def write_run(folder: Path, lines: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "training_history.json").write_text(json.dumps(lines), encoding="utf-8")
    (folder / "metrics.csv").write_text("steps,reward\n1,0.1\n", encoding="utf-8")
    (folder / "config.yaml").write_text("trainer: grpo\n", encoding="utf-8")


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    """Folders of results and runs, with a secret beside them."""
    for path in (tmp_path / "secret.png", tmp_path / "secret.csv", tmp_path / "secret" / "training_history.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(PNG)
    (tmp_path / "figures" / "deep").mkdir(parents=True)
    (tmp_path / "figures" / "a.png").write_bytes(PNG)
    (tmp_path / "figures" / "deep" / "b.png").write_bytes(PNG)
    write_run(tmp_path / "trained" / "grpo seed#1", GRPO)
    (tmp_path / "trained" / "sessions.sqlite").write_bytes(b"secret")
    return settings_in(tmp_path, results=str(tmp_path / "figures"), runs=str(tmp_path / "trained"))


@pytest.fixture
def client(settings: ServerSettings) -> Iterator[TestClient]:
    with client_of(settings) as client:
        yield client


def test_the_index_links_to_every_figure_and_to_the_data_of_runs(client: TestClient) -> None:
    page = client.get("/plots/")
    links = {urljoin("/plots/", part.partition('"')[0]) for part in page.text.split('href="')[1:]} - {"/"}
    assert links == {
        "/plots/results/a.png",
        "/plots/results/deep/b.png",
        "/plots/runs/grpo%20seed%231/metrics.csv",
        "/plots/runs/grpo%20seed%231/training_history.json",
        "/plots/runs/grpo%20seed%231/training_history.png",
    }
    kinds = {link.rpartition(".")[2]: client.get(link).headers["content-type"].partition(";")[0] for link in links}
    assert "<figcaption>results/deep/b</figcaption>" in page.text
    assert kinds == {"png": "image/png", "csv": "text/csv", "json": "application/json"}
    assert client.get("/plots/runs/grpo%20seed%231/training_history.json").json() == GRPO


def test_a_server_without_runs_says_how_to_get_a_figure(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path, results=str(tmp_path / "none"), runs=str(tmp_path / "none"))) as client:
        assert "No figures yet" in client.get("/plots/").text


@pytest.mark.parametrize(
    "name",
    [
        "secret.png",
        "runs/../secret.png",
        "runs/..%2fsecret.png",
        "runs/%2e%2e/secret.csv",
        "runs/%2e%2e%2f%2e%2e%2fetc/passwd",
        "runs/..%5csecret.png",
        "..%2fsecret/training_history.json",
        "..%2fsecret/training_history.png",
        "%2fetc%2fpasswd",
        "runs//etc/passwd",
        "runs/grpo seed%231/config.yaml",
        "runs/sessions.sqlite",
        "runs/grpo seed%231/metrics.csv%00.png",
        "runs/",
        "runs",
    ],
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    answer = client.get(f"/plots/{name}")
    assert answer.status_code == 404 and answer.json()["code"] in ("not_found", "no_such_route")


def test_links_out_of_the_folders_and_hidden_files_are_not_served(client: TestClient, tmp_path: Path) -> None:
    runs = tmp_path / "trained"
    (runs / "out.png").symlink_to(tmp_path / "secret.png")
    (runs / "out").symlink_to(tmp_path / "secret", target_is_directory=True)
    (runs / ".hidden").mkdir()
    (runs / ".hidden" / "metrics.csv").write_text("a", encoding="utf-8")
    (runs / "folder.png").mkdir()
    page = client.get("/plots/").text
    for name in ("out.png", "out/training_history.json", "out/training_history.png", ".hidden/metrics.csv", "folder.png"):
        assert client.get(f"/plots/runs/{name}").status_code == 404 and name not in page


def test_a_figure_is_drawn_once_and_again_when_its_history_changes(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Path] = []
    monkeypatch.setattr(plots, "drawn", lambda run: runs.append(run) or b"figure %d" % len(runs))
    folder, link = tmp_path / "trained" / "grpo seed#1", "/plots/runs/grpo%20seed%231/training_history.png"
    assert [client.get(link).content for _ in range(3)] == [b"figure 1"] * 3
    write_run(folder, GRPO[:3])
    os.utime(folder / "training_history.json", ns=(1, 1))
    assert client.get(link).content == b"figure 2"


def test_the_folders_are_walked_once_while_many_ask(settings: ServerSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[Path] = []
    monkeypatch.setattr(plots, "_files_in", lambda root: walked.append(root) or iter(()))
    with client_of(settings) as client:
        for path in ("/plots/", "/plots/results/a.png", "/runs", "/runs/history?name=x", "/runs"):
            client.get(path)
    assert len(walked) == 2  # results and runs, once each


def test_what_is_remembered_is_computed_again_when_it_is_too_old() -> None:
    now, computed = [0.0], iter(range(10))
    remembered = plots.Remembered(lambda: next(computed), seconds=2.0, clock=lambda: now[0])
    assert (remembered(), remembered()) == (0, 0)
    now[0] = 2.1
    assert (remembered(), remembered()) == (1, 1)


def test_a_figure_that_was_deleted_meanwhile_is_not_found(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/plots/results/a.png").status_code == 200
    (tmp_path / "figures" / "a.png").unlink()
    assert client.get("/plots/results/a.png").status_code == 404


def test_only_the_last_figures_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "drawn", lambda run: run.name.encode())
    monkeypatch.setattr(plots, "KEPT_FIGURES", 2)
    figures = plots.DrawnFigures()
    for name in ("a", "b", "c"):
        write_run(tmp_path / name, GRPO)
        assert figures._figure(tmp_path / name / "training_history.json") == name.encode()
    assert [key[0].parent.name for key in figures._kept] == ["b", "c"]


def test_a_figure_of_a_runs_own_is_not_drawn_over(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "trained" / "grpo seed#1" / "training_history.png").write_bytes(PNG)
    assert client.get("/plots/runs/grpo%20seed%231/training_history.png").content == PNG


@pytest.mark.parametrize(
    "lines", [[], GRPO[:1], [{"reward": 1.0}, {"reward": 2.0}], [{"steps": 1, "share_of_maximum": 1.0}], "nonsense", [1, 2]]
)
def test_a_history_without_a_curve_is_refused_without_its_place(client: TestClient, tmp_path: Path, lines: Any) -> None:
    write_run(tmp_path / "trained" / "early", lines)
    answer = client.get("/plots/runs/early/training_history.png")
    assert answer.status_code == 404 and "cannot be drawn" in answer.json()["message"] and str(tmp_path) not in answer.text


def test_without_the_drawing_library_the_answer_names_the_extra(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise MissingExtra("A figure", "matplotlib", "train")

    monkeypatch.setattr("edgeworth.evaluation.figures.pyplot", missing)
    answer = client.get("/plots/runs/grpo%20seed%231/training_history.png")
    assert answer.status_code == 501 and "the extra `train`" in answer.json()["message"]


def test_the_command_is_told_the_folders(settings: ServerSettings, tmp_path: Path) -> None:
    with served(tmp_path, "--runs", settings.runs, "--results", settings.results) as server:
        address = server.address()
        assert httpx.get(f"{address}/plots/results/a.png").content == PNG
        figure = httpx.get(f"{address}/plots/runs/grpo%20seed%231/training_history.png", timeout=60)
        assert figure.status_code == 200 and figure.content.startswith(PNG)
