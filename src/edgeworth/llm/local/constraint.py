"""Constrained decoding: which tokens may come next, and which must, so that a reply always meets its schema.

The grammar engine is llguidance. Where only one text can follow (keys, punctuation, the rest of an enumeration), `forced` gives it as the
tokens that the tokenizer itself would have written; they are appended without asking the model.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption, MissingExtra, ModelUnavailable
from edgeworth.llm.grammar import grammar_of, schema_text

KEPT = 1024
"""Compiled grammars that are kept: hints differ by mask and pool, so a run meets some hundreds of schemas."""


class Constraint:
    """The grammar of one reply, at the place where the reply is."""

    def __init__(self, matcher: Any, width: int) -> None:
        self._matcher = matcher
        self._width = width

    def forced(self) -> list[int]:
        """The tokens that must follow, consumed at once; none where there is a choice."""
        tokens: list[int] = self._matcher.compute_ff_tokens()
        if tokens:
            self._matcher.consume_tokens(tokens)
        return tokens

    def allowed(self) -> NDArray[np.bool_]:
        """For every token of the model's vocabulary, whether it may come next."""
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        allowed = np.unpackbits(bits, count=min(self._width, 8 * len(bits)), bitorder="little").view(np.bool_)
        return allowed if len(allowed) == self._width else np.pad(allowed, (0, self._width - len(allowed)))

    def consume(self, token: int) -> None:
        """Take the token that was chosen."""
        if not self._matcher.consume_token(token):
            raise InvalidOption(f"The grammar broke off at token {token}: {self._matcher.get_error()} Simplify the schema.")

    def finished(self) -> bool:
        """Whether nothing can follow."""
        return bool(self._matcher.is_stopped())


class Constraints:
    """The constraints of one tokenizer; a schema is compiled once."""

    def __init__(self, tokenizer: Any, width: int, end: int) -> None:
        """`width` is the model's vocabulary, `end` the token that ends a reply."""
        self._tokens = _token_table(tokenizer, end)
        self._width = width
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    def begin(self, schema: Mapping[str, Any]) -> Constraint:
        """The constraint of a new reply."""
        name = schema_text(schema)  # the order of keys counts, since replies follow it
        if name not in self._compiled:
            self._compiled[name] = self._compile(name)
            if len(self._compiled) > KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(name)
        return Constraint(self._compiled[name].deep_copy(), self._width)

    def text(self, tokens: list[int]) -> str:
        """What the tokens say, byte by byte."""
        said: str = self._tokens.decode_str(tokens)
        return said

    def _compile(self, schema: str) -> Any:
        matcher = _llguidance().LLMatcher(self._tokens, grammar_of(schema).lark, log_level=0)
        if matcher.is_error():
            told = " ".join(matcher.get_error().split())[:200]
            raise InvalidOption(f"This schema cannot be enforced: {told}. Simplify it, or ask without json_schema.")
        return matcher


def _token_table(tokenizer: Any, end: int) -> Any:
    _llguidance()
    from llguidance.hf import from_tokenizer

    if not getattr(tokenizer, "is_fast", False):
        raise ModelUnavailable(
            "bad_request",
            f"The tokenizer {type(tokenizer).__name__} is not one of the fast ones, which constrained decoding needs; "
            "use a model with a tokenizer.json, or ask without json_schema.",
        )
    return from_tokenizer(tokenizer, eos_token=end)


def _llguidance() -> Any:
    try:
        import llguidance
    except ImportError as error:
        raise MissingExtra("Constrained decoding", "the `llguidance` package", "llm") from error
    return llguidance
