"""OpenEnv's task routes: the episodes of a game by split, each with the options that `reset` takes.

Paths and shapes are OpenEnv's; its own routes take numbers of any size and answer in another shape where something is not there.
"""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from edgeworth.errors import UnknownName
from edgeworth.server.refusals import Refused
from edgeworth.server.routes_designers import WHOLE
from edgeworth.server.wire import problems

Task = dict[str, Any]
Place = Annotated[int, Field(ge=-(2**31), lt=2**31, strict=True), WHOLE]


class Tasks(Protocol):
    """Whoever has tasks."""

    game: str

    def list_splits(self) -> list[str]:
        """The names of the splits."""
        ...

    def list_tasks(self, split: str) -> list[Task]:
        """The tasks of one."""
        ...


class SplitAsked(BaseModel):
    """A split by its name."""

    model_config = ConfigDict(extra="forbid")

    split: str


class TaskAsked(SplitAsked):
    """A task by its place in a split."""

    index: Place


class RangeAsked(SplitAsked):
    """Tasks from one place to another, as Python slices."""

    start: Place | None = None
    stop: Place | None = None


def tasks_of(source: Tasks, split: str) -> list[Task]:
    """The tasks of a split, or a refusal that names those there are."""
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
        """Where tasks come from."""
        return [{"name": split, "type": split} for split in source.list_splits()]

    @router.post("/tasks", operation_id=f"{game}_tasks", responses=problems(404))
    async def tasks(body: SplitAsked) -> dict[str, Any]:
        """All tasks of a split."""
        return {"tasks": tasks_of(source, body.split), "env_name": game}

    @router.post("/num_tasks", operation_id=f"{game}_num_tasks", responses=problems(404))
    async def num_tasks(body: SplitAsked) -> dict[str, int]:
        """How many there are."""
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
        """Some of them."""
        return {"tasks": tasks_of(source, body.split)[body.start : body.stop]}

    return router
