"""Measuring how dialogue acts are read: every dialogue once, right and wrong told apart, broken lines named."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeworth.dialogues.deal_or_no_dialog import read_dialogue, read_dialogues
from edgeworth.errors import DataError
from edgeworth.evaluation.labelled import measure_labelled, read_labelled
from edgeworth.evaluation.parsing import distinct, measure_dialogues
from edgeworth.evaluation.parsing_figures import draw_reliability, reliability_finding

MINE, THEIRS = "1 4 2 3 3 0", "1 1 2 0 3 3"
BOOK_AND_HATS = "<selection> item0=1 item1=2 item2=0 <eos> reward=10 agree"
BALLS = "<selection> item0=0 item1=0 item2=3 <eos> reward=9 agree"
RIGHT = f"{MINE} YOU: the book and the hats for me <eos> THEM: deal <eos> YOU: {BOOK_AND_HATS} {THEIRS}"
RIGHT_TURNED = f"{THEIRS} THEM: the book and the hats for me <eos> YOU: deal <eos> THEM: {BALLS} {MINE}"
WRONG = f"{MINE} YOU: i want a hat <eos> THEM: deal <eos> YOU: <selection> item0=0 item1=2 item2=0 <eos> reward=6 agree {THEIRS}"
PARTED = f"{MINE} YOU: i want the hats <eos> THEM: no <eos> YOU: <selection> no agreement <eos> reward=no agreement agree {THEIRS}"
BROKEN = f"{MINE} YOU: i want the hats"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_dialogue_seen_from_both_sides_counts_once(tmp_path: Path) -> None:
    dialogues = read_dialogues(write(tmp_path / "talks.txt", RIGHT, RIGHT_TURNED, WRONG))
    assert [d.line for d in distinct(dialogues)] == [1, 3]


def test_agreed_dialogues_are_right_or_wrong_and_the_others_only_tell_their_last_act(tmp_path: Path) -> None:
    dialogues = read_dialogues(write(tmp_path / "talks.txt", RIGHT, WRONG, PARTED))
    seen: list[int] = []
    part = measure_dialogues({"mine": dialogues}, progress=lambda what, done, total: seen.append(total))["mine"]
    assert (part["dialogues"], part["agreed"], part["accuracy"]["value"]) == (3, 2, 0.5)
    assert part["misses"] == {"one unit of one type": 1}
    assert part["last_act"]["agreed"]["AGREE"] == 2 and part["last_act"]["not agreed"]["DISAGREE"] == 1
    assert sum(row["n"] for row in part["by_evidence"]) == 2


def test_parts_are_also_measured_together(tmp_path: Path) -> None:
    dialogues = read_dialogues(write(tmp_path / "talks.txt", RIGHT, WRONG))
    measured = measure_dialogues({"a": dialogues[:1], "b": dialogues[1:]})
    assert [measured[name]["accuracy"]["value"] for name in ("a", "b", "all")] == [1.0, 0.0, 0.5]


def test_a_broken_line_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"talks.txt, line 2: expected a dialogue that ends with '<selection>'"):
        read_dialogues(write(tmp_path / "talks.txt", RIGHT, BROKEN, WRONG))


def test_broken_lines_are_collected_where_a_list_is_given(tmp_path: Path) -> None:
    broken: list[DataError] = []
    dialogues = read_dialogues(write(tmp_path / "talks.txt", BROKEN, RIGHT, "", "what?", WRONG), broken=broken)
    assert [d.line for d in dialogues] == [2, 5]
    assert sorted(error.line or 0 for error in broken) == [1, 3, 4]


def test_a_folder_gives_up_broken_lines_of_every_file(tmp_path: Path) -> None:
    def tagged(selection: str = "<selection>") -> str:
        talk = f"YOU: the hats for me <eos> THEM: deal <eos> YOU: {selection}"
        output = "item0=0 item1=2 item2=0 item0=1 item1=0 item2=3"
        return (
            f"<input> {MINE} </input> <dialogue> {talk} </dialogue> <output> {output} </output> <partner_input> {THEIRS} </partner_input>"
        )

    held_out = f"{MINE} YOU: the hats for me <eos> THEM: deal <eos> YOU: <selection> item0=0 item1=2 item2=0 <eos> reward=6 agree {THEIRS}"
    write(tmp_path / "data.txt", RIGHT, BROKEN, held_out, held_out)
    write(tmp_path / "val.txt", tagged(), tagged("oops"))
    write(tmp_path / "test.txt", tagged())
    with pytest.raises(DataError, match=r"val\.txt, line 2"):
        read_dialogues(tmp_path, "train")
    broken: list[DataError] = []
    assert [d.line for d in read_dialogues(tmp_path, "train", broken)] == [1]
    assert [(Path(error.path).name, error.line) for error in broken] == [("val.txt", 2), ("data.txt", 2)]


def test_one_line_is_read_whatever_the_others_are(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.txt", BROKEN, RIGHT, "", WRONG)
    assert read_dialogue(path, 2).my_share == (1, 2, 0)
    for number, problem in ((1, "line 1: expected"), (3, "line 3: expected one record"), (9, "from 1 to 4; found 9")):
        with pytest.raises(DataError, match=problem):
            read_dialogue(path, number)


def test_labelled_utterances_give_the_confusion(tmp_path: Path) -> None:
    path = write(
        tmp_path / "labelled.jsonl",
        '{"pool": [1, 2, 3], "say": "YOU: the hats for me", "act": "PROPOSE", "share": [0, 2, 0]}',
        '{"pool": [1, 2, 3], "before": ["THEM: the hats for me"], "say": "YOU: no way", "act": "AGREE"}',
    )
    measured = measure_labelled(read_labelled(path))
    assert measured["act_accuracy"]["value"] == 0.5 and measured["split_accuracy"]["value"] == 1.0
    assert measured["confusion"]["AGREE"]["DISAGREE"] == 1 and measured["confusion"]["PROPOSE"]["PROPOSE"] == 1


def test_labelled_utterances_are_counted_by_phenomenon_and_confidence(tmp_path: Path) -> None:
    path = write(
        tmp_path / "labelled.jsonl",
        '{"pool": [1, 2, 3], "say": "YOU: the hats for me", "act": "PROPOSE", "share": [0, 2, 0], "phenomenon": "plain"}',
        '{"pool": [1, 2, 3], "offers": ["THEM: 0,2,0"], "say": "YOU: deal", "act": "AGREE", "share": [1, 0, 3], "phenomenon": "plain"}',
        '{"pool": [1, 2, 3], "say": "YOU: hat for me, book for you", "act": "unclear", "phenomenon": "unclear"}',
        '{"pool": [1, 2, 3], "say": "YOU: the hats for me", "act": "unclear", "phenomenon": "unclear"}',
    )
    measured = measure_labelled(read_labelled(path))
    assert measured["by_phenomenon"] == {
        "plain": {"n": 2, "right": 2, "asked": 0, "misread": 0},
        "unclear": {"n": 2, "right": 1, "asked": 0, "misread": 1},
    }
    assert measured["accuracy"]["value"] == 0.75 and measured["act_accuracy"]["n"] == 2
    assert sum(level["right"]["n"] for level in measured["reliability"]) == 2


def test_the_figure_of_reliability_says_how_often_the_surest_readings_are_right(tmp_path: Path) -> None:
    said = "YOU: the hats for me, the rest for you"
    path = write(tmp_path / "own.jsonl", f'{{"pool": [1, 2, 3], "say": "{said}", "act": "PROPOSE", "share": [0, 2, 0]}}')
    result = {"together": measure_labelled(read_labelled(path))}
    draw_reliability(result, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 0
    assert reliability_finding(result) == "Of 1 reading with a confidence of 0.95 or more, 100.0% are right."
    unsure = write(tmp_path / "unsure.jsonl", '{"pool": [1, 2, 3], "say": "YOU: hello", "act": "none"}')
    assert reliability_finding({"together": measure_labelled(read_labelled(unsure))}).startswith("No reading has a confidence")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "a JSON object"),
        ('{"pool": [1, 2, 3], "act": "AGREE"}', "with pool, say and act"),
        ('{"pool": [1, 2, 3], "say": "YOU: ok", "act": "NOD"}', "an act of PROPOSE"),
        ('{"pool": [1, 2], "say": "YOU: ok", "act": "AGREE"}', "pool as a list of three"),
        ('{"pool": [1, 2, 3], "say": "ok", "act": "AGREE"}', "'YOU: …' or 'THEM: …'"),
        ('{"pool": [1, 2, 3], "offers": ["THEM: 1,2"], "say": "YOU: ok", "act": "AGREE"}', "the offer 'THEM: 1,2' as a list of three"),
    ],
)
def test_a_broken_label_is_named(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        read_labelled(write(tmp_path / "labelled.jsonl", line))
