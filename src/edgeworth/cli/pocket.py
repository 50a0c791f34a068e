"""`edgeworth pocket`: the language model in the box, how it is trained and what it is."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from edgeworth.cli.console import AsJson, Seed, changed, command_line, deliver, err, out, print_json
from edgeworth.cli.progress import progress
from edgeworth.config import config_folder

if TYPE_CHECKING:
    from edgeworth.evaluation.pocket_scores import PocketScores

app = typer.Typer(help="The language model in the box: train it, measure it, or read its card.", no_args_is_help=True)

Folder = Annotated[Path | None, typer.Option("--model", help="The model's folder; default: the one in the box.")]


@app.command("train")
def train_command(
    config: Annotated[Path | None, typer.Option("--config", help="Settings as YAML; default: configs/pocket_config.yaml.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Any setting, e.g. --set steps=500 --set corpus.talks=20000.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Decides the text, the first weights and the order.")] = None,
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the model, its card and its log.")] = Path("runs/pocket"),
    text: Annotated[Path | None, typer.Option("--text", help="Keep the text as tokens in this folder, or read it from there.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, …")] = "auto",
    workers: Annotated[int, typer.Option(min=1, help="Processes that write text.")] = os.cpu_count() or 1,
    as_json: AsJson = False,
) -> None:
    """Train the pocket model from scratch: write text, learn a tokenizer, train. Minutes on a GPU; use pocket_tiny.yaml on a laptop.

    Example: edgeworth pocket train --config configs/pocket_tiny.yaml --out runs/pocket_tiny
    """
    from edgeworth.training.pocket import Trained, load_settings, read_card, save, train
    from edgeworth.training.pocket_corpus import corpus_at

    settings = load_settings(config or config_folder() / "pocket_config.yaml", changed({}, changes, "steps=500"), seed)
    with progress() as task:
        corpus = corpus_at(text, settings.corpus, workers, task("text"))
    sizes = ", ".join(f"{len(rows):,} {game} exchanges" for game, rows in corpus.rows.items())
    err.print(f"Text: {sizes}; {len(corpus.tokenizer):,} tokens in the vocabulary.")
    out_folder.mkdir(parents=True, exist_ok=True)

    def keep(trained: Trained) -> dict[str, Any]:
        return save(out_folder, corpus, trained, settings, command_line())

    with progress() as task:
        train(corpus, settings, device, out_folder / "training_log.csv", keep, task("training"))
    card = read_card(out_folder)
    err.print(f"Wrote {out_folder}.")
    if as_json:
        print_json(card)
    else:
        _show(card)


@app.command("evaluate")
def evaluate_command(
    model: Folder = None,
    talks: Annotated[int, typer.Option(min=10, help="Talks with held-out contexts, played free and held.")] = 1_000,
    markets: Annotated[int, typer.Option(min=5, help="Markets from the mixture of the stages, ten steps each, likewise.")] = 100,
    seed: Seed = 0,
    onto_card: Annotated[bool, typer.Option("--onto-card", help="Write the scores onto the model's card, too.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the scores as JSON into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a pocket model on what it never saw: legal replies without constraint, the worth of its hints and mechanisms.

    Example: edgeworth pocket evaluate --talks 200 --markets 20
    """
    from edgeworth.evaluation.pocket_scores import pocket_scores
    from edgeworth.llm.stack import open_client
    from edgeworth.training.pocket import write_scores

    options: dict[str, Any] = {} if model is None else {"model": str(model)}
    with open_client("pocket", deadline=math.inf, **options) as client, progress() as task:
        client.check()
        scores = pocket_scores(client, talks, markets, seed, task("pocket model"))
        name = client.name
    result = {"command": command_line(), "model": name, "seed": seed, "marks": scores.marks(), **scores.as_dict()}
    if onto_card:
        write_scores(model, {"command": result["command"], "marks": result["marks"], **scores.summary()})
    deliver(result, as_json, out_file, lambda: _show_scores(scores))


def _show_scores(scores: PocketScores) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "free", "held"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, values in scores.summary().items():
        table.add_row(name.replace("_", " "), *(str(values[way]) for way in ("free", "held")))
    out.print(table)
    for name, mark in scores.marks().items():
        out.print(f"{name.replace('_', ' ')}, free: {mark['found']:.4f}, mark {mark['mark']:g}: {'met' if mark['met'] else 'NOT met'}")


@app.command("card")
def card_command(model: Folder = None, as_json: AsJson = False) -> None:
    """Say what the model is: its data, settings, scores, and what it is not.

    Example: edgeworth pocket card
    """
    from edgeworth.training.pocket import read_card

    card = read_card(model)
    if as_json:
        print_json(card)
    else:
        _show(card)


def _show(card: dict[str, Any]) -> None:
    for key, value in card.items():
        out.print(f"[bold]{key.replace('_', ' ')}[/]: ", end="")
        out.print(value if isinstance(value, str) else json.dumps(value), markup=False)
