"""What all figures share: colours that are readable in grey, panels that save themselves, intervals, bands, captions and legends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from edgeworth.errors import InvalidOption, MissingExtra

INK, GREY, LIGHT, STRIPE = "#222222", "#777777", "#b8b8b8", "#f1f1f1"
ACCENT, RUST, GREEN = "#0b6e99", "#a34a28", "#5b7a1d"
DOTTED = (0, (1, 3))
"""The line of a baseline."""

Numbers = Mapping[str, Any]
"""An estimate as JSON: value, low, high; the ends are null where they are not known."""


def pyplot() -> ModuleType:
    """Matplotlib's `pyplot`, drawing into files only."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("A figure", "matplotlib", "train") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


@contextmanager
def panels(
    path: Path,
    rows: int,
    columns: int,
    size: tuple[float, float],
    layout: Mapping[str, Any] | None = None,
    dots_per_inch: int = 150,
    **options: Any,
) -> Iterator[tuple[Any, Any]]:
    """A figure and its panels (rows, columns) to draw in; it is laid out and written to `path` at the end of the block."""
    plt = pyplot()
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, **options)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    try:
        yield figure, grid
        figure.tight_layout(**(layout or {}))
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            figure.savefig(path, dpi=dots_per_inch)
        except ValueError as error:
            raise InvalidOption(f"{path} cannot be drawn ({error}); expected a name that ends in .png, .svg or .pdf.") from error
    finally:
        plt.close(figure)


def wrapped(words: str, width: int) -> str:
    """Words wrapped into lines of at most `width` letters."""
    return "\n".join(textwrap.wrap(words, width))


def caption(figure: Any, words: str, width: int = 120, **style: Any) -> None:
    """State the finding above all panels."""
    figure.suptitle(wrapped(words, width), **{"fontsize": 10, "x": 0.01, "ha": "left", **style})


def legend_below(figure: Any, height: float, lines: Sequence[Mapping[str, Any]]) -> None:
    """One legend for all panels, in the lower left corner of a figure of this height in inches; an entry per line style."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **style) for style in lines]
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.02 / height), ncol=len(handles), frameon=False, fontsize=8.5)


def spread(estimate: Numbers) -> list[list[float]] | None:
    """An interval as Matplotlib's error bars take it; None where it is not known."""
    if estimate["low"] is None:
        return None
    return [[estimate["value"] - estimate["low"]], [estimate["high"] - estimate["value"]]]


def point(axes: Any, estimate: Numbers, y: float, colour: str, marker: str = "o", **style: Any) -> None:
    """A value with its interval, on a row."""
    axes.errorbar(estimate["value"], y, xerr=spread(estimate), fmt=marker, color=colour, **{"ms": 5, "capsize": 3, **style})


def band(axes: Any, steps: Sequence[float], share: Mapping[str, Sequence[float]], colour: str, line: Any, **style: Any) -> None:
    """A learning curve: the mean over seeds, and a band from the lowest to the highest."""
    shade = style.pop("shade", 0.15)
    axes.fill_between(steps, share["low"], share["high"], color=colour, alpha=shade, linewidth=0)
    axes.plot(steps, share["mean"], ls=line, color=colour, **{"lw": 1.4, **style})


def name_rows(axes: Any, names: Sequence[str], width: int, fontsize: float) -> None:
    """Name the rows of a panel, long names on several lines."""
    axes.set_yticks(range(len(names)), [textwrap.fill(name, width) for name in names], fontsize=fontsize)
