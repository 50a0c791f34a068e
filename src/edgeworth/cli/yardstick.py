"""`edgeworth yardstick`: the scales that negotiators and designers are read on, computed and played."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from edgeworth.cli.console import (
    AsJson,
    Seed,
    Settings,
    auction_config,
    command_line,
    deliver,
    draw,
    err,
    game_config,
    out,
)
from edgeworth.cli.progress import progress
from edgeworth.config import scenario_names
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.auction_yardstick import Row
from edgeworth.evaluation.yardstick import Yardstick, yardstick
from edgeworth.games.auction.population import population_table

GAMES = ("bargaining", "auction")


def yardstick_command(
    game: Annotated[str, typer.Option("--game", help="bargaining or auction.")] = "bargaining",
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", "-s", help="Bargaining: a scenario or YAML file; repeat for several. Default: all."),
    ] = None,
    stage: Annotated[
        list[str] | None, typer.Option("--stage", help="Auction: a population; repeat for several. Default: 0–4, stages, mixed, held_out.")
    ] = None,
    settings: Settings = None,
    contexts: Annotated[int, typer.Option(min=100, help="Contexts for the oracle and for agents that are played.")] = 20_000,
    plan_contexts: Annotated[int, typer.Option(min=10, help="Contexts for the blind plans.")] = 3_000,
    episodes: Annotated[int, typer.Option(min=100, help="Auction: episodes of every designer on every population.")] = 4_000,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the table as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the scales into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a game's reference table: from random play to the oracle, with intervals.

    Bargaining: shares of the agent's maximum, by scenario. Auction: mean score R of every designer, by population.

    Example: edgeworth yardstick --scenario lewis

    Example: edgeworth yardstick --game auction --stage 3
    """
    if game not in GAMES:
        raise UnknownName("game", game, GAMES)
    if game == "auction":
        if scenario is not None:
            raise InvalidOption("--scenario belongs to bargaining; the auction has --stage.")
        _auction(stage, settings, episodes, seed, out_file, figure, as_json)
    else:
        if stage is not None:
            raise InvalidOption("--stage belongs to the auction (--game auction); bargaining has --scenario.")
        _bargaining(scenario, settings, contexts, plan_contexts, seed, out_file, figure, as_json)


def _bargaining(
    scenario: list[str] | None,
    settings: list[str] | None,
    contexts: int,
    plan_contexts: int,
    seed: int,
    out_file: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    names = scenario or scenario_names()
    configs = {name: game_config(name, None, settings) for name in names}
    tables = []
    with progress() as task:
        for name, config in configs.items():
            tables.append(yardstick(name, config, contexts, plan_contexts, seed, task(name)))
    result = {
        "command": command_line(),
        "quantity": "sum of rewards / sum of the agent's maxima; 95 % bootstrap interval over contexts",
        "seeds": f"{seed} to {seed + contexts - 1} (blind plans: to {seed + plan_contexts - 1})",
        "scenarios": [table.as_dict() for table in tables],
    }
    draw(result, figure, "edgeworth.evaluation.figures:draw_yardsticks")

    def show() -> None:
        for table in tables:
            out.print(_rich_table(table))
            for note in table.notes:
                err.print(f"A row is missing: {note}", soft_wrap=True)
            out.print()

    deliver(result, as_json, out_file, show)


def _auction(
    stages: list[str] | None,
    settings: list[str] | None,
    episodes: int,
    seed: int,
    out_file: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    from edgeworth.evaluation.auction_yardstick import POPULATIONS, auction_yardstick

    configs = {name: auction_config(name, None, 8, settings) for name in stages or POPULATIONS}
    for config in configs.values():
        population_table(config.stage, config.mix)  # refuses what does not exist before anything long starts
    tables = {}
    with progress() as task:
        for name, config in configs.items():
            tables[name] = auction_yardstick(config, episodes, seed, task(f"population {name}"))
    result = {
        "command": command_line(),
        "quantity": "mean score R per step over whole episodes; 95 % bootstrap interval over episodes; differences paired by seed",
        "seeds": f"{seed} to {seed + episodes - 1}",
        "episodes": episodes,
        "populations": {name: [row.as_dict() for row in rows] for name, rows in tables.items()},
    }
    draw(result, figure, "edgeworth.evaluation.designer_figures:draw_designers")

    def show() -> None:
        for name, rows in tables.items():
            out.print(_designer_table(name, rows))
            out.print()

    deliver(result, as_json, out_file, show)


def _designer_table(population: str, rows: list[Row]) -> Table:
    title = f"population {population}: mean score R per step"
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    shown.add_column("designer", no_wrap=True)
    for name in ("R", "95 % interval", "over best constant", "episodes"):
        shown.add_column(name, justify="right")
    for row in rows:
        e, d = row.score, row.over_best_constant
        gain = f"{d.value:+.3f} ±{(d.high - d.low) / 2:.3f}" if d.value else "–"
        shown.add_row(row.designer, f"{e.value:.3f}", f"{e.low:.3f} – {e.high:.3f}", gain, f"{e.n:,}")
    return shown


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
