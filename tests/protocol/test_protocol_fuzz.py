"""Nothing but a value or a rejection ever comes out, whatever goes in: text, nested JSON, and good replies with something changed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeworth.protocol import Accepted, Reason, Rejection, Schema, parse_reply
from replies import CASES, HINT, said

HARNESS = Path(__file__).resolve().parents[1] / "fuzz" / "fuzz_protocol.py"

cases = st.sampled_from(sorted(CASES.values(), key=lambda case: case[0].name))
scraps = st.sampled_from(
    ["{", "}", "[", "]", '"', "'", "\\", ",", ":", "```", "\n", " ", "0", "1e999", "NaN", "true", "null", "-", "yes", "é", "\ud800", *HINT]
)
texts = st.one_of(st.text(), st.lists(scraps, max_size=60).map("".join))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from([*HINT]), st.text(max_size=3)), inner)),
    max_leaves=25,
)


def verdict(text: str, schema: Schema[Any]) -> Accepted[Any] | Rejection:
    """What comes out, with what must hold of it."""
    found = parse_reply(text, schema)
    assert isinstance(found, Accepted | Rejection)
    if isinstance(found, Rejection):
        assert isinstance(found.reason, Reason) and found.sentence and found.sentence.isprintable()
    assert parse_reply(text, schema) == found
    return found


@given(texts, cases)
@example('{"a": "\ud800"}', CASES["hint"])
@example('{"\ud800": 1}', CASES["hint"])
def test_any_text_gets_a_verdict(text: str, case: tuple[Schema[Any], dict[str, Any]]) -> None:
    verdict(text, case[0])


@given(json_values, cases)
def test_any_json_gets_a_verdict(value: Any, case: tuple[Schema[Any], dict[str, Any]]) -> None:
    verdict(json.dumps(value), case[0])


@given(cases, st.data())
def test_a_good_reply_with_some_values_changed_gets_a_verdict(case: tuple[Schema[Any], dict[str, Any]], data: st.DataObject) -> None:
    schema, values = case
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(values)), st.one_of(json_values, st.just(...)), min_size=1))
    verdict(said(values, **changes), schema)


@given(cases, st.data())
def test_a_good_reply_with_a_piece_changed_gets_a_verdict(case: tuple[Schema[Any], dict[str, Any]], data: st.DataObject) -> None:
    schema, values = case
    text = said(values)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 6)))
    verdict(text[:begin] + data.draw(texts) + text[end:], schema)


@given(cases, st.text(alphabet=st.characters(exclude_characters="{"), max_size=30), st.text(alphabet=st.characters(exclude_characters="{")))
def test_prose_without_braces_around_a_good_reply_changes_nothing(
    case: tuple[Schema[Any], dict[str, Any]], before: str, after: str
) -> None:
    schema, values = case
    assert verdict(f"{before} {said(values)} {after}", schema) == parse_reply(said(values), schema) or before.strip().startswith(("[", "`"))


@given(cases, st.text())
def test_the_order_of_the_keys_does_not_matter(case: tuple[Schema[Any], dict[str, Any]], order: str) -> None:
    schema, values = case
    shuffled = dict(sorted(values.items(), key=lambda item: (hash(order + item[0]), item[0])))
    assert verdict(json.dumps(shuffled), schema) == verdict(said(values), schema)


def test_the_coverage_guided_fuzzer_finds_nothing(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed (it has wheels for Linux; it is in the dev extra)")
    # no limit on memory: Linux counts the peak of the process that started the fuzzer as the fuzzer's own
    command = [
        sys.executable,
        str(HARNESS),
        str(tmp_path),
        "-runs=20000",
        "-max_total_time=15",
        "-max_len=512",
        "-seed=1",
        "-rss_limit_mb=0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4_000:]
