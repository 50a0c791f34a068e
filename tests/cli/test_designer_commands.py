"""`edgeworth designer …`, `robustness` and the auction's yardstick as a person or a script calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edgeworth.agents.designers import bundled
from edgeworth.agents.designers.bundled import BIDDERS, POPULATIONS
from edgeworth.agents.designers.schedule_search import ScheduleBudget
from edgeworth.agents.designers.search import SearchBudget
from edgeworth.cli import designers
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.auction_figures import draw_designers
from edgeworth.evaluation.yardstick import ORACLE, SCHEDULE, TOLD_STAGE, auction_yardstick
from edgeworth.games.auction.action import read_mechanism, read_mechanisms
from edgeworth.progress import silent

Call = Callable[..., Any]
SMALL = ("--effort", "1", "--seed", "3")
TINY = SearchBudget(
    restarts=1, candidates=8, first_markets=2, halvings=1, generations=1, parents=2, markets=4, finalists=2, final_markets=8
)


PLAN = ScheduleBudget(
    candidates=8, first_markets=2, halvings=1, generations=3, parents=3, children=3, markets=4, finalists=2, final_markets=40
)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that take a moment."""
    monkeypatch.setattr(designers, "SearchBudget", lambda: TINY)
    monkeypatch.setattr(designers, "ScheduleBudget", lambda: PLAN)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that is bundled goes to a folder of its own."""
    for name in ("mechanism_folder", "format_folder", "schedule_folder"):
        monkeypatch.setattr(bundled, name, lambda name=name: tmp_path / name)
    return tmp_path


def test_a_search_reports_the_best_of_each_format_and_writes_the_mechanism(called: Call, tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    run = called("designers", "search", "--stage", "3", "--n-agents", "5", *SMALL, "--out", str(out), "--json")
    found = json.loads(run.out)
    assert set(found["formats"]) == {"first_price", "second_price", "vcg"} and found["n_agents"] == 5
    assert read_mechanism(out).model_dump() == found["mechanism"] == found["formats"][found["mechanism"]["auction_type"]]["mechanism"]
    assert "best of each format" in called("designers", "search", "--stage", "3", "--n-agents", "3", *SMALL).out


def test_a_schedule_search_writes_its_steps_and_reports_its_gain(called: Call, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    words = ("designers", "search", "--schedule", "--stage", "4", *SMALL, "--out", str(out))
    run = called(*words)
    assert run.status == 0 and "what changes" in run.out and "Gain over the best constant, on the same markets:" in run.out
    assert len(read_mechanisms(out)) == 10
    found = json.loads(called(*words, "--json").out)
    assert len(found["schedule"]) == 10 and found["over_best_constant"]["n"] == found["score"]["n"]


def test_what_is_bundled_is_called_after_population_and_number(called: Call, folders: Path) -> None:
    assert called("designers", "search", "--stage", "2", "--n-agents", "3", "--bundle", *SMALL).status == 0
    assert called("designers", "search", "--stage", "2", "--n-agents", "3", "--schedule", "--bundle", *SMALL).status == 0
    best = read_mechanism(folders / "mechanism_folder" / "stage_2_n3.json")
    assert read_mechanisms(folders / "format_folder" / "stage_2_n3.json")[0] == best
    assert len(read_mechanisms(folders / "schedule_folder" / "stage_2_n3.json")) == 10
    refused = called("designers", "search", "--stage", "held_out_1", "--bundle", *SMALL)
    assert refused.status == 2 and "use --out" in refused.err


def test_the_bundle_is_all_populations_by_all_numbers(called: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    for name in ("best_constants", "best_schedule"):
        monkeypatch.setattr(designers, name, lambda config, *_, name=name, **__: made.append((name, config.stage, config.n_agents)))
    monkeypatch.setattr(designers, "fit", lambda prior, n_agents, **_: made.append(("forecasts", prior, n_agents)))
    monkeypatch.setattr(designers, "library", lambda n_agents, **_: made.append(("library", n_agents)))
    assert called("designers", "bundle").status == 0
    assert {entry[1:] for entry in made if entry[0] == "best_constants"} == {(s, n) for s in POPULATIONS for n in BIDDERS}
    assert len(made) == len(POPULATIONS) * (len(BIDDERS) + 1) + 2 * len(BIDDERS) + 1
    made.clear()
    assert called("designers", "bundle", "--n-agents", "3", "--only", "forecasts").status == 0
    assert made == [("forecasts", "stages", 3), ("forecasts", "mixed", 3)]
    assert "Did you mean 'library'" in called("designers", "bundle", "--only", "libary").err


def test_a_library_is_written_with_its_card(called: Call, tmp_path: Path) -> None:
    out = tmp_path / "library.npz"
    words = ("--n-agents", "3", "--clusters", "2", "--markets", "2", "--effort", "0.02", "--episodes", "20", "--out", str(out))
    run = called("designers", "library", *words)
    assert run.status == 0 and "Told the composition, R on mixed" in run.out
    card = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["n_agents"] == 3 and len(card["searched_compositions"]) <= 2 and card["populations"]["stages"]["score"]["n"] == 20


def test_a_fit_is_for_a_number_of_bidders(called: Call, tmp_path: Path) -> None:
    out = tmp_path / "forecasts.npz"
    run = called("designers", "fit", "--n-agents", "4", "--markets", "1000", "--out", str(out))
    assert run.status == 0 and out.is_file() and "nothing is bundled for 4 bidders" in run.err


def test_a_name_on_the_command_line_means_the_market_at_hand(called: Call) -> None:
    words = ("market", "--mechanism", "stage_4", "--steps", "1", "--quiet")
    assert "bundled for" not in called(*words).err
    assert "nothing is bundled for 11 bidders" in called(*words, "--n-agents", "11").err
    assert "nothing is bundled for 11 bidders" in called("market", "--designer", "told_stage", "--steps", "1", "--n-agents", "11").err


# The scale


@pytest.mark.parametrize("stage", ["3", "mixed", "stages"])
def test_the_scale_has_both_its_ends(stage: str) -> None:
    scale = auction_yardstick(AuctionConfig(stage=stage), 60, 0, silent)
    names = [row["designer"] for row in scale.rows]
    assert names[0] == ORACLE and names[-1] == "uniform" and {TOLD_STAGE, SCHEDULE} <= set(names) and scale.notes == []
    assert all("over_own_constant" in row for row in scale.rows if row["designer"] == SCHEDULE)


def test_told_the_stage_on_mixed_is_the_best_constant_for_mixed() -> None:
    rows = {row["designer"]: row["score"] for row in auction_yardstick(AuctionConfig(stage="mixed"), 60, 0, silent).rows}
    assert rows[TOLD_STAGE] == rows["best constant for mixed"]


def test_rows_that_cannot_be_say_why() -> None:
    scale = auction_yardstick(AuctionConfig(stage="dirichlet"), 60, 0, silent)
    names = {row["designer"] for row in scale.rows}
    assert ORACLE in names and not {TOLD_STAGE, SCHEDULE} & names
    assert any("no stage to be told" in note for note in scale.notes) and any("no schedule is bundled" in note for note in scale.notes)
    other = auction_yardstick(AuctionConfig(stage="1", n_agents=7), 60, 0, silent)
    assert any(note.startswith("oracle") and "7 bidders" in note for note in other.notes)


def test_on_held_out_mixes_told_the_stage_is_searched_for_each() -> None:
    scale = auction_yardstick(AuctionConfig(stage="held_out", n_agents=3, episode_length=2), 40, 0, silent, budget=TINY)
    assert {ORACLE, TOLD_STAGE} <= {row["designer"] for row in scale.rows}


def test_the_yardstick_keeps_what_a_schedule_gains(called: Call, tmp_path: Path) -> None:
    words = ("yardstick", "--game", "auction", "--stage", "stages", "--episodes", "100", "--model-episodes", "0", "--json")
    result = json.loads(called(*words).out)
    assert result["schedule_over_best_constant"]["stages"]["n"] == 100
    draw_designers(result, tmp_path / "scale.png")


# Robustness


def test_robustness_prints_and_writes_the_study(called: Call, tmp_path: Path) -> None:
    out, picture = tmp_path / "worlds.json", tmp_path / "worlds.png"
    run = called("robustness", "--quick", "--constants", "1", "--out", str(out), "--figure", str(picture))
    assert run.status == 0, run.err
    assert "the most influential constants" in run.out and "of 2 worlds" in run.out and "allow: what it costs" in run.out
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["worlds"] == 2 and result["command"].startswith("edgeworth robustness") and result["budget"]["constants"] == 1
    assert len(result["effects"]) == 3 and picture.is_file()
