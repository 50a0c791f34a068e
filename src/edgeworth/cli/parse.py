"""`edgeworth parse`: the acts and offers in what people write while they negotiate; in one dialogue, or how well they are found in many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from edgeworth.cli.console import command_line, deliver, progress, say, span, table
from edgeworth.cli.options import AsJson, Figure, OutFile, Seed, triple
from edgeworth.dialogues.acts import read_conversation
from edgeworth.dialogues.deal_or_no_dialog import SPLIT_FILES, read_dialogue, read_dialogues
from edgeworth.dialogues.lines import Dialogue, Speaker
from edgeworth.dialogues.wording import share_words
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.labelled import VERY_SURE, measure_labelled, read_labelled
from edgeworth.evaluation.parsing import PUBLISHED_ACCURACY, distinct, measure_dialogues
from edgeworth.evaluation.statistics import counted
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT

NAMED_AT_MOST = 20
"""Broken lines that are named; the others are only counted."""


def parse_command(
    file: Annotated[Path | None, typer.Option(help="File of dialogues in the Deal or No Dialog format; --line chooses one.")] = None,
    line: Annotated[int, typer.Option(min=1, help="Line of --file, counted from 1.")] = 1,
    pool: Annotated[str | None, typer.Option(help="Books, hats and balls in the pool of a dialogue given with --say, e.g. 1,2,3.")] = None,
    say: Annotated[list[str] | None, typer.Option(help='One utterance, "YOU: …" or "THEM: …"; repeat in order.')] = None,
    evaluate: Annotated[Path | None, typer.Option(help="Measure all dialogues in a folder of Deal or No Dialog files, or a file.")] = None,
    split: Annotated[str, typer.Option(help="Part of the --evaluate folder: all, train, val or test.")] = "all",
    labelled: Annotated[
        list[Path] | None, typer.Option(help="Measure the labelled utterances in this JSONL file, also with --evaluate; repeat for more.")
    ] = None,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Skip broken lines and name them, instead of stopping.")] = False,
    out_file: OutFile = None,
    figure: Figure = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the acts and offers in a dialogue between people.

    The dialogue comes from --file and --line, or from --pool and --say. With --evaluate, every distinct agreed dialogue of the files is
    parsed, and counts as right when its last offer is the deal; the seed draws the resamples of the interval. With --labelled, every
    utterance counts as right when act and split are as labelled; --figure then draws how far the confidence can be trusted.

    Example: edgeworth parse --pool 1,2,3 --say "YOU: i want the book and one hat" --say "THEM: ok"
    """
    if [file is not None, bool(say), evaluate is not None or bool(labelled)].count(True) != 1:
        raise InvalidOption("Expected one of --file FILE, --pool with --say, --evaluate FOLDER, and --labelled FILE.")
    if labelled and evaluate is None:
        together = measure_labelled([one for path in labelled for one in read_labelled(path)], seed)
        utterances = _measure_labelled(labelled, seed)
        drawn = {"command": command_line(), "seed": seed, "together": together, "labelled": utterances}
        deliver(drawn, _labelled_pages(utterances), as_json, out_file, figure, "edgeworth.evaluation.parsing_figures:draw_reliability")
        return
    if evaluate is not None:
        result = _measure(evaluate, split, labelled or [], skip_broken, seed)
        deliver(result, _measure_page(result), as_json, out_file)
        return
    if file is not None:
        dialogue = read_dialogue(file, line)
        result = _parse(dialogue.context.counts, dialogue.utterances, dialogue)
    else:
        result = _parse(triple("--pool", pool, COUNT_LIMIT), [_spoken(words) for words in say or []], None)
    deliver(result, _page(result), as_json)


# One dialogue


def _spoken(text: str) -> tuple[Speaker, str]:
    speaker, colon, words = text.partition(":")
    if not colon or speaker.strip().upper() not in ("YOU", "THEM"):
        raise InvalidOption(f'--say is {text!r}; expected "YOU: …" or "THEM: …".')
    return ("YOU" if speaker.strip().upper() == "YOU" else "THEM"), words.strip()


def _parse(pool: Triple, utterances: Sequence[tuple[Speaker, str]], dialogue: Dialogue | None) -> dict[str, Any]:
    found = read_conversation(pool, utterances)
    readings = [
        {
            "speaker": speaker,
            "text": text,
            "act": None if reading.act is None else reading.act.name,
            "share": reading.share,
            "confidence": reading.confidence,
            "evidence": None if reading.evidence is None else reading.evidence.value,
        }
        for (speaker, text), reading in zip(utterances, found.readings, strict=True)
    ]
    deal = {} if dialogue is None else {"outcome": dialogue.outcome, "deal": dialogue.my_share}
    return {"pool": found.pool, "readings": readings, "last_offer": found.last_offer, **deal}


