"""`edgeworth pocket`: train, measure or describe the bundled language model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.cli.console import command_line, deliver, err, progress, table
from edgeworth.cli.options import CORES, Address, AsJson, Engine, OutFile, Seed, Workers, changed, executed
from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption

if TYPE_CHECKING:
    from edgeworth.evaluation.pocket_scores import PocketScores

app = typer.Typer(help="Train, measure or describe the bundled language model.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option("--model", help="Model folder. Default: the bundled model.")]


@app.command("train")
def train_command(
    config: Annotated[Path | None, typer.Option(help="YAML file of settings. Default: configs/pocket_config.yaml.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. --set steps=500 --set corpus.negotiations=20000.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of text, weights and order. Default: the settings'.")] = None,
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the model, its card and its log.")] = Path("runs/pocket"),
    resume: Annotated[Path | None, typer.Option(help="Continue the run in this folder, with its settings.")] = None,
    text: Annotated[Path | None, typer.Option(help="Folder to keep the tokenised text in, or to read it from if it exists.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, …")] = "auto",
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Train the pocket model from scratch: write text, train a tokenizer, train the model.

    Takes minutes on a GPU; use pocket_tiny.yaml on a laptop. Ctrl-C saves before it stops.

    Example: edgeworth pocket train --config configs/pocket_tiny.yaml --out runs/pocket_tiny

    Example: edgeworth pocket train --resume runs/pocket_tiny
    """
    from edgeworth.training.pocket import Trainer, load_settings, train
    from edgeworth.training.pocket_corpus import corpus_at
    from edgeworth.training.pocket_folder import STATE, load_state, read_card, save

    state = None
    if resume is None:
        settings = load_settings(config or config_folder() / "pocket_config.yaml", changed({}, changes, "steps=500"), seed)
    elif config is not None or changes or seed is not None:
        raise InvalidOption("--resume continues with the settings of the run; leave --config, --set and --seed out.")
    else:
        out_folder, (settings, state) = resume, load_state(resume)
    with executed(engine, address, workers, usual=CORES) as run, progress() as task:
        corpus = corpus_at(text, settings.corpus, run, task("text"))
    sizes = ", ".join(f"{len(rows):,} {game} exchanges" for game, rows in corpus.rows.items())
    err.print(f"Text: {sizes}; {len(corpus.tokenizer):,} tokens in the vocabulary.")
    out_folder.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(corpus, settings, device)
    if state is not None:
        trainer.load_state(state)
        err.print(f"Continuing after {trainer.step:,} of {settings.steps:,} updates.")
    try:
        with progress() as task:
            train(trainer, out_folder / "training_log.csv", lambda: save(out_folder, trainer, command_line()), task("training"))
    except (KeyboardInterrupt, SystemExit):
        kept = f"Stopped; continue with: edgeworth pocket train --resume {out_folder}"
        err.print(kept if (out_folder / STATE).is_file() else "Stopped before anything was saved.")
        raise
    card = read_card(out_folder)
    err.print(f"Wrote {out_folder}.")
    deliver(card, _card_page(card), as_json)


@app.command("evaluate")
def evaluate_command(
    model: Folder = None,
    negotiations: Annotated[
        int, typer.Option(min=10, help="Negotiations with held-out contexts, played with and without constraints.")
    ] = 600,
    per_variant: Annotated[int, typer.Option(min=0, help="Negotiations of each variant of the classic game; 0 leaves them out.")] = 300,
    markets: Annotated[int, typer.Option(min=5, help="Markets from the mixture of the stages, played with and without constraints.")] = 60,
    seed: Seed = 0,
    onto_card: Annotated[bool, typer.Option("--onto-card", help="Also write the scores to the model's card.")] = False,
    out_file: OutFile = None,
    as_json: AsJson = False,
) -> None:
    """Measure a pocket model on held-out games: how many replies are legal, and what its hints and mechanisms are worth.

    Replies are free, or constrained to legal ones (called held).

    Example: edgeworth pocket evaluate --negotiations 200 --per-variant 50 --markets 20
    """
    from edgeworth.evaluation.pocket_scores import pocket_scores
    from edgeworth.llm.stack import open_client
    from edgeworth.training.pocket_folder import write_scores

    options: dict[str, Any] = {} if model is None else {"model": str(model)}
    with open_client("pocket", deadline=math.inf, **options) as client, progress() as task:
        client.check()
        scores = pocket_scores(client, negotiations, per_variant, markets, seed, task("pocket model"))
        name = client.name
    result = {"command": command_line(), "model": name, "seed": seed, "targets": scores.targets(), **asdict(scores)}
    if onto_card:
        write_scores(model, {"command": result["command"], "targets": result["targets"], **scores.summary()})
    deliver(result, _scores_page(scores), as_json, out_file)


def _scores_page(scores: PocketScores) -> Iterator[RenderableType]:
    found = table("", "free", "held")
    for name, values in scores.summary().items():
        found.add_row(name.replace("_", " "), *(values.get(way, "") for way in ("free", "held")))
    yield found
    for name, target in scores.targets().items():
        yield f"{name.replace('_', ' ')}: {target['found']:.4f}, target {target['target']:g}: {'met' if target['met'] else 'NOT met'}"


@app.command("card")
def card_command(model: Folder = None, as_json: AsJson = False) -> None:
    """Describe the model: its data, settings, scores, and what it is not.

    Example: edgeworth pocket card
    """
    from edgeworth.training.pocket_folder import read_card

    card = read_card(model)
    deliver(card, _card_page(card), as_json)


def _card_page(card: dict[str, Any]) -> Iterator[str]:
    yield escape(yaml.safe_dump(card, sort_keys=False, allow_unicode=True).rstrip())
