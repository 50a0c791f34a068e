"""OpenEnv's routes over HTTP: descriptions of the games (`/schema`, `/metadata`), their tasks, and JSON-RPC (`/mcp`).

OpenEnv's `/reset`, `/step` and `/ws` play episodes in memory, so ours stand in their place; its web page, which all visitors share, is
left out. OpenEnv itself is imported when the server starts, which takes seconds. Where it is not installed, `/mcp` and sockets work all the
same, and `/metadata` says what is missing.

The games have no tools; JSON-RPC makes and closes sessions by name. They are ordinary sessions, so a socket can continue one with
`?session_id=`, on any worker, and after a restart. Tasks are the episodes of a game by split, each with the options that `reset` takes.
Paths and shapes are OpenEnv's; its own task routes take numbers of any size and have other error shapes.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from edgeworth.errors import EdgeworthError, InvalidOption, MissingExtra, UnknownName
from edgeworth.server.models_designers import WHOLE
from edgeworth.server.refusals import Json, Refused, problems, refusal_of
from edgeworth.server.routes_games import PREFIXES, owner_of
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import ServerSettings

if TYPE_CHECKING:
    from edgeworth.server.openenv_games import GameEnvironment

STALE = "openenv-core"
"""OpenEnv's old package name; it installs into the same folder, and the two overwrite each other."""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, SERVER_ERROR = -32700, -32600, -32601, -32602, -32000
CREATE, CLOSE = "openenv/session/create", "openenv/session/close"

Task = dict[str, Any]
Place = Annotated[int, Field(ge=-(2**31), lt=2**31, strict=True), WHOLE]


async def rpc_answer(sessions: Sessions, owner: str, game: str, request: Any) -> dict[str, Any]:
    """The answer to one JSON-RPC request."""
    if not isinstance(request, dict) or request.get("jsonrpc", "2.0") != "2.0" or not isinstance(request.get("method"), str):
        return failed(None, INVALID_REQUEST, 'Expected {"jsonrpc": "2.0", "method": …, "params": {…}, "id": …}.')
    number, method, params = request.get("id"), request["method"], request.get("params") or {}
    if not isinstance(params, dict):
        return failed(number, INVALID_PARAMS, "Params must be an object.")
    if not isinstance(number, str | int | float | None):
        return failed(None, INVALID_REQUEST, "The id is a text, a number or null.")
    try:
        if method == CREATE:
            held = await sessions.open(owner, game, {})
            return succeeded(number, {"session_id": held.stored.id})
        if method == CLOSE:
            return await _closed(sessions, owner, number, params)
    except (Refused, EdgeworthError) as error:
        return failed(number, SERVER_ERROR, str(error), refusal_of(error).body())
    return failed(number, NO_METHOD, f"Method not found: {method[:60]}. This environment has no tools; it is played over /ws or /step.")


async def _closed(sessions: Sessions, owner: str, number: Any, params: dict[str, Any]) -> dict[str, Any]:
    session_id = params.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        return failed(number, INVALID_PARAMS, "Expected the session_id that is to be closed.")
    try:
        await sessions.close(owner, session_id)
    except Refused as refused:
        return failed(number, INVALID_PARAMS, refused.message, refused.body())
    return succeeded(number, {"session_id": session_id, "closed": True})


