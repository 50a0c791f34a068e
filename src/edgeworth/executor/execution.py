"""The executor: tasks on an engine, with progress, failures that stop nothing else, and values on disk until the command has ended.

A value is written to the executor's folder, whole or not at all, as soon as it arrives. A command that was killed finds there what was
finished, and computes the rest. A command that ends without failures removes the values: what it made of them is its result.

    with executor("local", workers=4, folder=Path("runs/cells")) as run:
        values = run(tasks, progress).whole()
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeworth.errors import FallbackUsed, InvalidOption, RunStopped, UnknownName
from edgeworth.executor.local import Engine, Local
from edgeworth.executor.tasks import Outcome, Task, unpacked
from edgeworth.files import write_whole
from edgeworth.progress import Progress, silent

ENGINES = ("local", "ray")
SUFFIX, LOG = ".npz", ".log"
SHOWN_FAILURES = 5

Made = Callable[[], tuple[int, int]]
"""How much of the whole work is done, and how much there is; a finer measure than the number of tasks."""


@dataclass(frozen=True)
class Failure:
    """A task without a value."""

    name: str
    reason: str
    log: str | None
    """The file with its traceback, or with what is known of its worker."""
    refused: bool = False

    def as_dict(self) -> dict[str, str | None]:
        """For JSON."""
        return {"name": self.name, "reason": self.reason, "log": self.log}


@dataclass(frozen=True)
class Results:
    """The values of tasks by name, in the order of the tasks, and the failures among them."""

    values: dict[str, Any]
    failures: tuple[Failure, ...]

    def whole(self) -> list[Any]:
        """All values; an error where some are missing, which the same command computes when it is called again."""
        if not self.failures:
            return list(self.values.values())
        refused = [failure for failure in self.failures if failure.refused]
        if refused:
            raise InvalidOption(refused[0].reason)
        raise RunStopped(failure_text(self.failures, len(self.values)))


def failure_text(failures: Sequence[Failure], finished: int) -> str:
    """Which tasks failed and why; the logs have the rest."""
    shown = [f"{failure.name}: {failure.reason}" + (f" ({failure.log})" if failure.log else "") for failure in failures[:SHOWN_FAILURES]]
    more = [f"and {len(failures) - len(shown)} more"] if len(failures) > len(shown) else []
    listed = "; ".join([*shown, *more])
    return f"{len(failures)} of {finished + len(failures)} tasks failed. {listed}. The others are finished; call the command again."


class Executor:
    """Runs tasks on an engine; see `executor`, which closes it."""

    def __init__(self, engine: Engine, folder: Path | None = None) -> None:
        self.engine, self.folder = engine, folder
        self.failed = False
        self._mine: set[Path] = set()
        """The files of the tasks so far, whether they were written or not."""

    def __call__(self, tasks: Sequence[Task], progress: Progress = silent, made: Made | None = None) -> Results:
        """Carry out tasks whose values are not on disk yet, and go on after failures."""
        tally = _Tally(len(tasks), self.engine, progress, made)
        values: dict[str, Any] = {task.name: None for task in tasks}
        if len(values) < len(tasks):
            raise ValueError(f"{len(tasks)} tasks have {len(values)} different names; each needs its own.")
        there = {task.name: path for task in tasks if task.keep and (path := self._file(task)) is not None and path.is_file()}
        missing, failures = [task for task in tasks if task.name not in there], dict[str, Failure]()
        for name, path in there.items():
            values[name] = unpacked(path.read_bytes())
        tally.show(len(there), 0)
        with contextlib.closing(self.engine.outcomes(missing)) as outcomes:
            for ended in outcomes:
                if ended is not None:
                    task, outcome = missing[ended[0]], ended[1]
                    if outcome.packed is None:
                        failures[task.name] = self._failure(task, outcome)
                    else:
                        self._keep(task, outcome.packed)
                        values[task.name] = unpacked(outcome.packed)
                tally.show(len(there), len(failures), ended is not None)
        self.failed |= any(not failure.refused for failure in failures.values())
        found = {name: value for name, value in values.items() if name not in failures}
        return Results(found, tuple(failures[name] for name in values if name in failures))

    def _file(self, task: Task) -> Path | None:
        """Where a value is kept."""
        if self.folder is None:
            return None
        path = self.folder / f"{task.fingerprint}{SUFFIX}"
        self._mine.add(path)
        return path

    def _keep(self, task: Task, content: bytes) -> None:
        """Write a value down; where that is impossible, the command goes on without."""
        path = self._file(task) if task.keep else None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, content)
            except (OSError, RunStopped) as error:
                self.folder = None
                warnings.warn(f"Finished tasks are not kept, so a stopped command begins anew: {error}", FallbackUsed, stacklevel=2)

    def _failure(self, task: Task, outcome: Outcome) -> Failure:
        """A failure, with its log on disk where there is one."""
        log, path = None, self._file(task)
        if path is not None and outcome.log:
            with contextlib.suppress(OSError, RunStopped):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path.with_suffix(LOG), f"{task.name}\n\n{outcome.log}".encode())
                log = str(path.with_suffix(LOG))
        return Failure(task.name, outcome.reason, log, outcome.refused)

    def forget(self) -> None:
        """Remove what was kept, and its folder where nothing else is in it."""
        for path in self._mine:
            path.unlink(missing_ok=True)
            path.with_suffix(LOG).unlink(missing_ok=True)
        if self._mine:
            with contextlib.suppress(OSError):
                next(iter(self._mine)).parent.rmdir()
        self._mine.clear()


class _Tally:
    """Shows how many tasks are done, under way and failed."""

    def __init__(self, total: int, engine: Engine, progress: Progress, made: Made | None) -> None:
        self.total, self.engine, self.progress, self.made, self.ended = total, engine, progress, made, 0

    def show(self, before: int, failed: int, ended: bool = False) -> None:
        """Count a task that has ended, and show where all of them stand."""
        self.ended += ended
        over = before + self.ended
        running = f", {self.engine.running} running" if over < self.total else ""
        words = f"{over - failed} of {self.total} done{running}" + (f", {failed} failed" if failed else "")
        done, total = (over, self.total) if self.made is None else self.made()
        self.progress(words, done, max(1, total))


HERE = Executor(Local())
"""Runs tasks one by one in this process, and keeps nothing."""


@contextmanager
def executor(
    engine: str = "local", workers: int | None = None, address: str | None = None, folder: Path | None = None
) -> Iterator[Executor]:
    """An executor on an engine by name; without a number of workers this process alone, or all CPUs of Ray.

    After a command without errors and failures nothing of it stays on disk.
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    if engine == "local" and address is not None:
        raise InvalidOption("--address is for --engine ray; the local engine has the processes of this machine.")
    run = Executor(_engine(engine, workers, address), folder)
    try:
        yield run
        if not run.failed:
            run.forget()
    finally:
        run.engine.close()


def _engine(engine: str, workers: int | None, address: str | None) -> Engine:
    if engine == "local":
        return Local(workers or 1)
    from edgeworth.executor.on_ray import OnRay

    return OnRay(workers, address)
