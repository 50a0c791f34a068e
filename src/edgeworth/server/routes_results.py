"""Results and studies over HTTP: scores as tables with their intervals and commands, and our pages in Markdown."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from edgeworth.server.models_results import Results, Studies
from edgeworth.server.refusals import Json, problems
from edgeworth.server.results import read_tables
from edgeworth.server.settings import ServerSettings
from edgeworth.server.studies import Markdown, listed_studies, study_file


def result_routes(settings: ServerSettings) -> APIRouter:
    """Tables of results, and studies."""
    router = APIRouter(tags=["results"])

    @router.get("/results", operation_id="results", response_model=Results, responses=problems())
    async def results() -> Response:
        """Designers by population and negotiators by scenario, from the folder of results; empty where that has none."""
        return Json({"tables": await asyncio.to_thread(read_tables, Path(settings.results))})

    @router.get("/studies", operation_id="studies", response_model=Studies, responses=problems())
    async def studies() -> Response:
        """Our pages on what was found."""
        return Json({"studies": await asyncio.to_thread(listed_studies)})

    @router.get("/studies/{name:path}", operation_id="study", response_class=Markdown, responses=problems(404, page=True))
    async def study(name: str) -> Response:
        """One of them, in Markdown."""
        return FileResponse(study_file(name), media_type=Markdown.media_type, headers={"x-content-type-options": "nosniff"})

    return router
