"""`edgeworth train`: train a negotiator with PPO or REINFORCE, with or without hints; `python train.py` calls it too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.cli.console import command_line, deliver, progress, say
from edgeworth.cli.options import AsJson, Partner, changed
from edgeworth.config import BargainingConfig, found_config, load_yaml, scenario_names
from edgeworth.errors import InvalidOption
from edgeworth.progress import Progress
from edgeworth.runlog import STEP, Line, checked_run, last_checkpoint, read_config, refuse_existing
from edgeworth.training.changes import merged
from edgeworth.training.hint_replies import practical, prepare
from edgeworth.training.run import Run
from edgeworth.training.settings import TrainSettings, as_mapping, load_settings, settings_of

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
    algo: Annotated[str | None, typer.Option(help="Algorithm: ppo or reinforce. Default: the settings'.")] = None,
    hint: Annotated[str | None, typer.Option(help="Hint provider: none, random, expert, bayes or llm. Default: the settings'.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML settings, e.g. configs/ppo_fast.yaml. Default: the published settings.")] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", "-s", help="Scenario by name or YAML file. Default: the game in the settings.")
    ] = None,
    partner: Partner = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the initial weights and all episodes. Default: the settings'.")] = None,
    steps: Annotated[int | None, typer.Option(help="Moves of the agent, over all episodes. Default: the settings'.")] = None,
    backend: Annotated[str | None, typer.Option(help="fused (compiled, CPU) or torch (CPU or GPU). Default: the settings'.")] = None,
    device: Annotated[str | None, typer.Option(help="Device for torch: auto, cpu, cuda, cuda:1, … Default: auto.")] = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="Run folder. Default: runs/ALGO_SCENARIO_HINT_seedSEED.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in that folder; only --steps may change.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Set any setting, e.g. --set ppo.entropy=0.01 --set env.discount=0.9 --set hints.k=2.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a negotiator.

    Settings, log and checkpoints go into the run folder. Ctrl-C saves before it stops.

    Example: edgeworth train --algo ppo --config configs/ppo_fast.yaml --seed 1

    Example: edgeworth train --algo reinforce --hint random --scenario one_shot --steps 500000 --out runs/mine

    Example: edgeworth train --out runs/mine --resume --steps 1000000
    """
    given = {
        **_given(algo=algo, backend=backend, device=device, seed=seed, num_train_steps=steps),
        **_given(hints=_given(mode=hint) or None, env=_given(scenario=scenario, partner=partner) or None),
    }
    changes = merged(given, changed({}, settings, "ppo.entropy=0.01"))
    folder, wanted = _folder_and_settings(config, changes, out_folder, resume)
    if not resume:
        refuse_existing(folder)
    with progress() as task:
        prepare(wanted, say, task("preparing"))
    run = Run.resume(wanted, folder) if resume else _begun(wanted, folder)
    if resume or not run.over:
        say(_nothing_left(run, folder) if run.over else f"{'Continuing' if resume else 'Training'} in {folder}.{_rounded_up(wanted)}")
    try:
        with progress() as task:
            last = run.train(_reporter(task("training"), wanted.num_train_steps))
    except (KeyboardInterrupt, SystemExit):
        say(f"{saved_so_far(folder)}; continue with: edgeworth train --out {folder} --resume")
        raise
    finally:
        run.close()
    _deliver(folder, wanted, last, run.progress.best, as_json)


def _begun(settings: TrainSettings, folder: Path) -> Run:
    """A new run; a rehearsal is made at once."""
    if settings.rehearsal is None:
        return Run.begin(settings, folder, command_line())
    say(f"Rehearsing {settings.rehearsal.negotiations:,} negotiations; nothing is saved until the end.")
    try:
        with progress() as task:
            return Run.begin(settings, folder, command_line(), task("rehearsing"))
    except KeyboardInterrupt:
        say("Stopped in the rehearsal; nothing is saved.")
        raise


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _folder_and_settings(config: Path | None, changes: dict[str, Any], out_folder: Path | None, resume: bool) -> tuple[Path, TrainSettings]:
    """The folder and the settings of the run; a resumed one has those it was begun with, but for the number of steps."""
    if not resume or out_folder is None:
        settings = _settings(config, changes)
        out_folder = out_folder or default_folder(settings)
    if not resume:
        return out_folder, settings
    stored = read_config(checked_run(out_folder))
    steps = changes.get("num_train_steps", stored["num_train_steps"])
    settings = settings_of({**stored, "num_train_steps": steps})
    if config is not None or changes.keys() - {"num_train_steps"}:
        changes = {**changes, "num_train_steps": steps}
        wanted = settings_of(merged(stored, changes)) if config is None else _settings(config, changes)
        _refuse_changes(as_mapping(settings), as_mapping(wanted))
    return out_folder, settings


