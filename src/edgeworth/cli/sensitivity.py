"""`edgeworth sensitivity`: what each field of a mechanism does to the score, stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth.agents.designers.bundled import find_mechanism
from edgeworth.cli.console import AsJson, Bidders, MarketSettings, Seed, auction_config, command_line, deliver, draw, err, out
from edgeworth.cli.progress import progress
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.sensitivity import Level, Sensitivity, best_name, sensitivity
from edgeworth.games.auction.population import population_table

STAGES = ("0", "1", "2", "3", "4", "mixed")


def sensitivity_command(
    stage: Annotated[list[str] | None, typer.Option(help="A population; repeat for several. Default: 0 to 4 and mixed.")] = None,
    mechanism: Annotated[
        str | None, typer.Option(help="The base: a JSON file, or a name from configs/mechanisms/. Default: each stage's best.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=20, help="Episodes per level, the same for all.")] = 800,
    n_agents: Bidders = 8,
    settings: MarketSettings = None,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the effects as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the effects into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Move each of the eleven fields away from a base mechanism, one at a time, and measure the change of mean R.

    Example: edgeworth sensitivity --stage 3 --stage 4 --episodes 200 --figure sensitivity.png
    """
    stages = stage or list(STAGES)
    configs = {name: auction_config(name, None, n_agents, settings) for name in stages}
    for config in configs.values():
        population_table(config.stage, config.mix)
    bases = {name: _base(mechanism, name, configs[name].n_agents) for name in stages}
    found: list[Sensitivity] = []
    with progress() as task:
        for name in stages:
            found.append(sensitivity(name, configs[name], bases[name], episodes, seed, task(f"stage {name}")))
    result = {
        "command": command_line(),
        "quantity": "change of mean R when one field leaves the base mechanism; paired, 95 % bootstrap interval over episodes",
        "seeds": f"{seed} to {seed + episodes - 1}",
        "stages": [entry.as_dict() for entry in found],
    }

    def show() -> None:
        for entry in found:
            out.print(_table(entry))
            out.print()

    deliver(result, as_json, out_file, show)
    draw(result, figure, "edgeworth.evaluation.auction_figures:draw_sensitivity")


def _base(mechanism: str | None, stage: str, n_agents: int) -> Any:
    try:
        base, notes = find_mechanism(best_name(stage) if mechanism is None else mechanism, n_agents)
    except DataError as error:
        raise InvalidOption(f"--mechanism {error}") from error
    for note in notes:
        err.print(f"{note}.", markup=False)
    return base


def _table(entry: Sensitivity) -> Table:
    title = f"stage {entry.stage}: mean R {entry.base}; its change when one field moves"
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name, justify in (("field", "left"), ("base", "left"), ("to its best other level", "right"), ("to its worst level", "right")):
        shown.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for effect in entry.effects:
        own = next(_shown(level) for level in effect.levels if level.is_base)
        others = sorted((level for level in effect.levels if not level.is_base), key=lambda level: level.change.value)
        shown.add_row(effect.field, own, _move(others[-1]), _move(others[0]) if len(others) > 1 else "")
    return shown


def _move(level: Level) -> str:
    c = level.change
    return f"{_shown(level)} {c.value:+.3f} ±{max(c.high - c.value, c.value - c.low):.3f}"


def _shown(level: Level) -> str:
    if isinstance(level.value, bool):
        return "yes" if level.value else "no"
    return f"{level.value:g}" if isinstance(level.value, float) else level.value.removeprefix("penalize_")
