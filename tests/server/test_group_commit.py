"""Steps of one turn of the event loop are written together, and each waits for its own result."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from edgeworth.server import group_commit
from edgeworth.server.database import Locked
from edgeworth.server.group_commit import MOST_LINES, GroupCommit
from edgeworth.server.store import Line


class Shelf:
    """A store that remembers what it was given, or fails."""

    def __init__(self, fault: Exception | None = None, local: bool = True) -> None:
        self.fault, self.given, self.local = fault, list[list[str]](), local
        self.database, self.copied, self.may_copy = self, list[int](), threading.Event()

    def copy_log(self) -> None:
        self.copied.append(threading.get_ident())
        assert self.may_copy.wait(20.0)

    def advance_all(self, lines: Sequence[Line]) -> list[bool]:
        self.given.append([line.generation for line in lines])
        if self.fault is not None:
            raise self.fault
        return [line.number == 0 for line in lines]


def line(name: str, number: int = 0) -> Line:
    return Line(name, number, {}, False)


def together(*writes: Coroutine[Any, Any, bool]) -> list[Any]:
    """The results of writes that begin within one turn of an event loop."""

    async def turn() -> list[Any]:
        return await asyncio.gather(*writes, return_exceptions=True)

    return asyncio.run(turn())


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def commit(shelf: Shelf) -> GroupCommit:
    return GroupCommit(shelf)  # type: ignore[arg-type]


def test_lines_of_one_turn_are_written_together_and_answered_apart(shelf: Shelf, commit: GroupCommit) -> None:
    assert together(*(commit.write(line(name, number)) for name, number in (("a", 0), ("b", 3), ("c", 0)))) == [True, False, True]
    assert shelf.given == [["a", "b", "c"]]


def test_a_flush_leaves_nothing_for_the_end_of_the_turn(shelf: Shelf, commit: GroupCommit) -> None:
    async def flushed() -> bool:
        commit.flush()
        return await commit.write(line("a"))

    assert together(commit.write(line("a")), flushed()) == [True, True]
    assert shelf.given == [["a"], ["a"]]


def test_a_turn_with_many_steps_takes_several_transactions(shelf: Shelf, commit: GroupCommit) -> None:
    count = 2 * MOST_LINES + 3
    assert together(*(commit.write(line(str(k))) for k in range(count))) == [True] * count
    assert [len(names) for names in shelf.given] == [MOST_LINES, MOST_LINES, 3]


def test_over_a_network_lines_that_arrive_during_a_transaction_share_the_next() -> None:
    shelf, writing, go_on = Shelf(local=False), threading.Event(), threading.Event()
    advance_all = shelf.advance_all

    def slowly(lines: Sequence[Line]) -> list[bool]:
        writing.set()
        assert go_on.wait(20.0)
        return advance_all(lines)

    shelf.advance_all = slowly  # type: ignore[method-assign]

    async def play() -> list[bool]:
        commit = GroupCommit(shelf)  # type: ignore[arg-type]
        first = asyncio.create_task(commit.write(line("a")))
        await asyncio.to_thread(writing.wait, 20.0)
        others = [asyncio.create_task(commit.write(line(name))) for name in "bcd"]
        await asyncio.sleep(0)
        commit.flush()  # changes nothing: the event loop never waits for a network
        go_on.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(play()) == [True] * 4 and shelf.given == [["a"], ["b", "c", "d"]]


def test_lines_of_a_locked_file_are_written_in_a_thread_together_with_those_that_come_meanwhile(shelf: Shelf, commit: GroupCommit) -> None:
    advance_all, loop_thread, tried = shelf.advance_all, threading.get_ident(), threading.Event()

    def locked(lines: Sequence[Line]) -> list[bool]:
        if threading.get_ident() == loop_thread:
            raise Locked(503, "store_unavailable", "Somebody else is writing.", "Try again.")
        if not tried.is_set():
            tried.set()
            time.sleep(0.3)
        return advance_all(lines)

    shelf.advance_all = locked  # type: ignore[method-assign]

    async def play() -> list[bool]:
        first = [asyncio.create_task(commit.write(line(name))) for name in "ab"]
        await asyncio.to_thread(tried.wait, 20.0)
        others = [asyncio.create_task(commit.write(line(name))) for name in "cd"]
        await asyncio.sleep(0)
        commit.flush()  # leaves them to the thread
        return await asyncio.gather(*first, *others)

    assert asyncio.run(play()) == [True] * 4 and shelf.given == [["a", "b"], ["c", "d"]]


def test_an_error_of_the_store_reaches_all_of_them(shelf: Shelf, commit: GroupCommit) -> None:
    shelf.fault = OSError("the disk is full")
    assert together(*(commit.write(line(name)) for name in "ab")) == [shelf.fault, shelf.fault]


def test_a_client_that_is_gone_keeps_no_other_from_its_result(shelf: Shelf, commit: GroupCommit) -> None:
    async def gone() -> bool:
        task = asyncio.ensure_future(commit.write(line("a")))
        await asyncio.sleep(0)
        task.cancel()
        return await task

    first, second = together(gone(), commit.write(line("b")))
    assert isinstance(first, asyncio.CancelledError) and second is True
    assert sorted(name for names in shelf.given for name in names) == ["a", "b"]


def test_the_log_of_a_file_is_copied_by_a_thread_while_lines_are_written(
    shelf: Shelf, commit: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "LINES_BETWEEN_CHECKPOINTS", 10)

    async def play() -> None:
        for number in range(25):  # and no second copy begins beside the first
            assert await commit.write(line(str(number)))
        while not shelf.copied:
            await asyncio.sleep(0.01)
        shelf.may_copy.set()

    asyncio.run(play())
    assert len(shelf.copied) == 1 and shelf.copied != [threading.get_ident()]
