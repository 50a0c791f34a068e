"""Sockets of a running server: order, fragments, broken protocol, and steps that share a transaction."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect

from edgeworth.server.live import open_live
from edgeworth.server.openings import opening_of
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import RequestLimits
from edgeworth.server.store import Before
from running_servers import MECHANISM, in_thread, settings_in

RESET = {"type": "reset", "data": {"seed": 7, "episode_length": 40}}
STEP = {"type": "step", "data": MECHANISM}
STATE = {"type": "state", "data": {}}
Served = tuple[uvicorn.Server, int]


class Line:
    """A client that can also send bytes as they are."""

    def __init__(self, port: int, path: str = "/ws") -> None:
        self.connection: ClientConnection = connect(f"ws://localhost:{port}{path}", proxy=None, legacy=True)

    def send(self, *messages: Any) -> None:
        for message in messages:
            self.connection.send(json.dumps(message))

    def send_bytes(self, content: bytes) -> None:
        self.connection.socket.sendall(content)

    def heard(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.connection.recv(20.0))
        return message

    def say(self, *messages: Any) -> list[dict[str, Any]]:
        """Messages one after the other, each after the answer to the last."""
        replies = []
        for message in messages:
            self.send(message)
            replies.append(self.heard())
        return replies


def masked(message: Any, opcode: Opcode = Opcode.TEXT) -> bytes:
    """A client's frame."""
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    return bytes(Frame(opcode, content).serialize(mask=True))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with in_thread(settings_in(tmp_path, port=0, log_requests=False)) as found:
        yield found


def rounds_of(replies: list[dict[str, Any]]) -> list[int]:
    return [reply["data"]["observation"]["round_number"] for reply in replies]


def test_the_same_bytes_give_the_same_answers_however_they_are_cut(served: Served) -> None:
    chance = random.Random(3)
    stream = b"".join(masked(message) for message in (*[STEP] * 20, STATE, STEP))
    for longest in (7, 100, 2_000, len(stream)):
        line, at = Line(served[1]), 0
        line.say(RESET)
        while at < len(stream):
            size = chance.randint(1, longest)
            line.send_bytes(stream[at : at + size])
            at += size
        *steps, state, last = [line.heard() for _ in range(22)]
        assert rounds_of([*steps, last]) == [*range(1, 22)] and state["data"]["step_count"] == 20


def test_what_is_sent_without_waiting_is_answered_in_order(served: Served) -> None:
    line = Line(served[1])
    line.send(RESET, STEP, STATE, STEP, STEP, RESET, STEP, STATE)
    kinds = [
        (reply["type"], reply["data"].get("step_count", reply["data"].get("observation", {}).get("round_number")))
        for reply in (line.heard() for _ in range(8))
    ]
    assert kinds == [
        ("observation", 0),
        ("observation", 1),
        ("state", 1),
        ("observation", 2),
        ("observation", 3),
        ("observation", 0),
        ("observation", 1),
        ("state", 1),
    ]


def test_fragments_pings_and_binary_messages_are_understood(served: Served) -> None:
    line = Line(served[1])
    line.say(RESET)
    whole = json.dumps(STEP)
    line.connection.send([whole[:50], whole[50:]])
    assert rounds_of([line.heard()]) == [1]
    assert line.connection.ping(b"still there?").wait(20.0)
    line.connection.send(whole.encode())
    assert rounds_of([line.heard(), *line.say(STEP)]) == [2, 3]
    line.connection.close()
    assert line.connection.close_code == 1000


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (masked(b'{"type": "step\xff"}'), 1007),
        (masked(b" " * 300_000), 1009),
        (masked(b" " * 300_000)[:20], 1009),  # its length alone is enough
        (bytes(Frame(Opcode.TEXT, b"{}").serialize(mask=False)), 1002),
        (b"\xf1\x80abcd", 1002),
        (masked(b"", Opcode.CONT), 1002),
    ],
    ids=["not UTF-8", "too long", "the beginning of one", "not masked", "reserved bits", "a continuation of nothing"],
)
def test_what_breaks_the_protocol_closes_the_socket(served: Served, frame: bytes, code: int) -> None:
    line = Line(served[1])
    line.say(RESET, STEP)
    line.send_bytes(frame)
    with pytest.raises(ConnectionClosed) as closed:
        line.heard()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == code


