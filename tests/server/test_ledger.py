"""Steps of one turn of the event loop are written together, and everybody is told what became of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from edgeworth.server.ledger import MOST_LINES, Ledger
from edgeworth.server.store import Line


class Shelf:
    """A store that remembers what it was given, or fails."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault, self.given = fault, list[list[str]]()

    def advance_all(self, lines: Sequence[Line]) -> list[bool]:
        self.given.append([line.session_id for line in lines])
        if self.fault is not None:
            raise self.fault
        return [line.number == 0 for line in lines]


def line(name: str, number: int = 0) -> Line:
    return Line(name, "g", number, {}, False)


def played(shelf: Shelf, work: Callable[[Ledger], None]) -> None:
    """Do something with a ledger within one turn of an event loop, and let the loop go on."""

    async def turn() -> None:
        work(Ledger(shelf))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(turn())


def test_lines_of_one_turn_are_written_together_and_told_apart() -> None:
    shelf, told = Shelf(), dict[str, Any]()

    def work(ledger: Ledger) -> None:
        for name, number in (("a", 0), ("b", 3), ("c", 0)):
            ledger.add(line(name, number), lambda outcome, name=name: told.__setitem__(name, outcome))
            assert name in ledger and not told

    played(shelf, work)
    assert shelf.given == [["a", "b", "c"]] and told == {"a": True, "b": False, "c": True}


def test_whoever_settles_first_leaves_nothing_for_the_end_of_the_turn() -> None:
    shelf, told = Shelf(), list[Any]()

    def work(ledger: Ledger) -> None:
        ledger.add(line("a"), told.append)
        ledger.settle()
        assert told == [True] and "a" not in ledger
        ledger.add(line("a"), told.append)

    played(shelf, work)
    assert shelf.given == [["a"], ["a"]] and told == [True, True]


def test_a_turn_with_many_steps_takes_several_transactions() -> None:
    shelf, told = Shelf(), list[Any]()
    played(shelf, lambda ledger: [ledger.add(line(str(k)), told.append) for k in range(2 * MOST_LINES + 3)] and None)
    assert [len(names) for names in shelf.given] == [MOST_LINES, MOST_LINES, 3] and told == [True] * (2 * MOST_LINES + 3)


def test_what_the_store_fails_at_is_told_to_all_of_them() -> None:
    fault, told = OSError("the disk is full"), list[Any]()
    played(Shelf(fault), lambda ledger: [ledger.add(line(name), told.append) for name in "ab"] and None)
    assert told == [fault, fault]


def test_an_answer_that_fails_keeps_nobody_else_from_theirs(caplog: pytest.LogCaptureFixture) -> None:
    told = list[Any]()

    def fails(_: bool | Exception) -> None:
        raise RuntimeError("gone")

    def work(ledger: Ledger) -> None:
        ledger.add(line("a"), fails)
        ledger.add(line("b"), told.append)

    played(Shelf(), work)
    assert told == [True] and "could not be answered" in caplog.text
