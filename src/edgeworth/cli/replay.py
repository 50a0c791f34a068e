"""`edgeworth replay FILE`: a session that was exported from a server, played again here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, out, print_json
from edgeworth.errors import DataError, EdgeworthError

if TYPE_CHECKING:
    from edgeworth.server.live import Opening

EXPECTED = "expected what GET /sessions/{id}/export gives: game, seed, options and actions."


def replay_command(
    file: Annotated[Path, typer.Argument(help="A session as JSON, from GET /sessions/{id}/export.")],
    as_json: AsJson = False,
) -> None:
    """Play an exported session again: what every step earned, and how it ended.

    Example: edgeworth replay session.json
    """
    opening, actions = read_session(file)
    steps = play(file, opening, actions)
    end = steps[-1] if steps else None
    total = sum(step["reward"] for step in steps)
    if as_json:
        print_json({**opening.as_dict(), "steps": steps, "total_reward": total, "done": bool(end and end["done"])})
        return
    table = Table("step", "action", "reward", title=f"{opening.game}, seed {opening.seed}")
    for number, step in enumerate(steps, 1):
        table.add_row(str(number), json.dumps(step["action"]), f"{step['reward']:.6f}")
    out.print(table)
    how = "no step was made" if end is None else "the episode is over" if end["done"] else "the episode goes on"
    outcome = f" ({end['info']['outcome']})" if end and "outcome" in end["info"] else ""
    out.print(f"{len(steps)} steps, total reward {total:.6f}; {how}{outcome}.")


def read_session(file: Path) -> tuple[Opening, list[Any]]:
    """Opening and log out of a file, or an error that says why it does not fit."""
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
    """Every step of the log, carried out."""
    from edgeworth.server.live import open_live

    live, steps = open_live(opening), []
    for number, action in enumerate(actions, 1):
        try:
            turn = live.step(action)
        except EdgeworthError as error:
            raise DataError(file, f"action {number} cannot be carried out: {error}") from error
        steps.append({"action": action, "reward": turn.reward, "done": turn.done, "info": turn.info})
    return steps
