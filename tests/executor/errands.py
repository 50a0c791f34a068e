"""Tasks for the tests of the executor, in a module that other processes can import."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.agents.designers.bundled import bundled_mechanism
from edgeworth.errors import InvalidOption
from edgeworth.executor.execution import executor
from edgeworth.executor.tasks import Task
from edgeworth.llm.client import Messages


def noted(folder: Path, number: int) -> None:
    """Note that a task was carried out."""
    with (folder / "carried_out").open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")


def square(folder: Path, number: int, seconds: float = 0.0) -> dict[str, Any]:
    """A value with an array and a number that has no short decimal form; it notes if it is interrupted."""
    try:
        (folder / f"began_{number}").touch()
        time.sleep(seconds)
    except KeyboardInterrupt:
        time.sleep(0.5)  # as long as saving takes
        (folder / f"interrupted_{number}").touch()
        raise
    noted(folder, number)
    return {"third": number / 3.0, "squares": np.arange(number, dtype=np.float64) ** 2, "nested": [{"flags": np.array([True, False])}]}


def killed_once(folder: Path, number: int) -> int:
    """Kills its process the first time it is carried out."""
    noted(folder, number)
    try:
        (folder / f"tried_{number}").touch(exist_ok=False)
    except FileExistsError:
        return number
    os.kill(os.getpid(), signal.SIGKILL)
    return -1


def killed_always(folder: Path) -> None:
    """Kills its process whenever it is carried out."""
    noted(folder, 0)
    os.kill(os.getpid(), signal.SIGKILL)


def broken() -> None:
    """An error that nobody foresaw."""
    raise ZeroDivisionError("nothing to divide by")


def refused() -> None:
    """An error about what was asked for."""
    raise InvalidOption("There is no such game.")


def squares(folder: Path, count: int, seconds: float = 0.0) -> list[Task]:
    """Some tasks that note when they are carried out."""
    return [Task(f"square {number}", square, (folder, number, seconds)) for number in range(count)]


def carried_out(folder: Path) -> list[int]:
    """The numbers of the tasks that were carried out, in order."""
    return sorted(map(int, (folder / "carried_out").read_text(encoding="utf-8").split()))


def answer(messages: Messages) -> str:
    """What a scripted model says: something that depends on the question alone."""
    return f"{len(messages[-1].content)} characters"


def mechanism(messages: Messages) -> str:
    """What a scripted designer says: some mechanisms, and now and then nothing legal."""
    number = sum(map(ord, messages[-1].content)) % 7
    return "none" if number == 0 else json.dumps({**bundled_mechanism("stages").model_dump(), "reserve_price": number / 10})


if __name__ == "__main__":
    engine, place, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    with executor(engine, 2, folder=place / "kept") as run:
        run(squares(place, 12, seconds)).whole()
