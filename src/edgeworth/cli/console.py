"""Output of the commands: results to standard output, messages and progress bars to standard error, files on request."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich import progress as rich_progress
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgeworth import catalog, files
from edgeworth.errors import FallbackUsed
from edgeworth.progress import Pace, Progress

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
LOG_SECONDS = 60.0
"""How often progress is written where standard error is no terminal."""


# Messages


def say(message: str) -> None:
    """Print a message to standard error."""
    err.print(message, soft_wrap=True, markup=False)


def complain(message: str) -> None:
    """Print an error to standard error."""
    err.print(f"[bold red]edgeworth:[/] {escape(message)}", markup=True, soft_wrap=True)


@contextmanager
def fallbacks_as_messages() -> Iterator[None]:
    """Print warnings as sentences, without the line of code they come from, and each of them once."""
    said = set[str]()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        words = str(message) if issubclass(category, FallbackUsed) else f"{category.__name__}: {message}"
        if words not in said:
            said.add(words)
            say(words)

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", FallbackUsed)
        yield


class TimeLeft(rich_progress.ProgressColumn):
    """The time that is left; rich's own column forgets what is older than half a minute, and knows nothing of slow tasks."""

    def render(self, task: rich_progress.Task) -> Text:
        """The time as hours, minutes and seconds."""
        return Text(clock_time(task.fields["pace"]), style="progress.remaining")


def clock_time(pace: Pace) -> str:
    """The time that is left, as hours, minutes and seconds."""
    left = pace.left()
    return "-:--:--" if left is None else str(timedelta(seconds=round(left)))


@contextmanager
def progress() -> Iterator[Callable[[str], Progress]]:
    """Progress bars, one per named task, or lines in a log: `with progress() as task: work(task("searching"))`."""
    words, percentage = rich_progress.TextColumn("{task.description}"), rich_progress.TextColumn("{task.percentage:>3.0f}%")
    columns = words, rich_progress.BarColumn(), percentage, TimeLeft()
    with rich_progress.Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:

        def task(name: str) -> Progress:
            pace = Pace()
            number, logged = bars.add_task(name, total=1.0, pace=pace), pace.clock()

            def show(what: str, done: int, total: int) -> None:
                nonlocal logged
                pace.note(done / total)
                bars.update(number, description=f"{name}: {what}", completed=done / total)
                if not err.is_terminal and pace.clock() - logged >= LOG_SECONDS:
                    logged = pace.clock()
                    say(f"{name}: {what}, {done / total:.0%}, {clock_time(pace)} left")

            return show

        yield task


# Results


def tell(text: str, screen: Console = out) -> None:
    """Print text: between words it is broken where a terminal ends, and in a file or a pipe not at all."""
    screen.print(text, soft_wrap=not screen.is_terminal)


def command_line(*elsewhere: Path, program: str = "edgeworth") -> str:
    """The running command as typed; the paths given here are shortened to their last part, since other machines keep them elsewhere."""

    def shown(arg: str) -> str:
        flag, sign, value = arg.partition("=") if arg.startswith("--") else ("", "", arg)
        names = [path.resolve().name for path in elsewhere if value and Path(value) == path]
        return f"{flag}{sign}{names[0]}" if names else arg

    return f"{program} " + " ".join(shlex.quote(shown(arg)) for arg in sys.argv[1:])


def print_json(value: Any) -> None:
    """Print one JSON object to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json(path: Path, value: Any) -> None:
    """Write a result file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, value)
    err.print(f"Wrote {path}.")


def deliver(
    result: Mapping[str, Any],
    page: Iterable[RenderableType],
    as_json: bool,
    out_file: Path | None = None,
    figure: Path | None = None,
    drawer: str = "",
    notes: Iterable[str] = (),
) -> None:
    """Write and draw a result into the files that are named, and print it as JSON or, with its notes, as a page for people.

    `drawer` is the "module:function" that draws it; the drawing library is loaded only when there is something to draw.
    """
    if out_file is not None:
        write_json(out_file, result)
    if as_json:
        print_json(result)
    else:
        print_page(page)
        for note in notes:
            say(note)
    if figure is not None:
        catalog.load(drawer)(result, figure)
        err.print(f"Drew {figure}.")


def print_page(page: Iterable[RenderableType], screen: Console = out) -> None:
    """Print tables and lines of text, one below the other."""
    for part in page:
        if isinstance(part, str):
            tell(part, screen)
        else:
            screen.print(part)


def table(*columns: str, title: str | None = None, text: int = 1, wrap: bool = True, gap: int = 2) -> Table:
    """An empty table without lines, `gap` spaces between its columns; the first `text` columns hold words, the others numbers."""
    found = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for place, name in enumerate(columns):
        found.add_column(name, justify="left" if place < text else "right", no_wrap=not wrap, overflow="fold" if wrap else "ellipsis")
    return found


def shown(estimate: Mapping[str, Any] | None, separator: str = " ", exact: bool = False) -> str:
    """An estimate and its interval for a table, or a dash where there is none."""
    if estimate is None:
        return "–"
    return f"{estimate['value']:.3f}" + ("" if estimate["low"] is None else f"{separator}[dim]{span(estimate, exact=exact)}[/]")


def span(estimate: Mapping[str, Any], digits: int = 3, exact: bool = False) -> str:
    """The interval of an estimate; in words, where the value was computed and not sampled."""
    return "exact" if exact else f"{estimate['low']:.{digits}f} – {estimate['high']:.{digits}f}"


def listed(kind: str, heading: str) -> tuple[dict[str, str], Table]:
    """The names in a table of the catalog, each with the first line of its documentation: for JSON, and as a table."""
    found = {name: (catalog.resolve(kind, name).__doc__ or "").splitlines()[0] for name in catalog.names(kind)}
    shown = table(heading, "what it does", text=2)
    for name, words in found.items():
        shown.add_row(name, words)
    return found, shown
