"""`edgeworth replay FILE`: replay a session that was exported from the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType

from edgeworth.cli.console import deliver, table
from edgeworth.cli.options import AsJson
from edgeworth.errors import DataError, EdgeworthError

if TYPE_CHECKING:
    from edgeworth.server.live import Opening

EXPECTED = "expected what GET /sessions/{id}/export gives: game, seed, options and actions."


def replay_command(
    file: Annotated[Path, typer.Argument(help="JSON file of a session, from GET /sessions/{id}/export.")], as_json: AsJson = False
) -> None:
    """Replay a session that was exported from the server.

    Reported are the reward of every step and the end of the episode.

    Example: edgeworth replay session.json
    """
    opening, actions = read_session(file)
    steps = play(file, opening, actions)
    done = bool(steps and steps[-1]["done"])
    result = {**opening.as_dict(), "steps": steps, "total_reward": sum(step["reward"] for step in steps), "done": done}
    deliver(result, _page(opening, result), as_json)


def _page(opening: Opening, result: dict[str, Any]) -> Iterator[RenderableType]:
    steps = result["steps"]
    found = table("step", "action", "reward", title=f"{opening.game}, seed {opening.seed}", text=2)
    for number, step in enumerate(steps, 1):
        found.add_row(str(number), json.dumps(step["action"]), f"{step['reward']:.6f}")
    yield found
    how = "no step was made" if not steps else "the episode is over" if result["done"] else "the episode goes on"
    outcome = f" ({steps[-1]['info']['outcome']})" if steps and "outcome" in steps[-1]["info"] else ""
    yield f"{len(steps)} steps, total reward {result['total_reward']:.6f}; {how}{outcome}."


def read_session(file: Path) -> tuple[Opening, list[Any]]:
    """The opening and the actions in a file; an error says why it is not an exported session."""
    from edgeworth.server.live import opening_from

    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(file, f"cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(file, f"is not a text file; {EXPECTED}") from error
    except json.JSONDecodeError as error:
        raise DataError(file, f"is not JSON: {error.msg}; {EXPECTED}", error.lineno) from error
    if not isinstance(content, dict) or not isinstance(content.get("actions"), list) or not isinstance(content.get("options"), dict):
        raise DataError(file, f"is not an exported session; {EXPECTED}")
    missing = [name for name in ("game", "seed") if name not in content]
    if missing:
        raise DataError(file, f"lacks {' and '.join(missing)}; {EXPECTED}")
    try:
        return opening_from(content)
    except EdgeworthError as error:
        raise DataError(file, str(error)) from error


def play(file: Path, opening: Opening, actions: list[Any]) -> list[dict[str, Any]]:
    """Carry out all actions, and return what each step led to."""
    from edgeworth.server.live import open_live

    live, steps = open_live(opening), []
    for number, action in enumerate(actions, 1):
        try:
            turn = live.step(action)
        except EdgeworthError as error:
            raise DataError(file, f"action {number} cannot be carried out: {error}") from error
        steps.append({"action": action, "reward": turn.reward, "done": turn.done, "info": turn.info})
    return steps
