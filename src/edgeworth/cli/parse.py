"""`edgeworth parse`: what people write while they bargain, as acts and splits; one dialogue, or how well it goes on many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from edgeworth.cli.analyse import triple
from edgeworth.cli.console import AsJson, Seed, command_line, deliver, err, out, print_json
from edgeworth.cli.progress import progress
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.parsing import PUBLISHED_ACCURACY, distinct, measure_dialogues, measure_labelled, read_labelled
from edgeworth.games.bargaining.contexts import Triple
from edgeworth.games.bargaining.deal_or_no_dialog import SPLIT_FILES, read_dialogue, read_dialogues
from edgeworth.games.bargaining.dialogue_acts import Talk, read_talk
from edgeworth.games.bargaining.dialogue_lines import Dialogue, Speaker
from edgeworth.games.bargaining.talks import share_words
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT

NAMED_AT_MOST = 20
"""Broken lines that are named; the others are only counted."""


def parse_command(
    file: Annotated[Path | None, typer.Option(help="A file of dialogues in the released format; --line says which.")] = None,
    line: Annotated[int, typer.Option(min=1, help="The line of --file, counted from 1.")] = 1,
    pool: Annotated[
        str | None, typer.Option(help="The pool of books, hats and balls of a dialogue typed in with --say, e.g. 1,2,3.")
    ] = None,
    say: Annotated[
        list[str] | None, typer.Option("--say", help='One utterance: "YOU: …" or "THEM: …"; once per utterance, in order.')
    ] = None,
    evaluate: Annotated[
        Path | None, typer.Option(help="Measure the dialogues of a folder of the released files, or of one of them.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which part of the folder: all, train, val or test.")] = "all",
    labelled: Annotated[Path | None, typer.Option(help="Also measure the labelled utterances of this file of JSON lines.")] = None,
    skip_broken: Annotated[bool, typer.Option("--skip-broken", help="Leave broken lines out, and say which.")] = False,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the measurement as JSON into this file.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read the acts and splits of a dialogue between people, or measure how often the deal is found.

    A dialogue comes from --file and --line, or is typed in with --pool and --say. With --evaluate, every distinct agreed dialogue is read,
    and counts as right when its last offer is the deal; seeds only draw the interval's resamples.

    Example: edgeworth parse --pool 1,2,3 --say "YOU: i want the book and one hat" --say "THEM: ok"
    """
    if [file is not None, bool(say), evaluate is not None].count(True) != 1:
        raise InvalidOption("Expected one of --file FILE, --pool with --say, and --evaluate FOLDER.")
    if evaluate is not None:
        _evaluate(evaluate, split, labelled, skip_broken, out_file, seed, as_json)
    elif file is not None:
        dialogue = read_dialogue(file, line)
        _show(dialogue.context.counts, dialogue.utterances, dialogue, as_json)
    else:
        _show(triple("--pool", pool, COUNT_LIMIT), [_spoken(words) for words in say or []], None, as_json)


def _spoken(text: str) -> tuple[Speaker, str]:
    speaker, colon, words = text.partition(":")
    if not colon or speaker.strip().upper() not in ("YOU", "THEM"):
        raise InvalidOption(f'--say is {text!r}; expected "YOU: …" or "THEM: …".')
    return ("YOU" if speaker.strip().upper() == "YOU" else "THEM"), words.strip()


