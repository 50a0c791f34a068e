"""OpenEnv's routes on our application: sockets over durable sessions, and its own schema and metadata for the rest.

OpenEnv's `/reset`, `/step` and `/ws` play episodes in memory, so ours stand in their place; its web page, which all visitors share, is
left out, and so is its reaper, since nothing is left that it could hold. OpenEnv itself is loaded here, when the server starts: it
takes seconds. Where it is not installed, sockets and `/mcp` work all the same, and `/metadata` says what is missing.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.server.refusals import Json, problems
from edgeworth.server.routes_games import PREFIXES, owner_of
from edgeworth.server.routes_openenv import PARSE_ERROR, failed, rpc_answer, task_routes
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import ServerSettings
from edgeworth.server.sockets import Sockets

STALE = "openenv-core"
"""The package's old name; it installs into the same folder and the two overwrite each other."""
STOCK = ("/schema", "/metadata")


def add_openenv(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> Sockets:
    """Put OpenEnv's routes beside ours."""
    sockets = Sockets(sessions, settings.limits, settings.sockets)
    app.state.metrics.watch("sockets", "Open sockets.", lambda: sockets.open, everywhere=False)
    app.include_router(sockets.routes(PREFIXES))
    for game, prefix in PREFIXES.items():
        app.include_router(rpc_routes(sessions, game, prefix))
    if settings.openenv and importlib.util.find_spec("openenv") is not None:
        refuse_stale_openenv()
        _add_stock_routes(app)
    else:
        app.include_router(missing_routes())
    return sockets


def refuse_stale_openenv() -> None:
    """Refuse to start where OpenEnv is installed under its old name too."""
    try:
        version = importlib.metadata.version(STALE)
    except importlib.metadata.PackageNotFoundError:
        return
    raise InvalidOption(
        f"{STALE} {version} is installed beside openenv and overwrites its files; run `pip uninstall {STALE}` and"
        " `pip install --force-reinstall openenv==0.10.0`, or start without OpenEnv."
    )


def rpc_routes(sessions: Sessions, game: str, prefix: str) -> APIRouter:
    """OpenEnv's JSON-RPC."""
    router = APIRouter(prefix=prefix, tags=["openenv"])

    @router.post("/mcp", operation_id=f"{game}_mcp", response_model=dict[str, Any], responses=problems())
    async def mcp(request: Request) -> Response:
        """Make or close a session that a socket can take up; the games have no tools."""
        body = await request.body()
        if not body:
            return Json(failed(None, PARSE_ERROR, "The body is empty; expected a JSON-RPC request."))
        return Json(await rpc_answer(sessions, owner_of(request), game, await request.json()))

    return router


def missing_routes() -> APIRouter:
    """What is served where OpenEnv is not."""
    router = APIRouter(tags=["openenv"])

    @router.get("/metadata", operation_id="metadata", responses=problems(501))
    async def metadata() -> Response:
        """Says what is missing."""
        raise MissingExtra("OpenEnv's description of the games", "openenv", "server")

    return router


def _add_stock_routes(app: FastAPI) -> None:
    from edgeworth.server.openenv_games import (
        BargainingObservation,
        BargainingOpenEnv,
        DaedalusObservation,
        DaedalusOpenEnv,
        MechanismAction,
        MoveAction,
    )

    router = APIRouter(tags=["openenv"])

    @router.get("/list_environments", operation_id="list_environments", responses=problems())
    async def list_environments() -> list[str]:
        """The names under which tasks are listed."""
        return list(PREFIXES)

    for route in _stock_routes(DaedalusOpenEnv, MechanismAction, DaedalusObservation):
        _add(router, route, "auction")
    for route in _stock_routes(BargainingOpenEnv, MoveAction, BargainingObservation):
        _add(router, route, "bargaining")
    for environment in (DaedalusOpenEnv(), BargainingOpenEnv()):
        router.include_router(task_routes(environment))
    app.include_router(router)


def _add(router: APIRouter, route: APIRoute, game: str) -> None:
    router.add_api_route(
        PREFIXES[game] + route.path,
        route.endpoint,
        response_model=route.response_model,
        summary=route.summary,
        description=route.description,
        operation_id=f"{game}_{route.path[1:]}",
        responses=problems(),
    )


def _stock_routes(environment: Any, action: Any, observation: Any) -> list[APIRoute]:
    """The routes of OpenEnv that describe a game, taken from an application that is then let go."""
    from openenv.core.env_server.http_server import HTTPEnvServer

    from edgeworth.server.openenv_games import EpisodeState

    shelf = FastAPI()
    HTTPEnvServer(environment, action, observation, env_name=environment.game, state_cls=EpisodeState).register_routes(shelf)
    routes: list[BaseRoute] = list(shelf.routes)
    return [route for route in routes if isinstance(route, APIRoute) and route.path in STOCK]
