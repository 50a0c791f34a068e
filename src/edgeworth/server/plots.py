"""What /plots/ shows: figures, tables and histories in the folders of results and runs, and figures that are drawn from histories.

A name is looked up in the list of the files in these two folders; a path that a client sends is never opened. Beside every
`training_history.json` there is a figure of that name, which is drawn when it is asked for and kept in memory until the history changes.
"""

from __future__ import annotations

import asyncio
import html
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import quote

from edgeworth.errors import EdgeworthError, MissingExtra
from edgeworth.runlog import HISTORY
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import ServerSettings

MOST_FILES = 2_000
KEPT_FIGURES = 32
LOOK_SECONDS = 1.5
"""How old the list of files may be; a page asks for it every few seconds, and for every figure in it."""
TYPES = {".png": "image/png", ".csv": "text/csv", ".json": "application/json"}
DRAWN = Path(HISTORY).with_suffix(".png").name

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """A value that is computed when it is asked for, and again when it is too old; while one thread computes it, others wait for that."""

    def __init__(self, compute: Callable[[], Value], seconds: float = LOOK_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._compute, self._seconds, self._clock = compute, seconds, clock
        self._lock = threading.Lock()
        self._found: tuple[float, Value] | None = None

    def __call__(self) -> Value:
        with self._lock:
            if self._found is None or self._clock() - self._found[0] > self._seconds:
                self._found = self._clock(), self._compute()
            return self._found[1]


def shown_files(settings: ServerSettings) -> dict[str, Path]:
    """All files by their names in links; the name of a figure that is to be drawn leads to its history."""
    found: dict[str, Path] = {}
    for name, folder in (("results", settings.results), ("runs", settings.runs)):
        root = Path(folder).resolve()
        for path in _files_in(root) if root.is_dir() else ():
            if len(found) < MOST_FILES:
                link = f"{name}/{path.relative_to(root).as_posix()}"
                found[link] = path
                if path.name == HISTORY:
                    found.setdefault(f"{link.removesuffix(HISTORY)}{DRAWN}", path)
    return found


def _files_in(root: Path) -> Iterator[Path]:
    """The files of a folder that may be shown: none that is hidden, and none that a link leads out of the folder to."""
    for path in sorted(root.rglob("*")):
        wanted = path.name == HISTORY or path.suffix in (".png", ".csv")
        hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if wanted and not hidden and path.is_file() and path.resolve().is_relative_to(root):
            yield path


def gallery(names: list[str]) -> str:
    """The figures as HTML, and links to the data; relative to the page, which may be behind a path prefix."""
    figures = [(quote(name), html.escape(name.removesuffix(".png"))) for name in names if name.endswith(".png")]
    items = "".join(
        f'<figure><a href="{link}"><img src="{link}" alt="{title}" loading=lazy></a><figcaption>{title}</figcaption></figure>'
        for link, title in figures
    )
    data = "".join(f'<li><a href="{quote(name)}">{html.escape(name)}</a></li>' for name in names if not name.endswith(".png"))
    nothing = "<p>No figures yet: <code>make yardstick</code> draws the first.</p>"
    return (items or nothing) + (f"<h2>Data</h2><ul>{data}</ul>" if data else "")


class DrawnFigures:
    """Figures drawn from histories, one at a time; the last ones are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Path, int, int], bytes] = OrderedDict()
        self._turn = asyncio.Lock()

    async def figure(self, history: Path) -> bytes:
        """The figure of a history as PNG."""
        async with self._turn:
            return await asyncio.to_thread(self._figure, history)

    def _figure(self, history: Path) -> bytes:
        stamp = history.stat()
        key = history, stamp.st_mtime_ns, stamp.st_size
        if key not in self._kept:
            self._kept[key] = drawn(history.parent)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT_FIGURES:
            self._kept.popitem(last=False)
        return self._kept[key]


def drawn(run: Path) -> bytes:
    """The figure of a run's training; a run that has no curve yet is refused, without the place of its folder."""
    from edgeworth.evaluation.training_figures import draw_run

    with tempfile.TemporaryDirectory(prefix="edgeworth-figure-") as folder:
        path = Path(folder) / DRAWN
        try:
            draw_run(run, path)
        except MissingExtra:
            raise
        except (EdgeworthError, KeyError) as error:
            message = f"The history of {run.name} cannot be drawn: it has no curve yet, or is none of ours."
            raise Refused(404, "not_found", message, f"Look at its {HISTORY}.", "name") from error
        return path.read_bytes()
