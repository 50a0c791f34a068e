"""`edgeworth robustness`: which conclusions about mechanisms survive when the market's constants are halved and doubled."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, Seed, command_line, deliver, draw, out
from edgeworth.cli.progress import progress
from edgeworth.evaluation.model_constants import STAGES
from edgeworth.evaluation.robustness import QUICK, Robustness, RobustnessBudget, robustness
from edgeworth.games.auction.vocabulary import AUCTION_TYPES


def robustness_command(
    constants: Annotated[int | None, typer.Option(min=1, help="The most influential constants to move. Default: 16.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tiny budget, to try the command; its numbers mean nothing.")] = False,
    seed: Seed = 0,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the study as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the conclusions into this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Halve and double the market's most influential constants, and count the worlds in which each conclusion survives.

    Ranks all constants by influence first; then searches the best mechanism of every format and measures every field anew in each world.
    About twenty minutes on one core.

    Example: edgeworth robustness --quick
    """
    budget = QUICK if quick else RobustnessBudget()
    budget = budget if constants is None else replace(budget, constants=constants)
    with progress() as task:
        found = robustness(budget, seed, task("ranking the constants"), task("worlds"))
    worlds = len(found.effects) - 1
    result = {
        "command": command_line(),
        "quantity": "paired differences of mean R, 95 % bootstrap intervals; a conclusion survives where its sign is the same and clear",
        "seed": seed,
        "worlds": worlds,
        "budget": asdict(budget),
        **found.as_dict(),
    }

    def show() -> None:
        out.print(_influence_table(found, budget.constants))
        out.print()
        out.print(_format_table(found, worlds))
        out.print()
        out.print(_conclusion_table(found, worlds))

    deliver(result, as_json, out_file, show)
    draw(result, figure, "edgeworth.evaluation.auction_figures:draw_robustness")


def _table(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        shown.add_column(name, justify="left" if place == 0 else "right", no_wrap=True)
    return shown


def _influence_table(found: Robustness, most: int) -> Table:
    shown = _table("the most influential constants", "constant", "value", "mean change of R")
    for constant, influence in found.influence[:most]:
        shown.add_row(constant.path, str(constant.value), f"{influence:.4f}")
    return shown


def _format_table(found: Robustness, worlds: int) -> Table:
    shown = _table(f"the best format, in how many of {worlds} worlds", "stage", *AUCTION_TYPES)
    counts = found.best_formats()
    for stage in STAGES:
        shown.add_row(stage, *(str(counts[stage][kind]) for kind in AUCTION_TYPES))
    return shown


def _conclusion_table(found: Robustness, worlds: int) -> Table:
    shown = _table(f"conclusions of the calibrated market in {worlds} worlds", "effect on R", "stage", "calibrated", "survives", "reversed")
    for one in sorted(found.conclusions(), key=lambda conclusion: (conclusion.what, conclusion.stage)):
        shown.add_row(one.what, one.stage, f"{one.calibrated.value:+.3f}", f"{one.survives} of {worlds}", str(len(one.reversed_in)))
    return shown
