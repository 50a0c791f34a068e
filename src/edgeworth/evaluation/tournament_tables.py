"""A tournament's result as cross tables: what each negotiator gets from each other, over both seats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cross_table(scenario: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """By row and column, best first: the row's share of its maximum with the column, the mean of both seats; None where none is known."""
    as_agent, as_partner = {}, {}
    for pair in scenario["pairs"]:
        as_agent[pair["agent"], pair["partner"]] = _value(pair["agent_share"])
        as_partner[pair["partner"], pair["agent"]] = _value(pair["partner_share"])
    order = [row["name"] for row in scenario["scores"]]
    return {row: {column: _mean(as_agent[row, column], as_partner[row, column]) for column in order} for row in order}


def own_partner_column(scenario: Mapping[str, Any]) -> dict[str, float | None]:
    """What each negotiator gets from the scenario's own partner."""
    return {row["agent"]: _value(row["agent_share"]) for row in scenario["with_own_partner"]}


def shown_ranks(ranks: list[int]) -> str:
    """`2`, or `2–4` where the intervals do not tell."""
    first, last = ranks
    return str(first) if first == last else f"{first}–{last}"


def _value(estimate: Mapping[str, float] | None) -> float | None:
    return None if estimate is None else estimate["value"]


def _mean(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else (one + other) / 2
