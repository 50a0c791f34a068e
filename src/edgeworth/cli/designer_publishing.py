"""`edgeworth designer merge`, `card` and `push`: make an ordinary model of an adapter, describe it, and publish it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from edgeworth.cli.console import command_line, deliver, say
from edgeworth.cli.options import AsJson
from edgeworth.errors import DataError
from edgeworth.llm.huggingface import CARD

Folder = Annotated[Path, typer.Argument(help="Folder of a merged model.")]
Results = Annotated[Path | None, typer.Option(help="What `edgeworth designer evaluate --out` wrote, for the tables of the model card.")]


def merge_command(
    models: Annotated[list[str], typer.Argument(help="A run's folder, an adapter's folder, or a name on the hub; several are averaged.")],
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the model; it must not exist yet.")],
    results: Results = None,
    as_json: AsJson = False,
) -> None:
    """Merge an adapter into its base: an ordinary bf16 model that transformers loads, with a model card.

    Several models are averaged, weight by weight: where trainings from one base gained on different populations, it can gain on all.

    Example: edgeworth designer merge runs/grpo --out models/designer

    Example: edgeworth designer merge runs/grpo runs/grpo_again --out models/average

    Example: edgeworth designer merge runs/grpo --out models/designer --results results/designers.json
    """
    from edgeworth.evaluation.designer_card import write_model_card
    from edgeworth.llm.local.folders import find
    from edgeworth.training.designer.merge import merge

    measured = _measured(results)
    card = merge([find(model) for model in models], out_folder, command_line())
    write_model_card(out_folder, card, measured)
    say(f"Wrote {out_folder}.")
    deliver(card, _page(card), as_json)


def card_command(
    folder: Folder,
    results: Results = None,
    name: Annotated[str | None, typer.Option(help="Name of the model, e.g. on the hub. Default: the folder's.")] = None,
) -> None:
    """Rewrite the model card of a merged model with newer measurements.

    Example: edgeworth designer card models/designer --results results/designers.json --name ada/designer
    """
    from edgeworth.evaluation.designer_card import write_model_card
    from edgeworth.training.designer.merge import STAGES

    card = _mapping(folder / CARD, {STAGES}, "is no card of a merged model; `edgeworth designer merge` writes one.")
    say(f"Wrote {write_model_card(folder, card, _measured(results), name)}.")


def push_command(
    folder: Folder,
    repo_id: Annotated[str, typer.Option("--repo-id", help="Repository on the hub: OWNER/NAME. It is created if needed.")],
    private: Annotated[bool, typer.Option("--private", help="Make the repository private, if it is new.")] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a merged model on the Hugging Face hub, with the token in HF_TOKEN.

    Example: edgeworth designer push models/designer --repo-id ada/designer
    """
    from edgeworth.llm.local.hub import upload

    address = upload(folder, repo_id, private)
    deliver({"repo_id": repo_id, "address": address}, [f"Published {escape(str(folder))} as {escape(repo_id)}: {escape(address)}"], as_json)


def _measured(path: Path | None) -> Mapping[str, Any] | None:
    """A result of `designer evaluate`."""
    wanted = {"populations", "episodes", "command", "seeds"}
    return None if path is None else _mapping(path, wanted, "is no result of `edgeworth designer evaluate --out`.")


def _mapping(path: Path, keys: set[str], problem: str) -> Mapping[str, Any]:
    """A JSON object that has some keys, or else the problem."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror}).") from error
    except ValueError:
        found = None
    if not isinstance(found, dict) or not keys <= found.keys():
        raise DataError(path, problem)
    return found


def _page(card: Mapping[str, Any]) -> Iterator[str]:
    yield escape(str(card["what"]))
    yield f"{card['parameters']:,} parameters in bf16, from {escape(str(card['base']))}."
    for stage in card["stages"]:
        yield f"  {escape(str(stage['settings']['trainer']))}: {stage['steps']:,} steps, {stage['training_seconds']:.0f} s"
