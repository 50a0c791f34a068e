"""The options of a session are bounded in number and length, and name no file, however a session is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeworth.errors import EdgeworthError, UnknownName
from edgeworth.server.live import open_live
from edgeworth.server.openings import opening_of
from running_servers import client_of, settings_in

HEURISTICS = {f"heuristic {number}": {"partner": "heuristic"} for number in range(3_000)}
LONG: list[tuple[str, dict[str, Any]]] = [
    ("auction", {"freeze": ["ring"] * 23_000}),
    ("auction", {"freeze": ["ring", "ring", "learning", "entry"]}),
    ("auction", {"stage": "0" * 200_000}),
    ("auction", {"mix": {"truthful": 1.0} | {f"truthful {number}": 0.0 for number in range(10_000)}}),
    ("auction", {"model": {"ring": {"overbid": [0.1] * 20_000}}}),
    ("bargaining", {"partner": "heuristic" * 20_000}),
    ("bargaining", {"partner": "population", "partner_options": {"members": HEURISTICS}}),
    ("bargaining", {"partner": "population", "partner_options": {"held_out": HEURISTICS}}),
    ("bargaining", {"partner": "population", "partner_options": {"members": {"h" * 200_000: {"partner": "heuristic"}}}}),
    ("bargaining", {"reservation": [0.1] * 20_000}),
    ("bargaining", {"counts": [1] * 20_000, "my_utilities": [1, 1, 1], "partner_utilities": [1, 1, 1]}),
]


@pytest.mark.parametrize(
    ("game", "options"), LONG, ids=[f"{game} {next(reversed(options))} {number}" for number, (game, options) in enumerate(LONG)]
)
def test_an_opening_that_is_too_long_is_refused_in_a_short_sentence(game: str, options: dict[str, Any]) -> None:
    with pytest.raises(EdgeworthError) as refused:
        open_live(opening_of(game, options, 1))
    assert len(str(refused.value)) < 500


def test_a_refusal_names_the_limit(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        answer = client.post("/reset", json={"freeze": ["ring"] * 23_000})
        assert client.get("/sessions").json() == {"sessions": []}
    assert answer.status_code == 422 and answer.json()["message"].endswith("; expected at most 3 entries.")


def test_every_adapting_part_can_be_frozen_and_a_population_can_be_large() -> None:
    assert open_live(opening_of("auction", {"freeze": ["learning", "ring", "entry"]}, 1)).steps == 0
    members = dict(list(HEURISTICS.items())[:64])
    assert open_live(opening_of("bargaining", {"partner": "population", "partner_options": {"members": members}}, 1)).steps == 0


@pytest.mark.parametrize("members", [{"PATH": 1.0}, {"mine": {"partner": "PATH"}}])
def test_a_member_of_a_population_cannot_be_a_file_of_the_server(tmp_path: Path, members: dict[str, Any]) -> None:
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(b"not a checkpoint")
    named = json.loads(json.dumps(members).replace("PATH", str(file)))
    for group in ("members", "held_out"):
        with pytest.raises(UnknownName, match="Unknown partner"):
            opening_of("bargaining", {"partner": "population", "partner_options": {group: named}}, 1)
