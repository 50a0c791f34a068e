"""OpenEnv's messages, made and read without OpenEnv: what goes over a socket, in its words.

A client sends `{"type": "reset" | "step" | "state" | "close" | "mcp", "data": …}` and is answered with `observation`, `state`, `mcp` or
`error`. An observation carries what the player sees, the reward, and `metadata`: which session and episode it is, the parts of the reward,
and why the episode ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from edgeworth.server.live import Turn
from edgeworth.server.refusals import Refused
from edgeworth.server.sessions import Held

INVALID_JSON = "INVALID_JSON"
UNKNOWN_TYPE = "UNKNOWN_TYPE"
VALIDATION_ERROR = "VALIDATION_ERROR"
EXECUTION_ERROR = "EXECUTION_ERROR"
CAPACITY_REACHED = "CAPACITY_REACHED"
SESSION_ERROR = "SESSION_ERROR"

CODES = {400: INVALID_JSON, 404: SESSION_ERROR, 422: VALIDATION_ERROR, 429: CAPACITY_REACHED}
"""OpenEnv's code for a refusal, by its status; EXECUTION_ERROR for the rest."""
EXACT_CODES = {
    "server_full": CAPACITY_REACHED,
    "too_fast": EXECUTION_ERROR,
    "unknown_type": UNKNOWN_TYPE,
    "other_game": SESSION_ERROR,
    "other_rules": SESSION_ERROR,
}
RULES_OF_THE_MOMENT = ("agree_needs_an_offer", "share_within_pool")
"""Rules that a well-formed move can break; any other refusal of an action says that it is not well-formed."""
ENDED = "episode_length"
"""Why a market's episode ended: the designer has made all its steps."""


def first_metadata(info: Mapping[str, Any]) -> dict[str, Any]:
    """What is told beside the first observation; nothing has been scored yet."""
    return {name: value for name, value in info.items() if name != "components"}


def metadata(turn: Turn) -> dict[str, Any]:
    """What is told beside an observation; at the end, why it is the end."""
    if not turn.done:
        return turn.info
    return {**turn.info, "end_reason": str(turn.info.get("outcome", ENDED)).lower()}


def observation_message(observation: Mapping[str, Any], reward: float | None, done: bool, told: Mapping[str, Any]) -> bytes:
    """An observation as OpenEnv sends it, with the metadata in both of its places."""
    beside = orjson.Fragment(orjson.dumps(told))
    data = {"observation": {"metadata": beside, **observation}, "reward": reward, "done": done, "metadata": beside}
    return orjson.dumps({"type": "observation", "data": data})


def state_fields(held: Held | None, episode_id: str | None) -> dict[str, Any]:
    """Where a session stands, without its seed, which would give everything hidden away; before the first reset, nowhere."""
    if held is None:
        return {"episode_id": None, "step_count": 0, "session_id": None, "game": None, "options": {}, "done": False}
    opening, live = held.stored.opening, held.live
    return {
        "episode_id": episode_id or held.stored.generation,
        "step_count": live.steps,
        "session_id": held.stored.id,
        "game": opening.game,
        "options": dict(opening.options),
        "done": live.done,
    }


def state_message(fields: Mapping[str, Any]) -> bytes:
    """A state as OpenEnv sends it."""
    return orjson.dumps({"type": "state", "data": fields})


def error_message(refused: Refused) -> bytes:
    """A refusal in OpenEnv's shape: its code, and our own as the `reason`."""
    body = refused.body()
    rule_of_the_game = body["code"] == "illegal_action" and body["field"] in RULES_OF_THE_MOMENT
    code = EXECUTION_ERROR if rule_of_the_game else EXACT_CODES.get(body["code"], CODES.get(refused.status, EXECUTION_ERROR))
    return orjson.dumps({"type": "error", "data": {**body, "code": code, "reason": body["code"]}})
