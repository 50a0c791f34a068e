"""Changes to nested settings: what a flag, a stage of a curriculum or a cell of a study replaces, and what goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeworth.errors import InvalidOption


def merged(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings with changes in their places.

    Naming another scenario takes the place of all options of the game, and naming another hint provider drops the options of the old one.
    """
    result = dict(given)
    for key, value in changes.items():
        before, merge = result.get(key), {"env": merged_env, "hints": merged_hints}.get(key, merged)
        nested = isinstance(value, Mapping) and (isinstance(before, Mapping) or merge is not merged)
        result[key] = merge(before or {}, value) if nested else value
    return result


def merged_env(env: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a game with changes; another scenario, or another partner or source, comes with options of its own."""
    kept = dict(env)
    if "scenario" in changes:
        kept = {key: value for key, value in kept.items() if key == "id"}
    for choice, its_options in (("partner", "partner_options"), ("contexts", "context_options")):
        if choice in changes and changes[choice] != kept.get(choice):
            kept.pop(its_options, None)
    for key, value in changes.items():
        before = kept.get(key)
        kept[key] = {**before, **value} if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return kept


def merged_hints(hints: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Hint settings with changes; another provider comes with options of its own."""
    kept = dict(hints)
    if "mode" in changes and changes["mode"] != kept.get("mode"):
        kept.pop("options", None)
    return {**kept, **changes, "options": {**_options(kept), **_options(changes)}}


def _options(hints: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a provider; none where they are left out, or left empty."""
    given = hints.get("options")
    if given is not None and not isinstance(given, Mapping):
        raise InvalidOption(f"options: expected a mapping of settings, got {given!r}.")
    return given or {}
