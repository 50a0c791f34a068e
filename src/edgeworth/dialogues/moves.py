"""Human dialogues as moves of the game: what was said and selected, as the acts by which the game would have gone the same way.

People talk freely and then select in silence; in the game every act binds. So what the parser reads of an utterance
(`acts.py`) becomes a move as follows.

| read | the move |
|---|---|
| PROPOSE, INSIST | the same, with the speaker's share |
| AGREE to the other side's last offer | AGREE, if it closed the dialogue |
| AGREE to an earlier offer, in words that state it | an offer of that split |
| DISAGREE or END as the last word, and no deal came | DISAGREE: the speaker walks away |
| DISAGREE before that | INSIST on the speaker's own last offer, because a refusal in words ends nothing |

An assent closed the dialogue if that split was the deal, or if no other offer came after it; where both sides gave up, it did not. What
was selected closes a dialogue that no word has closed: AGREE of the side whose partner's last offer is the deal; END with the deal, if
nobody's last offer is; DISAGREE where both gave up. Selections that clash are not in the data, so those dialogues stay open. Everything
else is left out, and counted by its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from edgeworth.dialogues.acts import SIDES, Reading, read_conversation
from edgeworth.dialogues.lines import Dialogue
from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.vocabulary import Act, Side

NOTHING: Triple = (0, 0, 0)


class Source(Enum):
    """Where a move comes from."""

    SAID = "said"
    REFUSED = "a refusal, as INSIST"
    SELECTED = "selected without a word"


class LeftOut(Enum):
    """Why an utterance, or a selection, is no move."""

    NO_ACT = "no act was read"
    WENT_ON = "an assent that closed nothing"
    OWN_OFFER = "an assent, but not to the other side's last offer"
    NO_OWN_OFFER = "a refusal by a side that has offered nothing"
    STOP = "a wish to stop that ended nothing"
    AFTER = "said after the deal was closed"
    LATE = "after the last turn"


@dataclass(frozen=True)
class Move:
    """One move of one side."""

    side: Side
    act: Act
    share: Triple
    """The speaker's units; zeros where the act states none."""
    source: Source


@dataclass(frozen=True)
class DialogueMoves:
    """A dialogue as moves, in order."""

    dialogue: Dialogue
    moves: tuple[Move, ...]
    left_out: Counter[LeftOut]


def dialogue_moves(dialogue: Dialogue, turns: int) -> DialogueMoves:
    """The moves of a dialogue, in a game of so many turns."""
    table = _Table(dialogue)
    readings = read_conversation(table.pool, dialogue.utterances).readings
    for number, reading in enumerate(readings):
        table.take(reading, readings[number + 1 :])
    if not table.closed:
        table.select(last_speaker=SIDES[dialogue.utterances[-1][0]] if dialogue.utterances else Side.PARTNER)
    late = max(0, len(table.moves) - turns)
    return DialogueMoves(dialogue, tuple(table.moves[:turns]), table.left_out + Counter({LeftOut.LATE: late}))


class _Table:
    """The state of the game while a dialogue is replayed."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue, self.pool = dialogue, dialogue.context.counts
        self.agreed = dialogue.outcome == "agreed"
        self.deal: dict[Side, Triple | None] = {Side.AGENT: dialogue.my_share, Side.PARTNER: dialogue.partner_share}
        self.offers: dict[Side, Triple] = {}
        """The last offer of each side, as its own share."""
        self.moves: list[Move] = []
        self.left_out: Counter[LeftOut] = Counter()
        self.closed = False

    def take(self, reading: Reading, later: Sequence[Reading]) -> None:
        """One utterance: a move, or a reason why it is none."""
        found = LeftOut.AFTER if self.closed else self._read(reading, later)
        if isinstance(found, LeftOut):
            self.left_out[found] += 1
        else:
            self._add(found)

    def _add(self, move: Move) -> None:
        self.moves.append(move)
        if move.act in (Act.PROPOSE, Act.INSIST):
            self.offers[move.side] = move.share
        else:
            self.closed = True

    def _read(self, reading: Reading, later: Sequence[Reading]) -> Move | LeftOut:
        side = reading.side
        if reading.act is None:
            return LeftOut.NO_ACT
        if reading.act in (Act.PROPOSE, Act.INSIST) and reading.share is not None:
            return Move(side, reading.act, reading.share, Source.SAID)
        if reading.act is Act.AGREE:
            return self._assent(reading, later)
        if reading.act is not Act.INSIST and not later and not self.agreed:
            return Move(side, Act.DISAGREE, NOTHING, Source.SAID)
        if reading.act is Act.END:
            return LeftOut.STOP
        if side not in self.offers:
            return LeftOut.NO_OWN_OFFER
        source = Source.REFUSED if reading.act is Act.DISAGREE else Source.SAID  # "ok?" after one's own offer is an INSIST without a split
        return Move(side, Act.INSIST, self.offers[side], source)

    def _assent(self, reading: Reading, later: Sequence[Reading]) -> Move | LeftOut:
        side, other = reading.side, _other(reading.side)
        if other in self.offers and reading.share == rest_of(self.pool, self.offers[other]):
            closes = self._closes(reading, later)
            return Move(side, Act.AGREE, NOTHING, Source.SAID) if closes else LeftOut.WENT_ON
        if reading.evidence is None:
            return LeftOut.OWN_OFFER
        again = self.offers.get(side) == reading.share
        return Move(side, Act.INSIST if again else Act.PROPOSE, _stated(reading), Source.SAID)

    def _closes(self, assent: Reading, later: Sequence[Reading]) -> bool:
        """Whether the dialogue was over with an assent to the other side's last offer."""
        if self.dialogue.outcome == "no_agreement":
            return False
        if self.agreed and assent.share == self.deal[assent.side]:
            return True
        stated = [(reading.side, _stated(reading)) for reading in later if reading.evidence]
        offers = [share if side == assent.side else rest_of(self.pool, share) for side, share in stated]
        return all(offer == assent.share for offer in offers)

    def select(self, last_speaker: Side) -> None:
        """The final selection of a dialogue that no word has closed."""
        following = _other(last_speaker)
        if self.dialogue.outcome == "no_agreement":
            self._add(Move(following, Act.DISAGREE, NOTHING, Source.SELECTED))
        if not self.agreed:
            return
        for side in (following, last_speaker):
            if _other(side) in self.offers and self.offers[_other(side)] == self.deal[_other(side)]:
                self._add(Move(side, Act.AGREE, NOTHING, Source.SELECTED))
                return
        self._add(Move(following, Act.END, self.deal[following] or NOTHING, Source.SELECTED))


def _other(side: Side) -> Side:
    return Side.PARTNER if side == Side.AGENT else Side.AGENT


def _stated(reading: Reading) -> Triple:
    """The share of an utterance that states one."""
    assert reading.share is not None
    return reading.share
