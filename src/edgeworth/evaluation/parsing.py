"""How well dialogue acts are read from human dialogues that were agreed, so that the deal is known.

A dialogue is read right when its last offer is the deal. Every dialogue counts once, though the released files hold most of them twice,
as either speaker saw them. The public data label no acts: the last act is counted, by how the dialogue ended, and the confusion by act is
measured on labelled utterances of our own (`labelled.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgeworth.dialogues.acts import Conversation, Reading, read_conversation
from edgeworth.dialogues.lines import Dialogue, Speaker
from edgeworth.dialogues.offers import Evidence
from edgeworth.evaluation.statistics import Estimate, mean
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.progress import Progress, silent

PUBLISHED_ACCURACY = 0.779
"""The published rule parser, on the same 4,766 agreed dialogues."""
NO_ACT = "none"
ACT_NAMES = (*(act.name for act in Act), NO_ACT)
OTHER_VIEW: dict[Speaker, Speaker] = {"YOU": "THEM", "THEM": "YOU"}
MISSES = ("no offer was read", "the two sides are swapped", "one unit of one type", "one type by more", "two or three types")
"""How the last offer differs from the deal."""


def distinct(dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """Every dialogue once, from the side that comes first in the file."""
    seen: set[object] = set()
    found = []
    for dialogue in dialogues:
        key = min(_seen_by_either(dialogue))
        if key not in seen:
            seen.add(key)
            found.append(dialogue)
    return found


def _seen_by_either(dialogue: Dialogue) -> tuple[tuple[object, ...], tuple[object, ...]]:
    context, said = dialogue.context, dialogue.utterances
    turned = tuple((OTHER_VIEW[speaker], text) for speaker, text in said)
    return (
        (context.counts, context.my_utilities, context.partner_utilities, said),
        (context.counts, context.partner_utilities, context.my_utilities, turned),
    )


def measure_dialogues(parts: Mapping[str, Sequence[Dialogue]], seed: int = 0, progress: Progress = silent) -> dict[str, Any]:
    """What `edgeworth parse --evaluate` writes of dialogues: every part, and all of them together."""
    total = sum(len(dialogues) for dialogues in parts.values())
    read: dict[str, list[_Read]] = {}
    done = 0
    for name, dialogues in parts.items():
        read[name] = []
        for dialogue in dialogues:
            read[name].append(_Read(dialogue, read_conversation(dialogue.context.counts, dialogue.utterances)))
            done += 1
            if done % 100 == 0:
                progress(name, done, total)
    if len(read) > 1:
        read["all"] = [one for part in read.values() for one in part]
    return {name: _measure(part, seed) for name, part in read.items()}


@dataclass(frozen=True)
class _Read:
    """A dialogue and what was read."""

    dialogue: Dialogue
    conversation: Conversation

    @property
    def right(self) -> bool:
        return self.conversation.last_offer == self.dialogue.my_share

    @property
    def last_stated(self) -> Reading | None:
        """The reading that stated the last offer."""
        return next((reading for reading in reversed(self.conversation.readings) if reading.evidence is not None), None)


def _measure(part: Sequence[_Read], seed: int) -> dict[str, Any]:
    agreed = [read for read in part if read.dialogue.outcome == "agreed"]
    return {
        "dialogues": len(part),
        "agreed": len(agreed),
        "accuracy": _share(agreed, seed).as_dict() if agreed else None,
        "by_evidence": _by_evidence(agreed),
        "misses": {kind: n for kind, n in _miss_counts(agreed).items() if n},
        "last_act": {
            "agreed": _last_acts(agreed),
            "not agreed": _last_acts([read for read in part if read.dialogue.outcome != "agreed"]),
        },
    }


def _share(reads: Sequence[_Read], seed: int) -> Estimate:
    return mean(np.array([read.right for read in reads], np.float64), seed)


def _by_evidence(agreed: Sequence[_Read]) -> list[dict[str, Any]]:
    """By what the last offer rests on and the confidence it was given: how many, and how often right."""
    right: dict[tuple[Evidence, float], list[bool]] = {}
    for read in agreed:
        stated = read.last_stated
        if stated is not None and stated.evidence is not None:
            right.setdefault((stated.evidence, stated.confidence), []).append(read.right)
    order = list(reversed(Evidence))
    return [
        {"evidence": evidence.value, "confidence": given, "n": len(found), "right": sum(found), "share": sum(found) / len(found)}
        for (evidence, given), found in sorted(right.items(), key=lambda item: (order.index(item[0][0]), -item[0][1]))
    ]


def _miss_counts(agreed: Sequence[_Read]) -> dict[str, int]:
    counts = Counter(_miss(read) for read in agreed if not read.right)
    return {kind: counts[kind] for kind in MISSES}


def _miss(read: _Read) -> str:
    offer, deal = read.conversation.last_offer, read.dialogue.my_share
    if offer is None or deal is None:
        return MISSES[0]
    if all(o + d == n for o, d, n in zip(offer, deal, read.dialogue.context.counts, strict=True)):
        return MISSES[1]
    gaps = [abs(o - d) for o, d in zip(offer, deal, strict=True) if o != d]
    return MISSES[4] if len(gaps) > 1 else MISSES[2] if gaps == [1] else MISSES[3]


def _last_acts(reads: Sequence[_Read]) -> dict[str, int]:
    counts = Counter(act_name(read.conversation.readings[-1].act) for read in reads if read.conversation.readings)
    return {name: counts[name] for name in ACT_NAMES}


def act_name(act: Act | None) -> str:
    """The name of an act, or that of no act."""
    return NO_ACT if act is None else act.name
