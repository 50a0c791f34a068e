"""`edgeworth serve`: both games over HTTP and WebSocket, for as long as one likes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from edgeworth.cli.console import err
from edgeworth.errors import MissingExtra


def serve_command(
    host: Annotated[str, typer.Option(help="The address to listen on. Others than this machine's own need tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes any free one.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve one socket and one store.")] = 1,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="EDGEWORTH_STORE", show_envvar=True, help="Where sessions are kept: sqlite:///FILE or postgresql://USER@HOST/DB."
        ),
    ] = None,
    tokens_file: Annotated[
        Path | None, typer.Option(help="One owner:token a line; otherwise EDGEWORTH_TOKENS=owner:token,… or EDGEWORTH_TOKENS=@FILE.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Let everybody in who reaches the address.")] = False,
    host_name: Annotated[list[str] | None, typer.Option(help="A name besides localhost by which this machine is called.")] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="Pages that may use the server from a browser, e.g. https://example.org.")
    ] = None,
    designer: Annotated[str | None, typer.Option(help="Who designs where a request names nobody.")] = None,
    warm: Annotated[list[str] | None, typer.Option(help="A designer to load at the start.")] = None,
    idle_hours: Annotated[
        float | None, typer.Option(min=0.0, help="Sessions that nobody touches for so long are deleted. Default: 24.")
    ] = None,
    drain_seconds: Annotated[float, typer.Option(min=0.0, help="How long /ready says 503 before the server stops listening.")] = 0.0,
    openenv: Annotated[bool, typer.Option(help="Serve OpenEnv's routes too.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line in the log for every request.")] = False,
) -> None:
    """Serve both games: sessions over HTTP and WebSocket that survive the server, designers and hints on request.

    Example: edgeworth serve --port 8000

    Example: EDGEWORTH_TOKENS=alice:SECRET edgeworth serve --host 0.0.0.0 --workers 4 --store postgresql://lab@db/edgeworth
    """
    try:
        from edgeworth.server.serving import serve
        from edgeworth.server.settings import ServerSettings, tokens_in, tokens_of_environment
    except ModuleNotFoundError as error:
        raise MissingExtra("The server", error.name or "FastAPI", "server") from error
    tokens = tokens_in(tokens_file) if tokens_file is not None else tokens_of_environment()
    settings = ServerSettings(
        host=host,
        port=port,
        workers=workers,
        tokens=tokens,
        insecure=insecure,
        hosts=tuple(host_name or ()),
        origins=tuple(origin or ()),
        warm=tuple(warm or ()),
        drain_seconds=drain_seconds,
        openenv=openenv,
        log_requests=not quiet,
    )
    if store:
        settings = dataclasses.replace(settings, store=store)
    if designer:
        settings = dataclasses.replace(settings, designer=designer)
    if idle_hours is not None:
        settings = dataclasses.replace(settings, sessions=dataclasses.replace(settings.sessions, idle_seconds=idle_hours * 3600.0))
    serve(
        settings, lambda address: err.print(f"edgeworth: serving on {address}; the start page has links. Stop with Ctrl-C.", soft_wrap=True)
    )
