"""Understanding: a sentence as the next move of a negotiation, or a question back.

`play`, `talk`, the lab page, the route `/bargaining/parse` and agents that write text all read words through `understand`. A reading that
is not sure makes no move: it asks, with what it would have been as a guess that the speaker can confirm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeworth.dialogues.acts import Conversation, Reading
from edgeworth.dialogues.offers import Evidence
from edgeworth.dialogues.sentences import conversation_of
from edgeworth.dialogues.wording import share_words
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.history import ACTS_WITH_SHARE, Move
from edgeworth.games.bargaining.vocabulary import Act, Side

NO_MOVE = "I read no move in this: say who gets which items, or accept, or refuse."
MEANINGS = {
    Act.PROPOSE: "you get {}",
    Act.INSIST: "you get {}",
    Act.AGREE: "you accept and get {}",
    Act.DISAGREE: "you refuse, without a deal",
    Act.END: "you end the negotiation and select {} for yourself",
}
REMEDIES = {
    Evidence.GUESS: "Say who gets each of the three items.",
    Evidence.MENDED: "What you said does not add up to the pool.",
    Evidence.VAGUE: "Say how many of each you want.",
    Evidence.BARE_LIST: "Say whether that is for you.",
    Evidence.STANDING: "Say the whole split.",
}
"""What would make an unsure offer clear."""


@dataclass(frozen=True)
class Understood:
    """What a sentence means as a move."""

    reading: Reading
    move: Move | None
    """The move to make; None where there is none, where it is not legal, or where the reading is not sure."""
    guess: Move | None
    """Of an unsure reading, the move that it would be."""
    words: str
    """The move in words, the question, or why there is no move."""
    offered: Triple | None
    """What the speaker gets under the other side's last offer."""

    @property
    def share(self) -> Triple | None:
        """What the speaker would get; None without a move, and where it refuses."""
        move = self.move or self.guess
        return None if move is None else self.offered if move.act == Act.AGREE else move.share


def understand(text: str, pool: Triple, moves: Iterable[Move], legal: Sequence[int | bool], side: Side = Side.AGENT) -> Understood:
    """A sentence of a side, after these moves; `legal` says of each act whether the rules allow it now."""
    conversation = conversation_of(pool, moves)
    reading = conversation.read(side, text)
    theirs = conversation.offers_of(Side(1 - side))
    offered = rest_of(pool, theirs[-1]) if theirs and legal[Act.AGREE] else None
    meant = meant_move(reading, conversation, offered)
    if isinstance(meant, str):
        return Understood(reading, None, None, meant, offered)
    act = Act(meant.act)
    if not legal[act]:
        return Understood(reading, None, None, f"I read {act.name}, which the rules do not allow now.", offered)
    words = meaning(meant, offered)
    if reading.sure:
        return Understood(reading, meant, None, words, offered)
    remedy = REMEDIES.get(reading.evidence, "") if reading.evidence is not None else ""
    return Understood(reading, None, meant, f"I am not sure. Do you mean {words}? {remedy}".rstrip(), offered)


def meant_move(reading: Reading, conversation: Conversation, offered: Triple | None) -> Move | str:
    """The move that a reading means in the game, or why there is none."""
    act, share, side = reading.act, reading.share, reading.side
    if act is None:
        return NO_MOVE
    if act is Act.AGREE and share is not None and share != offered:
        act = Act.PROPOSE  # an assent to something else than the other side's last offer offers that
    if act is Act.INSIST and share is None:
        share = next(reversed(conversation.offers_of(side)), None)  # "ok?" after one's own offer
    if act in ACTS_WITH_SHARE and share is None:
        return f"I read {act.name}, but not which items are yours: say who gets what."
    return Move(side, act, share if act in ACTS_WITH_SHARE else None)


def meaning(move: Move, offered: Triple | None) -> str:
    """A move in words, as its speaker is told: `PROPOSE: you get 2 books`."""
    act = Act(move.act)
    gets = offered if act is Act.AGREE else move.share
    return f"{act.name}: " + MEANINGS[act].format(share_words(gets or (0, 0, 0)))
