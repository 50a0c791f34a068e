"""`edgeworth study`: train several kinds of agents with several seeds each, play them on the same episodes, compare."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, command_line, deliver, draw, err, out
from edgeworth.cli.progress import progress
from edgeworth.config import config_folder
from edgeworth.errors import UnknownName
from edgeworth.evaluation.study import Study, load_study, put_into_box, run_study


def study_command(
    study: Annotated[str, typer.Argument(help="A study by name (configs/studies/NAME.yaml), or a YAML file.")],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A cell by name, or the values of a grid that cells must have; repeat for several. Default: all."),
    ] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", help="A training seed, instead of the study's; repeat for several.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Moves per run, for a trial.")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=10, help="Episodes that every agent plays.")] = None,
    yardstick_episodes: Annotated[
        int | None, typer.Option("--yardstick-episodes", min=10, help="How many of them blind Bayes plays too, which is slow.")
    ] = None,
    runs: Annotated[Path | None, typer.Option("--runs", help="Where the run folders go; default: runs/STUDY.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time, each on one core.")] = os.cpu_count() or 1,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the result as JSON into this file.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw scores and learning curves into this PNG file.")] = None,
    box: Annotated[
        Path | None, typer.Option(help="Also write the first seed's network of every cell that has a place in the box into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train agents with several settings and seeds, and compare what they earn. Interrupted, it goes on where it stopped.

    Example: edgeworth study negotiators --seed 0 --steps 500000 --episodes 2000 --yardstick-episodes 200 --runs runs/trial

    Example: edgeworth study negotiators --out results/negotiators.json --figure results/negotiators.png

    Example: edgeworth study hints --only 'PPO, Lewis' --seed 0 --steps 100000 --episodes 500 --yardstick-episodes 100 --runs runs/trial
    """
    path = study_file(study)
    wanted = load_study(
        path,
        only or (),
        seeds=seed or None,
        steps=steps,
        episodes=episodes,
        yardstick_episodes=yardstick_episodes,
    )
    folder = runs or Path("runs") / path.stem
    what = f"{counted(len(wanted.cells), 'cell')} × {counted(len(wanted.seeds), 'seed')}"
    err.print(f"{what} in {folder}, {workers} at a time.", soft_wrap=True)
    with progress() as task:
        found = run_study(wanted, folder, workers, task("study"))
    result = {"command": command_line(), "study": path.stem, **found}
    for path in [] if box is None else put_into_box(wanted, folder, result, box, command_line()):
        err.print(f"Wrote {path}.safetensors.", soft_wrap=True)
    deliver(result, as_json, out_file, lambda: _show(result, wanted))
    draw(result, figure, wanted.figure)


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def study_file(name: str) -> Path:
    """The file of a study."""
    given, folder = Path(name), config_folder() / "studies"
    if given.suffix in (".yaml", ".yml"):
        return given
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in names:
        raise UnknownName("study", name, names)
    return folder / f"{name}.yaml"


def _show(result: dict[str, Any], study: Study) -> None:
    table = Table(title=study.about, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("agent", overflow="fold")
    compared = any("over_baseline" in cell for cell in result["cells"])
    rest = ["over baseline", *(f"with {hint}" for hint in study.play_with)] if compared else ["below Bayes", "deals", "mark"]
    for column in ("share of maximum", "95 % over seeds", "blind Bayes", "seconds", *rest):
        table.add_column(column, justify="right")
    for cell in result["cells"]:
        share, bayes = cell["share_of_maximum"], cell["yardsticks"]["bayes"]
        seconds = sum(float(run["seconds"]) for run in cell["seeds"]) / len(cell["seeds"])
        table.add_row(
            cell["name"],
            f"{share['value']:.4f}",
            f"{share['low']:.4f} – {share['high']:.4f}" if share["n"] > 1 else "–",
            "–" if bayes is None else f"{bayes:.4f}",
            f"{seconds:.0f}",
            *(_comparisons(cell, study) if compared else _standing(cell)),
        )
    out.print(table)
    out.print(
        f"{counted(len(result['training_seeds']), 'seed')}, {result['episodes']:,} episodes each; blind Bayes played the first"
        f" {result['yardstick_episodes']:,}, and what stands below it is measured there. Seconds per run.",
        style="dim",
        soft_wrap=True,
    )


def _standing(cell: dict[str, Any]) -> list[str]:
    """How far below blind Bayes, how often with a deal, and whether what was asked for was reached."""
    below = cell["below_bayes"]
    marks = (f"{mark['relation']} {mark['mark']:g} {'[green]met[/]' if mark['met'] else '[red]missed[/]'}" for mark in cell["marks"])
    return ["–" if below is None else f"{below['value']:+.4f}", f"{cell['deal_rate']['value']:.3f}", "\n".join(marks) or "–"]


def _comparisons(cell: dict[str, Any], study: Study) -> list[str]:
    """The difference to the baseline, and the scores with other hints."""
    over = f"{cell['over_baseline']['value']:+.4f}" if "over_baseline" in cell else "–"
    played = cell.get("played_with", {})
    return [over, *(f"{played[hint]['share_of_maximum']['value']:.4f}" if hint in played else "–" for hint in study.play_with)]
