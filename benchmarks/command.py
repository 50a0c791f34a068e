"""The command line that all benchmarks share: options, tables, and the result they write.

Benchmarks are started from the root of a checkout, for example with `python -m benchmarks.env --repeats 5`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from edgeworth.cli import main
from edgeworth.cli.console import command_line, deliver, progress, table
from edgeworth.progress import Progress

Repeats = Annotated[int, typer.Option(min=1, help="Rounds of measurement; medians need 5 or more.")]
Seconds = Annotated[float, typer.Option(min=0.01, help="Seconds per measurement.")]


def start(command: Callable[..., None]) -> None:
    """Run a benchmark's command; errors become one sentence and an exit status, as those of `edgeworth` do."""
    main(lambda: typer.run(command))


def report(
    measure: Callable[[Progress], dict[str, Any]],
    page: Callable[[dict[str, Any]], Iterable[RenderableType]],
    as_json: bool,
    out_file: Path | None,
    *elsewhere: Path,
) -> dict[str, Any]:
    """Measure with a progress bar, then write the result with its command into its file, and print it as a page or as JSON."""
    program = f"python -m benchmarks.{Path(sys.argv[0]).stem}"
    with progress() as task:
        result = {"command": command_line(*elsewhere, program=program), **measure(task("measuring"))}
    deliver(result, page(result), as_json, out_file)
    return result


def rates_page(title: str, unit: str, base: str, times: str) -> Callable[[dict[str, Any]], Iterator[RenderableType]]:
    """A page with the rates of all entries and how many times that of the base each is, then the targets."""

    def page(result: dict[str, Any]) -> Iterator[RenderableType]:
        yield from (rates_table(result["entries"], title, unit, base, times), "", targets_table(result))

    return page


def rates_table(entries: Mapping[str, Any], title: str, unit: str, base: str, times: str) -> Table:
    """A row per entry: its rate, the quartiles, and the ratio to the base."""
    slowest = entries[base]["median"]
    found = table("entry", unit, "quartiles", times, title=title)
    for entry in entries.values():
        low, high = entry["interquartile_range"]
        found.add_row(entry["label"], _rate(entry["median"]), f"{_rate(low)} – {_rate(high)}", f"{entry['median'] / slowest:,.1f}")
    return found


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def targets_table(result: Mapping[str, Any]) -> Table:
    """A row per target: what was measured, what it should be, and whether it is; a ratio without a target is only reported."""
    found = table("what", "measured", "quartiles", "target", "met", title="Targets")
    for row in result["targets"]:
        low, high = row["interquartile_range"]
        measured = f"{row['median']:,.4g} {row['unit']}".strip()
        wanted, met = "–", "–"
        if row["target"] is not None:
            wanted, met = f"{row['relation']} {row['target']:g}", "[green]yes[/]" if row["met"] else "[red]no[/]"
        found.add_row(row["name"], measured, f"{low:,.4g} – {high:,.4g}", wanted, met)
    return found
