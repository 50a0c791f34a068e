"""Runs on this machine: their folders, settings and metrics over time, also while they train.

A run is named by its folder inside the folder of runs. A name is looked up in the list of the runs that are there; a path that a client
sends is never opened.
"""

from __future__ import annotations

import asyncio
import csv
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from edgeworth.runlog import CHECKPOINTS, CONFIG, FACTS, HISTORY, METRICS, SUFFIX, read_config, read_history
from edgeworth.server.models_lab import RunHistory, RunList
from edgeworth.server.plots import shown_files
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.settings import ServerSettings

FOLDER = "runs/"
MOST_LINES = 400
"""Lines of a history that are sent; of a longer one, evenly chosen ones and the last."""


def run_routes(settings: ServerSettings) -> APIRouter:
    """List the runs, and show one."""
    router = APIRouter(tags=["runs"])

    @router.get("/runs", operation_id="runs", response_model=RunList, responses=problems())
    async def listed() -> Response:
        """All runs, the one that was written last first."""
        found = await asyncio.to_thread(lambda: [run_line(name, folder) for name, folder in run_folders(settings).items()])
        return Json({"runs": sorted(found, key=lambda run: -run["changed"])})

    @router.get("/runs/history", operation_id="run_history", response_model=RunHistory, responses=problems(404))
    async def history(name: Annotated[str, Query(max_length=500)]) -> Response:
        """Settings and metrics of a run."""
        folder = (await asyncio.to_thread(run_folders, settings)).get(name)
        if folder is None:
            raise Refused(404, "not_found", f"There is no run {name[:100]!r}.", "GET /runs lists them.", "name")
        return Json(await asyncio.to_thread(run_history, name, folder))

    return router


def run_folders(settings: ServerSettings) -> dict[str, Path]:
    """The folders of all runs, by name."""
    logs = [path.parent for link, path in shown_files(settings).items() if link.startswith(FOLDER) and path.name in (METRICS, HISTORY)]
    root = Path(settings.runs).resolve()
    return {folder.relative_to(root).as_posix(): folder for folder in logs}


def run_lines(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run, also of one that trains; the history is only written with a checkpoint."""
    if not (folder / METRICS).is_file():
        return [dict(line) for line in read_history(folder)]
    with (folder / METRICS).open(encoding="utf-8", newline="") as file:
        return [{key: _number(text) for key, text in line.items() if key and text} for line in csv.DictReader(file)]


def _number(text: str) -> float | str:
    """A number where the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


def run_line(name: str, folder: Path) -> dict[str, Any]:
    """A run in the list."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = {}
    saved = sorted(path.stem for path in (folder / CHECKPOINTS).glob(f"*{SUFFIX}"))
    changed = max((folder / log).stat().st_mtime for log in (METRICS, HISTORY) if (folder / log).is_file())
    return {"name": name, "began": facts.get("began"), "command": facts.get("command"), "changed": changed, "checkpoints": saved}


def run_history(name: str, folder: Path) -> dict[str, Any]:
    """Settings and metrics of a run; what is no number is null."""
    lines = run_lines(folder)
    step = max(1, -(-len(lines) // MOST_LINES))
    chosen = [*lines[::step], *([lines[-1]] if lines and (len(lines) - 1) % step else [])]
    settings = dict(read_config(folder)) if (folder / CONFIG).is_file() else {}
    return {**run_line(name, folder), "settings": settings, "total": len(lines), "lines": chosen}
