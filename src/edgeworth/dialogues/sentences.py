"""Moves as sentences that a person might say; the wording is drawn from the episode's seed and the number of the move.

Every sentence says the whole split, so that the parser (`acts.py`) reads the act and the share back. END is the exception: its words
name a final selection, which in conversation is an offer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import Move
from edgeworth.games.bargaining.vocabulary import ITEM_NAMES, LOST_TURN, Act
from edgeworth.seeding import draw, episode_key

WORDING = 64
"""What the draw of a wording is for; no draw of the game has this purpose."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

BOTH: dict[Act, tuple[str, ...]] = {
    Act.PROPOSE: (
        "I would like {mine}. You can have {theirs}.",
        "How about this: I get {mine} and you get {theirs}.",
        "I'll take {mine}, and you take {theirs}.",
        "Give me {mine} and you can keep {theirs}.",
    ),
    Act.INSIST: (
        "I really need {mine}. You get {theirs}.",
        "I have to insist: I get {mine}, you get {theirs}.",
        "I must have {mine}. You can have {theirs}.",
    ),
    Act.END: ("My final selection: I get {mine}, you get {theirs}.", "Let's settle it now: I take {mine}, you take {theirs}."),
}
"""Where each side gets something."""
ALL: dict[Act, tuple[str, ...]] = {
    Act.PROPOSE: ("I would like {mine}.", "I'd like to have {mine}, please.", "Could I get {mine}?"),
    Act.INSIST: ("I have to insist: I need {mine}.", "I must have {mine}."),
    Act.END: ("My final selection: I get {mine}.",),
}
"""Where the speaker asks for the whole pool."""
NOTHING: dict[Act, tuple[str, ...]] = {
    Act.PROPOSE: ("You can have {theirs}.", "You take {theirs}."),
    Act.INSIST: ("I insist: you get {theirs}.",),
    Act.END: ("My final selection: you get {theirs}.",),
}
"""Where the speaker asks for nothing."""
PLAIN: dict[int, tuple[str, ...]] = {
    Act.AGREE: ("Deal!", "Okay, deal.", "Agreed.", "That works for me."),
    Act.DISAGREE: ("No deal, sorry.", "Sorry, that does not work for me.", "No, I can't accept that."),
    LOST_TURN: ("…",),
}
"""Acts without a share."""


def units_said(share: Sequence[int], pool: Sequence[int]) -> str:
    """A share in words: `two hats and the book`."""
    parts = [_item(n, pool[item], ITEM_NAMES[item]) for item, n in enumerate(share) if n]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _item(units: int, of: int, name: str) -> str:
    if units == 1:
        return f"the {name}" if of == 1 else f"one {name}"
    if units == of:
        return f"both {name}s" if units == 2 else f"all {NUMBERS[units]} {name}s"
    return f"{NUMBERS[units]} {name}s"


def sentence(move: Move, pool: Triple, seed: int, number: int) -> str:
    """What the speaker of a move says; `number` is the move's place in the episode."""
    if move.share is None:
        return _chosen(PLAIN[move.act], seed, number)
    rest = rest_of(pool, move.share)
    table = BOTH if any(move.share) and any(rest) else ALL if any(move.share) else NOTHING
    shares = {"mine": units_said(move.share, pool) if any(move.share) else "", "theirs": units_said(rest, pool) if any(rest) else ""}
    return _chosen(table[Act(move.act)], seed, number).format(**shares)


def _chosen(wordings: Sequence[str], seed: int, number: int) -> str:
    bits = draw(np.uint64(episode_key(np.uint64(seed), np.uint64(0))), number, WORDING, 0)
    return wordings[int(bits) % len(wordings)]
