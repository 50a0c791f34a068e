"""`edgeworth curves`: how runs learnt, those that differ only in the seed together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, Seed, command_line, deliver, draw, err, out
from edgeworth.cli.progress import progress
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.learning_curves import Curve, learning_curves
from edgeworth.evaluation.negotiators import play_ends
from edgeworth.runlog import read_config
from edgeworth.training.curriculum import stages_of
from edgeworth.training.settings import settings_of


def curves_command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    name: Annotated[list[str] | None, typer.Option("--name", help="A name for each group of runs, in their order.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the curves as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the curves into this PNG file.")] = None,
    yardstick_episodes: Annotated[
        int,
        typer.Option("--yardstick-episodes", min=0, help="Also play random and blind Bayes on so many episodes, as lines in the figure."),
    ] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Put the learning curves of several runs together: the mean over seeds, with the lowest and the highest.

    Example: edgeworth curves runs/ppo_classic_none_seed0 runs/ppo_classic_none_seed1 --figure curves.png --yardstick-episodes 500
    """
    found = learning_curves(runs, name or [])
    result = {
        "command": command_line(),
        "quantity": "share of the agent's maximum per iteration while learning; mean, lowest and highest over seeds",
        "runs": [str(run) for run in runs],
        "yardstick_episodes": yardstick_episodes,
        "yardsticks": _yardsticks(runs, yardstick_episodes, seed) if yardstick_episodes else {},
        "curves": [curve.as_dict() for curve in found],
    }
    deliver(result, as_json, out_file, lambda: out.print(_table(found)))
    draw(result, figure, "edgeworth.evaluation.training_figures:draw_learning_curves")


def _yardsticks(runs: list[Path], episodes: int, seed: int) -> dict[str, float | None]:
    """The share of the maximum of random play and blind Bayes in the game that the runs end with."""
    game, *others = (stages_of(settings_of(read_config(run)))[-1].game for run in runs)
    if any(other != game for other in others):
        raise InvalidOption(
            "The runs play different games, and a yardstick is for one; leave --yardstick-episodes out, or give fewer runs."
        )
    with progress() as task:
        ends = play_ends(game, episodes, seed, task("playing"))
    if ends.note is not None:
        err.print(ends.note, soft_wrap=True, markup=False)
    return ends.shares()


def _table(found: list[Curve]) -> Table:
    table = Table(title="At the end of training", title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("runs", overflow="fold")
    for column in ("seeds", "moves", "seconds", "share of maximum", "lowest – highest", "deal rate"):
        table.add_column(column, justify="right")
    for curve in found:
        share, deals = curve.values["share_of_maximum"][:, -1], curve.values["deal_rate"][:, -1]
        numbers = (str(len(curve.seeds)), f"{curve.steps[-1]:,.0f}", f"{curve.seconds[:, -1].mean():.1f}", f"{share.mean():.3f}")
        table.add_row(curve.name, *numbers, f"{share.min():.3f} – {share.max():.3f}", f"{deals.mean():.3f}")
    return table
