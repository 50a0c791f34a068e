"""How far a long command is: one bar on standard error that says what is being done and how long it will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from edgeworth.cli.console import err

Show = Callable[[str, int, int], None]
"""Told what is being done, how much is done, and of how much."""


@contextmanager
def progress() -> Iterator[Callable[[str], Show]]:
    """Bars, one per named task: `with progress() as task: work(task("searching"))`."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bars:

        def task(name: str) -> Show:
            number = bars.add_task(name, total=1.0)

            def show(what: str, done: int, total: int) -> None:
                bars.update(number, description=f"{name}: {what}", completed=done / total)

            return show

        yield task
