"""`edgeworth study`: run a study, report on a finished one, or search for better settings; without a word between, `run` is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import RenderableType

from edgeworth.cli import Group
from edgeworth.cli.console import command_line, deliver, progress, say, shown, table
from edgeworth.cli.options import Address, AsJson, OutFile, Workers
from edgeworth.cli.study import study_command, study_file
from edgeworth.evaluation.aggregates import STATISTICS
from edgeworth.evaluation.statistics import counted
from edgeworth.evaluation.study import load_study
from edgeworth.evaluation.study_page import compared, write_page
from edgeworth.evaluation.study_tables import read_tables
from edgeworth.files import write_whole

RUN = "run"


class RunsByDefault(Group):
    """A group whose command `run` need not be named: `edgeworth study negotiators`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` in front where no command is named."""
        named = not args or args[0] in self.commands or args[0] == "--help"
        return super().parse_args(ctx, args if named else [RUN, *args])


app = typer.Typer(cls=RunsByDefault, help="Train agents with several settings and seeds, and compare them.", no_args_is_help=True)
app.command(RUN)(study_command)


@app.command("search")
def search_command(
    study: Annotated[str, typer.Argument(help="Study by name or YAML file, with a block `search`.")],
    best: Annotated[Path, typer.Option(help="File for the best settings, which `edgeworth train --config` reads.")] = Path("best.yaml"),
    steps: Annotated[int | None, typer.Option(min=1, help="Moves per trial, fewer for a quick test. Default: the cell's.")] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder for the trials. Default: runs/STUDY.")] = None,
    address: Address = None,
    workers: Workers = None,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Search for better settings of a study's cell with Ray Tune, and write the best as a settings file.

    If interrupted, call it again to continue.

    Example: edgeworth study search ppo_search --best ppo_best.yaml
    """
    from edgeworth.evaluation.study_search import run_search

    file = study_file(study)
    folder = runs or Path("runs") / file.stem
    try:
        with progress() as task:
            found = run_search(load_study(file, steps=steps), folder, workers, address, task("search"))
    except KeyboardInterrupt:
        say("Stopped; the same command continues the search.")
        raise
    write_whole(best, yaml.safe_dump(found["settings"], sort_keys=False, allow_unicode=True).encode())
    deliver({"command": command_line(), **found}, _search_page(found), as_json, out_file)
    say(f"Wrote {best}; train with it: edgeworth train --config {best}")


def _search_page(found: dict[str, Any]) -> Iterator[RenderableType]:
    names = list(found["best"]["settings"])
    rows = table("share of maximum", "moves", *names, title=f"{found['cell']}: {counted(len(found['trials']), 'trial')}", text=0, gap=1)
    for row in found["trials"]:
        score = "failed" if row["share_of_maximum"] is None else f"{row['share_of_maximum']:.4f}"
        values = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row["settings"].values())
        rows.add_row(score, f"{row['moves']:,}", *values)
    yield rows
    yield f"[dim]{found['stopped_early']} stopped early. Scores are means over the last moves of training.[/]"


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
    for group in found["groups"]:
        title = f"{found['study']}: {found['measure'].replace('_', ' ')} in {', '.join(group['games'])}"
        rows = table("method", *STATISTICS, "best beats it", title=title, gap=1)
        for row in group["methods"]:
            estimates = (shown(row[name], "\n").replace(" – ", "–") for name in (*STATISTICS, "best beats it"))
            rows.add_row(row["method"], *estimates)
        yield rows
    yield "[dim]Below each number its 95 % stratified bootstrap interval over seeds.[/]"
