"""Prompts: variables in braces, checked when the prompt is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeworth.errors import DataError, InvalidOption
from edgeworth.llm.client import Message
from edgeworth.llm.prompt import capped, load_prompt, numbers_csv, parse_prompt

KNOWN = ("counts_csv", "turns", "p")


def test_variables_are_filled_in() -> None:
    prompt = parse_prompt("Pool {counts_csv}, {turns} moves, again {turns}.", KNOWN)
    assert prompt.messages({"counts_csv": "1,2,3", "turns": "4", "p": "unused"}) == (Message("user", "Pool 1,2,3, 4 moves, again 4."),)


def test_braces_written_twice_are_literal() -> None:
    prompt = parse_prompt('Reply {{"act_type": {turns}, "inner": {{}}}}', KNOWN)
    assert prompt.messages({"turns": "2"})[0].content == 'Reply {"act_type": 2, "inner": {}}'


def test_a_value_with_braces_is_left_as_it_is() -> None:
    assert parse_prompt("{turns}", KNOWN).messages({"turns": "{p} {{"})[0].content == "{p} {{"


def test_a_line_of_dashes_parts_system_from_user() -> None:
    prompt = parse_prompt("Rules for {p}.\n\n---\nState {turns}\n", KNOWN)
    assert prompt.messages({"p": "1", "turns": "2"}) == (Message("system", "Rules for 1."), Message("user", "State 2"))


def test_dashes_within_a_line_part_nothing() -> None:
    assert len(parse_prompt("a --- b\n--- c\n----\n", KNOWN).sections) == 1


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("one\n{count_csv}", 2, r"unknown variable 'count_csv'. Known: counts_csv, turns, p. Did you mean 'counts_csv'\?"),
        ("a\nb\n{xyzzy}", 3, "unknown variable 'xyzzy'"),
        ('Reply {"act_type": 0}', 1, r"'\{\"act_type\": 0\}' is no variable; write \{\{ and \}\}"),
        ("one\ntwo {", 2, r"'\{' is no variable"),
        ("one }", 1, r"'\}' is no variable"),
        ("{}", 1, "is no variable"),
        ("{turns:>3}", 1, "is no variable"),
        ("{turns\n}", 1, "is no variable"),
        ("a\n---\nb\n---\nc", 4, "a second line of ---"),
    ],
    ids=str,
)
def test_a_mistake_is_named_with_its_line_and_the_remedy(text: str, line: int, words: str) -> None:
    with pytest.raises(DataError, match=words) as refused:
        parse_prompt(text, KNOWN, path="mine.txt")
    assert (refused.value.path, refused.value.line) == ("mine.txt", line)


def test_a_variable_that_must_be_there_is_missed_at_load() -> None:
    with pytest.raises(DataError, match=r"the variable \{counts_csv\} is missing"):
        parse_prompt("Only {turns}.", KNOWN, required=("turns", "counts_csv"))


@pytest.mark.parametrize("text", ["", " \n ", "\n---\n"], ids=repr)
def test_an_empty_prompt_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="the prompt is empty"):
        parse_prompt(text, KNOWN)


def test_a_value_that_was_not_given_is_named_with_its_neighbour() -> None:
    with pytest.raises(InvalidOption, match=r"needs a value for 'counts_csv'. Given: count_csv. Did you mean 'count_csv'"):
        parse_prompt("{counts_csv}", KNOWN).messages({"count_csv": "1"})


def test_a_prompt_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("{turns}é", encoding="utf-8")
    assert load_prompt(tmp_path / "mine.txt", KNOWN).names == {"turns"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "binary"])
def test_a_file_that_is_no_prompt_is_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "mine.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"mine\.txt: (cannot be read|is not a text file)"):
        load_prompt(tmp_path / "mine.txt", KNOWN)


@given(st.text(alphabet="{}ab\n-_0p"))
def test_any_text_is_a_prompt_or_a_named_mistake(text: str) -> None:
    try:
        prompt = parse_prompt(text, KNOWN)
    except DataError:
        return
    assert prompt.messages(dict.fromkeys(KNOWN, "x"))


@given(st.text(max_size=60).filter(lambda text: "---" not in text))
def test_any_text_can_be_said_literally(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert parse_prompt(f"|{doubled}|", KNOWN).messages({})[0].content == f"|{text}|"


def test_a_history_keeps_its_newest_lines() -> None:
    assert capped(["one", "two", "three"], most_lines=2, most_chars=99) == "(1 earlier left out)\ntwo\nthree"


def test_a_history_keeps_within_its_characters() -> None:
    lines = [f"move number {n}" for n in range(30)]
    text = capped(lines, most_lines=30, most_chars=100)
    assert len(text) <= 100 and text.endswith("move number 29") and text.startswith("(25 earlier left out)")


def test_a_history_that_fits_is_whole_and_an_empty_one_says_so() -> None:
    assert capped(["one", "two"], 2, 99) == "one\ntwo" and capped([], 2, 99) == "none"


def test_numbers_are_no_longer_than_they_need_to_be() -> None:
    assert numbers_csv([1, 2.0, 3.336, 0.5, 10]) == "1,2,3.34,0.5,10"
