"""The road from a reply to a value: what is understood, what is rejected, and for which reason."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from edgeworth.protocol import MAX_DEPTH, MAX_LENGTH, Accepted, Reason, Rejection, Schema, list_of, parse_reply, whole_number
from replies import CASES, EVERY_ACT, HINT, HINT_SCHEMA, said

SHARE = json.dumps(HINT["oA"])


def rejection(text: str | None, schema: Schema[Any] = HINT_SCHEMA) -> Rejection:
    verdict = parse_reply(text, schema)
    assert isinstance(verdict, Rejection), verdict
    return verdict


def accepts(text: str, schema: Schema[Any] = HINT_SCHEMA) -> bool:
    return isinstance(parse_reply(text, schema), Accepted)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


REJECTED: dict[str, tuple[Reason, str | None, str | None]] = {
    "nobody answered": (Reason.NO_REPLY, None, None),
    "too long": (Reason.TOO_LONG, said(HINT) + " " * MAX_LENGTH, None),
    "empty": (Reason.NO_JSON, "", None),
    "only prose": (Reason.NO_JSON, "I would propose two books and a ball.", None),
    "braces in prose": (Reason.NO_JSON, r"It is worth \frac{1}{2} of {the pool}.", None),
    "broken off": (Reason.BAD_JSON, said(HINT)[:-5], None),
    "broken off in a string": (Reason.BAD_JSON, '{"act_type', None),
    "broken off after a backslash": (Reason.BAD_JSON, '{"act_type\\', None),
    "trailing comma": (Reason.BAD_JSON, said(HINT)[:-1] + ",}", None),
    "single quotes": (Reason.BAD_JSON, said(HINT).replace('"', "'"), None),
    "bare keys": (Reason.BAD_JSON, said(HINT).replace('"', ""), None),
    "a comment": (Reason.BAD_JSON, said(HINT).replace(",", ", // mine\n", 1), None),
    "a number that is none in JSON": (Reason.BAD_JSON, said(HINT).replace("0.75", ".75"), None),
    "half an object before a whole one": (Reason.BAD_JSON, "{'act_type': 1} " + said(HINT), None),
    "too deep": (Reason.TOO_DEEP, '{"act_type": ' + deep(MAX_DEPTH) + "}", None),
    "far too deep": (Reason.TOO_DEEP, '{"a":' * 3_000, None),
    "a key twice": (Reason.DUPLICATE_KEY, said(HINT)[:-1] + ', "act_type": 1}', "act_type"),
    "a key twice inside": (Reason.DUPLICATE_KEY, '{"act_type": {"x": 1, "x": 1}}', "x"),
    "a list": (Reason.NOT_AN_OBJECT, SHARE, None),
    "a list of one object": (Reason.NOT_AN_OBJECT, f"[{said(HINT)}]", None),
    "a fenced list": (Reason.NOT_AN_OBJECT, f"```json\n{SHARE}\n```", None),
    "a number": (Reason.NOT_AN_OBJECT, "0", None),
    "a string": (Reason.NOT_AN_OBJECT, '"PROPOSE"', None),
    "null": (Reason.NOT_AN_OBJECT, "null", None),
    "two objects": (Reason.SEVERAL_OBJECTS, said(HINT) + said(HINT, act_type=1), None),
    "an example and an answer": (Reason.SEVERAL_OBJECTS, f"For example {said(HINT, act_type=3)}. My answer: {said(HINT)}", None),
    "a number and its float": (Reason.SEVERAL_OBJECTS, '{"act_type": 1} {"act_type": 1.0}', None),
    "a number and true": (Reason.SEVERAL_OBJECTS, '{"act_type": 1} {"act_type": true}', None),
    "empty object": (Reason.MISSING_KEY, "{}", "act_type"),
    "missing key": (Reason.MISSING_KEY, said(HINT, confidence=...), "confidence"),
    "unknown key": (Reason.UNKNOWN_KEY, said(HINT, reason="fair"), "reason"),
    "wrapped in another object": (Reason.UNKNOWN_KEY, json.dumps({"hint": HINT}), "hint"),
    "a name for the act": (Reason.BAD_TYPE, said(HINT, act_type="PROPOSE"), "act_type"),
    "true for a number": (Reason.BAD_TYPE, said(HINT, act_type=True), "act_type"),
    "true in the share": (Reason.BAD_TYPE, said(HINT, oA=[True, 0, 0]), "oA"),
    "true for the confidence": (Reason.BAD_TYPE, said(HINT, confidence=True), "confidence"),
    "a float for a whole number": (Reason.BAD_TYPE, said(HINT, act_type=0.0), "act_type"),
    "digits in quotes": (Reason.BAD_TYPE, said(HINT, act_type="0"), "act_type"),
    "null for a number": (Reason.BAD_TYPE, said(HINT, act_type=None), "act_type"),
    "a share of two": (Reason.BAD_TYPE, said(HINT, oA=[1, 1]), "oA"),
    "a share of four": (Reason.BAD_TYPE, said(HINT, oA=[1, 1, 1, 1]), "oA"),
    "a share as an object": (Reason.BAD_TYPE, said(HINT, oA={"books": 1}), "oA"),
    "NaN": (Reason.NOT_FINITE, said(HINT, confidence=float("nan")), "confidence"),
    "Infinity": (Reason.NOT_FINITE, said(HINT, confidence=float("inf")), "confidence"),
    "-Infinity for a whole number": (Reason.NOT_FINITE, said(HINT, act_type=-float("inf")), "act_type"),
    "NaN in the share": (Reason.NOT_FINITE, said(HINT, oA=[float("nan"), 0, 0]), "oA"),
    "a huge exponent": (Reason.NOT_FINITE, said(HINT).replace("0.75", "1e999"), "confidence"),
    "five thousand digits": (Reason.NOT_FINITE, said(HINT).replace("0.75", "9" * 5_000), "confidence"),
    "minus five thousand digits": (Reason.NOT_FINITE, said(HINT).replace("0.75", "-" + "9" * 5_000), "confidence"),
    "an act that is none": (Reason.OUT_OF_RANGE, said(HINT, act_type=5), "act_type"),
    "a negative act": (Reason.OUT_OF_RANGE, said(HINT, act_type=-1), "act_type"),
    "three hundred digits": (Reason.OUT_OF_RANGE, said(HINT, act_type=10**300), "act_type"),
    "a negative share": (Reason.OUT_OF_RANGE, said(HINT, oA=[0, -1, 0]), "oA"),
    "too sure": (Reason.OUT_OF_RANGE, said(HINT, confidence=1.01), "confidence"),
    "less than unsure": (Reason.OUT_OF_RANGE, said(HINT, confidence=-1e-9), "confidence"),
    "more than there is": (Reason.OVER_CAP, said(HINT, oA=[3, 0, 0]), "oA"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_bad_reply_is_rejected_with_its_reason(name: str) -> None:
    reason, text, key = REJECTED[name]
    found = rejection(text)
    assert (found.reason, found.field) == (reason, key)
    assert found.sentence.endswith((".", "?")) and len(found.sentence) < 400


def test_every_reason_has_an_example() -> None:
    elsewhere = {Reason.UNKNOWN_WORD, Reason.MASKED_ACT}  # in test_mechanism_reply.py and test_hint_reply.py
    assert {reason for reason, *_ in REJECTED.values()} == set(Reason) - elsewhere


def test_a_reason_is_a_plain_word_for_counters_and_json() -> None:
    assert json.dumps(rejection("").reason) == '"no_json"'
    assert f"{Reason.OVER_CAP}" == "over_cap"


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "  \n\t{}\n\n",
        "```json\n{}\n```",
        "```\n{}\n```",
        "```{}```",
        "Sure! Here is my hint:\n\n```json\n{}\n```\nGood luck.",
        'I propose {}, since it\'s the "best" I can do.',
        r"As \frac{{1}}{{2}} > 0.4, and {{x | x > 1}} is open: {}",
        "<think>It values {{hats}} most.</think>{}",
        "{} [1, 2]",
        "\ufeff{}",
    ],
)
@pytest.mark.parametrize("case", CASES)
def test_space_fences_and_prose_around_one_object_are_no_fault(case: str, around: str) -> None:
    schema, values = CASES[case]
    assert parse_reply(around.replace("{}", "\0").replace("{{", "{").replace("}}", "}").replace("\0", said(values)), schema) == parse_reply(
        said(values), schema
    )


def test_the_same_object_twice_is_one_object() -> None:
    spaced = json.dumps(dict(reversed(HINT.items())), indent=4)
    assert accepts(f"{said(HINT)} Once more: {spaced}")


def test_a_whole_number_is_a_number() -> None:
    assert accepts(said(HINT, confidence=1)) and accepts(said(HINT, confidence=0))
    assert accepts(said(HINT).replace("0.75", "75e-2"))


def test_the_number_of_levels_and_characters_is_counted_to_the_last() -> None:
    schema: Schema[Any] = Schema("nest", {"a": list_of(0, whole_number(0))}, make=dict)
    assert rejection('{"a": ' + deep(MAX_DEPTH - 1) + "}", schema).reason is Reason.BAD_TYPE
    assert rejection('{"a": ' + deep(MAX_DEPTH) + "}", schema).reason is Reason.TOO_DEEP
    assert accepts(said(HINT).ljust(MAX_LENGTH)) and not accepts(said(HINT).ljust(MAX_LENGTH + 1))


def test_a_sentence_says_what_was_expected_what_arrived_and_what_to_do() -> None:
    assert rejection(said(HINT, act_type=7)).sentence == "act_type is 7; expected a whole number from 0 to 4."
    assert rejection(said(HINT, oA=[0, -1, 0])).sentence == "oA is [0, -1, 0]; expected a list of 3, each a whole number, 0 or more."
    assert rejection(said(HINT, confidence=...)).sentence == "confidence is missing; a hint has all of act_type, oA, confidence."
    mistyped = rejection(said(HINT, confidence=..., confidense=1)).sentence
    assert mistyped == "Unknown key \"confidense\" in the hint. Known: act_type, oA, confidence. Did you mean 'confidence'?"
    assert rejection(said(HINT, oA=[2, 2, 1])).sentence == "oA asks for 2 hats; expected 0 to 1, which is all there is."
    assert rejection(said(HINT) + "{}").sentence == "The reply holds 2 different JSON objects; expected one hint."


def test_a_sentence_never_repeats_more_of_a_reply_than_fits_a_line() -> None:
    for text in (said(HINT, act_type="x" * 10_000), said(HINT, **{"y" * 10_000: 1}), json.dumps(["z" * 10_000])):
        assert len(rejection(text).sentence) < 300


HOSTILE = {
    "openings": "{",
    "openings with quotes": '{"',
    "openings with words": "{a",
    "openings with keys": "{a:",
    "nests": '{"a":',
    "lists": "[",
    "quotes": '"',
    "escaped quotes": '\\"',
    "quoted openings": '{"\\"',
    "spaces": "{ ",
    "fences": "```",
    "empty objects": "{}",
    "objects": '{"a":1}',
    "different keys": '"{":{"',
    "words": "yes ",
}


@pytest.mark.parametrize("end", ["", "}", '"', "```", " " * 5_000])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_of_the_allowed_length_takes_long(name: str, end: str) -> None:
    piece = HOSTILE[name]
    text = '{"a": "' * (name == "escaped quotes") + piece * ((MAX_LENGTH - 5_010) // len(piece)) + end
    begin = time.process_time()
    for schema, _ in CASES.values():
        assert isinstance(parse_reply(text, schema), Rejection)
    assert time.process_time() - begin < 0.5


# Schemas


@pytest.mark.parametrize("case", CASES)
def test_the_json_schema_names_every_key_in_order_and_no_other(case: str) -> None:
    schema, values = CASES[case]
    written = schema.json_schema()
    assert written["required"] == list(written["properties"]) == list(schema.keys) == list(values)
    assert written["additionalProperties"] is False
    json.dumps(written)


def test_the_mask_is_asked_only_about_values_that_are_of_their_kind() -> None:
    assert EVERY_ACT.all() and rejection(said(HINT, act_type=99)).reason is Reason.OUT_OF_RANGE
