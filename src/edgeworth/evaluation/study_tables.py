"""The results of a study as Parquet: one line per run in `results.parquet`, one per point of a learning curve in `curves.parquet`.

What holds for the whole study (the command, the quantities, the seeds, what failed) is in the metadata of `results.parquet`, so that the
file explains itself wherever it is copied. `score` is on the scale from random play (0) to the blind Bayes plan (1) where the game has one.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeworth.errors import DataError, MissingExtra
from edgeworth.files import write_whole
from edgeworth.runlog import run_facts

RESULTS, CURVES = "results.parquet", "curves.parquet"
ABOUT = b"edgeworth"
"""The key of the metadata."""
OF_A_RUN = ("seed", "below_bayes", "deal_rate", "length", "moves", "seconds", "cpu_seconds")

Row = dict[str, Any]


def _pyarrow(module: str = "pyarrow") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra("A study", "pyarrow", "train") from error


def game_axis(cells: Sequence[Mapping[str, Any]]) -> str | None:
    """The axis of a grid that chooses the game: with each of its values there is one scenario, and there are several."""
    for axis in cells[0].get("values", {}) if cells else ():
        pairs = {(cell["values"].get(axis), cell["scenario"]) for cell in cells if "values" in cell}
        if len(pairs) == len({value for value, _ in pairs}) > 1 and len({scenario for _, scenario in pairs}) == len(pairs):
            return str(axis)
    return None


def method_of(cell: Mapping[str, Any], axis: str | None) -> str:
    """What is compared: the cell without its game, where a grid says which part that is."""
    values = {name: value for name, value in cell.get("values", {}).items() if name != axis}
    return ", ".join(values.values()) or str(cell["name"])


def run_rows(result: Mapping[str, Any]) -> list[Row]:
    """One line per run."""
    cells, rows = result["cells"], []
    axis = game_axis(cells)
    for cell in cells:
        random, bayes = cell["yardsticks"]["random"], cell["yardsticks"]["bayes"]
        for run in cell["seeds"]:
            share = run["share_of_maximum"]["value"]
            rows.append(
                {
                    "cell": cell["name"],
                    "method": method_of(cell, axis),
                    "game": cell["scenario"],
                    **{key: cell[key] for key in ("config", "algo")},
                    "hints": cell["hints"]["mode"],
                    "share_of_maximum": share,
                    "score": None if bayes is None else (share - random) / (bayes - random),
                    "random": random,
                    "bayes": bayes,
                    "reward": run["reward"]["value"],
                    **{key: run.get(key) for key in OF_A_RUN},
                }
            )
    return rows


def curve_rows(result: Mapping[str, Any]) -> list[Row]:
    """One line per point of a cell's learning curve."""
    rows = []
    for cell in result["cells"]:
        curve = cell["curve"] or {"steps": [], "share_of_maximum": {"mean": [], "low": [], "high": []}}
        points = zip(curve["steps"], *(curve["share_of_maximum"][name] for name in ("mean", "low", "high")), strict=True)
        rows += [{"cell": cell["name"], "moves": int(moves), "mean": mean, "low": low, "high": high} for moves, mean, low, high in points]
    return rows


def write_tables(folder: Path, result: Mapping[str, Any]) -> None:
    """Write both tables of a study into the folder of its runs."""
    head = {key: value for key, value in result.items() if key != "cells"}
    about = json.dumps({**head, "written_by": run_facts(result["command"])})
    for name, rows in ((RESULTS, run_rows(result)), (CURVES, curve_rows(result))):
        table = _pyarrow().Table.from_pylist(rows).replace_schema_metadata({ABOUT: about.encode()})
        content = io.BytesIO()
        _pyarrow("pyarrow.parquet").write_table(table, content)
        write_whole(folder / name, content.getvalue())


def read_tables(folder: Path) -> tuple[dict[str, Any], list[Row]]:
    """What is known of a finished study, and its runs."""
    path = folder / RESULTS
    if not path.is_file():
        raise DataError(folder, f"holds no {RESULTS}; expected the folder of a finished study, such as runs/negotiators.")
    try:
        table = _pyarrow("pyarrow.parquet").read_table(path)
        about = json.loads(table.schema.metadata[ABOUT])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(path, f"is no table of a study ({error}); call `edgeworth study` again, which writes it anew.") from error
    return about, table.to_pylist()
