"""One line of negotiation data: what it says, or an error that names file, line, what was expected and what was found.

Four kinds of line, the first three as Lewis et al. (2017, arXiv 1706.05125) released them. A side is six whole numbers, `count value` for
book, hat and ball:

    tagged     <input> SIDE </input> <dialogue> YOU: … <eos> THEM: <selection> </dialogue>
               <output> item0=1 item1=0 item2=2 item0=0 item1=3 item2=0 </output> <partner_input> SIDE </partner_input>
    untagged   SIDE YOU: … <eos> THEM: <selection> item0=1 item1=0 item2=2 <eos> reward=6 agree SIDE
    self-play  SIDE, where two lines in a row are the two sides of one scenario
    JSON       {"counts": [1, 2, 3], "my_utilities": [4, 3, 0], "partner_utilities": [1, 0, 3]}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgeworth.errors import DataError, InvalidContext, UnknownKey
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS, Context, Triple, rest_of

Speaker = Literal["YOU", "THEM"]
DialogueOutcome = Literal["agreed", "disagreed", "no_agreement", "disconnected"]
SideInput = tuple[Triple, Triple]
"""Counts and values, as one side sees them."""

TAGS = ("input", "dialogue", "output", "partner_input")
OUTPUT_WORDS: dict[str, DialogueOutcome] = {
    "<disagree>": "disagreed",
    "<no_agreement>": "no_agreement",
    "<disconnect>": "disconnected",
}

_TAGGED = re.compile(" ".join(f"<{tag}> (.*) </{tag}>" for tag in TAGS))
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,9}")
_ITEMS = re.compile(r"item0=([0-9]{1,9}) item1=([0-9]{1,9}) item2=([0-9]{1,9})")
_CLOSING = re.compile(r"(item.*|no agreement|disconnect) <eos> reward=(?:-?[0-9]+|no agreement|disconnect) (agree|disagree)\b ?(.*)")


@dataclass(frozen=True)
class Line:
    """A line and where it stands."""

    path: Path | str
    number: int
    text: str

    def error(self, expected: str, found: str) -> DataError:
        """The error of a malformed line."""
        return DataError(self.path, f"expected {expected}; found {found}.", self.number)


@dataclass(frozen=True)
class Dialogue:
    """One human negotiation, as one of its two speakers saw it."""

    context: Context
    utterances: tuple[tuple[Speaker, str], ...]
    """Who said what, in order; the final selection is not an utterance."""
    outcome: DialogueOutcome
    """`disagreed`: the two final selections conflict; `no_agreement`: both gave up."""
    my_share: Triple | None
    """What the reader of this line got; None where nothing was agreed."""
    partner_share: Triple | None
    line: int


def tagged_dialogue(line: Line) -> Dialogue:
    """The dialogue of a tagged line."""
    fields = _TAGGED.fullmatch(line.text)
    if fields is None:
        absent = [f"<{mark}>" for tag in TAGS for mark in (tag, f"/{tag}") if f"<{mark}>" not in line.text]
        problem = f"a line without {', '.join(absent)}" if absent else quoted(line.text)
        raise line.error("'<input> … </input> <dialogue> … </dialogue> <output> … </output> <partner_input> … </partner_input>'", problem)
    mine, speech, output, theirs = fields.groups()
    context = shared_context(line, side_input(line, mine), side_input(line, theirs))
    speech, selection, rest = speech.partition("<selection>")
    if not selection or rest:
        raise line.error("a dialogue that ends with '<selection>'", quoted(speech + selection + rest))
    return _ended(line, context, speech, *_tagged_ending(line, output, context))


def untagged_dialogue(line: Line) -> Dialogue:
    """The dialogue of an untagged line."""
    opening, selection, ending = line.text.partition("<selection>")
    if not selection:
        raise line.error("a dialogue that ends with '<selection>'", quoted(line.text))
    closing = _CLOSING.fullmatch(ending.strip())
    if closing is None:
        selections = "'item0=n item1=n item2=n', 'no agreement' or 'disconnect'"
        raise line.error(f"<selection>, then {selections}, '<eos> reward=n', 'agree' or 'disagree', and six whole numbers", quoted(ending))
    selected, status, theirs = closing.groups()
    speech = re.search(r"\b(YOU|THEM):", opening)
    numbers = opening[: speech.start()] if speech else opening
    context = shared_context(line, side_input(line, numbers), side_input(line, theirs))
    return _ended(line, context, opening[len(numbers) :], *_untagged_ending(line, selected, status, context))


def side_input(line: Line, text: str) -> SideInput:
    """Counts and values from six whole numbers."""
    words = text.split()
    expected = "six whole numbers, 'count value' for book, hat and ball"
    if len(words) != 6:
        raise line.error(expected, f"{len(words)}: {quoted(text.strip())}")
    for word in words:
        if not _WHOLE_NUMBER.fullmatch(word):
            raise line.error(expected, quoted(word))
    a, x, b, y, c, z = (int(word) for word in words)
    return (a, b, c), (x, y, z)


def shared_context(line: Line, mine: SideInput, theirs: SideInput) -> Context:
    """The context that two sides share, seen from the first."""
    if mine[0] != theirs[0]:
        raise line.error(f"the same counts on both sides, {_commas(mine[0])}", _commas(theirs[0]))
    return _checked(line, mine[0], mine[1], theirs[1])


def json_context(line: Line) -> Context:
    """The context of a JSON line."""
    try:
        content = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        raise line.error("a JSON object", quoted(line.text)) from error
    if not isinstance(content, dict):
        raise line.error(f"a JSON object with {', '.join(CONTEXT_KEYS)}", quoted(line.text))
    for key in content:
        if key not in CONTEXT_KEYS:
            raise DataError(line.path, str(UnknownKey("key", key, CONTEXT_KEYS)), line.number)
    for key in CONTEXT_KEYS:
        if key not in content:
            raise line.error(f"the keys {', '.join(CONTEXT_KEYS)}", f"no {key!r}")
    counts, mine, theirs = (three_numbers(line, key, content[key]) for key in CONTEXT_KEYS)
    return _checked(line, counts, mine, theirs)


def three_numbers(line: Line, name: str, values: Any) -> Triple:
    """A list of three whole numbers; true and false are none."""
    if not isinstance(values, list) or len(values) != 3 or any(type(value) is not int for value in values):
        raise line.error(f"{name} as a list of three whole numbers, one per item type", quoted(str(values)))
    return (values[0], values[1], values[2])


def _checked(line: Line, counts: Triple, mine: Triple, theirs: Triple) -> Context:
    try:
        return Context(counts, mine, theirs)
    except InvalidContext as error:
        raise DataError(line.path, str(error), line.number) from error


def _ended(line: Line, context: Context, speech: str, outcome: DialogueOutcome, my_share: Triple | None) -> Dialogue:
    """The dialogue with its shares: what one side gets, the other leaves."""
    partner_share = None if my_share is None else rest_of(context.counts, my_share)
    return Dialogue(context, _utterances(line, speech), outcome, my_share, partner_share, line.number)


def _utterances(line: Line, speech: str) -> tuple[tuple[Speaker, str], ...]:
    """Who said what; the last piece only says who made the selection."""
    *said, selecting = (piece.strip() for piece in speech.split("<eos>"))
    if selecting not in ("YOU:", "THEM:"):
        raise line.error("'YOU: <selection>' or 'THEM: <selection>' after the last '<eos>'", quoted(selecting))
    return tuple(_utterance(line, piece) for piece in said)


def _utterance(line: Line, piece: str) -> tuple[Speaker, str]:
    speaker, _, words = piece.partition(" ")
    if speaker == "YOU:":
        return "YOU", words
    if speaker == "THEM:":
        return "THEM", words
    raise line.error("every utterance to begin with 'YOU:' or 'THEM:'", quoted(piece))


def _tagged_ending(line: Line, output: str, context: Context) -> tuple[DialogueOutcome, Triple | None]:
    words = output.split()
    expected = "an output of 'item0=n item1=n item2=n' for either side, or six times " + ", ".join(OUTPUT_WORDS)
    if len(words) != 6:
        raise line.error(expected, quoted(output))
    if words[0] in OUTPUT_WORDS and len(set(words)) == 1:
        return OUTPUT_WORDS[words[0]], None
    mine, theirs = (_share(line, " ".join(half), context, expected) for half in (words[:3], words[3:]))
    if rest_of(context.counts, mine) != theirs:
        raise line.error(f"shares that add up to the pool {_commas(context.counts)}", f"{_commas(mine)} and {_commas(theirs)}")
    return "agreed", mine


def _untagged_ending(line: Line, selected: str, status: str, context: Context) -> tuple[DialogueOutcome, Triple | None]:
    """A broken connection counts before conflicting selections, and those before giving up, as in the tagged files."""
    if selected == "disconnect":
        return "disconnected", None
    if status == "disagree":
        return "disagreed", None
    if selected == "no agreement":
        return "no_agreement", None
    return "agreed", _share(line, selected, context, "a selection 'item0=n item1=n item2=n'")


def _share(line: Line, text: str, context: Context, expected: str) -> Triple:
    items = _ITEMS.fullmatch(text)
    if items is None:
        raise line.error(expected, quoted(text))
    share = (int(items[1]), int(items[2]), int(items[3]))
    if min(rest_of(context.counts, share)) < 0:
        raise line.error(f"a share within the pool {_commas(context.counts)}", _commas(share))
    return share


def _commas(numbers: Triple) -> str:
    return ",".join(str(number) for number in numbers)


def quoted(text: str) -> str:
    """What stands in the file, cut where it is long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}…")