def succeeded(number: Any, result: Any) -> dict[str, Any]:
    """A JSON-RPC result."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def failed(number: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """A JSON-RPC error."""
    error = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": error if data is None else {**error, "data": data}}


def rpc_routes(sessions: Sessions, game: str) -> APIRouter:
    """The JSON-RPC route of a game."""
    router = APIRouter(prefix=PREFIXES[game])

    @router.post("/mcp", operation_id=f"{game}_mcp", response_model=dict[str, Any], responses=problems())
    async def mcp(request: Request) -> Response:
        """Make or close a session that a socket can continue; the games have no tools."""
        body = await request.body()
        if not body:
            return Json(failed(None, PARSE_ERROR, "The body is empty; expected a JSON-RPC request."))
        return Json(await rpc_answer(sessions, owner_of(request), game, await request.json()))

    return router


class SplitAsked(BaseModel):
    """A split by its name."""

    model_config = ConfigDict(extra="forbid")

    split: str


class TaskAsked(SplitAsked):
    """A task by its place in a split."""

    index: Place


class RangeAsked(SplitAsked):
    """Tasks from one place to another, as a Python slice."""

    start: Place | None = None
    stop: Place | None = None


def tasks_of(source: GameEnvironment[Any, Any], split: str) -> list[Task]:
    """The tasks of a split, or a refusal that names the known ones."""
    try:
        return source.list_tasks(split)
    except UnknownName as error:
        raise Refused(404, "unknown_split", str(error), f"GET /{source.game}/splits lists them.", "split") from None


def task_routes(source: GameEnvironment[Any, Any]) -> APIRouter:
    """Splits and tasks of a game."""
    game = source.game
    router = APIRouter(prefix=f"/{game}")

    @router.get("/splits", operation_id=f"{game}_splits", responses=problems())
    async def splits() -> list[dict[str, str]]:
        """All splits."""
        return [{"name": split, "type": split} for split in source.list_splits()]

    @router.post("/tasks", operation_id=f"{game}_tasks", responses=problems(404))
    async def tasks(body: SplitAsked) -> dict[str, Any]:
        """All tasks of a split."""
        return {"tasks": tasks_of(source, body.split), "env_name": game}

    @router.post("/num_tasks", operation_id=f"{game}_num_tasks", responses=problems(404))
    async def num_tasks(body: SplitAsked) -> dict[str, int]:
        """The number of tasks of a split."""
        return {"num_tasks": len(tasks_of(source, body.split))}

    @router.post("/task", operation_id=f"{game}_task", responses=problems(404))
    async def task(body: TaskAsked) -> dict[str, Task]:
        """One task."""
        found = tasks_of(source, body.split)
        if not 0 <= body.index < len(found):
            message = f"index is {body.index}; {body.split} has {len(found)} tasks."
            raise Refused(404, "unknown_task", message, f"Choose one from 0 to {len(found) - 1}.", "index")
        return {"task": found[body.index]}

    @router.post("/task_range", operation_id=f"{game}_task_range", responses=problems(404))
    async def task_range(body: RangeAsked) -> dict[str, list[Task]]:
        """A range of tasks."""
        return {"tasks": tasks_of(source, body.split)[body.start : body.stop]}

    return router


def description_routes(source: GameEnvironment[Any, Any]) -> APIRouter:
    """What a game is, and the JSON schemas of its actions, observations and states."""
    from openenv.core.env_server.types import EnvironmentMetadata, SchemaResponse

    router, game = APIRouter(prefix=PREFIXES[source.game]), source.game

    @router.get("/metadata", operation_id=f"{game}_metadata", response_model=EnvironmentMetadata, responses=problems())
    async def metadata() -> Any:
        """Name, description and version of the game."""
        return source.get_metadata()

    @router.get("/schema", operation_id=f"{game}_schema", response_model=SchemaResponse, responses=problems())
    async def schema() -> Any:
        """JSON schemas of actions, observations and states."""
        return source.schemas()

    return router


def add_openenv(app: FastAPI, sessions: Sessions, settings: ServerSettings) -> None:
    """Add OpenEnv's routes to the application."""
    router = APIRouter(tags=["openenv"])
    for game in PREFIXES:
        router.include_router(rpc_routes(sessions, game))
    if settings.openenv and importlib.util.find_spec("openenv") is not None:
        refuse_stale_openenv()
        from edgeworth.server.openenv_games import BargainingOpenEnv, DaedalusOpenEnv

        @router.get("/list_environments", operation_id="list_environments", responses=problems())
        async def list_environments() -> list[str]:
            """The names under which tasks are listed."""
            return list(PREFIXES)

        for environment in (DaedalusOpenEnv(), BargainingOpenEnv()):
            router.include_router(description_routes(environment))
            router.include_router(task_routes(environment))
    else:

        @router.get("/metadata", operation_id="metadata", responses=problems(501))
        async def metadata() -> Response:
            """Says what is missing."""
            raise MissingExtra("OpenEnv's description of the games", "openenv", "server")

    app.include_router(router)


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
