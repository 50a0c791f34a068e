"""`edgeworth designer sft` and `edgeworth designer grpo`: train a language model to design markets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from edgeworth import catalog
from edgeworth.cli.console import command_line, deliver, progress, say
from edgeworth.cli.options import AsJson, changed
from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption
from edgeworth.runlog import CHECKPOINTS, read_config

if TYPE_CHECKING:
    from edgeworth.training.designer.settings import Trainer

ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML file of settings. Default: sft_pocket or grpo_pocket in configs/.")]
Model = Annotated[
    str | None, typer.Option(help="pocket (bundled), a folder, a run's folder, or a name on the hub. Default: the settings'.")
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Any setting, e.g. --set optimization.steps=50 --set tuning.four_bit=false.")
]
RunSeed = Annotated[int | None, typer.Option("--seed", help="Seed of the markets and of the training. Default: the settings'.")]
RunFolder = Annotated[Path | None, typer.Option("--out", help="Run folder. Default: runs/sft or runs/grpo.")]
Resume = Annotated[Path | None, typer.Option("--resume", help="Continue the run in this folder, with its settings.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, …")]


def training_command(trainer: Trainer, explained: str) -> Callable[..., None]:
    """The command of a trainer; `explained` is its help."""

    def command(
        config: ConfigFile = None,
        model: Model = None,
        changes: Changes = None,
        seed: RunSeed = None,
        out_folder: RunFolder = None,
        resume: Resume = None,
        device: Device = "auto",
        as_json: AsJson = False,
    ) -> None:
        train = catalog.load(f"edgeworth.training.designer.{trainer}:train_{trainer}")
        _train(trainer, train, (config, model, changes, seed), out_folder, resume, device, as_json)

    command.__doc__ = explained
    return command


sft_command = training_command(
    "sft",
    """Fine-tune a language model on mechanisms of a teacher, for states that were reached by play.

    The run folder holds settings, metrics and, at the end, the model. Ctrl-C saves before it stops.

    Example: edgeworth designer sft --config configs/sft_qwen.yaml --out runs/sft_qwen

    Example: edgeworth designer sft --model runs/pocket --set optimization.steps=20
    """,
)
grpo_command = training_command(
    "grpo",
    """Train a language model by GRPO on the scores that its mechanisms get from the market.

    The run folder holds settings, metrics and, at the end, the model. Ctrl-C saves before it stops.

    Example: edgeworth designer grpo --model runs/sft --out runs/grpo

    Example: edgeworth designer grpo --resume runs/grpo
    """,
)


def _train(
    trainer: Trainer,
    train: Callable[..., dict[str, Any]],
    chosen: tuple[Path | None, str | None, list[str] | None, int | None],
    out_folder: Path | None,
    resume: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Begin or continue a run, and show its card."""
    from edgeworth.training.designer.settings import load_settings, settings_of

    config, model, changes, seed = chosen
    given = {name: value for name, value in (("model", model), ("seed", seed)) if value is not None}
    if resume is None:
        path = config or config_folder() / f"{trainer}_pocket.yaml"
        settings = load_settings(path, trainer, {**changed({}, changes, "optimization.steps=50"), **given})
    elif config is not None or changes or given:
        raise InvalidOption("--resume continues with the settings of the run; leave --config, --model, --set and --seed out.")
    else:
        settings = settings_of(read_config(resume), trainer, str(resume))
    folder = resume or out_folder or Path("runs") / trainer
    say(f"{'Continuing' if resume else 'Training'} in {folder}.")
    try:
        with progress() as task:
            card = train(settings, folder, command_line(), resume is not None, task(trainer), device)
    except (KeyboardInterrupt, SystemExit):
        kept = any((folder / CHECKPOINTS).glob("checkpoint-*"))
        say(f"Stopped; continue with: edgeworth designer {trainer} --resume {folder}" if kept else "Stopped before anything was saved.")
        raise
    if not card:  # one of several processes; the first one has written everything
        return
    say(f"Wrote {folder / 'model'}.")
    deliver(card, _page(card), as_json)


def _page(card: dict[str, Any]) -> Iterator[str]:
    for name in ("what", "parameters", "trainable", "steps", "hardware", "training_seconds"):
        yield f"[bold]{name.replace('_', ' ')}[/]: {escape(str(card[name]))}"
    for name, value in card["last"].items():
        yield f"  {escape(name)}: {value:.4g}"
