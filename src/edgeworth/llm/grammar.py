"""A JSON Schema as a grammar: every text that the grammar allows is JSON that meets the schema, spelled as `json.dumps` spells it.

Keys stand in the order of the schema, ", " and ": " are the only white space, and numbers are bounded in length (`numerals`), so that
even an untrained model comes to an end. The grammar is written in the Lark dialect of llguidance. Objects whose keys are all required,
lists of a bounded length, enumerations, flags and numbers are translated here; every other kind of schema is left to llguidance's own
translation, whose texts and numbers may be as long as `max_tokens` allows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from edgeworth.errors import InvalidOption
from edgeworth.llm.numerals import DECIMALS, decimal_pattern, longest_numeral, whole_limit, whole_pattern

SAID = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated"}
"""Keywords that only explain."""
SPELLING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


@dataclass(frozen=True)
class Grammar:
    """A grammar, and the length of its longest text in characters, where that is bounded."""

    lark: str
    longest: int | None


@dataclass(frozen=True)
class Piece:
    """What a part of a schema becomes: an expression, and its longest text."""

    expression: str
    longest: int | None


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as JSON, its keys in their order."""
    try:
        return json.dumps(dict(schema), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOption(f"json_schema is no JSON ({error}); expected a JSON Schema as a dictionary.") from error


def grammar_of(text: str) -> Grammar:
    """The grammar of a schema, which is given as JSON."""
    schema = json.loads(text)
    rules: list[str] = []
    whole = _elsewhere(schema, rules) if '"$ref"' in text else _piece(schema, rules)  # what is referred to must stay in sight
    return Grammar("\n".join([f"start: {whole.expression}", *rules]) + "\n", whole.longest)


def _piece(schema: Any, rules: list[str]) -> Piece:
    """One part of a schema; `rules` collects what is translated elsewhere."""
    if not isinstance(schema, dict):
        return _elsewhere(schema, rules)
    words = schema.keys() - SAID
    kind = schema.get("type")
    if "enum" in words and words <= {"enum", "type"} and isinstance(schema["enum"], list) and schema["enum"]:
        return _one_of([_literal(json.dumps(value)) for value in schema["enum"]])
    if words == {"const"} or words == {"const", "type"}:
        return _literal(json.dumps(schema["const"]))
    if words in ({"anyOf"}, {"oneOf"}) and schema[next(iter(words))]:
        return _one_of([_piece(each, rules) for each in schema[next(iter(words))]])
    if kind == "boolean" and words == {"type"}:
        return _one_of([_literal("true"), _literal("false")])
    if kind == "null" and words == {"type"}:
        return _literal("null")
    if kind in ("integer", "number") and words <= {"type", "minimum", "maximum"}:
        return _number(schema, whole=kind == "integer")
    if kind == "array" and words <= {"type", "items", "prefixItems", "minItems", "maxItems"}:
        return _list(schema, rules)
    if kind == "object" and words <= {"type", "properties", "required", "additionalProperties"}:
        return _object(schema, rules)
    return _elsewhere(schema, rules)


def _object(schema: dict[str, Any], rules: list[str]) -> Piece:
    properties = schema.get("properties", {})
    if set(properties) != set(schema.get("required", ())) or schema.get("additionalProperties") not in (None, False):
        return _elsewhere(schema, rules)
    pieces = [_literal("{")]
    for place, (key, value) in enumerate(properties.items()):
        pieces += [_literal(f"{', ' if place else ''}{json.dumps(key)}: "), _piece(value, rules)]
    return _sequence([*pieces, _literal("}")])


def _list(schema: dict[str, Any], rules: list[str]) -> Piece:
    first, rest = schema.get("prefixItems", []), schema.get("items")
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(first) if rest is False else None)
    if most is None or not least <= most or (most > len(first) and rest in (None, False)):
        return _elsewhere(schema, rules)
    items = [_piece(first[n] if n < len(first) else rest, rules) for n in range(most)]
    inside = Piece("", 0)
    for place in reversed(range(most)):
        here = _sequence([*([_literal(", ")] if place else []), items[place], inside])
        inside = here if place < least else Piece(f"({here.expression})?", here.longest)
    return _sequence([_literal("["), inside, _literal("]")])


def _number(schema: dict[str, Any], whole: bool) -> Piece:
    low, high = (None if schema.get(key) is None else Decimal(repr(schema[key])) for key in ("minimum", "maximum"))
    if whole:
        limits = [None if limit is None else whole_limit(limit, limit is low) for limit in (low, high)]
        pattern = whole_pattern(*limits)
    else:
        pattern = decimal_pattern(low, high)
    return Piece(f"/{pattern}/", longest_numeral(low, high, 0 if whole else DECIMALS))


def _elsewhere(schema: Any, rules: list[str]) -> Piece:
    """A part that llguidance translates."""
    spelled = {**schema, "x-guidance": SPELLING} if isinstance(schema, dict) else schema
    name = f"part_{len(rules)}"
    rules.append(f"{name}: %json {json.dumps(spelled)}")
    return Piece(name, None)


def _literal(text: str) -> Piece:
    return Piece(json.dumps(text), len(text))


def _one_of(pieces: Sequence[Piece]) -> Piece:
    return Piece(f"({' | '.join(piece.expression for piece in pieces)})", _combined(pieces, max))


def _sequence(pieces: Sequence[Piece]) -> Piece:
    return Piece(" ".join(piece.expression for piece in pieces if piece.expression), _combined(pieces, sum))


def _combined(pieces: Sequence[Piece], how: Any) -> int | None:
    lengths = [piece.longest for piece in pieces]
    return None if None in lengths else int(how(lengths))
