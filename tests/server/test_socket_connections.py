"""The short way of a socket's messages leads to the same answers, in the same order, as the long one; and only steps take it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.frames import Frame, Opcode

from edgeworth.server.live import open_live, opening_of
from edgeworth.server.refusals import Refused
from edgeworth.server.serving import Worker
from edgeworth.server.settings import RequestLimits
from edgeworth.server.socket_connections import framed, measured
from edgeworth.server.sockets import Conversation
from lodging import MECHANISM, OFFER, in_thread, settings_in

RESET = {"type": "reset", "data": {"seed": 7, "episode_length": 40}}
STEP = {"type": "step", "data": MECHANISM}
STATE = {"type": "state", "data": {}}
TEXT, BINARY = Opcode.TEXT, Opcode.BINARY


class Line:
    """A client that decides itself how its bytes are cut."""

    def __init__(self, port: int, path: str = "/ws", window: int = 262_144) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        self.socket.settimeout(20.0)
        self.socket.connect(("127.0.0.1", port))
        key = base64.b64encode(os.urandom(16)).decode()
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.socket.sendall(f"{head}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self._more()
        head_, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        assert b" 101 " in head_

    def _more(self) -> bytes:
        more = self.socket.recv(65_536)
        if not more:
            raise EOFError
        return more

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def frame(self) -> tuple[int, bytes]:
        """Kind and content of the next frame."""
        while (found := measured(self.buffer)) is None or found[1] > len(self.buffer):
            self.buffer += self._more()
        start, end = found
        kind, content, self.buffer = self.buffer[0] & 15, self.buffer[start:end], self.buffer[end:]
        return kind, content

    def heard(self) -> dict[str, Any]:
        kind, content = self.frame()
        assert kind == TEXT, (kind, content)
        message: dict[str, Any] = json.loads(content)
        return message

    def say(self, *messages: Any) -> list[dict[str, Any]]:
        """Messages one after the other, each after the answer to the last."""
        replies = []
        for message in messages:
            self.send(masked(message))
            replies.append(self.heard())
        return replies


def masked(message: Any, opcode: Opcode = TEXT, fin: bool = True) -> bytes:
    """A client's frame, by the library itself."""
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    return bytes(Frame(opcode, content, fin).serialize(mask=True))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The messages that took the long way, by their types."""
    kinds: list[str] = []
    answer = Conversation.answer

    async def watched(self: Conversation, text: bytes) -> bytes | None:
        with contextlib.suppress(ValueError, AttributeError):
            kinds.append(json.loads(text).get("type"))
        return await answer(self, text)

    monkeypatch.setattr(Conversation, "answer", watched)
    return kinds


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Worker, int]]:
    with in_thread(settings_in(tmp_path, port=0, log_requests=False)) as found:
        yield found


def rounds_of(replies: list[dict[str, Any]]) -> list[int]:
    return [reply["data"]["observation"]["round_number"] for reply in replies]


def nameless(reply: dict[str, Any]) -> str:
    """A reply without the names that every episode has of its own."""
    data = reply["data"]
    for told in (data, data.get("metadata", {}), data.get("observation", {}).get("metadata", {})):
        for name in ("session_id", "episode_id"):
            told.pop(name, None)
    return json.dumps(reply, sort_keys=True)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_frames_are_those_of_the_library(size: int) -> None:
    content = random.Random(size).randbytes(size)
    theirs = bytes(Frame(TEXT, content).serialize(mask=False))
    assert framed(content) == theirs
    assert measured(theirs) == (len(theirs) - size, len(theirs))
    hidden = masked(content)
    assert measured(hidden) == (len(hidden) - size, len(hidden))
    assert all(measured(hidden[:short]) is None for short in range(2))


@pytest.mark.parametrize("path", ["/ws", "/bargaining/ws"])
def test_both_ways_lead_to_the_same_answers(served: tuple[Worker, int], monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    begin = RESET if path == "/ws" else {"type": "reset", "data": {"seed": 7, "partner": "boulware"}}
    action = MECHANISM if path == "/ws" else OFFER
    wrong = {**action, "note": 1}
    said = [begin, *({"type": "step", "data": data} for data in (action, wrong, {**action, "metadata": {}}, action, 3)), STATE]
    short = [nameless(reply) for reply in Line(served[1], path).say(*said)]
    monkeypatch.setattr(Conversation, "answer_at_once", lambda *_: False)
    assert [nameless(reply) for reply in Line(served[1], path).say(*said)] == short


def test_only_steps_take_the_short_way(served: tuple[Worker, int], asked: list[str]) -> None:
    line = Line(served[1])
    line.say(STEP, RESET, STEP, STATE, STEP, {"type": "dance"}, STEP)
    assert asked == ["step", "reset", "state", "dance"]  # the first step has no episode yet


def test_the_same_bytes_give_the_same_answers_however_they_are_cut(served: tuple[Worker, int]) -> None:
    chance = random.Random(3)
    stream = b"".join(masked(message) for message in (*[STEP] * 20, STATE, STEP))
    for longest in (1, 7, 100, 2_000, len(stream)):
        line, at = Line(served[1]), 0
        line.say(RESET)
        while at < len(stream):
            size = chance.randint(1, longest)
            line.send(stream[at : at + size])
            at += size
        *steps, state, last = [line.heard() for _ in range(22)]
        assert rounds_of([*steps, last]) == [*range(1, 22)] and state["data"]["step_count"] == 20


def test_what_is_sent_without_waiting_is_answered_in_order(served: tuple[Worker, int]) -> None:
    line = Line(served[1])
    line.send(*(masked(message) for message in (RESET, STEP, STATE, STEP, STEP, RESET, STEP, STATE)))
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


def test_fragments_pings_and_binary_messages_are_left_to_the_library(served: tuple[Worker, int]) -> None:
    line = Line(served[1])
    line.say(RESET)
    whole = json.dumps(STEP).encode()
    line.send(masked(whole[:50], fin=False), masked(b"still there?", Opcode.PING))
    assert line.frame() == (Opcode.PONG, b"still there?")
    line.send(masked(whole[50:], Opcode.CONT))
    assert rounds_of([line.heard()]) == [1]
    line.send(masked(whole, BINARY))
    assert rounds_of([line.heard(), *line.say(STEP)]) == [2, 3]
    line.send(masked(b"\x03\xe8", Opcode.CLOSE))
    assert line.frame() == (Opcode.CLOSE, b"\x03\xe8")


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (masked(b'{"type": "step\xff"}'), 1007),
        (masked(b" " * 300_000), 1009),
        (masked(b" " * 300_000)[:20], 1009),  # its length alone is enough
        (bytes(Frame(TEXT, b"{}").serialize(mask=False)), 1002),
        (b"\xf1\x80abcd", 1002),
        (masked(b"", Opcode.CONT), 1002),
    ],
    ids=["not UTF-8", "too long", "the beginning of one", "not masked", "reserved bits", "a continuation of nothing"],
)
def test_what_breaks_the_protocol_ends_the_connection_as_the_library_says(served: tuple[Worker, int], frame: bytes, code: int) -> None:
    line = Line(served[1])
    line.say(RESET, STEP)
    line.send(frame)
    kind, content = line.frame()
    assert (kind, int.from_bytes(content[:2], "big")) == (Opcode.CLOSE, code)
    with pytest.raises((EOFError, ConnectionResetError)):
        line.frame()


def test_a_step_that_the_store_did_not_take_is_refused_and_has_not_happened(
    served: tuple[Worker, int], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_session_that_has_just_expired_is_not_stepped(served: tuple[Worker, int]) -> None:
    sessions, line = served[0].config.loaded_app.state.sessions, Line(served[1])
    line.say(RESET, STEP)
    assert len(sessions.store.expire(0.0)) == 1
    first, second = line.say(STEP, STEP)
    assert [reply["data"]["reason"] for reply in (first, second)] == ["conflict", "unknown_session"]


def test_a_step_that_another_server_made_first_is_not_made_twice(served: tuple[Worker, int]) -> None:
    store, line = served[0].config.loaded_app.state.sessions.store, Line(served[1])
    name = line.say(RESET)[0]["data"]["metadata"]["session_id"]
    generation = store.place(name).generation
    assert store.advance(name, generation, 0, MECHANISM, False)
    refused, state, stepped = line.say(STEP, STATE, STEP)
    assert refused["data"]["reason"] == "conflict" and state["data"]["step_count"] == 1 and rounds_of([stepped]) == [2]
    assert len(store.actions(generation)) == 2


def test_steps_of_many_sockets_share_a_transaction_and_are_all_in_the_log(
    served: tuple[Worker, int], monkeypatch: pytest.MonkeyPatch
) -> None:
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
            line.send(masked(STEP))
        expected = live.step(MECHANISM).reward
        assert {line.heard()["data"]["reward"] for line in lines} == {expected}
    assert sum(sizes) == 24 * 12 and max(sizes) > 1
    assert all(len(sessions.store.actions(sessions.store.place(name).generation)) == 12 for name in names)


def test_sockets_and_requests_on_one_session_see_only_what_is_in_the_log(served: tuple[Worker, int]) -> None:
    line = Line(served[1])
    name = line.say(RESET)[0]["data"]["metadata"]["session_id"]
    other, address = Line(served[1], f"/ws?session_id={name}"), f"http://127.0.0.1:{served[1]}"
    made = 0
    for _ in range(8):
        line.send(masked(STEP))
        other.send(masked(STEP))
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


def test_a_client_that_sends_and_never_reads_is_hung_up_on(tmp_path: Path) -> None:
    limits = RequestLimits(read_seconds=0.5)
    with in_thread(settings_in(tmp_path, port=0, limits=limits)) as (_, port):
        line = Line(port, window=4_096)
        line.say({"type": "reset", "data": {"episode_length": 1_000}})
        with pytest.raises(ConnectionError):
            for _ in range(50_000):
                line.send(masked(STATE), masked(STEP))
        assert httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
