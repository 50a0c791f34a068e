"""`edgeworth yardstick`: the scale that negotiators are read on, computed and played."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from edgeworth.cli.console import AsJson, Seed, Settings, err, game_config, out, print_json, write_json
from edgeworth.config import scenario_names
from edgeworth.evaluation.yardstick import Yardstick, yardstick


def yardstick_command(
    scenario: Annotated[
        list[str] | None, typer.Option("--scenario", "-s", help="A scenario or YAML file; repeat for several. Default: all named ones.")
    ] = None,
    settings: Settings = None,
    contexts: Annotated[int, typer.Option(min=100, help="Contexts for the oracle and for agents that are played.")] = 20_000,
    plan_contexts: Annotated[int, typer.Option(min=10, help="Contexts for the blind plans.")] = 3_000,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the table as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the scales into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the reference table: oracle, blind Bayes plan, simple agents and random play, as shares of the agent's maximum.

    Example: edgeworth yardstick --scenario lewis
    """
    names = scenario or scenario_names()
    configs = {name: game_config(name, None, settings) for name in names}
    tables = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    ) as bar:
        for name, config in configs.items():
            task = bar.add_task(name, total=1.0)

            def show(what: str, done: int, total: int, task: Any = task, name: str = name) -> None:
                bar.update(task, description=f"{name}: {what}", completed=done / total)

            tables.append(yardstick(name, config, contexts, plan_contexts, seed, show))
    result = {
        "command": "edgeworth " + " ".join(shlex.quote(arg) for arg in sys.argv[1:]),
        "quantity": "sum of rewards / sum of the agent's maxima; 95 % bootstrap interval over contexts",
        "seeds": f"{seed} to {seed + contexts - 1} (blind plans: to {seed + plan_contexts - 1})",
        "scenarios": [table.as_dict() for table in tables],
    }
    if out_file is not None:
        write_json(out_file, result)
    if figure is not None:
        from edgeworth.evaluation.figures import draw_yardsticks

        draw_yardsticks(result, figure)
        err.print(f"Drew {figure}.")
    if as_json:
        print_json(result)
    else:
        for table in tables:
            out.print(_rich_table(table))
            for note in table.notes:
                err.print(f"A row is missing: {note}", soft_wrap=True)
            out.print()


def _rich_table(table: Yardstick) -> Table:
    shown = Table(
        title=f"{table.scenario}: share of the agent's maximum", title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    shown.add_column("agent")
    shown.add_column("share", justify="right")
    shown.add_column("95 % interval", justify="right")
    shown.add_column("contexts", justify="right")
    for row in table.rows:
        e = row.share_of_maximum
        shown.add_row(row.label, f"{e.value:.3f}", f"{e.low:.3f} – {e.high:.3f}", f"{e.n:,}")
    return shown
