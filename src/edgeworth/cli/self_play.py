"""`edgeworth self-play`: agents that learn both sides of the table against themselves and their past, and how far they can be exploited."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, command_line, deliver, draw, err, out
from edgeworth.cli.progress import progress
from edgeworth.evaluation.self_play_report import Plan, put_into_box, run_report

MEASURES = {
    "deal_rate": "deals",
    "pareto_rate": "efficient, of deals",
    "nash_ratio": "Nash ratio",
    "opener_share": "share: opener",
    "responder_share": "  responder",
    "exploitability_trained": "exploitability: trained response",
    "exploitability_exact": "  exact response",
}


def self_play_command(
    seed: Annotated[list[int] | None, typer.Option("--seed", help="A training seed; repeat for several. Default: 0, 1 and 2.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Moves per run, instead of those in configs/self_play.yaml.")] = None,
    response_steps: Annotated[
        int, typer.Option("--response-steps", min=1, help="Moves of the training of a best response.")
    ] = Plan.response_steps,
    episodes: Annotated[int, typer.Option("--episodes", min=10, help="Episodes that every agent plays.")] = Plan.episodes,
    contexts: Annotated[int, typer.Option("--contexts", min=2, help="Contexts of the exact best response.")] = Plan.contexts,
    runs: Annotated[Path, typer.Option("--runs", help="Where the run folders go.")] = Path("runs/self_play"),
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time, each on one core.")] = os.cpu_count() or 1,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the result into this PNG file.")] = None,
    box: Annotated[
        Path | None, typer.Option(help="Also write the pool's first seed of the classic game to this path, without a suffix.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train agents by self-play, with a pool of past selves and without, freeze them, and train best responses against them.

    Both kinds with every seed, in the classic game and in one of three moves. Reported are their talks with themselves, how far they can
    be exploited, and what they earn from opponents that they never met. Interrupted, it goes on where it stopped.

    Example: edgeworth self-play --seed 0 --seed 1 --steps 200000 --response-steps 200000 --episodes 1000 --contexts 5 --runs runs/trial

    Example: edgeworth self-play --out results/self_play.json --figure results/self_play.png

    Example: edgeworth train --config configs/self_play.yaml --scenario lewis --out runs/lewis_self_play
    """
    plan = Plan(tuple(seed or Plan.seeds), steps, response_steps, episodes, contexts)
    err.print(f"{len(plan.seeds)} seeds in {runs}, {workers} at a time.", soft_wrap=True)
    with progress() as task:
        found = run_report(plan, runs, workers, task("self-play"))
    result = {"command": command_line(), **found}
    if box is not None:
        put_into_box(plan, runs, result, box, command_line())
        err.print(f"Wrote {box}.safetensors.", soft_wrap=True)
    deliver(result, as_json, out_file, lambda: _show(result))
    draw(result, figure, "edgeworth.evaluation.training_figures:draw_self_play")


def _show(result: dict[str, Any]) -> None:
    for row in result["games"]:
        title = f"{row['game']}, {row['max_turns']} moves"
        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        table.add_column("")
        for kind in row["kinds"]:
            table.add_column(kind, justify="right")
        for name, label in MEASURES.items():
            table.add_row(label, *(_shown(found[name]) for found in row["kinds"].values()))
        for name in row["pool_less_naive"]["against"]:
            table.add_row(f"share against {name}", *(_shown(found["against"][name]) for found in row["kinds"].values()))
        out.print(table)
    out.print(
        f"{len(result['training_seeds'])} seeds, {result['episodes']:,} episodes each; 95 % intervals over seeds.",
        style="dim",
        soft_wrap=True,
    )


def _shown(estimate: dict[str, float | None] | None) -> str:
    if estimate is None:
        return "–"
    interval = "" if estimate["low"] is None else f" [dim]{estimate['low']:.3f} – {estimate['high']:.3f}[/]"
    return f"{estimate['value']:.3f}{interval}"
