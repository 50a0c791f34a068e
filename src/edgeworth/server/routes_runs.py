"""Runs on this machine: their folders, settings and metrics over time, also while they train; and starting a short one.

A run is named by its folder inside the folder of runs. A name is looked up in the list of the runs that are there; a path that a client
sends is never opened.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from edgeworth.runlog import CHECKPOINTS, CONFIG, FACTS, HISTORY, METRICS, SUFFIX, read_config, read_history
from edgeworth.server.models_lab import RunHistory, RunList
from edgeworth.server.models_training import TrainingRequest, Trainings, TrainingState
from edgeworth.server.plots import Remembered
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.settings import ServerSettings
from edgeworth.server.training import Training

FOLDER = "runs/"
MOST_LINES = 400
"""Lines of a history that are sent; of a longer one, evenly chosen ones and the last."""


def run_routes(settings: ServerSettings, files: Remembered[dict[str, Path]], training: Training) -> APIRouter:
    """List the runs, show one, and train."""
    router = APIRouter(tags=["runs"])
    root = Path(settings.runs).resolve()
    lines = Remembered(lambda: [run_line(name, folder) for name, folder in run_folders(files(), root).items() if has_log(folder)])

    @router.get("/runs", operation_id="runs", response_model=RunList, responses=problems())
    async def listed() -> Response:
        """All runs, the one that was written last first."""
        return Json({"runs": sorted(await asyncio.to_thread(lines), key=lambda run: -run["changed"])})

    @router.get("/runs/history", operation_id="run_history", response_model=RunHistory, responses=problems(404))
    async def history(name: Annotated[str, Query(max_length=500)]) -> Response:
        """Settings and metrics of a run."""
        folder = run_folders(await asyncio.to_thread(files), root).get(name)
        if folder is None or not has_log(folder):
            raise Refused(404, "not_found", f"There is no run {name[:100]!r}.", "GET /runs lists them.", "name")
        return Json(await asyncio.to_thread(run_history, name, folder))

    @router.get("/trainings", operation_id="trainings", response_model=Trainings, responses=problems())
    async def trainings() -> Response:
        """Whether a training can be started here, from which settings, and the last one."""
        return Json(await asyncio.to_thread(training.overview))

    @router.post("/trainings", operation_id="train", status_code=202, response_model=TrainingState, responses=problems(409))
    async def train(body: TrainingRequest) -> Response:
        """Start a training, one at a time; only on a server for its own machine."""
        return Json(await asyncio.to_thread(training.start, body), 202)

    @router.post("/trainings/cancel", operation_id="cancel_training", response_model=TrainingState, responses=problems(404))
    async def cancel() -> Response:
        """Tell the training to save and stop."""
        return Json(await asyncio.to_thread(training.cancel))

    return router


def run_folders(files: Mapping[str, Path], root: Path) -> dict[str, Path]:
    """The folders of all runs, by name."""
    logs = [path.parent for link, path in files.items() if link.startswith(FOLDER) and path.name in (METRICS, HISTORY)]
    return {folder.relative_to(root).as_posix(): folder for folder in logs}


def has_log(folder: Path) -> bool:
    """Whether a run has metrics; it may have been deleted since it was found."""
    return any((folder / log).is_file() for log in (METRICS, HISTORY))


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
