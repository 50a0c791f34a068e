"""Moves as sentences, in several tones; the parser (`acts.py`) reads every one of them back as exactly the move it came from.

The wording is drawn from the key of the episode and the number of the move. A wording that would not be read back where the negotiation
stands (a proposal of one's own last offer sounds like insisting) gives way to the next, and at last to one that names its act.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np

from edgeworth.dialogues.acts import Conversation
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES, LOST_TURN, Act, Side
from edgeworth.seeding import draw

Tone = Literal["plain", "friendly", "firm", "casual"]
TONES: tuple[Tone, ...] = get_args(Tone)
WORDING = 64
"""What the draw of a wording is for; no draw of the game has this purpose."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

SPLITS: dict[Act, dict[Tone, tuple[str, ...]]] = {
    Act.PROPOSE: {
        "plain": ("I would like {mine}. You can have {theirs}.", "How about this: {split}.", "I'll take {mine}, and you take {theirs}."),
        "friendly": (
            "I'd love to have {mine}, and you can have {theirs}.",
            "Here is an idea: {split}.",
            "May I have {mine}? You get {theirs}.",
        ),
        "firm": ("I want {mine}. You get {theirs}.", "Here is my offer: {split}.", "I need {mine}, and you get {theirs}."),
        "casual": ("hey, how about {split}", "gimme {mine} and you can keep {theirs}", "i'll grab {mine}, you take {theirs}"),
    },
    Act.INSIST: {
        "plain": ("I have to insist: {split}.", "I insist on this: {split}."),
        "friendly": ("I'm sorry to insist, but I would really like {mine}. You can have {theirs}.", "Please, I insist: {split}."),
        "firm": ("I insist. {split}.", "I must insist: I need {mine}. You get {theirs}."),
        "casual": ("gotta insist: {split}", "i insist, gimme {mine} and you can keep {theirs}"),
    },
    Act.END: {
        "plain": ("My final selection: {split}.",),
        "friendly": ("Let's settle it, my final selection: {split}.",),
        "firm": ("This is my final selection. {split}.",),
        "casual": ("ok, final selection: {split}",),
    },
}
"""Offers, by tone; {split} says who gets what in one go. Where a side gets nothing, only the wordings with {split} are used."""
ANSWERS: dict[Act, dict[Tone, tuple[str, ...]]] = {
    Act.AGREE: {
        "plain": ("Deal.", "Agreed.", "That works for me."),
        "friendly": ("That sounds great, deal!", "Perfect, I am happy to agree!"),
        "firm": ("Fine. Deal.", "I accept."),
        "casual": ("ok deal", "sure, works for me"),
    },
    Act.DISAGREE: {
        "plain": ("No deal, sorry.", "No, I can't accept that."),
        "friendly": ("I'm sorry, no deal for me.", "Sorry, that does not work for me, thanks anyway."),
        "firm": ("No deal.", "I refuse."),
        "casual": ("nah, no deal", "no way, sorry"),
    },
}
"""Acts without a share."""
NAMED = {
    Act.PROPOSE: ("I propose that {split}.", "I propose this: {split}."),
    Act.INSIST: ("I insist: {split}.",),
    Act.END: ("My final selection: {split}.",),
    Act.AGREE: ("Deal: {split}.",),
    Act.DISAGREE: ("No deal.",),
}
"""Wordings that are read back wherever the negotiation stands."""
SILENCE = "…"


def units_said(share: Sequence[int], pool: Sequence[int]) -> str:
    """A share in words: `two hats and the book`."""
    parts = [_item(n, pool[item], ITEM_NAMES[item]) for item, n in enumerate(share) if n]
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def _item(units: int, of: int, name: str) -> str:
    if units == 1:
        return f"the {name}" if of == 1 else f"one {name}"
    if units == of:
        return f"both {name}s" if units == 2 else f"all {NUMBERS[units]} {name}s"
    return f"{NUMBERS[units]} {name}s"


def conversation_of(pool: Triple, moves: Iterable[Move]) -> Conversation:
    """A conversation that has taken note of moves, as if they had been made without words."""
    conversation = Conversation(pool)
    for move in moves:
        note(conversation, move)
    return conversation


def note(conversation: Conversation, move: Move) -> None:
    """Take note of a move."""
    if move.share is not None:
        conversation.note_offer(Side(move.side), move.share)


def sentences(pool: Triple, moves: Sequence[Move], tone: Tone, key: int) -> tuple[str, ...]:
    """What was said with every move of a negotiation."""
    conversation, said = Conversation(pool), []
    for number, move in enumerate(moves):
        said.append(sentence(move, conversation, tone, key, number))
        note(conversation, move)
    return tuple(said)


def sentence(move: Move, conversation: Conversation, tone: Tone, key: int, number: int) -> str:
    """What the speaker of a move says where the conversation stands; `number` is the move's place in the episode with this key."""
    if move.act == LOST_TURN:
        return SILENCE
    act, share = Act(move.act), meant_share(move, conversation)
    bits = int(draw(np.uint64(key), number, WORDING, 0))
    named = [wording.lower().rstrip(".") for wording in NAMED[act]] if tone == "casual" else NAMED[act]
    for wording in (*_rotated((SPLITS | ANSWERS)[act][tone], bits), *_rotated(named, bits)):
        text = _filled(wording, share, conversation.pool)
        if text is not None and reads_back(text, move, conversation):
            return text
    raise AssertionError(f"{move} at {conversation.pool}: no wording is read back")  # the last wordings always are, and tests show it


def _rotated(wordings: Sequence[str], bits: int) -> list[str]:
    start = bits % len(wordings)
    return [*wordings[start:], *wordings[:start]]


def meant_share(move: Move, conversation: Conversation) -> Triple | None:
    """What the speaker gets under a move: the share it states, or that of the offer it accepts."""
    if move.act != Act.AGREE:
        return move.share
    theirs = conversation.offers_of(Side(1 - move.side))
    return rest_of(conversation.pool, theirs[-1]) if theirs else None


def reads_back(text: str, move: Move, conversation: Conversation) -> bool:
    """Whether the parser reads a text as exactly this move, and is sure of it."""
    reading = conversation.read(Side(move.side), text)
    return reading.sure and (reading.act, reading.share) == (move.act, meant_share(move, conversation))


def _filled(wording: str, share: Triple | None, pool: Triple) -> str | None:
    """A wording with the items in it; None where it needs a side to get something that gets nothing."""
    if "{" not in wording:
        return wording
    if share is None:
        return None
    rest = rest_of(pool, share)
    mine, theirs = units_said(share, pool), units_said(rest, pool)
    if "{split}" not in wording and not (mine and theirs):
        return None
    split = f"I get {mine}, and you get {theirs}" if mine and theirs else f"I get {mine}" if mine else f"you get {theirs}"
    text = wording.format(mine=mine, theirs=theirs, split=split)
    return text.lower() if wording[0].islower() else text[0].upper() + text[1:]
