"""What is said over a socket: OpenEnv's protocol over durable sessions, message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from designs import SANE
from edgeworth.server.limits import Rate
from edgeworth.server.live import GAMES
from edgeworth.server.monitoring import Metrics
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import RequestLimits, SessionLimits
from edgeworth.server.sockets import Conversation
from edgeworth.server.store import Store

PROPOSAL = {"act_type": 0, "oA": [1, 0, 0]}


@pytest.fixture
def sessions(tmp_path: Path) -> Any:
    store = Store(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    yield Sessions(store, alone=True)
    store.close()


def conversation(sessions: Sessions, game: str = "auction", owner: str = "local", **limits: Any) -> Conversation:
    given = RequestLimits(**limits)
    return Conversation(sessions, game, owner, given, Rate(given.rate, given.burst), Metrics(GAMES))


def talk(*said: Coroutine[Any, Any, Any]) -> list[Any]:
    async def all_of_it() -> list[Any]:
        return [await one for one in said]

    return asyncio.run(all_of_it())


def say(line: Conversation, *messages: Any) -> list[Any]:
    """The replies to messages, one after the other."""
    encoded = [message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages]
    replies = talk(*(line.answer(message) for message in encoded))
    return [None if reply is None else json.loads(reply) for reply in replies]


def codes(line: Conversation, *messages: Any) -> list[str]:
    return [reply["data"]["code"] if reply["type"] == "error" else reply["type"] for reply in say(line, *messages)]


def reset(**options: Any) -> dict[str, Any]:
    return {"type": "reset", "data": options}


def step(action: Any) -> dict[str, Any]:
    return {"type": "step", "data": action}


STATE = {"type": "state"}


def test_before_the_first_reset_there_is_a_state_but_no_step(sessions: Sessions) -> None:
    state, refused = say(conversation(sessions), STATE, step(SANE))
    assert state == {
        "type": "state",
        "data": {**dict.fromkeys(("episode_id", "session_id", "game")), "step_count": 0, "options": {}, "done": False},
    }
    assert refused["data"]["code"] == "EXECUTION_ERROR" and refused["data"]["reason"] == "no_episode"


def test_a_reset_and_a_step_answer_with_observations(sessions: Sessions) -> None:
    first, second = say(conversation(sessions), reset(seed=7, stage=3), step({**SANE, "metadata": {"note": "mine"}}))
    assert first["type"] == second["type"] == "observation"
    assert first["data"]["reward"] is None and first["data"]["done"] is False and "components" not in first["data"]["metadata"]
    assert second["data"]["reward"] == second["data"]["observation"]["market_outcomes"][0]["composite"]
    assert second["data"]["metadata"] == second["data"]["observation"]["metadata"]


def test_the_end_of_an_episode_says_why_it_ended(sessions: Sessions) -> None:
    *_, market = say(conversation(sessions), reset(seed=7, episode_length=1), step(SANE))
    assert market["data"]["done"] and market["data"]["metadata"]["end_reason"] == "episode_length"
    *_, talks = say(conversation(sessions, "bargaining"), reset(seed=7), step(PROPOSAL))
    assert talks["data"]["done"] and talks["data"]["metadata"]["end_reason"] == "partner_agreed"


def test_what_is_no_message_is_refused_with_the_code_of_the_protocol(sessions: Sessions) -> None:
    line = conversation(sessions)
    bad = (
        b"{",
        b"\xff",
        b'{"type": "reset", "data": {"seed": NaN}}',
        {"type": "dance"},
        {},
        [],
        {"type": "step"},
        {"type": "reset", "data": 3},
    )
    invalid, unknown, wrong = ["INVALID_JSON"] * 3, ["UNKNOWN_TYPE"] * 2, ["VALIDATION_ERROR"] * 3
    assert codes(line, *bad) == [*invalid, *unknown, *wrong]
    assert codes(line, {"type": "state", "data": {}, "extra": 1}) == ["VALIDATION_ERROR"]
    assert codes(line, b'{"type": "reset", "data": ' + b"[" * 100 + b"]" * 100 + b"}") == ["INVALID_JSON"]
    assert codes(line, b'{"type": "reset", "data": {"seed": 99999999999999999999999999}}') == ["VALIDATION_ERROR"]
    assert codes(line, reset(seed=7), step(SANE)) == ["observation", "observation"]


def test_a_mistyped_option_is_answered_with_its_neighbour(sessions: Sessions) -> None:
    (refused,) = say(conversation(sessions), reset(stge=3))
    assert refused["data"]["code"] == "VALIDATION_ERROR" and "'stage'" in refused["data"]["message"]


def test_the_truth_cannot_be_asked_for_over_a_socket(sessions: Sessions) -> None:
    assert codes(conversation(sessions), reset(truth=True)) == ["VALIDATION_ERROR"]


def test_a_broken_rule_leaves_the_episode_as_it_was(sessions: Sessions) -> None:
    line = conversation(sessions, "bargaining")
    _, agreed, shaped, state = say(line, reset(seed=7, opens="agent"), step({"act_type": 2, "oA": [0, 0, 0]}), step({"act_type": 0}), STATE)
    assert agreed["data"]["code"] == "EXECUTION_ERROR" and agreed["data"]["field"] == "agree_needs_an_offer"
    assert shaped["data"]["code"] == "VALIDATION_ERROR"
    assert state["data"]["step_count"] == 0 and not state["data"]["done"]


def test_after_the_end_there_is_a_next_episode_on_the_same_socket(sessions: Sessions) -> None:
    line = conversation(sessions)
    assert codes(line, reset(seed=7, episode_length=1), step(SANE), step(SANE)) == ["observation", "observation", "EXECUTION_ERROR"]
    name = line.session_id
    assert codes(line, reset(seed=8), step(SANE)) == ["observation", "observation"]
    assert line.session_id == name and len(sessions.store.owned("local")) == 1


def test_an_episode_has_the_name_that_the_client_gave_it(sessions: Sessions) -> None:
    line = conversation(sessions)
    first, state, other = say(line, reset(seed=7, episode_id="mine"), STATE, reset(seed=7))
    assert first["data"]["metadata"]["episode_id"] == state["data"]["episode_id"] == "mine"
    assert other["data"]["metadata"]["episode_id"] not in ("mine", None)
    assert codes(line, reset(episode_id=3), reset(episode_id="x" * 256)) == ["VALIDATION_ERROR"] * 2


def test_another_socket_takes_up_a_session_where_it_stands(sessions: Sessions) -> None:
    line, other = conversation(sessions), conversation(sessions)
    say(line, reset(seed=7), step(SANE))
    assert line.session_id is not None
    talk(other.attach(line.session_id))
    state, stepped = say(other, STATE, step(SANE))
    assert state["data"]["step_count"] == 1 and stepped["data"]["observation"]["round_number"] == 2


def test_a_session_of_somebody_else_or_of_another_game_is_not_taken_up(sessions: Sessions) -> None:
    line = conversation(sessions, owner="alice")
    say(line, reset(seed=7))
    assert line.session_id is not None
    with pytest.raises(Exception, match="There is no session"):
        talk(conversation(sessions, owner="bob").attach(line.session_id))
    with pytest.raises(Exception, match="plays auction"):
        talk(conversation(sessions, "bargaining", owner="alice").attach(line.session_id))


def test_goodbye_deletes_a_session_of_ones_own_and_no_other(sessions: Sessions) -> None:
    line, other = conversation(sessions), conversation(sessions)
    say(line, reset(seed=7))
    assert line.session_id is not None
    talk(other.attach(line.session_id), other.leave())
    assert len(sessions.store.owned("local")) == 1
    assert say(line, {"type": "close"}) == [None]
    talk(line.leave())
    assert sessions.store.owned("local") == []


def test_a_full_server_says_so_in_the_words_of_the_protocol(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'full.sqlite'}")
    full = Sessions(store, SessionLimits(per_owner=1), alone=True)
    assert codes(conversation(full), reset(seed=7)) == ["observation"]
    assert codes(conversation(full), reset(seed=7)) == ["CAPACITY_REACHED"]
    store.close()


def test_whoever_talks_too_fast_is_asked_to_wait(sessions: Sessions) -> None:
    line = conversation(sessions, rate=0.001, burst=2)
    assert codes(line, STATE, STATE, STATE) == ["state", "state", "EXECUTION_ERROR"]


def test_sessions_are_made_and_closed_by_remote_calls(sessions: Sessions) -> None:
    line = conversation(sessions)
    (made,) = say(line, {"type": "mcp", "data": {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1}})
    name = made["data"]["result"]["session_id"]
    talk(conversation(sessions).attach(name))
    close = {"jsonrpc": "2.0", "method": "openenv/session/close", "params": {"session_id": name}, "id": 2}
    closed, again, tools = say(line, *({"type": "mcp", "data": data} for data in (close, close, {"method": "tools/list", "id": 3})))
    assert closed["data"]["result"] == {"session_id": name, "closed": True}
    assert again["data"]["error"]["code"] == -32602 and tools["data"]["error"]["code"] == -32601


def test_a_fault_of_ours_tells_nothing_of_our_inside(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    line = conversation(sessions)
    say(line, reset(seed=7))

    async def failing(*_: Any) -> None:
        raise RuntimeError("postgresql://lab:secret@db")

    monkeypatch.setattr(sessions, "step", failing)
    (refused,) = say(line, step(SANE))
    assert refused["data"]["code"] == "EXECUTION_ERROR" and "secret" not in json.dumps(refused)
