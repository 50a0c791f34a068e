"""`edgeworth study`: run a study, or report on a finished one; without a word between, `run` is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from typer.core import TyperGroup

from edgeworth.cli.console import command_line, deliver, say, shown, table
from edgeworth.cli.options import AsJson
from edgeworth.cli.study import study_command
from edgeworth.evaluation.aggregates import STATISTICS
from edgeworth.evaluation.study_page import compared, write_page
from edgeworth.evaluation.study_tables import read_tables

RUN = "run"


class RunsByDefault(TyperGroup):
    """A group whose command `run` need not be named: `edgeworth study negotiators`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front where no command is named."""
        named = not args or args[0] in self.commands or args[0] == "--help"
        return super().parse_args(ctx, args if named else [RUN, *args])


app = typer.Typer(cls=RunsByDefault, help="Train agents with several settings and seeds, and compare them.", no_args_is_help=True)
app.command(RUN)(study_command)


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished study, e.g. runs/negotiators.")],
    page: Annotated[Path | None, typer.Option(help="Page to write, .md or .html. Default: report.md in the folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Report on a finished study: tables with stratified bootstrap intervals, a figure, and the commands, as a page.

    Example: edgeworth study report runs/negotiators

    Example: edgeworth study report runs/negotiators --page negotiators.html
    """
    about, runs = read_tables(folder)
    found, path = compared(about, runs), page or folder / "report.md"
    write_page(path, about, runs, found, command_line())
    deliver(found, _report_page(found), as_json)
    say(f"Wrote {path} and its figure.")


def _report_page(found: dict[str, Any]) -> Iterator[RenderableType]:
    title = f"{found['study']}: {found['measure'].replace('_', ' ')} over all games"
    rows = table("method", *STATISTICS, "best beats it", title=title)
    for row in found["methods"]:
        rows.add_row(row["method"], *(shown(row[name], "\n") for name in STATISTICS), shown(row["best beats it"], "\n"))
    yield rows
    yield "[dim]Below each number its 95 % stratified bootstrap interval over seeds.[/]"
