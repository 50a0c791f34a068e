"""`/mcp`: OpenEnv's JSON-RPC. The games have no tools; what is served is the making and closing of sessions by name.

OpenEnv keeps such sessions in memory. Here they are sessions like all others, so that a socket can take one up with `?session_id=`, on any
worker, and after a restart.
"""

from __future__ import annotations

from typing import Any

from edgeworth.errors import EdgeworthError
from edgeworth.server.refusals import Refused, refusal_of
from edgeworth.server.sessions import Sessions

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, SERVER_ERROR = -32700, -32600, -32601, -32602, -32000
CREATE, CLOSE = "openenv/session/create", "openenv/session/close"


async def rpc_answer(sessions: Sessions, owner: str, game: str, request: Any) -> dict[str, Any]:
    """The answer to one request."""
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
    except Refused as refused:
        return failed(number, SERVER_ERROR, refused.message, refused.body())
    except EdgeworthError as error:
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
    """A result."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def failed(number: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """An error."""
    error = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": error if data is None else {**error, "data": data}}
