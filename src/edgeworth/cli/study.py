"""`edgeworth study`, `edgeworth self-play` and `edgeworth curves`: many training runs, measured and summarised together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from edgeworth.cli.console import command_line, deliver, progress, say, shown, span, table
from edgeworth.cli.options import CORES, Address, AsJson, Engine, Figure, OutFile, Seed, Workers, executed
from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption, RunStopped, UnknownName
from edgeworth.evaluation import self_play_report
from edgeworth.evaluation.designer_histories import PANELS, designer_histories, ends, negotiates, series
from edgeworth.evaluation.learning_curves import Curve, learning_curves
from edgeworth.evaluation.negotiators import play_ends
from edgeworth.evaluation.self_play_report import Plan
from edgeworth.evaluation.statistics import counted
from edgeworth.evaluation.study import Study, extent_text, load_study
from edgeworth.evaluation.study_report import run_study, write_bundled
from edgeworth.evaluation.study_tables import RESULTS, write_tables
from edgeworth.executor.execution import Failure, failure_text
from edgeworth.runlog import read_config
from edgeworth.training.curriculum import stages_of
from edgeworth.training.settings import settings_of

UNFINISHED = ".cells"
"""The folder among the runs that keeps what is finished until the command has ended."""
SELF_PLAY_MEASURES = {
    "deal_rate": "deals",
    "pareto_rate": "efficient, of deals",
    "nash_ratio": "Nash ratio",
    "opener_share": "share: opener",
    "responder_share": "  responder",
    "exploitability_trained": "exploitability, at least: trained response",
    "exploitability_exact": "  exact response",
}


def study_command(
    study: Annotated[str, typer.Argument(help="Study by name (configs/studies/NAME.yaml) or YAML file.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Cell by name, or grid values that cells must have; repeatable. Default: all.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Training seed; repeat for several. Default: the study's.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Moves per run, fewer for a trial. Default: the study's.")] = None,
    episodes: Annotated[
        int | None, typer.Option(min=10, help="Episodes that every trained agent plays, also in an exact study. Default: the study's.")
    ] = None,
    yardstick_episodes: Annotated[
        int | None, typer.Option(min=10, help="How many of them blind Bayes (slow) plays. Default: the study's.")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Folder for the run folders. Default: runs/STUDY.")] = None,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    out_file: OutFile = None,
    figure: Figure = None,
    bundle: Annotated[Path | None, typer.Option(help="Also write the first seed's networks that are bundled to this folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train agents with several settings and seeds, and compare them.

    If interrupted, call it again to continue.

    Example: edgeworth study negotiators --seed 0 --steps 500000 --episodes 2000 --yardstick-episodes 200 --runs runs/trial

    Example: edgeworth study negotiators --out results/negotiators.json --figure results/negotiators.png

    Example: edgeworth study hints --only 'PPO, Lewis' --seed 0 --steps 100000 --episodes 500 --yardstick-episodes 100 --runs runs/trial
    """
    file = study_file(study)
    limits = {"steps": steps, "episodes": episodes, "yardstick_episodes": yardstick_episodes}
    exact = None if episodes is yardstick_episodes is None else False
    wanted = load_study(file, only or (), seeds=seed or None, exact=exact, **limits)
    folder = runs or Path("runs") / file.stem
    say(f"{counted(len(wanted.cells), 'cell')} × {counted(len(wanted.seeds), 'seed')} in {folder}.")
    with executed(engine, address, workers, folder / UNFINISHED, CORES) as run, progress() as task:
        found = run_study(wanted, folder, run, task("study"))
    result = {"command": command_line(), "study": file.stem, **found}
    write_tables(folder, result)
    say(f"Wrote {folder / RESULTS}; `edgeworth study report {folder}` makes a page of it.")
    for path in [] if bundle is None else write_bundled(wanted, folder, result, bundle, command_line()):
        say(f"Wrote {path}.safetensors.")
    deliver(result, _study_page(result, wanted), as_json, out_file, figure, wanted.figure)
    if "failures" in result:
        failures = [Failure(**failure) for failure in result["failures"]]
        raise RunStopped(failure_text(failures, sum(len(cell["seeds"]) for cell in result["cells"])))


def study_file(name: str) -> Path:
    """The file of a study, which is given by name or as a file."""
    given, folder = Path(name), config_folder() / "studies"
    if given.suffix in (".yaml", ".yml"):
        return given
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if name not in names:
        raise UnknownName("study", name, names)
    return folder / f"{name}.yaml"


