"""How well single utterances are read: on sentences of our own, each labelled with its act, its split and what makes it hard.

Every utterance comes with the pool and what was said or offered before it. It is right when act and split are those of the label; one that
is labelled `unclear` is right when the parser asks back (its reading is not `sure`). The reliability of the confidence is measured on the
others: of all readings with this confidence, how many are right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from edgeworth.dialogues.acts import SIDES, Conversation, Reading
from edgeworth.dialogues.lines import Line, Speaker, quoted, three_numbers
from edgeworth.errors import DataError
from edgeworth.evaluation.parsing import ACT_NAMES, act_name
from edgeworth.evaluation.statistics import mean
from edgeworth.games.bargaining.contexts import Triple

UNCLEAR = "unclear"
"""The label of an utterance that people would ask about."""
VERY_SURE = 0.95
BANDS = (0.0, 0.55, 0.75, 0.90, VERY_SURE, 1.01)
"""Bands of confidence: no act, unsure, sure enough for a move in three steps."""


@dataclass(frozen=True)
class Labelled:
    """An utterance, with what was said and offered before it and what it should be read as."""

    pool: Triple
    before: tuple[tuple[Speaker, str], ...]
    offers: tuple[tuple[Speaker, Triple], ...]
    """Offers made without words before the utterance, each as its speaker's own share."""
    said: tuple[Speaker, str]
    act: str
    share: Triple | None
    """The speaker's units, where the utterance offers or accepts a split."""
    phenomenon: str
    """What makes it hard; empty where that was not labelled."""


def read_labelled(path: str | Path) -> list[Labelled]:
    """Labelled utterances: a JSON object per line with pool, say and act, and maybe before, offers, share and phenomenon."""
    path = Path(path).expanduser()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read ({error}); expected a file of JSON lines.") from error
    return [_labelled(Line(path, number, line)) for number, line in enumerate(lines, start=1)]


def _labelled(line: Line) -> Labelled:
    try:
        content = json.loads(line.text)
    except ValueError as error:
        raise line.error("a JSON object", quoted(line.text)) from error
    if not isinstance(content, dict) or not {"pool", "say", "act"} <= content.keys():
        raise line.error("a JSON object with pool, say and act, and maybe before, offers, share and phenomenon", quoted(line.text))
    if content["act"] not in (*ACT_NAMES, UNCLEAR):
        raise line.error(f"an act of {', '.join((*ACT_NAMES, UNCLEAR))}", quoted(str(content["act"])))
    share = content.get("share")
    return Labelled(
        three_numbers(line, "pool", content["pool"]),
        tuple(spoken(line, text) for text in content.get("before", ())),
        tuple(_offered(line, text) for text in content.get("offers", ())),
        spoken(line, content["say"]),
        content["act"],
        None if share is None else three_numbers(line, "share", share),
        str(content.get("phenomenon", "")),
    )


def spoken(line: Line, text: str) -> tuple[Speaker, str]:
    """ "YOU: i want the hats" as who said what."""
    speaker, colon, words = str(text).partition(":")
    if not colon or speaker.strip() not in SIDES:
        raise line.error("'YOU: …' or 'THEM: …'", quoted(str(text)))
    return ("YOU" if speaker.strip() == "YOU" else "THEM"), words.strip()


def _offered(line: Line, text: str) -> tuple[Speaker, Triple]:
    """ "THEM: 1,0,2" as who offered, and that side's own share."""
    speaker, numbers = spoken(line, text)
    units = [int(n) if n.strip().isdecimal() else n for n in numbers.split(",")]
    return speaker, three_numbers(line, f"the offer {text!r}", units)


def reading_of(one: Labelled) -> Reading:
    """What the parser makes of an utterance."""
    conversation = Conversation(one.pool)
    for speaker, text in one.before:
        conversation.hear(SIDES[speaker], text)
    for speaker, share in one.offers:
        conversation.note_offer(SIDES[speaker], share)
    return conversation.hear(SIDES[one.said[0]], one.said[1])


def is_right(one: Labelled, reading: Reading) -> bool:
    """Whether a reading is what the label says."""
    if one.act == UNCLEAR:
        return not reading.sure
    return one.act == act_name(reading.act) and (one.share is None or one.share == reading.share)


def measure_labelled(labelled: Sequence[Labelled], seed: int = 0) -> dict[str, Any]:
    """Accuracy, also by phenomenon; the confusion by act; and how far the confidence can be trusted."""
    pairs = [(one, reading_of(one)) for one in labelled]
    clear = [(one, reading) for one, reading in pairs if one.act != UNCLEAR]
    confusion = Counter((one.act, act_name(reading.act)) for one, reading in clear)
    splits = [one.share == reading.share for one, reading in pairs if one.share is not None]
    return {
        "utterances": len(labelled),
        "accuracy": _share([is_right(*pair) for pair in pairs], seed),
        "act_accuracy": _share([one.act == act_name(reading.act) for one, reading in clear], seed),
        "split_accuracy": _share(splits, seed),
        "very_sure": _share([is_right(*pair) for pair in clear if pair[1].confidence >= VERY_SURE], seed),
        "by_phenomenon": {name: _outcomes(group) for name, group in _groups(pairs)},
        "reliability": _reliability(clear, seed),
        "confusion": {name: {read: confusion[name, read] for read in ACT_NAMES} for name in ACT_NAMES},
    }


def _share(right: Sequence[bool], seed: int) -> dict[str, Any] | None:
    return mean(np.array(right, np.float64), seed).as_dict() if right else None


def _groups(pairs: Sequence[tuple[Labelled, Reading]]) -> list[tuple[str, list[tuple[Labelled, Reading]]]]:
    names = dict.fromkeys(one.phenomenon for one, _ in pairs if one.phenomenon)
    return [(name, [pair for pair in pairs if pair[0].phenomenon == name]) for name in names]


def _outcomes(pairs: Sequence[tuple[Labelled, Reading]]) -> dict[str, int]:
    """How many were read right, how many of the others the parser would have asked about, and how many it would have acted on."""
    wrong = [reading for one, reading in pairs if not is_right(one, reading)]
    return {
        "n": len(pairs),
        "right": len(pairs) - len(wrong),
        "asked": sum(not reading.sure for reading in wrong),
        "misread": sum(reading.sure for reading in wrong),
    }


def _reliability(pairs: Sequence[tuple[Labelled, Reading]], seed: int) -> list[dict[str, Any]]:
    """For every band of confidence: the mean that was given, and the share of readings that are right."""
    found = []
    for low, high in pairwise(BANDS):
        inside = [(one, reading) for one, reading in pairs if low <= reading.confidence < high]
        if inside:
            given = float(np.mean([reading.confidence for _, reading in inside]))
            found.append({"from": low, "confidence": given, "right": _share([is_right(*pair) for pair in inside], seed)})
    return found