def _page(result: dict[str, Any]) -> Iterator[RenderableType]:
    pool, offer = result["pool"], result["last_offer"]
    yield f"The pool: {share_words(pool)}"
    found = table("who", "says", "act", "would get", "leaves", "confidence", text=5)
    for reading in result["readings"]:
        share = reading["share"]
        gets, leaves = ("", "") if share is None else (share_words(share), share_words(rest_of(pool, share)))
        found.add_row(reading["speaker"], escape(reading["text"]), reading["act"] or "–", gets, leaves, f"{reading['confidence']:.2f}")
    yield found
    yield ""
    yield "No offer was made." if offer is None else f"The last offer: {_both(pool, offer)}."
    if "deal" in result:
        deal = result["deal"]
        if deal is None:
            yield f"There was no deal ({result['outcome'].replace('_', ' ')})."
        else:
            yield f"The deal: {_both(pool, deal)}; the last offer {'is' if offer == deal else 'is not'} the deal."


def _both(pool: Triple, share: Triple) -> str:
    return f"{share_words(share)} for YOU, {share_words(rest_of(pool, share))} for THEM"


# Many dialogues


def _measure(path: Path, split: str, labelled: Sequence[Path], skip_broken: bool, seed: int) -> dict[str, Any]:
    broken: list[DataError] | None = [] if skip_broken else None
    names = list(SPLIT_FILES) if path.is_dir() and split == "all" else [split]
    parts = {name: distinct(read_dialogues(path, name, broken)) for name in names}
    left_out = list({(error.path, error.line): str(error) for error in broken or []}.values())
    if left_out:
        say(f"Left out {counted(len(left_out), 'broken line')}:")
        named, others = left_out[:NAMED_AT_MOST], len(left_out) - NAMED_AT_MOST
        say("\n".join([*(f"  {error}" for error in named), *([f"  … and {others} more."] if others > 0 else [])]))
    if not any(parts.values()):
        raise DataError(path, "expected dialogues; found only broken lines.")
    with progress() as task:
        measured = measure_dialogues(parts, seed, task("reading"))
    return {
        "command": command_line(path),
        "seed": seed,
        "quantity": "share of distinct agreed dialogues whose last parsed offer is the deal, with 95 % bootstrap intervals over dialogues",
        "published": PUBLISHED_ACCURACY,
        "parts": measured,
        "broken": left_out,
        "labelled": _measure_labelled(labelled, seed),
    }


def _measure_labelled(paths: Sequence[Path], seed: int) -> dict[str, Any]:
    return {path.stem: measure_labelled(read_labelled(path), seed) for path in paths}


def _measure_page(result: dict[str, Any]) -> Iterator[RenderableType]:
    found = table("part", "dialogues", "agreed", "accuracy", "95 % interval", title="The last offer is the deal")
    for name, part in result["parts"].items():
        accuracy = part["accuracy"]
        cells = ("–", "–") if accuracy is None else (f"{accuracy['value']:.3f}", span(accuracy))
        found.add_row(name, f"{part['dialogues']:,}", f"{part['agreed']:,}", *cells)
    yield found
    yield f"The published rule parser: {result['published']:.3f}."
    yield from _labelled_pages(result["labelled"])


def _labelled_pages(files: dict[str, Any]) -> Iterator[RenderableType]:
    for name, measured in files.items():
        yield ""
        yield from _labelled_page(name, measured)


def _labelled_page(name: str, labelled: dict[str, Any]) -> Iterator[RenderableType]:
    """What labelled utterances were read as: by act, by phenomenon, and against the confidence."""
    title = f"{name}: {labelled['act_accuracy']['value']:.3f} of the acts are right (rows: labels, columns: readings)"
    confusion = table("", *labelled["confusion"], title=title)
    for name, row in labelled["confusion"].items():
        confusion.add_row(name, *(str(n) if n else "·" for n in row.values()))
    yield confusion
    if labelled["by_phenomenon"]:
        found = table(
            "phenomenon",
            "utterances",
            "right",
            "asked back",
            "misread",
            title=f"Act and split are right: {labelled['accuracy']['value']:.3f}",
        )
        for name, row in labelled["by_phenomenon"].items():
            found.add_row(name, *(str(row[key]) for key in ("n", "right", "asked", "misread")))
        yield found
    if labelled["very_sure"] is not None:
        yield f"Of {counted(labelled['very_sure']['n'], 'reading')} at {VERY_SURE} or more, {labelled['very_sure']['value']:.3f} are right."
