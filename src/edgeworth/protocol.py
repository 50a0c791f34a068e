"""What a model writes is data: a reply becomes a value of its schema, or a rejection with a reason.

`parse_reply` takes hints and mechanisms the same way: text → exactly one JSON object → the keys of a schema → legality. The
result is `Accepted` or `Rejection`, whatever came in; nothing is raised, nothing is clipped and nothing is filled in.

- White space, a code fence and prose around the object are no fault. Braces in prose are prose, unless they begin like an object
  (`{"`, `{'`, `{}` or `{word:`); those must hold JSON.
- An object that is repeated counts once, whatever its spacing and the order of its keys. Two different ones are ambiguous: rejected.
- A reply that as a whole is JSON of another kind, such as a list, is rejected even where an object lies inside.
- `true` is no number, `1.0` no whole number; NaN, infinities and numbers beyond a float's range are not finite; a key may appear once.
- A reply has at most 20,000 characters, an object at most 16 levels. The text is scanned once, so time grows with its length alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from edgeworth.errors import suggestion

MAX_LENGTH = 20_000
MAX_DEPTH = 16
MAX_DIGITS = 400
"""Digits of a whole number that are still read as one; longer ones count as infinite."""
SHOWN_LENGTH = 60

Value = TypeVar("Value")
Values: TypeAlias = Mapping[str, Any]


class Reason(StrEnum):
    """Why there is no value, for counters, rewards and programs."""

    NO_REPLY = "no_reply"
    """No answer came, or there is none for this situation."""
    TOO_LONG = "too_long"
    NO_JSON = "no_json"
    BAD_JSON = "bad_json"
    """Something begins like an object, but is not JSON or breaks off."""
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NOT_AN_OBJECT = "not_an_object"
    SEVERAL_OBJECTS = "several_objects"
    UNKNOWN_KEY = "unknown_key"
    MISSING_KEY = "missing_key"
    BAD_TYPE = "bad_type"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    UNKNOWN_WORD = "unknown_word"
    MASKED_ACT = "masked_act"
    """An act that the rules forbid at this moment."""
    OVER_CAP = "over_cap"
    """A share of more than there is."""


@dataclass(frozen=True)
class Rejection:
    """A reply that is no value: the reason for programs, the sentence for people, and the key it is about, where there is one."""

    reason: Reason
    sentence: str
    field: str | None = None


@dataclass(frozen=True)
class Accepted(Generic[Value]):
    """A reply that holds a legal value."""

    value: Value


@dataclass(frozen=True)
class Kind:
    """What a key may hold: a type that Pydantic checks strictly, so that `true` is no number and `1.0` no whole number."""

    type: Any
    expected: str
    """What was expected, in words that follow "expected"."""
    words: tuple[str, ...] = ()
    """The words that are allowed, where only some are."""

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.type, config=ConfigDict(strict=True))

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The kind in JSON Schema."""
        return self._adapter.json_schema()

    def fault(self, value: Any) -> Reason | None:
        """What is wrong with a value that JSON gave, if anything."""
        try:
            self._adapter.validate_python(value)
        except ValidationError as error:
            return _reason(error.errors()[0])
        return None


def _reason(problem: ErrorDetails) -> Reason:
    value, kind = problem["input"], problem["type"]
    if isinstance(value, float) and not math.isfinite(value):
        return Reason.NOT_FINITE
    if kind == "literal_error" and isinstance(value, str):
        return Reason.UNKNOWN_WORD
    too_large = kind == "float_type" and isinstance(value, int) and not isinstance(value, bool)  # for a float
    return Reason.OUT_OF_RANGE if too_large or kind in ("greater_than_equal", "less_than_equal") else Reason.BAD_TYPE


@cache
def whole_number(low: int, high: int | None = None) -> Kind:
    """A whole number; both limits are allowed."""
    limits = f", {low} or more" if high is None else f" from {low} to {high}"
    return Kind(Annotated[int, Field(ge=low, le=high)], f"a whole number{limits}")


def number(low: float, high: float) -> Kind:
    """A number, whole or not; both limits are allowed."""
    return Kind(Annotated[float, Field(ge=low, le=high)], f"a number from {low:g} to {high:g}")


FLAG = Kind(bool, "true or false")


def one_of(words: tuple[str, ...]) -> Kind:
    """One of a few words, in their exact spelling."""
    return Kind(Literal[words], f"one of {', '.join(words)}", words)


def list_of(count: int, each: Kind) -> Kind:
    """A list of a fixed length, all of one kind."""
    kind = Annotated[list[each.type], Field(min_length=count, max_length=count)]  # type: ignore[name-defined]
    return Kind(kind, f"a list of {count}, each {each.expected}")


