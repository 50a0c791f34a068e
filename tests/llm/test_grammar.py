"""Grammars: whatever they allow is JSON that meets the schema, spelled as `json.dumps` spells it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from local_prompts import hint_moments, mechanism_moments

from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import action_of, random_mechanisms
from edgeworth.llm.local.decoding import unpacked
from edgeworth.llm.local.grammar import Constraint, Constraints, allowed_tokens, grammar_of, schema_text
from edgeworth.protocol import Accepted, parse_reply
from edgeworth.seeding import generator
from tiny_model import trained_tokenizer

TRANSLATED: list[tuple[int, dict[str, Any]]] = [
    (23, {"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"type": "null"}}, "required": ["a", "b"]}),
    (24, {"type": "array", "items": {"type": "number", "minimum": -1, "maximum": 0.25}, "minItems": 1, "maxItems": 3}),
    (10, {"type": "array", "prefixItems": [{"type": "integer", "maximum": 3, "minimum": -3}, {"enum": ["x", 2, None]}], "items": False}),
    (12, {"anyOf": [{"const": 'é"\\'}, {"type": "integer", "minimum": 7, "maximum": 12}]}),
    (20, {"type": "number"}),
    (2, {"type": "object", "properties": {}, "required": [], "additionalProperties": False}),
]
"""Schemas, and the length of the longest text that they allow."""
LEFT_TO_THE_ENGINE = [
    (
        {"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 5, "maximum": 20, "minimum": 0}}, "required": ["a"]},
        [*range(0, 21, 5)],
    ),
    ({"type": "string", "maxLength": 4}, []),
    ({"$defs": {"n": {"enum": [1, 2]}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}, [1, 2]),
]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return trained_tokenizer()


@pytest.fixture(scope="module")
def constraints(tokenizer: Any) -> Constraints:
    return Constraints(tokenizer, tokenizer.eos_token_id)


def random_reply(constraint: Constraint, rng: np.random.Generator, end: int) -> list[int]:
    """Tokens chosen with equal chances among those that are allowed."""
    tokens: list[int] = []
    while True:
        tokens += constraint.forced()
        if constraint.finished():
            return tokens
        token = int(rng.choice(np.flatnonzero(np.unpackbits(allowed_tokens([constraint]), bitorder="little"))))
        if token == end:
            return tokens
        constraint.consume(token)
        tokens.append(token)


@pytest.mark.parametrize(("longest", "schema"), TRANSLATED, ids=str)
def test_a_text_of_the_grammar_is_spelled_as_json_dumps_and_no_longer_than_told(
    longest: int, schema: dict[str, Any], constraints: Constraints, tokenizer: Any
) -> None:
    for seed in range(40):
        text = tokenizer.decode(random_reply(constraints.begin(schema), generator(seed), tokenizer.eos_token_id))
        assert json.dumps(json.loads(text)) == text
        assert len(text) <= longest


@pytest.mark.parametrize(("schema", "allowed"), LEFT_TO_THE_ENGINE, ids=str)
def test_what_is_not_translated_is_left_to_the_engine(
    schema: dict[str, Any], allowed: list[int], constraints: Constraints, tokenizer: Any
) -> None:
    assert "%json" in grammar_of(schema_text(schema))
    for seed in range(10):
        value = json.loads(tokenizer.decode(random_reply(constraints.begin(schema), generator(seed), tokenizer.eos_token_id)))
        assert len(value) <= 4 if isinstance(value, str) else value["a"] in allowed


def test_keys_stand_in_the_order_of_the_schema() -> None:
    for keys in ("pq", "qp"):
        schema = {"type": "object", "properties": {key: {"const": 1} for key in keys}, "required": ["p", "q"]}
        lark = grammar_of(schema_text(schema))
        assert lark.index(keys[0]) < lark.index(keys[1])


def test_random_tokens_under_a_grammar_are_legal_hints_and_mechanisms(constraints: Constraints, tokenizer: Any) -> None:
    for seed, moment in enumerate([*hint_moments(60, 4), *mechanism_moments(8) * 10]):
        text = tokenizer.decode(random_reply(constraints.begin(moment.json_schema), generator(seed), tokenizer.eos_token_id))
        assert isinstance(parse_reply(text, moment.schema), Accepted), text


def test_a_schema_that_cannot_be_enforced_is_refused_with_the_reason(constraints: Constraints) -> None:
    with pytest.raises(InvalidOption, match=r"This schema cannot be enforced: .*Simplify it"):
        constraints.begin({"type": "strong"})
    with pytest.raises(InvalidOption, match="json_schema is no JSON"):
        constraints.begin({"type": {1, 2}})
    with pytest.raises(InvalidOption, match="a number above its maximum"):
        constraints.begin({"type": "integer", "minimum": 3, "maximum": 2})


# Forced tokens


def replies_of_people(count: int) -> list[tuple[dict[str, Any], str]]:
    """Legal replies as `json.dumps` writes them, with their schemas."""
    rng = generator(7)
    written = []
    for moment in hint_moments(count):
        acts = moment.json_schema["properties"]["act_type"]["enum"]
        caps = [kind["maximum"] for kind in moment.json_schema["properties"]["oA"]["prefixItems"]]
        share = [int(rng.integers(0, cap + 1)) for cap in caps]
        hint = {"act_type": int(rng.choice(acts)), "oA": share, "confidence": round(float(rng.random()), 2)}
        written.append((moment.json_schema, json.dumps(hint)))
    schema = mechanism_moments(1)[0].json_schema
    for row in random_mechanisms(rng, count):
        mechanism = action_of(row).model_dump()
        rounded = {key: round(value, 2) if isinstance(value, float) else value for key, value in mechanism.items()}
        written.append((schema, json.dumps(rounded)))
    return written


@pytest.mark.parametrize("single_digits", [True, False], ids=["single digits", "merged digits"])
def test_forced_tokens_are_those_that_the_tokenizer_writes(single_digits: bool) -> None:
    tokenizer = trained_tokenizer(single_digits)
    constraints = Constraints(tokenizer, tokenizer.eos_token_id)
    forced_share = []
    for schema, text in replies_of_people(50):
        wanted, constraint, written, forced = tokenizer.encode(text), constraints.begin(schema), [], 0
        while not constraint.finished():
            run = constraint.forced()
            written, forced = written + run, forced + len(run)
            assert written == wanted[: len(written)]
            if not constraint.finished():
                constraint.consume(wanted[len(written)])
                written.append(wanted[len(written)])
        assert written == wanted
        forced_share.append(forced / len(wanted))
    assert min(forced_share) > 0.5


def test_many_replies_are_asked_at_once_and_get_what_each_would_alone(constraints: Constraints, tokenizer: Any) -> None:
    many = [constraints.begin(schema) for _, schema in TRANSLATED if schema.get("properties") != {}]
    for constraint in many:
        constraint.forced()
    together = allowed_tokens(many)
    for constraint, allowed in zip(many, together, strict=True):
        assert bytes(allowed) == constraint.matcher.compute_bitmask() and (allowed_tokens([constraint]) == allowed).all()
    flags = unpacked(torch.from_numpy(together), len(tokenizer) + 40)
    plain = np.unpackbits(together, axis=1, count=len(tokenizer), bitorder="little")
    assert (flags[:, : len(tokenizer)].numpy() == plain).all() and not flags[:, len(tokenizer) :].any(), "a model may have more tokens"
    assert unpacked(torch.from_numpy(together), 10).shape == (len(many), 10)
