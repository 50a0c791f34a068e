"""`edgeworth parse`: one dialogue from a file or typed in, and the measurement of many, with broken lines named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MINE, THEIRS = "1 4 2 3 3 0", "1 1 2 0 3 3"
SELECTION = "<selection> item0=1 item1=2 item2=0 <eos> reward=10 agree"
TALK = f"{MINE} YOU: the book and the hats for me <eos> THEM: deal <eos> YOU: {SELECTION} {THEIRS}"


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.txt"
    path.write_text(f"{TALK}\n{MINE} YOU: oops\n", encoding="utf-8")
    return path


def test_a_dialogue_typed_in_is_read_line_by_line(called: Callable[..., Any]) -> None:
    run = called("parse", "--pool", "1,2,3", "--say", "YOU: i want the book and one hat", "--say", "THEM: ok")
    assert run.status == 0
    assert "PROPOSE 1 book, 1 hat" in run.out and "AGREE 1 hat, 3 balls" in run.out
    assert "The last offer: 1 book, 1 hat for YOU, 1 hat, 3 balls for THEM." in run.out


def test_a_dialogue_of_a_file_is_compared_with_its_deal(called: Callable[..., Any], talks: Path) -> None:
    run = called("parse", "--file", str(talks), "--line", "1")
    assert run.status == 0 and "the last offer is the deal" in run.out


def test_json_holds_every_reading(called: Callable[..., Any], talks: Path) -> None:
    found = json.loads(called("parse", "--file", str(talks), "--json").out)
    assert [(r["speaker"], r["act"], r["share"]) for r in found["readings"]] == [
        ("YOU", "PROPOSE", [1, 2, 0]),
        ("THEM", "AGREE", [0, 0, 3]),
    ]
    assert found["last_offer"] == found["deal"] == [1, 2, 0]


def test_a_broken_line_is_named_and_left_out_only_when_asked_to(called: Callable[..., Any], talks: Path, tmp_path: Path) -> None:
    refused = called("parse", "--evaluate", str(talks))
    assert refused.status == 1 and "talks.txt, line 2: expected a dialogue that ends with '<selection>'" in refused.err
    out = tmp_path / "parsing.json"
    run = called("parse", "--evaluate", str(talks), "--skip-broken", "--out", str(out))
    assert run.status == 0 and "Left out 1 broken line:" in run.err and "talks.txt, line 2" in run.err
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["parts"]["all"]["accuracy"]["value"] == 1.0 and len(result["broken"]) == 1


def test_labelled_utterances_are_measured_without_dialogues(called: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"pool": [1, 2, 3], "say": "YOU: i want it all", "act": "PROPOSE", "share": [1, 2, 3], "phenomenon": "whole pool"}\n')
    run = called("parse", "--labelled", str(path))
    assert run.status == 0 and "own: 1.000 of the acts are right" in run.out and "whole pool" in run.out
    assert json.loads(called("parse", "--labelled", str(path), "--json").out)["labelled"]["own"]["accuracy"]["value"] == 1.0


def test_a_file_of_broken_lines_alone_is_an_error_even_then(called: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "talks.txt"
    path.write_text("what?\n", encoding="utf-8")
    run = called("parse", "--evaluate", str(path), "--skip-broken")
    assert run.status == 1 and "found only broken lines" in run.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "Expected one of --file"),
        (("--pool", "1,2", "--say", "YOU: ok"), "--pool is '1,2'"),
        (("--say", "YOU: ok"), "--pool is missing"),
        (("--pool", "1,2,3", "--say", "ok"), '--say is \'ok\'; expected "YOU: …" or "THEM: …"'),
    ],
)
def test_a_wrong_call_says_what_was_expected(called: Callable[..., Any], words: tuple[str, ...], problem: str) -> None:
    run = called("parse", *words)
    assert run.status == 2 and problem in run.err