@dataclass(frozen=True)
class Schema(Generic[Value]):
    """What a reply must hold: every key and no other, each of its kind, and whatever else the moment demands."""

    name: str
    """What it is, for sentences: a hint, a mechanism."""
    keys: Mapping[str, Kind]
    make: Callable[[Values], Value]
    """The value behind the keys; called only with what has passed every check."""
    legal: Callable[[Values], Rejection | None] = lambda values: None
    """What the rules say at this moment about keys that are each of their kind."""

    def judge(self, values: Values) -> Rejection | None:
        """The first thing that is wrong with an object, if anything."""
        for key in values:
            if key not in self.keys:
                known = f"Known: {', '.join(self.keys)}.{suggestion(key[:SHOWN_LENGTH], self.keys)}"
                return Rejection(Reason.UNKNOWN_KEY, f"Unknown key {_shown(key)} in the {self.name}. {known}", key)
        for key, kind in self.keys.items():
            if key not in values:
                return Rejection(Reason.MISSING_KEY, f"{key} is missing; a {self.name} has all of {', '.join(self.keys)}.", key)
            if (reason := kind.fault(values[key])) is not None:
                guess = suggestion(str(values[key])[:SHOWN_LENGTH], kind.words)
                return Rejection(reason, f"{key} is {_shown(values[key])}; expected {kind.expected}.{guess}", key)
        return self.legal(values)

    def json_schema(self) -> dict[str, Any]:
        """The schema as JSON Schema, keys in order; for structured output and constrained decoding."""
        properties = {key: kind.json_schema for key, kind in self.keys.items()}
        return {"type": "object", "properties": properties, "required": list(self.keys), "additionalProperties": False}


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."


def parse_reply(text: str | None, schema: Schema[Value]) -> Accepted[Value] | Rejection:
    """The value that a reply holds, or why it holds none; `None` is a reply that never came."""
    if text is None:
        return Rejection(Reason.NO_REPLY, f"There is no reply; expected a {schema.name} as one JSON object.")
    if len(text) > MAX_LENGTH:
        return Rejection(Reason.TOO_LONG, f"The reply has {len(text):,} characters; expected at most {MAX_LENGTH:,}.")
    values = _only_object(_unfenced(text), schema.name)
    if isinstance(values, Rejection):
        return values
    return schema.judge(values) or Accepted(schema.make(values))


def _unfenced(text: str) -> str:
    """The reply without white space around it, and without the code fence that holds all of it."""
    text = text.strip()
    if len(text) >= 6 and text.startswith("```") and text.endswith("```"):
        text = text[3:-3]
        language, newline, rest = text.partition("\n")
        text = rest if newline and (not language.strip() or language.strip().isalnum()) else text
    return text.strip()


def _only_object(text: str, name: str) -> Values | Rejection:
    """The one object in a reply."""
    if _is_other_json(text):
        return Rejection(Reason.NOT_AN_OBJECT, f"The reply is {text[:SHOWN_LENGTH]!r}; expected a {name} as one JSON object.")
    found: dict[str, Values] = {}
    try:
        for piece in _pieces(text):
            values = DECODER.decode(piece)
            found[json.dumps(values, sort_keys=True)] = values
    except _Refused as refused:
        return refused.rejection
    except json.JSONDecodeError as error:
        return Rejection(Reason.BAD_JSON, f"The object is not JSON: {error.msg} at its character {error.pos + 1}; expected a {name}.")
    if not found:
        return Rejection(Reason.NO_JSON, f"The reply holds no JSON object; expected a {name} as one JSON object.")
    if len(found) > 1:
        return Rejection(Reason.SEVERAL_OBJECTS, f"The reply holds {len(found)} different JSON objects; expected one {name}.")
    return next(iter(found.values()))


class _Refused(Exception):
    """Carries a rejection out of the scan."""

    def __init__(self, reason: Reason, sentence: str, key: str | None = None) -> None:
        self.rejection = Rejection(reason, sentence, key)


ATTEMPT = re.compile(r"""\{\s*+(?:["'}]|\w++\s*+:)""")
"""Braces that begin like an object."""
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, closed or not, or a bracket. Nothing is looked at twice."""


def _pieces(text: str) -> Iterator[str]:
    """The parts of a reply that begin like an object, each up to its closing brace."""
    begin = 0
    while (attempt := ATTEMPT.search(text, begin)) is not None:
        end = _closing(text, attempt.start())
        if end is None:
            raise _Refused(Reason.BAD_JSON, "The object breaks off before its closing brace; allow the reply more room.")
        yield text[attempt.start() : end]
        begin = end


def _closing(text: str, begin: int) -> int | None:
    """Where the bracket at `begin` is closed."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _Refused(Reason.TOO_DEEP, f"The reply is nested more than {MAX_DEPTH} levels deep; expected a plain object.")
        elif token[0] in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _is_other_json(text: str) -> bool:
    """Whether the whole reply is JSON, but no object."""
    try:
        if text.startswith("{") or (text.startswith("[") and _closing(text, 0) != len(text)):
            return False
        DECODER.decode(text)
    except (_Refused, json.JSONDecodeError):
        return False
    return True


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _Refused(Reason.DUPLICATE_KEY, f"The key {_shown(key)} appears twice; expected every key once.", key)
        values[key] = value
    return values


DECODER = json.JSONDecoder(
    object_pairs_hook=_object_of, parse_int=lambda digits: int(digits) if len(digits) <= MAX_DIGITS else float(digits)
)
