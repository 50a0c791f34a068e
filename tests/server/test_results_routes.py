"""Results and studies over HTTP."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from edgeworth.server.studies import STUDIES
from running_servers import client_of, settings_in

ROOT = Path(__file__).resolve().parents[2]


def tables_in(tmp_path: Path, results: Path) -> dict[str, Any]:
    with client_of(settings_in(tmp_path, results=str(results))) as client:
        return {table["name"]: table for table in client.get("/results").json()["tables"]}


def test_our_results_become_tables_with_intervals_and_commands(tmp_path: Path) -> None:
    tables = tables_in(tmp_path, ROOT / "results")
    assert set(tables) == {"designers", "markets", "negotiators", "tournament"}
    for table in tables.values():
        assert table["rows"] and all(len(row["cells"]) == len(table["columns"]) for row in table["rows"])
        assert all(source["command"].startswith("edgeworth ") for source in table["sources"])
    markets = {row["name"]: row for row in tables["markets"]["rows"]}
    stages = tables["markets"]["columns"].index("stages")
    written = json.loads((ROOT / "results" / "yardstick_auction.json").read_text())["populations"]["stages"]
    assert {row["designer"]: row["score"] for row in written} == {
        name: row["cells"][stages] for name, row in markets.items() if row["cells"][stages]
    }
    ends = {name for name, row in markets.items() if row["on_axis"]}
    assert ends == {"oracle (told the composition)", "best constant for the stages", "informed_greedy", "uniform"}


def test_scores_of_negotiators_stand_beside_the_yardsticks_of_their_scenario(tmp_path: Path) -> None:
    table = tables_in(tmp_path, ROOT / "results")["negotiators"]
    classic = {row["name"]: row["cells"][table["columns"].index("classic")] for row in table["rows"]}
    assert classic["random"]["value"] < classic["PPO, classic"]["value"] < classic["bayes"]["value"] < classic["oracle"]["value"]
    assert [row["name"] for row in table["rows"] if row["yardstick"] and row["on_axis"]] == ["oracle", "bayes", "agree_first", "random"]


def test_a_server_without_results_has_no_tables(tmp_path: Path) -> None:
    assert tables_in(tmp_path, tmp_path / "nowhere") == {}


@pytest.mark.parametrize("content", ["{", "[1]", '{"populations": {"0": [{"designer": "x", "score": {"value": "much"}}]}}', '{"other": 1}'])
def test_a_damaged_file_is_reported_and_the_others_are_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / "designers.json").write_text(content)
    (tmp_path / "yardstick_auction.json").write_bytes((ROOT / "results" / "yardstick_auction.json").read_bytes())
    tables = tables_in(tmp_path, tmp_path)
    assert "designers.json cannot be shown" in tables["designers"]["notes"][0] and tables["markets"]["rows"]


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    file, score = tmp_path / "designers.json", {"value": 0.5, "low": None, "high": None, "n": 1}
    with client_of(settings_in(tmp_path, results=str(tmp_path))) as client:
        for name in ("one", "another"):
            file.write_text(json.dumps({"populations": {"0": [{"designer": name, "score": score}]}}))
            assert [row["name"] for row in client.get("/results").json()["tables"][0]["rows"]] == [name]


def test_every_study_is_listed_served_and_packaged(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        listed = client.get("/studies").json()["studies"]
        assert [study["name"] for study in listed] == list(STUDIES) and all(study["title"] for study in listed)
        for name in STUDIES:
            answer = client.get(f"/studies/{name}")
            assert answer.headers["content-type"].startswith("text/markdown") and answer.text.startswith("# ")
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {f"docs/{name}.md": f"edgeworth/server/pages/{name}.md" for name in STUDIES}.items() <= packaged.items()


@pytest.mark.parametrize("name", ["server", "../README", "..%2f..%2fREADME", "studies/../server", "blog.md", ""])
def test_only_studies_in_the_list_are_served(tmp_path: Path, name: str) -> None:
    with client_of(settings_in(tmp_path)) as client:
        assert client.get(f"/studies/{name}", follow_redirects=False).status_code in (307, 404)
