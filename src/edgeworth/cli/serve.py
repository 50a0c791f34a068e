"""`edgeworth serve` and `edgeworth replay`: serve both games over HTTP and WebSocket, and replay a session exported from there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import RenderableType

from edgeworth.cli.console import deliver, table
from edgeworth.cli.options import AsJson, changed
from edgeworth.cli.welcome import welcome
from edgeworth.errors import DataError, EdgeworthError, MissingExtra
from edgeworth.evaluation.statistics import counted

if TYPE_CHECKING:
    from edgeworth.server.openings import Opening

EXPECTED = "expected what GET /sessions/{id}/export gives: game, seed, options and actions."


def serve_command(
    host: Annotated[str, typer.Option(help="Address to listen on; any but this machine's own needs tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, envvar="EDGEWORTH_PORT", help="Port; 0 takes any free one.")] = 8765,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve one socket and one store.")] = 1,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="EDGEWORTH_STORE", show_envvar=True, help="Where sessions are kept: sqlite:///FILE or postgresql://USER@HOST/DB."
        ),
    ] = None,
    durability: Annotated[
        Literal["process", "power"], typer.Option(help="What an answered step survives: the death of all processes, or a power cut too.")
    ] = "process",
    tokens_file: Annotated[
        Path | None,
        typer.Option(
            help="One owner:token per line, read again on SIGHUP; otherwise EDGEWORTH_TOKENS=owner:token,… or EDGEWORTH_TOKENS=@FILE."
        ),
    ] = None,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", envvar="EDGEWORTH_BEHIND_PROXY", help="There is a proxy in front, which limits connections and slow clients."
        ),
    ] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve others without tokens, or without a proxy in front.")] = False,
    host_name: Annotated[list[str] | None, typer.Option(help="Another host name of this machine, besides localhost; repeatable.")] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Web site whose pages may use the server, e.g. https://example.org; repeatable.")
    ] = None,
    root_path: Annotated[str, typer.Option(help="Path under which a proxy serves this server, e.g. /lab.")] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the lab page in a browser, where there is one.")] = False,
    designer: Annotated[str | None, typer.Option(help="Designer for requests that name none.")] = None,
    warm: Annotated[list[str] | None, typer.Option(help="Designer to load at the start; repeatable.")] = None,
    speech_client: Annotated[
        str | None,
        typer.Option(help="Language model client that puts moves into words: ollama, vllm, … Default: huggingface with --speech-model."),
    ] = None,
    speech_model: Annotated[str | None, typer.Option(help="Its model. With neither, moves are put into words by templates.")] = None,
    speech_option: Annotated[
        list[str] | None, typer.Option(help="Option of that client, e.g. --speech-option base_url=http://host:8000/v1; repeatable.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder of runs whose figures, metrics and histories are shown under /plots/runs/.")] = Path(
        "runs"
    ),
    results: Annotated[Path, typer.Option(help="Folder whose figures and tables are shown under /plots/results/.")] = Path("results"),
    idle_hours: Annotated[
        float | None, typer.Option(min=0.0, help="Hours without a request after which a session is deleted. Default: 24.")
    ] = None,
    unnamed_hours: Annotated[
        float | None, typer.Option(min=0.0, help="Hours for sessions that were opened without a name. Default: 2.")
    ] = None,
    drain_seconds: Annotated[
        float, typer.Option(min=0.0, help="Seconds for which /ready answers 503 before the server stops listening.")
    ] = 0.0,
    openenv: Annotated[bool, typer.Option(help="Serve OpenEnv's routes too.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not log every request.")] = False,
) -> None:
    """Serve both games over HTTP and WebSocket: sessions that survive restarts, designers, hints.

    Example: edgeworth serve --port 8765

    Example: EDGEWORTH_TOKENS=alice:SECRET edgeworth serve --behind-proxy --workers 4 --store postgresql://lab@db/edgeworth
    """
    try:
        from edgeworth.server.serving import serve
        from edgeworth.server.settings import STORE_VARIABLE, TOKENS_VARIABLE, ServerSettings, SessionLimits, file_behind, tokens_from
    except ModuleNotFoundError as error:
        raise MissingExtra("The server", error.name or "FastAPI", "server") from error
    from_environment = os.environ.pop(TOKENS_VARIABLE, "")
    os.environ.pop(STORE_VARIABLE, None)  # neither is for the processes of models and trainings
    tokens = from_environment if tokens_file is None else f"@{tokens_file}"
    hours = {"idle_seconds": idle_hours, "unnamed_idle_seconds": unnamed_hours}
    lifetimes: dict[str, Any] = {name: each * 3600.0 for name, each in hours.items() if each is not None}
    given: dict[str, Any] = {
        "store": store or None,
        "designer": designer or None,
        "sessions": SessionLimits(**lifetimes),
    }
    settings = ServerSettings(
        host=host,
        port=port,
        workers=workers,
        durability=durability,
        tokens=tokens_from(tokens),
        tokens_file=file_behind(tokens),
        insecure=insecure,
        behind_proxy=behind_proxy,
        hosts=tuple(host_name or ()),
        origins=tuple(origin or ()),
        root_path=root_path,
        warm=tuple(warm or ()),
        speech_client=speech_client or "",
        speech_model=speech_model or "",
        speech_options=tuple(changed({}, speech_option, "timeout=10", "--speech-option").items()),
        runs=str(runs),
        results=str(results),
        drain_seconds=drain_seconds,
        openenv=openenv,
        log_requests=not quiet,
        **{name: value for name, value in given.items() if value is not None},
    )
    serve(settings, lambda address: welcome(address, settings, browser))


# Replaying


def replay_command(
    file: Annotated[Path, typer.Argument(help="JSON file of a session, from GET /sessions/{id}/export.")], as_json: AsJson = False
) -> None:
    """Replay a session that was exported from the server.

    Shows the reward of every step and how the episode ended.

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
    yield f"{counted(len(steps), 'step')}, total reward {result['total_reward']:.6f}; {how}{outcome}."


def read_session(file: Path) -> tuple[Opening, list[Any]]:
    """The opening and the actions in a file; an error says why it is not an exported session."""
    from edgeworth.server.openings import opening_from

    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(file, f"cannot be read ({error.strerror}); {EXPECTED}") from error
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