def _show(pool: Triple, utterances: Sequence[tuple[Speaker, str]], dialogue: Dialogue | None, as_json: bool) -> None:
    """One dialogue: every utterance with what was read."""
    talk = read_talk(pool, utterances)
    if as_json:
        print_json(_as_dict(talk, utterances, dialogue))
        return
    out.print(f"The pool: {share_words(pool)}", highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("who", "says", "act", "would get", "leaves", "confidence"):
        table.add_column(column, justify="right" if column == "confidence" else "left", overflow="fold")
    for (speaker, text), reading in zip(utterances, talk.readings, strict=True):
        share = reading.share
        gets, leaves = ("", "") if share is None else (share_words(share), share_words(_rest(pool, share)))
        act = "–" if reading.act is None else reading.act.name
        table.add_row(speaker, escape(text), act, gets, leaves, f"{reading.confidence:.2f}")
    out.print(table)
    out.print()
    offer = talk.last_offer
    out.print("No offer was made." if offer is None else f"The last offer: {_both(pool, offer)}.")
    if dialogue is not None:
        deal = dialogue.my_share
        if deal is None:
            out.print(f"The truth: no deal ({dialogue.outcome.replace('_', ' ')}).")
        else:
            out.print(f"The deal: {_both(pool, deal)}; the last offer {'is' if offer == deal else 'is not'} the deal.")


def _rest(pool: Triple, share: Triple) -> Triple:
    return (pool[0] - share[0], pool[1] - share[1], pool[2] - share[2])


def _both(pool: Triple, share: Triple) -> str:
    return f"{share_words(share)} for YOU, {share_words(_rest(pool, share))} for THEM"


def _as_dict(talk: Talk, utterances: Sequence[tuple[Speaker, str]], dialogue: Dialogue | None) -> dict[str, Any]:
    readings = [
        {
            "speaker": speaker,
            "text": text,
            "act": None if reading.act is None else reading.act.name,
            "share": reading.share,
            "confidence": reading.confidence,
            "evidence": None if reading.evidence is None else reading.evidence.value,
        }
        for (speaker, text), reading in zip(utterances, talk.readings, strict=True)
    ]
    found: dict[str, Any] = {"pool": talk.pool, "readings": readings, "last_offer": talk.last_offer}
    if dialogue is not None:
        found |= {"outcome": dialogue.outcome, "deal": dialogue.my_share}
    return found


def _evaluate(path: Path, split: str, labelled: Path | None, skip_broken: bool, out_file: Path | None, seed: int, as_json: bool) -> None:
    broken: list[DataError] | None = [] if skip_broken else None
    names = list(SPLIT_FILES) if path.is_dir() and split == "all" else [split]
    parts = {name: distinct(read_dialogues(path, name, broken)) for name in names}
    left_out = {(error.path, error.line): str(error) for error in broken or []}
    _name_broken(list(left_out.values()))
    if not any(parts.values()):
        raise DataError(path, "expected dialogues; found only broken lines.")
    with progress() as task:
        measured = measure_dialogues(parts, seed, task("reading"))
    result = {
        "command": command_line(path),
        "seed": seed,
        "quantity": "share of distinct agreed dialogues whose last parsed offer is the deal, with 95 % bootstrap intervals over dialogues",
        "published": PUBLISHED_ACCURACY,
        "parts": measured,
        "broken": list(left_out.values()),
        "labelled": None if labelled is None else measure_labelled(read_labelled(labelled), seed),
    }
    deliver(result, as_json, out_file, lambda: _print_result(result))


def _name_broken(broken: list[str]) -> None:
    if not broken:
        return
    err.print(f"Left out {len(broken)} broken line{'s' if len(broken) != 1 else ''}:", markup=False)
    for error in broken[:NAMED_AT_MOST]:
        err.print(f"  {error}", markup=False, soft_wrap=True)
    if len(broken) > NAMED_AT_MOST:
        err.print(f"  … and {len(broken) - NAMED_AT_MOST} more.", markup=False)


def _print_result(result: dict[str, Any]) -> None:
    table = Table(title="The last offer is the deal", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in ("part", "dialogues", "agreed", "accuracy", "95 % interval"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for name, part in result["parts"].items():
        found = part["accuracy"]
        cells = ("–", "–") if found is None else (f"{found['value']:.3f}", f"{found['low']:.3f} – {found['high']:.3f}")
        table.add_row(name, f"{part['dialogues']:,}", f"{part['agreed']:,}", *cells)
    out.print(table)
    out.print(f"The published rule parser: {result['published']:.3f}.")
    if result["labelled"] is not None:
        out.print()
        out.print(_confusion_table(result["labelled"]))


def _confusion_table(labelled: dict[str, Any]) -> Table:
    accuracy = labelled["act_accuracy"]["value"]
    title = f"{labelled['utterances']} labelled utterances: {accuracy:.3f} of the acts; labelled down, read across"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for name in labelled["confusion"]:
        table.add_column(name, justify="right")
    for name, row in labelled["confusion"].items():
        table.add_row(name, *(str(n) if n else "·" for n in row.values()))
    return table
