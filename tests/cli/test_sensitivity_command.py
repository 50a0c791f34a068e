"""`edgeworth sensitivity` as a person or a script calls it, and what it measures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.cli.market import WELL_MEANT
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.auction_figures import sensitivity_finding
from edgeworth.evaluation.sensitivity import sensitivity
from edgeworth.evaluation.statistics import paired_difference
from edgeworth.games.auction.action import FIELDS

Call = Callable[..., Any]
"""The fixture `called`: runs a command and gives its status, output and messages."""


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A mechanism file to start from, off the grid of reserves."""
    path = tmp_path / "base.json"
    path.write_text(json.dumps({**WELL_MEANT.model_dump(), "reserve_price": 0.23}), encoding="utf-8")
    return str(path)


def level(result: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """One level of one field in the first stage."""
    entry = next(entry for entry in result["stages"][0]["fields"] if entry["field"] == field)
    found: dict[str, Any] = next(level for level in entry["levels"] if level["level"] == value)
    return found


def test_the_effects_are_written_drawn_and_printed(called: Call, base: str, tmp_path: Path) -> None:
    out, picture = tmp_path / "effects.json", tmp_path / "effects.png"
    words = ["sensitivity", "--stage", "3", "--mechanism", base, "--episodes", "40", "--out", str(out), "--figure", str(picture)]
    run = called(*words)
    assert run.status == 0, run.err
    assert "stage 3: mean R" in run.out and "collusion_penalty" in run.out
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["command"].startswith("edgeworth sensitivity --stage 3") and result["seeds"] == "0 to 39"
    assert [entry["field"] for entry in result["stages"][0]["fields"]] == list(FIELDS)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_every_level_is_there_and_the_base_changes_nothing(called: Call, base: str) -> None:
    run = called("sensitivity", "--stage", "4", "--mechanism", base, "--episodes", "30", "--json")
    result = json.loads(run.out)
    sizes = {entry["field"]: len(entry["levels"]) for entry in result["stages"][0]["fields"]}
    assert sizes["auction_type"] == 3 and sizes["coalition_policy"] == 4 and sizes["reveal_reserve"] == 2
    assert sizes["reserve_price"] == 9 and sizes["shill_penalty"] == 6, "the base's own reserve stands between the levels"
    own = level(result, "reserve_price", 0.23)
    assert own["is_base"] and (own["value"], own["low"], own["high"]) == (0.0, 0.0, 0.0)
    for entry in result["stages"][0]["fields"]:
        assert sum(item["is_base"] for item in entry["levels"]) == 1
        assert all(item["low"] <= item["value"] <= item["high"] for item in entry["levels"])


def test_under_allow_the_collusion_penalty_changes_nothing() -> None:
    legal = WELL_MEANT.model_copy(update={"coalition_policy": "allow"})
    found = sensitivity("3", AuctionConfig(stage="3"), legal, episodes=30, seed=5)
    effect = next(effect for effect in found["fields"] if effect["field"] == "collusion_penalty")
    assert all(item["value"] == 0.0 for item in effect["levels"])


def test_a_forbidding_reserve_ruins_every_market() -> None:
    found = sensitivity("0", AuctionConfig(stage="0"), WELL_MEANT, episodes=40, seed=0)
    reserve = {item["level"]: item for item in found["fields"][FIELDS.index("reserve_price")]["levels"]}
    assert reserve[0.8]["high"] < -0.2


def test_pairing_the_episodes_removes_the_luck_of_the_draw() -> None:
    rng = np.random.default_rng(0)
    luck = rng.normal(0.0, 1.0, 400)
    change = paired_difference(luck + 0.1 + rng.normal(0.0, 0.01, 400), luck)
    assert change.low < 0.1 < change.high and change.high - change.low < 0.01


def test_the_caption_names_the_field_that_matters_most() -> None:
    def entry(field: str, value: float, half: float) -> dict[str, Any]:
        levels = [
            {"level": False, "value": 0.0, "low": 0.0, "high": 0.0},
            {"level": True, "value": value, "low": value - half, "high": value + half},
        ]
        return {"field": field, "levels": levels}

    stages = [{"stage": "2", "fields": [entry("reveal_reserve", -0.09, 0.01), entry("reveal_clearing_price", 0.02, 0.01)]}]
    assert sensitivity_finding({"stages": stages}) == (
        "Every field moves mean R somewhere: most of all reveal_reserve (yes at stage 2: −0.090),"
        " least reveal_clearing_price (yes at stage 2: +0.020)."
    )
    stages[0]["fields"][1] = entry("reveal_clearing_price", 0.02, 0.03)  # type: ignore[index]
    finding = sensitivity_finding({"stages": stages})
    assert "1 of 2 fields move" in finding and "reveal_clearing_price does not." in finding


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stage", "mixd"], "Did you mean 'mixed'?"),
        (["--stage", "held_out", "--episodes", "20"], "No best mechanism is known for stage 'held_out'"),
        (["--episodes", "3"], "greater than or equal to 20"),
        (["--stage", "3", "--mechanism", "none.json"], "none.json: cannot be read"),
        (["--stage", "3", "--n-agents", "17"], "expected 2 to 16."),
    ],
    ids=" ".join,
)
def test_a_wrong_call_gets_one_sentence_and_status_2(called: Call, words: list[str], sentence: str) -> None:
    run = called("sensitivity", *words)
    assert run.status == 2
    assert sentence in run.err and run.out == ""


def test_a_mechanism_file_without_a_field_is_a_wrong_call(called: Call, tmp_path: Path) -> None:
    path = tmp_path / "short.json"
    path.write_text('{"auction_type": "vcg"}', encoding="utf-8")
    run = called("sensitivity", "--stage", "3", "--mechanism", str(path))
    assert run.status == 2 and "reserve_price is missing" in run.err
