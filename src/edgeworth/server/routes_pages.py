"""Pages and probes: the write-up, figures and data of runs, health, readiness and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from edgeworth.server.models import Status
from edgeworth.server.monitoring import Metrics
from edgeworth.server.plots import DRAWN, TYPES, DrawnFigures, Remembered, gallery
from edgeworth.server.readiness import Readiness
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.studies import PAGES, WRITE_UP, Markdown, study_file

FILES: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind in TYPES.values()}}}
HEADERS = {"content-security-policy": "default-src 'self'; style-src 'unsafe-inline'", "x-content-type-options": "nosniff"}


def page_routes(files: Remembered[dict[str, Path]], readiness: Readiness, metrics: Metrics, draining: Callable[[], bool]) -> APIRouter:
    """Pages, health, readiness and metrics."""
    drawn = DrawnFigures()
    router = APIRouter(tags=["pages"])

    @router.get("/blog.md", operation_id="write_up", response_class=Markdown, responses=problems(404, page=True))
    async def blog() -> Response:
        """Our write-up of the lab."""
        return FileResponse(study_file(WRITE_UP), media_type=Markdown.media_type, headers=HEADERS)

    @router.get("/plots/", operation_id="figures", response_class=HTMLResponse, responses=problems(page=True))
    async def plots() -> Response:
        """All figures, and links to the data of runs."""
        page = (PAGES / "figures.html").read_text(encoding="utf-8")
        shown = gallery(list(await asyncio.to_thread(files)))
        return HTMLResponse(page.replace("<!-- figures -->", shown), headers=HEADERS)

    @router.get("/plots/{name:path}", operation_id="figure", response_class=FileResponse, responses=FILES | problems(404, 501, page=True))
    async def plot(name: str) -> Response:
        """One figure, or the data of a run."""
        path = (await asyncio.to_thread(files)).get(name)
        if path is None or not path.is_file():
            raise Refused(404, "not_found", f"There is no figure {name[:100]!r}.", "GET /plots/ lists them.", "name")
        if name.endswith(DRAWN) and path.name != DRAWN:
            return Response(await drawn.figure(path), media_type=TYPES[".png"], headers=HEADERS)
        return FileResponse(path, media_type=TYPES[path.suffix], headers=HEADERS)

    @router.get("/health", operation_id="health", response_model=Status, responses=problems(), tags=["probes"])
    async def health() -> Response:
        """Whether the process is alive."""
        return Json({"status": "healthy"})

    @router.get("/ready", operation_id="ready", response_model=Status, responses=problems(503), tags=["probes"])
    async def ready() -> Response:
        """Whether requests will be answered; where not, the reason."""
        if draining():
            raise Refused(503, "draining", "This server is leaving.", "Ask another one.", retry_after=5)
        if problem := await readiness.problem():
            raise Refused(503, "no_store", problem, "Try again later.", retry_after=5)
        return Json({"status": "ready"})

    @router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse, responses=problems(page=True), tags=["probes"])
    async def metric_text() -> Response:
        """Metrics in Prometheus's format, also while the store does not answer."""
        await readiness.problem()
        text = await asyncio.get_running_loop().run_in_executor(metrics.thread, metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return router
