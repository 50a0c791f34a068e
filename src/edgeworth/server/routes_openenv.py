"""OpenEnv's JSON-RPC (`/mcp`) and task routes.

The games have no tools; JSON-RPC makes and closes sessions by name. They are ordinary sessions, so a socket can continue one with
`?session_id=`, on any worker, and after a restart. Tasks are the episodes of a game by split, each with the options that `reset` takes.
Paths and shapes are OpenEnv's; its own task routes take numbers of any size and have other error shapes.
"""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from edgeworth.errors import EdgeworthError, UnknownName
from edgeworth.server.refusals import Refused, problems, refusal_of
from edgeworth.server.routes_designers import WHOLE
from edgeworth.server.sessions import Sessions

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


class Tasks(Protocol):
    """A source of tasks: OpenEnv's environment of a game."""

    game: str

    def list_splits(self) -> list[str]:
        """The names of the splits."""
        ...

    def list_tasks(self, split: str) -> list[Task]:
        """The tasks of one split."""
        ...


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


def tasks_of(source: Tasks, split: str) -> list[Task]:
    """The tasks of a split, or a refusal that names the known ones."""
    try:
        return source.list_tasks(split)
    except UnknownName as error:
        raise Refused(404, "unknown_split", str(error), f"GET /{source.game}/splits lists them.", "split") from None


def task_routes(source: Tasks) -> APIRouter:
    """Splits and tasks of a game."""
    game = source.game
    router = APIRouter(prefix=f"/{game}", tags=["openenv"])

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
