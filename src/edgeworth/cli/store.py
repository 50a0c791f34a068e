"""`edgeworth store`: copy, check and shrink the store of a server's sessions, also while the server runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.cli.console import deliver
from edgeworth.cli.options import AsJson
from edgeworth.errors import MissingExtra
from edgeworth.evaluation.statistics import counted
from edgeworth.server.settings import DEFAULT_STORE

app = typer.Typer(help="Copy, check or shrink a store of sessions, even while a server uses it.", no_args_is_help=True)

StoreUrl = Annotated[
    str | None,
    typer.Option("--store", envvar="EDGEWORTH_STORE", show_envvar=True, help="The store: sqlite:///FILE or postgresql://USER@HOST/DB."),
]


@app.command("backup")
def backup_command(
    file: Annotated[Path, typer.Argument(help="File to write; it must not exist yet.")], store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Copy a store in SQLite to a file, even while a server uses it.

    The copy is the store as it was at one moment, and a store itself: stop the server and put it in the store's place to restore it.
    PostgreSQL is copied with pg_dump.

    Example: edgeworth store backup monday.sqlite --store sqlite:///runs/sessions.sqlite
    """
    with _server_extra():
        from edgeworth.server.upkeep import back_up

    size = back_up(store or DEFAULT_STORE, file)
    deliver({"file": str(file), "bytes": size}, [f"{file}: {size:,} bytes."], as_json)


@app.command("check")
def check_command(store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Read everything in a store and list what is damaged; the exit status is 1 if anything is.

    Example: edgeworth store check
    """
    with _server_extra():
        from edgeworth.server.upkeep import check

    found = check(store or DEFAULT_STORE)
    verdict = "no problems" if not found.problems else counted(len(found.problems), "problem")
    page = [f"{counted(found.sessions, 'session')}, {counted(found.steps, 'step')}: {verdict}.", *found.problems]
    deliver(found._asdict(), page, as_json)
    if found.problems:
        raise typer.Exit(1)


@app.command("vacuum")
def vacuum_command(store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Give the space of deleted sessions back to the file system.

    This happens in short transactions between those of the server, except for the first time with a file of an older version, which
    is rebuilt while steps wait.

    Example: edgeworth store vacuum
    """
    with _server_extra():
        from edgeworth.server.upkeep import give_back

    before, after = give_back(store or DEFAULT_STORE)
    result: dict[str, Any] = {"bytes_before": before, "bytes_after": after}
    deliver(result, [f"{before:,} bytes before, {after:,} bytes now."], as_json)


@contextmanager
def _server_extra() -> Iterator[None]:
    """While inside, a missing package is an error that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra("The store", error.name or "SQLAlchemy", "server") from error
