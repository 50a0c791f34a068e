"""Constrained decoding: a JSON schema as a grammar, and which tokens it allows next, so that a reply always meets its schema.

Every text of a grammar is JSON spelled as `json.dumps` spells it: keys in the order of the schema, ", " and ": " as the only white space,
and numbers of a bounded length (`numerals`), so that even an untrained model comes to an end. Grammars are written in the Lark dialect of
llguidance, which enforces them. Objects whose keys are all required, lists of a bounded length, enumerations, flags and numbers are
translated here; every other kind of schema is left to llguidance's own translation, whose texts and numbers may be as long as
`max_tokens` allows.

Where only one text can follow (keys, punctuation, the rest of an enumeration), `Constraint.forced` gives it as the tokens that the
tokenizer itself would have written; they are appended without asking the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, TypeVar

import numpy as np
from llguidance import LLExecutor, LLMatcher
from llguidance.hf import from_tokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption, ModelUnavailable
from edgeworth.llm.local.numerals import decimal_pattern, whole_limit, whole_pattern

EXPLAINING = {"title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated"}
"""Keywords that do not change what a schema allows."""
SPELLING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
KEPT = 1024
"""Compiled grammars that are kept: hints differ by mask and pool, so a run uses some hundreds of schemas."""


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as JSON, its keys in their order."""
    try:
        return json.dumps(dict(schema), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOption(f"json_schema is no JSON ({error}); expected a JSON Schema as a dictionary.") from error


def grammar_of(text: str) -> str:
    """The grammar of a schema, which is given as JSON."""
    schema = json.loads(text)
    rules: list[str] = []
    whole = _left_to_llguidance(schema, rules) if '"$ref"' in text else _expression(schema, rules)  # a reference needs the whole schema
    return "\n".join([f"start: {whole}", *rules]) + "\n"


def _expression(schema: Any, rules: list[str]) -> str:
    """One part of a schema as an expression; `rules` collects the parts that llguidance translates."""
    if not isinstance(schema, dict):
        return _left_to_llguidance(schema, rules)
    words = schema.keys() - EXPLAINING
    kind = schema.get("type")
    if "enum" in words and words <= {"enum", "type"} and isinstance(schema["enum"], list) and schema["enum"]:
        return _one_of([_json_literal(value) for value in schema["enum"]])
    if words == {"const"} or words == {"const", "type"}:
        return _json_literal(schema["const"])
    if words in ({"anyOf"}, {"oneOf"}) and schema[next(iter(words))]:
        return _one_of([_expression(each, rules) for each in schema[next(iter(words))]])
    if kind == "boolean" and words == {"type"}:
        return _one_of([_json_literal(True), _json_literal(False)])
    if kind == "null" and words == {"type"}:
        return _json_literal(None)
    if kind in ("integer", "number") and words <= {"type", "minimum", "maximum"}:
        return _number(schema, whole=kind == "integer")
    if kind == "array" and words <= {"type", "items", "prefixItems", "minItems", "maxItems"}:
        return _list(schema, rules)
    if kind == "object" and words <= {"type", "properties", "required", "additionalProperties"}:
        return _object(schema, rules)
    return _left_to_llguidance(schema, rules)


def _object(schema: dict[str, Any], rules: list[str]) -> str:
    properties = schema.get("properties", {})
    if set(properties) != set(schema.get("required", ())) or schema.get("additionalProperties") not in (None, False):
        return _left_to_llguidance(schema, rules)
    parts = [_literal("{")]
    for place, (key, value) in enumerate(properties.items()):
        parts += [_literal(f"{', ' if place else ''}{json.dumps(key)}: "), _expression(value, rules)]
    return _sequence(*parts, _literal("}"))


def _list(schema: dict[str, Any], rules: list[str]) -> str:
    first, rest = schema.get("prefixItems", []), schema.get("items")
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(first) if rest is False else None)
    if most is None or not least <= most or (most > len(first) and rest in (None, False)):
        return _left_to_llguidance(schema, rules)
    items = [_expression(first[n] if n < len(first) else rest, rules) for n in range(most)]
    inside = ""
    for place in reversed(range(most)):
        here = _sequence(_literal(", ") if place else "", items[place], inside)
        inside = here if place < least else f"({here})?"
    return _sequence(_literal("["), inside, _literal("]"))


