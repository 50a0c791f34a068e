"""`edgeworth tournament`: every negotiator against every other, in both seats, in every scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from edgeworth import catalog
from edgeworth.cli.console import AsJson, Seed, command_line, deliver, draw, out
from edgeworth.cli.progress import progress
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.evaluation.tournament import cross_table, own_partner_column, run_tournament, shown_ranks


def tournament_command(
    scenario: Annotated[
        list[str] | None, typer.Option("--scenario", "-s", help="A named scenario or a YAML file; repeat for several. Default: all named.")
    ] = None,
    negotiator: Annotated[
        list[str] | None,
        typer.Option(
            "--negotiator", "-n", help="A negotiator by name, a run folder or a checkpoint; repeat for several. Default: all named."
        ),
    ] = None,
    also: Annotated[list[str] | None, typer.Option("--also", help="One more, beside all named; repeat for several.")] = None,
    episodes: Annotated[int, typer.Option("--episodes", min=10, help="Talks of every pair in every seat, the same for all.")] = 2_000,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw a heat map per scenario into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let negotiators meet each other: who gets what from whom, deals, efficiency, and ranks that say where they are not separated.

    Example: edgeworth tournament --scenario lewis -n greedy -n agree_first -n concession --episodes 500

    Example: edgeworth tournament --also runs/mine --episodes 500 --out results/tournament.json --figure results/tournament.png
    """
    names = [*(negotiator or sorted(catalog.NEGOTIATORS)), *(also or [])]
    games = {name: BargainingConfig.from_options(name) for name in scenario or scenario_names()}
    with progress() as task:
        found = run_tournament(games, names, episodes, seed, task("tournament"))
    result = {"command": command_line(), **found}
    deliver(result, as_json, out_file, lambda: _show(result))
    draw(result, figure, "edgeworth.evaluation.bargaining_figures:draw_tournament")


def _show(result: dict[str, Any]) -> None:
    for scenario in result["scenarios"]:
        out.print(_cross_table(scenario))
        for name, reason in scenario["absent"].items():
            out.print(f"– {name} does not take part: {reason}", soft_wrap=True, markup=False)
        out.print()
    if result["overall"]:
        table = _table("all scenarios")
        for number, row in enumerate(result["overall"], 1):
            table.add_row(str(number), *_standing(row))
        out.print(table)
        out.print()
    out.print(
        f"Shares of a negotiator's own maximum, mean of both seats, {result['episodes']:,} talks in each; the columns have the numbers of"
        " the rows. Score: mean over the others, with its 95 % interval; rank: the places it may have. In no score: with itself (dim), and"
        " with the scenario's own partner (own).",
        style="dim",
        soft_wrap=True,
    )


def _cross_table(scenario: dict[str, Any]) -> Table:
    """As in chess: rows and columns in the same order, the columns by number."""
    cells, own = cross_table(scenario), own_partner_column(scenario)
    table = _table(scenario["scenario"])
    for column in (*map(str, range(1, len(cells) + 1)), "own"):
        table.add_column(column, justify="right", no_wrap=True)
    for number, row in enumerate(scenario["scores"], 1):
        name = row["name"]
        shares = (f"[dim]{_shown(value)}[/]" if column == name else _shown(value) for column, value in cells[name].items())
        table.add_row(str(number), *_standing(row), *shares, _shown(own[name]))
    for name in scenario["absent"]:
        table.add_row("–", escape(name), *["–"] * (len(cells) + 3))
    return table


def _table(title: str) -> Table:
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("negotiator", overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    return table


def _standing(row: dict[str, Any]) -> tuple[str, str, str]:
    score = row["score"]
    half = max(score["high"] - score["value"], score["value"] - score["low"])
    return escape(row["name"]), f"{_shown(score['value'], 3)}±{_shown(half, 3)}", shown_ranks(row["ranks"])


def _shown(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")
