"""`edgeworth train`: teach a negotiator, with PPO or REINFORCE, with or without hints; `python train.py` is the same command."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from edgeworth.cli.console import AsJson, changed, command_line, err, out, print_json
from edgeworth.errors import FallbackUsed, InvalidOption
from edgeworth.runlog import Line, checked_run, read_config
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, as_mapping, load_settings, merged, settings_of

SHOWN = {
    "reward": "reward per episode (points)",
    "share_of_maximum": "share of the maximum",
    "deal_rate": "deals",
    "episode_length": "moves per episode",
    "explained_variance": "explained variance",
    "entropy": "entropy (nats)",
    "approx_kl": "KL of the last iteration",
}


def train_command(
    algo: Annotated[str | None, typer.Option("--algo", help="ppo or reinforce.")] = None,
    hint: Annotated[str | None, typer.Option("--hint", help="Hints while learning: none, random, expert, bayes or llm.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings as YAML, such as configs/ppo_config.yaml; default: the published ones.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", "-s", help="A named scenario or YAML file, instead of the game in the settings.")
    ] = None,
    partner: Annotated[
        str | None, typer.Option("--partner", "-p", help="Partner by name, or a checkpoint's path; default: the scenario's.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Decides the first weights, every episode and every draw.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Moves of the agent, over all episodes.")] = None,
    backend: Annotated[str | None, typer.Option("--backend", help="fused (compiled, CPU) or torch (the reference, CPU or GPU).")] = None,
    device: Annotated[str | None, typer.Option("--device", help="For torch: auto, cpu, cuda, cuda:1, …")] = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="The run folder; default: runs/ALGO_SCENARIO_HINT_seedSEED.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder; only --steps may be changed.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set ppo.entropy=0.01 --set env.discount=0.9 --set hints.k=2.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Teach a negotiator. Everything about the run goes into a folder; Ctrl-C saves first.

    Example: edgeworth train --algo ppo --config configs/ppo_fast.yaml --seed 1

    Example: edgeworth train --algo reinforce --hint random --scenario one_shot --steps 500000 --out runs/mine

    Example: edgeworth train --out runs/mine --resume --steps 1000000
    """
    given: dict[str, Any] = {"algo": algo, "backend": backend, "device": device, "seed": seed, "num_train_steps": steps}
    changes = {name: value for name, value in given.items() if value is not None}
    if hint is not None:
        changes["hints"] = {"mode": hint}
    game = {name: value for name, value in {"scenario": scenario, "partner": partner}.items() if value is not None}
    if game:
        changes["env"] = game
    changes = merged(changes, changed({}, settings, "ppo.entropy=0.01"))
    folder, wanted = _wanted(config, changes, out_folder, resume)
    with _saying_fallbacks():
        run = Run.resume(wanted, folder) if resume else Run.begin(wanted, folder, command_line())
        if run.over:
            err.print(_nothing_left(run, folder), soft_wrap=True)
        else:
            err.print(f"{'Continuing' if resume else 'Training'} in {folder}.", soft_wrap=True)
        try:
            with _bar(run, wanted.num_train_steps) as report:
                last = run.train(report)
        except (KeyboardInterrupt, SystemExit):
            err.print(f"Saved; continue with: edgeworth train --out {folder} --resume", soft_wrap=True)
            raise
        finally:
            run.close()
    _deliver(folder, wanted, last, run.progress.best, as_json)


def _wanted(config: Path | None, changes: dict[str, Any], out_folder: Path | None, resume: bool) -> tuple[Path, TrainSettings]:
    """The folder and the settings of the run."""
    if not resume:
        settings = load_settings(config, changes)
        return out_folder or default_folder(settings), settings
    if out_folder is None:
        settings = load_settings(config, changes)
        out_folder = default_folder(settings)
    stored = read_config(checked_run(out_folder))
    steps = changes.get("num_train_steps", stored["num_train_steps"])
    settings = settings_of({**stored, "num_train_steps": steps})
    if config is not None or changes.keys() - {"num_train_steps"}:
        changes = {**changes, "num_train_steps": steps}
        wanted = settings_of(merged(stored, changes)) if config is None else load_settings(config, changes)
        _refuse_changes(as_mapping(settings), as_mapping(wanted))
    return out_folder, settings


