"""Pages and probes: the start page, the write-up, figures of finished runs, health, readiness and metrics.

A figure is looked up in the list of the files in two folders; a path that a client sends is never opened.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

from edgeworth.server.models import Status
from edgeworth.server.monitoring import Metrics
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.server.settings import ServerSettings
from edgeworth.server.store import Store

PAGES = Path(__file__).resolve().parent / "pages"
MOST_FIGURES = 1_000
HEADERS = {"content-security-policy": "default-src 'self'; style-src 'unsafe-inline'", "x-content-type-options": "nosniff"}


class Markdown(PlainTextResponse):
    """A page in Markdown."""

    media_type = "text/markdown"


class Figure(FileResponse):
    """A picture."""

    media_type = "image/png"


def write_up() -> Path:
    """Our page about the lab: inside an installed package, or in the docs of a checkout."""
    for path in (PAGES / "blog.md", PAGES.parents[3] / "docs" / "blog.md"):
        if path.is_file():
            return path
    raise Refused(404, "not_found", "This installation has no write-up.", "Look at the documentation.")


def figures(settings: ServerSettings) -> dict[str, Path]:
    """All figures by their names in links."""
    found: dict[str, Path] = {}
    for folder in (Path(settings.results), Path(settings.runs)):
        root = folder.resolve()
        for path in sorted(root.rglob("*.png")) if root.is_dir() else ():
            inside = path.resolve().is_relative_to(root) and not any(part.startswith(".") for part in path.relative_to(root).parts)
            if inside and len(found) < MOST_FIGURES:
                found.setdefault(f"{root.name}/{path.relative_to(root).as_posix()}", path)
    return found


def gallery(names: list[str]) -> str:
    """The index of figures."""
    shown = [(html.escape(name), html.escape(name.rpartition("/")[2].removesuffix(".png").replace("_", " "))) for name in names]
    items = "".join(
        f'<figure><a href="/plots/{name}"><img src="/plots/{name}" alt="{title}" loading=lazy></a><figcaption>{title}</figcaption></figure>'
        for name, title in shown
    )
    page = (PAGES / "figures.html").read_text(encoding="utf-8")
    return page.replace("<!-- figures -->", items or "<p>No figures yet: <code>make yardstick</code> draws the first.</p>")


def page_routes(settings: ServerSettings, store: Store, metrics: Metrics, draining: Callable[[], bool]) -> APIRouter:
    """Pages, health, readiness and metrics."""
    router = APIRouter(tags=["pages"])

    @router.get("/", operation_id="start", response_class=HTMLResponse, responses=problems(page=True))
    async def start() -> Response:
        """Where to go from here."""
        return FileResponse(PAGES / "start.html", media_type="text/html", headers=HEADERS)

    @router.get("/blog.md", operation_id="write_up", response_class=Markdown, responses=problems(404, page=True))
    async def blog() -> Response:
        """Our write-up of the lab."""
        return FileResponse(write_up(), media_type=Markdown.media_type, headers=HEADERS)

    @router.get("/plots/", operation_id="figures", response_class=HTMLResponse, responses=problems(page=True))
    async def plots() -> Response:
        """All figures."""
        return HTMLResponse(gallery(list(await asyncio.to_thread(figures, settings))), headers=HEADERS)

    @router.get("/plots/{name:path}", operation_id="figure", response_class=Figure, responses=problems(404, page=True))
    async def plot(name: str) -> Response:
        """One figure."""
        path = (await asyncio.to_thread(figures, settings)).get(name)
        if path is None:
            raise Refused(404, "not_found", f"There is no figure {name[:100]!r}.", "GET /plots/ lists them.", "name")
        return Figure(path, headers=HEADERS)

    @router.get("/health", operation_id="health", response_model=Status, responses=problems(), tags=["probes"])
    async def health() -> Response:
        """Whether the process is alive."""
        return Json({"status": "healthy"})

    @router.get("/ready", operation_id="ready", response_model=Status, responses=problems(503), tags=["probes"])
    async def ready() -> Response:
        """Whether requests will be answered."""
        if draining():
            raise Refused(503, "draining", "This server is leaving.", "Ask another one.", retry_after=5)
        try:
            await asyncio.to_thread(store.check)
        except Exception as error:
            kind = type(error).__name__
            raise Refused(503, "no_store", f"The store does not answer ({kind}).", "Try again later.", retry_after=5) from error
        return Json({"status": "ready"})

    @router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse, responses=problems(page=True), tags=["probes"])
    async def metric_text() -> Response:
        """Metrics in Prometheus's format."""
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE_LATEST)

    return router