def test_a_step_that_the_store_did_not_take_is_refused_and_has_not_happened(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, line = served[0].config.loaded_app.state.sessions, Line(served[1])
    line.say(RESET, STEP)

    def fails(*_: Any) -> bool:
        raise Refused(503, "store_unavailable", "The store does not answer.", "Try again.")

    with monkeypatch.context() as patched:
        patched.setattr(sessions.store, "advance_all", fails)
        (refused,) = line.say(STEP)
        assert refused["data"]["reason"] == "store_unavailable"
    state, stepped = line.say(STATE, STEP)
    assert state["data"]["step_count"] == 1 and rounds_of([stepped]) == [2]


def test_a_session_that_has_just_expired_is_not_stepped(served: Served) -> None:
    sessions, line = served[0].config.loaded_app.state.sessions, Line(served[1])
    line.say(RESET, STEP)
    before = Before(soon := time.time() + 1.0, soon)
    ((_, _, generation),) = sessions.store.idle(before)
    assert sessions.store.expire(generation, before)
    first, second = line.say(STEP, STEP)
    assert [reply["data"]["reason"] for reply in (first, second)] == ["unknown_session", "unknown_session"]


def test_a_step_that_another_server_made_first_is_not_made_twice(served: Served) -> None:
    store, line = served[0].config.loaded_app.state.sessions.store, Line(served[1])
    name = line.say(RESET)[0]["data"]["metadata"]["session_id"]
    generation = store.place("local", name).generation
    assert store.advance(generation, 0, MECHANISM, False)
    refused, state, stepped = line.say(STEP, STATE, STEP)
    assert refused["data"]["reason"] == "conflict" and state["data"]["step_count"] == 1 and rounds_of([stepped]) == [2]
    assert len(store.actions(generation)) == 2


def test_steps_of_many_sockets_share_a_transaction_and_are_all_in_the_log(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, sizes = served[0].config.loaded_app.state.sessions, []
    advance_all = sessions.store.advance_all

    def counted(lines: Any) -> list[bool]:
        sizes.append(len(lines))
        return list(advance_all(lines))

    monkeypatch.setattr(sessions.store, "advance_all", counted)
    lines = [Line(served[1]) for _ in range(24)]
    names = [line.say(RESET)[0]["data"]["metadata"]["session_id"] for line in lines]
    live = open_live(opening_of("auction", {"episode_length": 40}, 7))
    for _ in range(12):
        for line in lines:
            line.send(STEP)
        expected = live.step(MECHANISM).reward
        assert {line.heard()["data"]["reward"] for line in lines} == {expected}
    assert sum(sizes) == 24 * 12 and max(sizes) > 1
    assert all(len(sessions.store.actions(sessions.store.place("local", name).generation)) == 12 for name in names)


def test_sockets_and_requests_on_one_session_see_only_what_is_in_the_log(served: Served) -> None:
    line = Line(served[1])
    name = line.say(RESET)[0]["data"]["metadata"]["session_id"]
    other, address = Line(served[1], f"/ws?session_id={name}"), f"http://127.0.0.1:{served[1]}"
    made = 0
    for _ in range(8):
        line.send(STEP)
        other.send(STEP)
        answer = httpx.post(f"{address}/step", json={"session_id": name, "action": MECHANISM})
        replies = [line.heard(), other.heard()]
        assert answer.status_code in (200, 409)
        made += sum(reply["type"] == "observation" for reply in replies) + (answer.status_code == 200)
        assert httpx.get(f"{address}/state", params={"session_id": name}).json()["steps"] == made
    assert len(httpx.get(f"{address}/sessions/{name}/export").json()["actions"]) == made >= 16


def test_whoever_talks_too_fast_is_asked_to_wait(tmp_path: Path) -> None:
    limits = RequestLimits(rate=0.001, burst=4)
    with in_thread(settings_in(tmp_path, port=0, limits=limits)) as (_, port):
        replies = Line(port).say(RESET, STEP, STEP, STEP, STEP, STEP)
    assert [reply["data"].get("reason", "made") for reply in replies] == ["made"] * 4 + ["too_fast"] * 2