def _study_page(result: dict[str, Any], study: Study) -> Iterator[RenderableType]:
    compared = any("over_baseline" in cell for cell in result["cells"])
    rest = ["over baseline", *(f"with {hint}" for hint in study.play_with)] if compared else ["below Bayes", "deals", "target"]
    found = table("agent", "share of maximum", "blind Bayes", "CPU s", *rest, title=study.about, gap=1)
    for cell in result["cells"]:
        share, bayes = cell["share_of_maximum"], cell["yardsticks"]["bayes"]
        seconds = sum(float(run["cpu_seconds"]) for run in cell["seeds"]) / len(cell["seeds"])
        found.add_row(
            cell["name"],
            f"{share['value']:.4f}" + (f"\n[dim]{span(share, 4).replace(' – ', '–')}[/]" if share["n"] > 1 else ""),
            "–" if bayes is None else f"{bayes:.4f}",
            f"{seconds:.0f}",
            *(_comparisons(cell, study) if compared else _standing(cell)),
        )
    yield found
    yield from (f"[dim]{cell['name']}: {cell['note']}[/]" for cell in result["cells"] if "note" in cell)
    bayes = (
        "" if study.exact else f" Blind Bayes played the first {result['yardstick_episodes']:,}, where the distance below it is measured."
    )
    seeds = counted(len(result["training_seeds"]), "seed")
    yield f"[dim]{seeds}, {extent_text(result)}; below a share its 95 % interval over seeds.{bayes} CPU seconds per run.[/]"


def _standing(cell: dict[str, Any]) -> list[str]:
    """The distance below blind Bayes, the deal rate, and whether the targets were reached."""
    below = cell["below_bayes"]
    targets = (
        f"{target['relation']} {target['target']:g} {'[green]met[/]' if target['met'] else '[red]missed[/]'}" for target in cell["targets"]
    )
    return ["–" if below is None else f"{below['value']:+.4f}", f"{cell['deal_rate']['value']:.3f}", "\n".join(targets) or "–"]


def _comparisons(cell: dict[str, Any], study: Study) -> list[str]:
    """The difference to the baseline, and the scores with other hints."""
    over = f"{cell['over_baseline']['value']:+.4f}" if "over_baseline" in cell else "–"
    with_hints = cell.get("played_with", {})
    return [over, *(f"{with_hints[hint]['share_of_maximum']['value']:.4f}" if hint in with_hints else "–" for hint in study.play_with)]


