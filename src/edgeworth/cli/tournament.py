"""`edgeworth tournament`: every negotiator against every other, in both seats, in every scenario."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from edgeworth import catalog
from edgeworth.cli.console import command_line, deliver, progress, table
from edgeworth.cli.options import AsJson, Figure, OutFile, Scenarios, Seed
from edgeworth.config import BargainingConfig, scenario_names
from edgeworth.evaluation.statistics import Estimate
from edgeworth.evaluation.tournament import cross_table, own_partner_column, run_tournament, shown_ranks


def tournament_command(
    scenario: Scenarios = None,
    negotiator: Annotated[
        list[str] | None,
        typer.Option("--negotiator", "-n", help="Negotiator by name, run folder or checkpoint; repeat for several. Default: all named."),
    ] = None,
    also: Annotated[list[str] | None, typer.Option(help="Negotiator besides those of -n; repeat for several.")] = None,
    episodes: Annotated[int, typer.Option(min=10, help="Episodes of every pair in every seat, the same for all.")] = 2_000,
    seed: Seed = 0,
    out_file: OutFile = None,
    figure: Figure = None,
    as_json: AsJson = False,
) -> None:
    """Let negotiators play against each other and rank them.

    Reported are what each gets from each, deals, efficiency, and a range of ranks where the intervals do not separate two negotiators.

    Example: edgeworth tournament --scenario lewis -n greedy -n agree_first -n concession --episodes 500

    Example: edgeworth tournament --also runs/mine --episodes 500 --out results/tournament.json --figure results/tournament.png
    """
    names = [*(negotiator or sorted(catalog.NEGOTIATORS)), *(also or [])]
    games = {name: BargainingConfig.from_options(name) for name in scenario or scenario_names()}
    with progress() as task:
        found = run_tournament(games, names, episodes, seed, task("tournament"))
    result = {"command": command_line(), **found}
    deliver(result, _page(result), as_json, out_file, figure, "edgeworth.evaluation.bargaining_figures:draw_tournament")


def _page(result: dict[str, Any]) -> Iterator[RenderableType]:
    for scenario in result["scenarios"]:
        yield _cross_table(scenario)
        for name, reason in scenario["absent"].items():
            yield escape(f"– {name} does not take part: {reason}")
        yield ""
    if result["overall"]:
        overall = _table("all scenarios")
        for number, row in enumerate(result["overall"], 1):
            overall.add_row(str(number), *_standing(row))
        yield overall
        yield ""
    yield (
        f"[dim]Shares of a negotiator's own maximum, mean of both seats, {result['episodes']:,} episodes in each; the columns have the"
        " numbers of the rows. Score: mean over the others, with its 95 % interval; rank: the places it may have. In no score: with itself"
        " (dim), and with the scenario's own partner (own).[/]"
    )


def _cross_table(scenario: dict[str, Any]) -> Table:
    """As in chess: rows and columns in the same order, the columns by number."""
    cells, own = cross_table(scenario), own_partner_column(scenario)
    found = _table(scenario["scenario"], *map(str, range(1, len(cells) + 1)), "own")
    for number, row in enumerate(scenario["scores"], 1):
        name = row["name"]
        shares = (f"[dim]{_short(value)}[/]" if column == name else _short(value) for column, value in cells[name].items())
        found.add_row(str(number), *_standing(row), *shares, _short(own[name]))
    for name in scenario["absent"]:
        found.add_row("–", escape(name), *["–"] * (len(cells) + 3))
    return found


def _table(title: str, *columns: str) -> Table:
    found = table("", "negotiator", "score", "rank", *columns, title=escape(title), text=2, wrap=False, gap=1)
    found.columns[1].no_wrap, found.columns[1].overflow = False, "fold"
    return found


def _standing(row: dict[str, Any]) -> tuple[str, str, str]:
    score = Estimate.from_dict(row["score"])
    return escape(row["name"]), f"{_short(score.value, 3)}±{_short(score.half_width, 3)}", shown_ranks(row["ranks"])


def _short(value: float | None, digits: int = 2) -> str:
    """A number without the zero before the point."""
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")
