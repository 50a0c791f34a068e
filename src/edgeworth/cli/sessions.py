"""`edgeworth import`: bring an exported session into a store, also while a server uses it."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Annotated

import typer

from edgeworth.cli.console import deliver
from edgeworth.cli.options import AsJson
from edgeworth.cli.serve import play, read_session
from edgeworth.errors import InvalidOption, MissingExtra
from edgeworth.evaluation.statistics import counted


def import_command(
    file: Annotated[Path, typer.Argument(help="JSON file of a session, from GET /sessions/{id}/export.")],
    store: Annotated[
        str | None, typer.Option(envvar="EDGEWORTH_STORE", show_envvar=True, help="The store: sqlite:///FILE or postgresql://USER@HOST/DB.")
    ] = None,
    owner: Annotated[str, typer.Option(help="Owner of the session; `local` on a server without tokens.")] = "local",
    name: Annotated[str | None, typer.Option(help="Name of the session. Default: that in the export.")] = None,
    as_json: AsJson = False,
) -> None:
    """Import an exported session into a store, even while a server uses it.

    The session is replayed first, so that only one that can be continued is stored. A name that is taken is an error.

    Example: edgeworth import session.json --store sqlite:///runs/sessions.sqlite --name copy
    """
    try:
        from edgeworth.server.refusals import Refused
        from edgeworth.server.sessions import NAME
        from edgeworth.server.settings import DEFAULT_STORE, OWNER
        from edgeworth.server.store import Store
        from edgeworth.server.upkeep import StoreFailed
    except ModuleNotFoundError as error:
        raise MissingExtra("The store", error.name or "SQLAlchemy", "server") from error
    opening, actions = read_session(file)
    steps = play(file, opening, actions)
    session_id = name or json.loads(file.read_text(encoding="utf-8")).get("session_id") or uuid.uuid4().hex
    for what, given, wanted in (("session", session_id, NAME), ("owner", owner, OWNER)):
        if not isinstance(given, str) or not wanted.fullmatch(given):
            raise InvalidOption(f"The name of the {what} is {given!r}; expected {wanted.pattern}.")
    opened = Store(store or DEFAULT_STORE)
    try:
        if not opened.bring(owner, session_id, opening, [(step["action"], step["done"]) for step in steps]):
            raise InvalidOption(f"{owner} has a session {session_id!r} already; give another name with --name.")
    except Refused as refused:
        raise StoreFailed(refused.message) from refused
    finally:
        opened.close()
    result = {"session_id": session_id, "owner": owner, "game": opening.game, "steps": len(steps)}
    deliver(result, [f"Session {session_id} of {owner}: {opening.game}, {counted(len(steps), 'step')}."], as_json)
