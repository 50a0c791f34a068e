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
    command_line,
    deliver,
    draw,
    err,
    game_config,
    out,
)
from edgeworth.cli.designer_scale import asked_model, designer_scale
from edgeworth.cli.model_options import ClientName, ModelName
from edgeworth.cli.progress import progress
from edgeworth.config import scenario_names
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.evaluation.yardstick import Yardstick, yardstick

GAMES = ("bargaining", "auction")


def yardstick_command(
    game: Annotated[str, typer.Option("--game", help="bargaining or auction.")] = "bargaining",
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", "-s", help="Bargaining: a scenario or YAML file; repeat for several. Default: all."),
    ] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option("--stage", help="Auction: a population; repeat for several. Default: 0–4, stages, mixed, dirichlet, held_out."),
    ] = None,
    settings: Settings = None,
    contexts: Annotated[int, typer.Option(min=100, help="Contexts for the oracle and for agents that are played.")] = 20_000,
    plan_contexts: Annotated[int, typer.Option(min=10, help="Contexts for the blind plans.")] = 3_000,
    episodes: Annotated[int, typer.Option(min=100, help="Auction: episodes of every designer on every population.")] = 4_000,
    client: ClientName = None,
    model: ModelName = None,
    model_episodes: Annotated[
        int | None, typer.Option(min=0, help="Auction: episodes of the language model, on the first seeds; 0 leaves it out. Default: 300.")
    ] = None,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the table as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the scales into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a game's reference table: from random play to the oracle, with intervals.

    Bargaining: shares of the agent's maximum, by scenario. Auction: mean score R of every designer, by population.

    Example: edgeworth yardstick --scenario lewis

    Example: edgeworth yardstick --game auction --stage 3

    Example: edgeworth yardstick --game auction --stage stages --model Qwen/Qwen2.5-1.5B-Instruct --model-episodes 100
    """
    if game not in GAMES:
        raise UnknownName("game", game, GAMES)
    if game == "auction":
        if scenario is not None:
            raise InvalidOption("--scenario belongs to bargaining; the auction has --stage.")
        designer_scale(stage, settings, episodes, asked_model(client, model, model_episodes, episodes), seed, out_file, figure, as_json)
    else:
        if stage is not None:
            raise InvalidOption("--stage belongs to the auction (--game auction); bargaining has --scenario.")
        for option, value in {"--client": client, "--model": model, "--model-episodes": model_episodes}.items():
            if value is not None:
                raise InvalidOption(f"{option} belongs to the auction (--game auction), whose designers it joins.")
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

    def show() -> None:
        for table in tables:
            out.print(_rich_table(table))
            for note in table.notes:
                err.print(f"A row is missing: {note}", soft_wrap=True)
            out.print()

    deliver(result, as_json, out_file, show)
    draw(result, figure, "edgeworth.evaluation.bargaining_figures:draw_yardsticks")


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