def _number(schema: dict[str, Any], whole: bool) -> str:
    low, high = (None if schema.get(key) is None else Decimal(repr(schema[key])) for key in ("minimum", "maximum"))
    if not whole:
        return f"/{decimal_pattern(low, high)}/"
    return f"/{whole_pattern(*(None if limit is None else whole_limit(limit, limit is low) for limit in (low, high)))}/"


def _left_to_llguidance(schema: Any, rules: list[str]) -> str:
    spelled = {**schema, "x-guidance": SPELLING} if isinstance(schema, dict) else schema
    name = f"part_{len(rules)}"
    rules.append(f"{name}: %json {json.dumps(spelled)}")
    return name


def _literal(text: str) -> str:
    return json.dumps(text)


def _json_literal(value: Any) -> str:
    return _literal(json.dumps(value))


def _one_of(expressions: list[str]) -> str:
    return f"({' | '.join(expressions)})"


def _sequence(*expressions: str) -> str:
    return " ".join(expression for expression in expressions if expression)


class Constraint:
    """The grammar of one reply, and how far the reply has come in it."""

    def __init__(self, matcher: LLMatcher, vocabulary: int) -> None:
        self.matcher = matcher
        self.vocabulary = vocabulary
        """Tokens that the tokenizer knows."""

    def forced(self) -> list[int]:
        """The tokens that must follow, consumed at once; none where there is a choice."""
        tokens: list[int] = self.matcher.compute_ff_tokens()
        if tokens:
            self.matcher.consume_tokens(tokens)
        return tokens

    def note(self, allowed: NDArray[np.uint8]) -> None:
        """What is allowed at the next choice, as packed bits: for constraints that keep a record."""

    def consume(self, token: int) -> None:
        """Take the token that was chosen."""
        if not self.matcher.consume_token(token):
            raise InvalidOption(f"The grammar broke off at token {token}: {self.matcher.get_error()} Simplify the schema.")

    def finished(self) -> bool:
        """Whether nothing can follow."""
        return self.matcher.is_stopped()


def allowed_tokens(constraints: Sequence[Constraint]) -> NDArray[np.uint8]:
    """The tokens that may come next in each of some replies, all of one tokenizer: packed bits, the lowest first, (replies, bytes)."""
    words = allocate_token_bitmask(len(constraints), constraints[0].vocabulary)
    fill_next_token_bitmask_par(_executor(), [(constraint.matcher, row) for row, constraint in enumerate(constraints)], words)
    bits = words.view(np.uint8)
    for constraint, allowed in zip(constraints, bits, strict=True):
        constraint.note(allowed)
    return bits


@cache
def _executor() -> LLExecutor:
    """What asks many grammars: one thread, for those of one schema share a lexer and would wait for each other."""
    return LLExecutor(num_threads=1)


Kind = TypeVar("Kind", bound=Constraint)


class Constraints:
    """The constraints of one tokenizer; a schema is compiled once."""

    def __init__(self, tokenizer: Any, end: int) -> None:
        """`end` is the token that ends a reply."""
        if not getattr(tokenizer, "is_fast", False):
            raise ModelUnavailable(
                "bad_request",
                f"The tokenizer {type(tokenizer).__name__} is not one of the fast ones, which constrained decoding needs; "
                "use a model with a tokenizer.json, or ask without json_schema.",
            )
        self._tokens = from_tokenizer(tokenizer, eos_token=end)
        self._compiled = lru_cache(KEPT)(self._compile)

    def begin(self, schema: Mapping[str, Any], kind: type[Kind] = Constraint) -> Kind:  # type: ignore[assignment]
        """The constraint of a new reply, of a kind that may do more."""
        grammar = self._compiled(schema_text(schema))  # the order of keys counts, since replies follow it
        return kind(grammar.deep_copy(), self._tokens.vocab_size)

    def _compile(self, schema: str) -> Any:
        matcher = LLMatcher(self._tokens, grammar_of(schema), log_level=0)
        if matcher.is_error():
            reason = " ".join(matcher.get_error().split())[:200]
            raise InvalidOption(f"This schema cannot be enforced: {reason}. Simplify it, or ask without json_schema.")
        return matcher