def self_play_command(
    seed: Annotated[list[int] | None, typer.Option(help="Training seed; repeat for several. Default: 0, 1 and 2.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Moves per run. Default: those in configs/self_play.yaml.")] = None,
    response_steps: Annotated[int, typer.Option(min=1, help="Moves of the training of a best response.")] = Plan.response_steps,
    episodes: Annotated[int, typer.Option(min=10, help="Episodes that every trained agent plays.")] = Plan.episodes,
    contexts: Annotated[int, typer.Option(min=2, help="Contexts for the exact best response.")] = Plan.contexts,
    runs: Annotated[Path, typer.Option(help="Folder for the run folders.")] = Path("runs/self_play"),
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    out_file: OutFile = None,
    figure: Figure = None,
    bundle: Annotated[Path | None, typer.Option(help="Also write the first seed's classic network to this path, without suffix.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train agents by self-play and measure how far they can be exploited.

    Agents are trained with and without a pool of their past selves, in the classic game and in one of three moves, then frozen. Reported
    are how they play against themselves, what best responses gain against them, and what they earn from opponents unknown to them. If
    interrupted, call it again to continue.

    Example: edgeworth self-play --seed 0 --seed 1 --steps 200000 --response-steps 200000 --episodes 1000 --contexts 5 --runs runs/trial

    Example: edgeworth self-play --out results/self_play.json --figure results/self_play.png

    Example: edgeworth train --config configs/self_play.yaml --scenario lewis --out runs/lewis_self_play
    """
    plan = Plan(tuple(seed or Plan.seeds), steps, response_steps, episodes, contexts)
    say(f"{counted(len(plan.seeds), 'seed')} in {runs}.")
    with executed(engine, address, workers, runs / UNFINISHED, CORES) as run, progress() as task:
        found = self_play_report.run_report(plan, runs, run, task("self-play"))
    result = {"command": command_line(), **found}
    if bundle is not None:
        self_play_report.write_bundled(plan, runs, result, bundle, command_line())
        say(f"Wrote {bundle}.safetensors.")
    deliver(result, _self_play_page(result), as_json, out_file, figure, "edgeworth.evaluation.training_figures:draw_self_play")


def _self_play_page(result: dict[str, Any]) -> Iterator[RenderableType]:
    for row in result["games"]:
        found = table("", *row["kinds"], title=f"{row['game']}, {row['max_turns']} moves")
        for name, label in SELF_PLAY_MEASURES.items():
            found.add_row(label, *(shown(kind[name]) for kind in row["kinds"].values()))
        for name in row["pool_less_naive"]["against"]:
            found.add_row(f"share against {name}", *(shown(kind["against"][name]) for kind in row["kinds"].values()))
        yield found
    yield f"[dim]{counted(len(result['training_seeds']), 'seed')}, {result['episodes']:,} episodes each; 95 % intervals over seeds.[/]"


def curves_command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    name: Annotated[
        list[str] | None, typer.Option(help="Name of a group of runs, in order; repeatable. Default: from the folders.")
    ] = None,
    out_file: OutFile = None,
    figure: Figure = None,
    yardstick_episodes: Annotated[int, typer.Option(min=0, help="Episodes of random and blind Bayes, as lines in the figure.")] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Summarise the learning curves of several runs.

    Runs of bargaining that differ only in the seed form one curve: their mean, with the lowest and the highest. Of runs that train a
    designer, everything that was logged is shown: rewards, losses, entropy, KL, completion lengths.

    Example: edgeworth curves runs/ppo_classic_none_seed0 runs/ppo_classic_none_seed1 --figure curves.png --yardstick-episodes 500

    Example: edgeworth curves runs/sft runs/grpo --figure training.png
    """
    for run in runs:
        read_config(run)  # a folder that holds no run is an error
    kinds = {negotiates(run) for run in runs}
    if len(kinds) > 1:
        raise InvalidOption("Some runs are of bargaining and some train a designer; give those of one kind.")
    if kinds == {False}:
        return _designer_curves(runs, name or [], out_file, figure, yardstick_episodes, as_json)
    found = learning_curves(runs, name or [])
    result = {
        "command": command_line(),
        "quantity": "share of the agent's maximum per iteration while learning; mean, lowest and highest over seeds",
        "runs": [str(run) for run in runs],
        "yardstick_episodes": yardstick_episodes,
        "yardsticks": _yardsticks(runs, yardstick_episodes, seed) if yardstick_episodes else {},
        "curves": [curve.as_dict() for curve in found],
    }
    deliver(result, [_curve_table(found)], as_json, out_file, figure, "edgeworth.evaluation.training_figures:draw_learning_curves")


def _designer_curves(
    runs: list[Path], names: list[str], out_file: Path | None, figure: Path | None, yardstick_episodes: int, as_json: bool
) -> None:
    """Summarise how designers were trained."""
    if yardstick_episodes:
        raise InvalidOption("--yardstick-episodes is for runs of bargaining; `edgeworth designer evaluate` compares designers.")
    histories = designer_histories(runs, names)
    result = {
        "command": command_line(),
        "quantity": "everything that was logged while a designer was trained",
        "runs": [str(run) for run in runs],
        "histories": histories,
    }
    drawer = "edgeworth.evaluation.training_figures:draw_designer_histories"
    deliver(result, map(_history_table, histories), as_json, out_file, figure, drawer)


def _history_table(run: dict[str, Any]) -> Table:
    time = "" if run["seconds"] is None else f", {run['seconds']:,.0f} seconds"
    found = table("logged", "first tenth", "last tenth", title=f"{run['name']}: {run['steps']:,} steps{time}")
    for panel in PANELS:
        for key in panel.labels:
            values = series(run["lines"], key)[1]
            if values.size:
                found.add_row(key, *(f"{value:.4g}" for value in ends(values)))
    return found


def _yardsticks(runs: list[Path], episodes: int, seed: int) -> dict[str, float | None]:
    """The share of the maximum of random play and blind Bayes in the game that the runs end with."""
    game, *others = (stages_of(settings_of(read_config(run)))[-1].game for run in runs)
    if any(other != game for other in others):
        raise InvalidOption(
            "The runs play different games, and a yardstick is for one; leave --yardstick-episodes out, or give fewer runs."
        )
    with progress() as task:
        ends = play_ends(game, episodes, seed, progress=task("playing"))
    if ends.note is not None:
        say(ends.note)
    return ends.shares()


def _curve_table(curves: list[Curve]) -> Table:
    columns = ("runs", "seeds", "moves", "seconds", "share of maximum", "lowest – highest", "deal rate")
    found = table(*columns, title="At the end of training")
    for curve in curves:
        share, deals = curve.values["share_of_maximum"][:, -1], curve.values["deal_rate"][:, -1]
        numbers = (str(len(curve.seeds)), f"{curve.steps[-1]:,.0f}", f"{curve.seconds[:, -1].mean():.1f}", f"{share.mean():.3f}")
        found.add_row(curve.name, *numbers, f"{share.min():.3f} – {share.max():.3f}", f"{deals.mean():.3f}")
    return found
