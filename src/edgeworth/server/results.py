"""Results as tables: designers by population and negotiators by scenario, read from the JSON files in the folder of results.

Every file was written by a command of ours, which it names; a file that is missing is left out, and one that is damaged is reported in a
note. Rows are either yardsticks, which say how good a score is, or agents.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from edgeworth.server.models_results import Estimate
from edgeworth.validation import problem_in

MOST_BYTES = 20_000_000
KEPT_FILES = 16
DESIGNER_YARDSTICKS = ("oracle", "told the stage", "best schedule", "best constant", "informed_greedy", "uniform")
"""How the names of designers begin that are told something, never learn, or do not look."""
ENDS = ("oracle (", "best constant for the stages", "informed_greedy", "uniform", "oracle", "bayes", "agree_first", "random")
"""Yardsticks that are drawn on the axis, by how their names begin; others are only listed."""
TITLES = {"learned": "bundled expert", "human_clone": "cloned from people", "self_play": "self-play agent"}
"""Negotiators whose names say too little."""

Scores = dict[str, tuple[str, dict[str, Estimate]]]
"""By a row's name, its title and its scores by column."""


@dataclass
class Table:
    """A table as `ResultTable` describes it, while it is put together."""

    name: str
    title: str
    columns: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, scores: Scores, is_yardstick: Callable[[str], bool]) -> None:
        """Add rows; columns that are new are added behind the others."""
        known = dict.fromkeys(self.columns)
        self.columns = list(known | dict.fromkeys(column for _, cells in scores.values() for column in cells))
        for name, (title, cells) in scores.items():
            yardstick = is_yardstick(name)
            facts = {"name": name, "title": title, "yardstick": yardstick, "on_axis": yardstick and _is_end(name)}
            self.rows.append({**facts, "cells": {column: cell.model_dump() for column, cell in cells.items()}})

    def told(self) -> dict[str, Any]:
        """The table in plain JSON, with a score or null for every column."""
        rows = [{**row, "cells": [row["cells"].get(column) for column in self.columns]} for row in self.rows]
        facts = {"name": self.name, "title": self.title, "columns": self.columns, "sources": self.sources}
        return {**facts, "rows": rows, "notes": self.notes}


def _is_end(name: str) -> bool:
    return name in ENDS or name.startswith(tuple(end for end in ENDS if end.endswith("(")))


def designer_scores(result: Mapping[str, Any]) -> Scores:
    """Every designer on every population."""
    found: Scores = {}
    for population, rows in result["populations"].items():
        for row in rows:
            found.setdefault(row["designer"], (row["designer"], {}))[1][str(population)] = Estimate.model_validate(row["score"])
    return found


def bound_scores(result: Mapping[str, Any]) -> Scores:
    """The computed ends of every bargaining scenario, and simple rules between them."""
    found: Scores = {}
    for scenario in result["scenarios"]:
        for row in scenario["rows"]:
            found.setdefault(row["agent"], (row["label"], {}))[1][scenario["scenario"]] = Estimate.model_validate(row)
    return found


def trained_scores(result: Mapping[str, Any]) -> Scores:
    """Negotiators that were trained for a study, each in its scenario."""
    cells = result["cells"]
    return {cell["name"]: (cell["name"], {cell["scenario"]: Estimate.model_validate(cell["share_of_maximum"])}) for cell in cells}


def own_partner_scores(result: Mapping[str, Any]) -> Scores:
    """What the negotiators of the tournament get from each scenario's own partner."""
    return _by_scenario(result, lambda scenario: [(row["agent"], row["agent_share"]) for row in scenario["with_own_partner"]])


def tournament_scores(result: Mapping[str, Any]) -> Scores:
    """What the negotiators of the tournament get on average from all others, in both seats."""
    return _by_scenario(result, lambda scenario: [(row["name"], row["score"]) for row in scenario["scores"]])


def _by_scenario(result: Mapping[str, Any], rows: Callable[[Any], Iterable[tuple[str, Any]]]) -> Scores:
    found: Scores = {}
    for scenario in result["scenarios"]:
        for name, score in rows(scenario):
            found.setdefault(name, (TITLES.get(name, name.replace("_", " ")), {}))[1][scenario["scenario"]] = Estimate.model_validate(score)
    return found


def _is_designer_yardstick(name: str) -> bool:
    return name.startswith(DESIGNER_YARDSTICKS)


class Source(NamedTuple):
    """A file of a table: how its scores are read, and which of its rows are yardsticks."""

    file: str
    scores: Callable[[Mapping[str, Any]], Scores]
    is_yardstick: Callable[[str], bool] = lambda _: False


TABLES: dict[str, tuple[str, tuple[Source, ...]]] = {
    "designers": ("Trained designers by population", (Source("designers.json", designer_scores, _is_designer_yardstick),)),
    "markets": ("All designers by population", (Source("yardstick_auction.json", designer_scores, _is_designer_yardstick),)),
    "negotiators": (
        "Negotiators by scenario",
        (
            Source("yardstick_bargaining.json", bound_scores, lambda _: True),
            Source("negotiators.json", trained_scores),
            Source("tournament.json", own_partner_scores),
        ),
    ),
    "tournament": ("Negotiators against each other", (Source("tournament.json", tournament_scores),)),
}
"""Titles and files, by name."""


def read_tables(folder: Path) -> list[dict[str, Any]]:
    """All tables for which there is a file."""
    tables = []
    for name, (title, sources) in TABLES.items():
        table = Table(name, title)
        for source in sources:
            _add(table, folder / source.file, source)
        if table.rows or table.notes:
            tables.append(table.told())
    return tables


def _add(table: Table, path: Path, source: Source) -> None:
    """Add what a file says to a table; of a name that is there already, the first score counts."""
    try:
        stamp = path.stat()
        if stamp.st_size > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        result = _read(path, stamp.st_mtime_ns)
        known = {row["name"] for row in table.rows}
        table.add({name: found for name, found in source.scores(result).items() if name not in known}, source.is_yardstick)
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = problem_in(error).sentence if isinstance(error, ValidationError) else str(error)
        table.notes.append(f"{path.name} cannot be shown ({what}); write it again with its command.")
        return
    facts = {key: str(result[key]) if key in result else None for key in ("command", "quantity", "seeds")}
    table.sources.append({"file": path.name, **facts})
    table.notes += [str(note) for note in result.get("notes", ())]


@functools.lru_cache(maxsize=KEPT_FILES)
def _read(path: Path, changed: int) -> Mapping[str, Any]:
    """The content of a file, read again when it has changed."""
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content
