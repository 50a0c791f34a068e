"""Flags that choose who gives hints, for `hint` and `hints measure`."""

from __future__ import annotations

from typing import Any

from edgeworth.agents.hints.llm import LanguageModelHints
from edgeworth.envs.hint_injector import provider_of
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.hints import HintProvider

LLM = "llm"


def hint_provider(name: str, **options: Any) -> HintProvider:
    """A provider by name, with those of the options that were given; only a language model takes any."""
    given = {option: value for option, value in options.items() if value is not None and value != {}}
    if given and name != LLM:
        flag = "--" + next(iter(given)).replace("_", "-").removesuffix("s")
        raise InvalidOption(f"{flag} belongs to the provider llm; {name} asks no model.")
    return provider_of(name, given)


def close(*providers: HintProvider) -> None:
    """Let go of the connections and files behind providers."""
    for provider in providers:
        if isinstance(provider, LanguageModelHints):
            provider.close()