def _nothing_left(run: Run, folder: Path) -> str:
    """That a run is at its end, and how it goes on."""
    made, wanted = run.learner.steps, run.settings.num_train_steps
    return f"Nothing left to do: the run in {folder} has made {made:,} moves and was to make {wanted:,}; go on with a larger --steps."


def _refuse_changes(stored: Mapping[str, Any], wanted: Mapping[str, Any], path: str = "") -> None:
    """A run is continued with the settings that it was begun with."""
    for key in {**stored, **wanted}:
        before, now = stored.get(key), wanted.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            _refuse_changes(before, now, f"{path}{key}.")
        elif before != now:
            raise InvalidOption(
                f"{path}{key} is {now!r}, and the run was begun with {before!r}; leave it as it was, or begin another run without --resume."
            )


def default_folder(settings: TrainSettings) -> Path:
    """Where a run goes that was given no folder."""
    scenario = Path(str(settings.env.get("scenario", "classic"))).stem
    learnt = settings.algo if settings.self_play is None else "self_play"
    return Path(settings.logging.output_dir) / f"{learnt}_{scenario}_{settings.hints.mode}_seed{settings.seed}"


@contextmanager
def _saying_fallbacks() -> Iterator[None]:
    """Say a fallback as a sentence, not as a warning with a line of code."""

    def say(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        err.print(str(message) if issubclass(category, FallbackUsed) else f"{category.__name__}: {message}", soft_wrap=True, markup=False)

    with warnings.catch_warnings():
        warnings.showwarning = say
        warnings.simplefilter("once", FallbackUsed)
        yield


@contextmanager
def _bar(run: Run, total: int) -> Iterator[Callable[[Line], None]]:
    """A bar with reward, deal rate, speed and the time that is left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("reward {task.fields[reward]}  deals {task.fields[deals]}  {task.fields[speed]} steps/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bars:
        start = run.learner.steps
        task = bars.add_task("training", total=total, completed=start, reward="–", deals="–", speed="–")

        def report(line: Line) -> None:
            numbers = {key: float(line[key]) for key in ("reward", "deal_rate", "steps_per_second")}
            words: dict[str, Any] = {
                "reward": "–" if math.isnan(numbers["reward"]) else f"{numbers['reward']:.2f}",
                "deals": "–" if math.isnan(numbers["deal_rate"]) else f"{numbers['deal_rate']:.0%}",
                "speed": f"{numbers['steps_per_second']:,.0f}",
            }
            bars.update(task, completed=min(int(line["steps"]), total), **words)

        yield report


def _deliver(folder: Path, settings: TrainSettings, last: Line, best: float | None, as_json: bool) -> None:
    numbers = {key: last[key] for key in SHOWN if key in last}
    summary = {
        "command": command_line(),
        "folder": str(folder),
        "algo": settings.algo,
        "backend": settings.backend,
        "seed": settings.seed,
        "steps": last.get("steps"),
        "iterations": last.get("iteration"),
        "seconds": last.get("seconds"),
        "best_share_of_maximum": best,
        "last_iteration": {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in numbers.items()},
    }
    if as_json:
        print_json(summary)
        return
    out.print(
        f"[bold]{settings.algo}[/] ({settings.backend}), {last.get('steps', 0):,} moves in {last.get('seconds', 0)} s; last iteration:"
    )
    for key, value in numbers.items():
        out.print(f"  {SHOWN[key]:32} {value:.3f}")
    if best is not None:
        out.print(f"  {'best checkpoint, share of maximum':32} {best:.3f}")
    out.print(f"Play it against others: edgeworth evaluate --agent {folder}", soft_wrap=True)