def _settings(config: Path | None, changes: Mapping[str, Any]) -> TrainSettings:
    """The settings of a file, which must not be one of a scenario, and of the flags."""
    ours, games = ({entry.name for entry in fields(kind)} for kind in (TrainSettings, BargainingConfig))
    scenario = config is not None and config.stem in scenario_names()
    given = {} if config is None or (scenario and not found_config(config).exists()) else load_yaml(config)
    if (given or scenario) and given.keys() <= games - ours:
        raise InvalidOption(f"{config} holds options of a game, not settings of a training; name it with --scenario {config} instead.")
    return practical(load_settings(config, changes))


def saved_so_far(folder: Path) -> str:
    """What is kept of a run that was stopped, in words."""
    return f"Stopped; {folder} holds the run up to step {int(last_checkpoint(folder).facts[STEP]):,}"


def _nothing_left(run: Run, folder: Path) -> str:
    made, wanted = run.learner.steps, run.settings.num_train_steps
    if not wanted:
        return f"Nothing left to do: the rehearsal of the run in {folder} was all of its training."
    return f"Nothing left to do: the run in {folder} has made {made:,} moves and was to make {wanted:,}; go on with a larger --steps."


def _rounded_up(settings: TrainSettings) -> str:
    """How many moves a run makes that was to make less than an iteration."""
    learner = settings.learner
    least = learner.num_envs * learner.rollout
    if settings.num_train_steps >= least:
        return ""
    return (
        f" An iteration is {least:,} moves ({learner.num_envs} episodes side by side, {learner.rollout} moves each), so that it makes"
        f" {least:,} instead of {settings.num_train_steps:,}; set {settings.algo}.rollout for a shorter one."
    )


def _refuse_changes(stored: Mapping[str, Any], wanted: Mapping[str, Any], path: str = "") -> None:
    """Refuse settings that differ from those the run was begun with."""
    for key in {**stored, **wanted}:
        before, now = stored.get(key), wanted.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            _refuse_changes(before, now, f"{path}{key}.")
        elif before != now:
            raise InvalidOption(
                f"{path}{key} is {now!r}, and the run was begun with {before!r}; leave it as it was, or begin another run without --resume."
            )


def default_folder(settings: TrainSettings) -> Path:
    """The folder of a run that was given none."""
    scenario = Path(str(settings.env.get("scenario", "classic"))).stem
    learnt = settings.algo if settings.self_play is None else "self_play"
    return Path(settings.logging.output_dir) / f"{learnt}_{scenario}_{settings.hints.mode}_seed{settings.seed}"


def _reporter(show: Progress, total: int) -> Callable[[Line], None]:
    """Reports the reward, the deal rate and the speed of every iteration beside the progress bar."""

    def report(line: Line) -> None:
        reward, deals, speed = (float(line[key]) for key in ("reward", "deal_rate", "steps_per_second"))
        words = f"reward {reward:.2f}, deals {deals:.0%}" if not math.isnan(reward) else "no episode has ended yet"
        show(f"{words}, {speed:,.0f} steps/s", min(int(line["steps"]), total), total)

    return report


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

    def page() -> Iterator[str]:
        moves, seconds = last.get("steps", 0), last.get("seconds", 0)
        if "negotiations" in last:
            yield f"{last['negotiations']:,} negotiations rehearsed in {seconds} s."
        else:
            yield f"[bold]{settings.algo}[/] ({settings.backend}), {moves:,} moves in {seconds} s; last iteration:"
        for key, value in numbers.items():
            yield f"  {SHOWN[key]:32} {value:.3f}"
        if best is not None:
            yield f"The best checkpoint: {best:.3f} of the maximum, the mean since the checkpoint before it."
        yield f"Play it against others: edgeworth evaluate --agent {folder}"

    deliver(summary, page(), as_json)
