"""Merging: an adapter and its base become one ordinary model in half precision, in a folder without anything left of the adapter.

Several models of the same shape become their average, weight by weight (Wortsman et al. 2022): where trainings gained on different
populations, it can gain on all of them. Sums are done in single precision and rounded once. The folder's card holds those of
all trainings that led to the model, each with its curve, so that the model can be described without the folders of the runs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from edgeworth.errors import DataError, InvalidOption, RunStopped
from edgeworth.files import write_json, writing
from edgeworth.llm.huggingface import CARD, TRAINED_ON
from edgeworth.llm.local.folders import Found, local_folder
from edgeworth.runlog import HISTORY, STEP, read_history

Point = TypeVar("Point")
STAGES = "stages"
"""The entry of a merged model's card that holds the cards of its trainings, first to last."""
CURVE_POINTS = 100
LEFT_OUT = ("seconds", "learning_rate", "num_tokens", "tokens")
"""Metrics that are not part of a curve."""


def merge(models: Sequence[Found], out: Path, command: str) -> dict[str, Any]:
    """Write a model, or the average of several, into a new folder, whole; its card is returned."""
    import torch

    from edgeworth.llm.local.loading import load_merged, load_tokenizer

    if out.exists():
        raise InvalidOption(f"{out} exists already; name a folder that does not exist yet with --out.")
    tokenizer = load_tokenizer(models[0].base, models[0].name)
    model = load_merged(models[0], torch.float32)
    _average(model, models)
    torch.nn.Module.to(model, torch.bfloat16)
    card = merged_card(models, command, sum(p.numel() for p in model.parameters()))
    fresh = out.with_name(out.name + ".new")
    try:
        _save(model, tokenizer, card, fresh)
        fresh.rename(out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return card


def _average(model: Any, models: Sequence[Found]) -> None:
    """Give the first of some models the mean weights of all."""
    import torch

    from edgeworth.llm.local.loading import load_merged

    mean = {name: weight.data for name, weight in model.named_parameters()}
    for number, found in enumerate(models[1:], start=2):
        other = dict(load_merged(found, torch.float32).named_parameters())
        if {name: weight.shape for name, weight in other.items()} != {name: weight.shape for name, weight in mean.items()}:
            raise InvalidOption(
                f"{found.name} and {models[0].name} differ in the names or shapes of their weights; average models that were trained from"
                " one base."
            )
        for name, weight in mean.items():
            weight.lerp_(other[name].data, 1.0 / number)


def _save(model: Any, tokenizer: Any, card: Mapping[str, Any], folder: Path) -> None:
    from safetensors import SafetensorError

    from edgeworth.llm.local.loading import without_bars

    try:
        with writing(folder), without_bars():
            folder.mkdir(parents=True)
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except SafetensorError as error:  # how its writer reports a full disk
        raise RunStopped(f"{folder} cannot be written ({error}); make room or choose another folder.") from error
    write_json(folder / CARD, card)


# The card


def merged_card(models: Sequence[Found], command: str, parameters: int) -> dict[str, Any]:
    """What is known of a merged model: its base, what it may be asked, and the trainings that led to it."""
    folders = [found.adapter or found.base for found in models]
    stages = [stage for folder in folders for stage in trainings(folder)]
    stages = [stage for number, stage in enumerate(stages) if stage not in stages[:number]]
    last = stages[-1] if stages else _card(folders[0])
    names = ", ".join(found.name for found in models)
    what = last.get("what", f"A language model designer of auction markets, from {names}.")
    return {
        "what": str(what) if len(models) == 1 else f"A language model designer of auction markets, the average of the weights of {names}.",
        "base": str(stages[0]["settings"]["model"]) if stages else names,
        "command": command,
        **({"rules": last["rules"]} if "rules" in last else {}),
        TRAINED_ON: _covered(stages or [last]),
        "parameters": parameters,
        STAGES: stages,
    }


def _covered(stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all trainings together were on, by game: of every number the least and the most, or all names."""
    covered: dict[str, dict[str, list[Any]]] = {}
    for stage in stages:
        for game, spans in stage.get(TRAINED_ON, {}).items():
            known = covered.setdefault(game, {})
            for name, span in spans.items():
                both = sorted({*known.get(name, ()), *span})
                known[name] = both if isinstance(both[0], str) else [both[0], both[-1]]
    return covered


def trainings(folder: Path) -> list[dict[str, Any]]:
    """The cards of the trainings that led to the model in a folder, first to last, as far as their folders are there."""
    card = _card(folder)
    if STAGES in card:
        return [dict(stage) for stage in card[STAGES]]
    if "trainer" not in card.get("settings", {}):
        return []
    before = local_folder(str(card["settings"]["model"]))
    return [*(trainings(before) if before is not None else []), {**card, "curve": curve(folder.parent)}]


def _card(folder: Path) -> dict[str, Any]:
    """The card in a folder; a model that was not trained here has none."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}


def curve(run: Path) -> list[dict[str, float]]:
    """Some points of a run's history, first and last included; what was logged for one step apart is one point."""
    if not (run / HISTORY).is_file():
        return []
    points: dict[int, dict[str, float]] = {}
    for line in read_history(run):
        values = {name: float(value) for name, value in line.items() if not isinstance(value, str) and name not in LEFT_OUT}
        if STEP not in values:
            raise DataError(run / HISTORY, f"has a line without {STEP!r}.")
        points.setdefault(int(values[STEP]), {}).update({name: value for name, value in values.items() if value == value})
    return thinned([points[step] for step in sorted(points)], CURVE_POINTS)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of the points, evenly spread, first and last included."""
    places = {round(place * (len(points) - 1) / (most - 1)) for place in range(most)} if points else set()
    return [points[place] for place in sorted(places)]
