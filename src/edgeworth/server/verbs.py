"""Reset, step and state of a session, as the routes of both games answer them."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from edgeworth.server.models import Frame, StepFrame
from edgeworth.server.refusals import Refused
from edgeworth.server.sessions import Sessions


def owner_of(request: Request) -> str:
    """Who asks."""
    return str(request.scope["state"]["owner"])


async def opened(sessions: Sessions, game: str, state: dict[str, Any], body: Frame) -> dict[str, Any]:
    """A new session, or a new episode in the place of an old one."""
    held = await sessions.open(state["owner"], game, body.options(), body.seed, body.session_id, body.truth)
    state["session"] = name = held.stored.id
    facts = {"session_id": name, "seed": held.stored.opening.seed}
    return {"observation": held.live.observation(), **facts, "info": held.live.info(), "done": False}


async def stepped(sessions: Sessions, state: dict[str, Any], body: StepFrame) -> dict[str, Any]:
    """One step, answered when it is in the store."""
    state["session"] = body.session_id
    turn, steps = await sessions.step(state["owner"], body.session_id, body.action, body.expected)
    return {"observation": turn.observation, "reward": turn.reward, "done": turn.done, "info": turn.info, "steps": steps}


async def looked_at(sessions: Sessions, game: str, state: dict[str, Any], session_id: str) -> dict[str, Any]:
    """Where a session stands."""
    state["session"] = session_id
    found = await sessions.state(state["owner"], session_id)
    if found["game"] != game:
        where = "/state" if found["game"] == "auction" else f"/{found['game']}/state"
        message = f"The session {session_id!r} plays {found['game']}; here {game} was expected."
        raise Refused(409, "other_game", message, f"Ask {where}.", "session_id")
    return found
