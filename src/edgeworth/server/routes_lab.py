"""The lab page: its files, the catalog of what can be chosen on it, and mechanisms to begin with.

The page is a client of the public API like any other. Its files need no token, since it is the page that asks for one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, HTMLResponse

from edgeworth import __version__, catalog
from edgeworth.agents.designers.bundled import USUAL_BIDDERS, find_mechanism, mechanism_names
from edgeworth.config import BIDDER_RANGE, BargainingConfig, scenario_names, scenario_note
from edgeworth.server.models_lab import Catalog, Mechanisms
from edgeworth.server.openings import RULES_OF
from edgeworth.server.refusals import Json, Refused, problems
from edgeworth.validation import between

PAGE = Path(__file__).resolve().parent / "page"
START = "index.html"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
HEADERS = {"content-security-policy": f"{POLICY}; frame-ancestors 'none'", "x-content-type-options": "nosniff", "cache-control": "no-cache"}
PUBLISHED = "The published environment's robust mechanism, from its card."
FILES: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind in TYPES.values()}}}


def lab_routes() -> APIRouter:
    """The page itself, and the catalog of what can be chosen on it."""
    router = APIRouter(tags=["pages"])
    files = {path.name: path for path in PAGE.iterdir() if path.suffix in TYPES}

    @router.get("/", operation_id="start", response_class=HTMLResponse, responses=problems(page=True))
    async def start() -> Response:
        """The lab page: both games in the browser."""
        return FileResponse(PAGE / START, media_type=TYPES[".html"], headers=HEADERS)

    @router.get("/page/{name}", operation_id="page_file", response_class=FileResponse, responses=FILES | problems(404, page=True))
    async def page_file(name: str) -> Response:
        """A module or style sheet of the lab page."""
        path = files.get(name)
        if path is None:
            raise Refused(404, "not_found", f"The page has no file {name[:100]!r}.", "GET / is the page.", "name")
        return FileResponse(path, media_type=TYPES[path.suffix], headers=HEADERS)

    @router.get("/catalog", operation_id="catalog", response_model=Catalog, responses=problems())
    async def listed() -> Response:
        """Version and rules, and the scenarios, partners and hint providers that requests can name."""
        names = {"partners": "partner", "providers": "hint provider"}
        found = {key: [{"name": name, "what": described(kind, name)} for name in catalog.names(kind)] for key, kind in names.items()}
        return Json({"version": __version__, "rules": RULES_OF, "scenarios": [scenario(name) for name in scenario_names()], **found})

    @router.get("/mechanisms", operation_id="mechanisms", response_model=Mechanisms, responses=problems())
    async def mechanisms(n_agents: Annotated[int, between(*BIDDER_RANGE)] = USUAL_BIDDERS) -> Response:
        """The bundled mechanisms for so many bidders: the published one, and the best constants of every population."""
        return Json({"mechanisms": [bundled(name, n_agents) for name in mechanism_names()]})

    return router


def bundled(name: str, n_agents: int) -> dict[str, Any]:
    """A bundled mechanism, as `BundledMechanism` describes it."""
    mechanism, notes = find_mechanism(name, n_agents)
    what = PUBLISHED if name == "informed_greedy" else f"The best constant mechanism for {name.replace('_', ' ')}."
    return {"name": name, "what": what, "mechanism": mechanism.model_dump(), "notes": notes}


def described(kind: str, name: str) -> str:
    """The first sentence that the class behind a name says of itself."""
    return (catalog.resolve(kind, name).__doc__ or "").strip().splitlines()[0]


def scenario(name: str) -> dict[str, Any]:
    """A named game, as `Scenario` describes it."""
    config = BargainingConfig.from_options(name)
    return {"name": name, "what": scenario_note(name), "partner": config.partner, "max_turns": config.max_turns}
