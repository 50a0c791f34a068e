"""Dialogue acts: reads what people write while they bargain as acts and splits of the game, with a confidence.

    conversation = Conversation((1, 2, 3))
    conversation.hear(Side.AGENT, "i want the book and one hat")   # PROPOSE 1,1,0
    conversation.hear(Side.PARTNER, "ok")                          # AGREE   0,1,3
    conversation.last_offer                                        # (1, 1, 0): the agent's share

An utterance passes through `words` (spelling), `mentions` (which items, how many), `owners` (who gets them) and `offers` (a whole split).
An offer is a PROPOSE; the speaker's own last one again is an INSIST; the other side's last one in one's own words is an AGREE. Without an
offer, words decide: assent to the offer that stands (AGREE), refusal (DISAGREE), and the wish to stop talking and select (END). Anything
else (greetings, questions, remarks about values) has no act.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeworth.dialogues.attitudes import (
    ANY_ASSENT,
    ENDING,
    FIRM_ASSENT,
    FIRM_REFUSAL,
    MILD_ASSENT,
    NAMED_ACTS,
    assents,
    demands,
    gives_up,
    has,
    postpones,
    refuses,
    rejects,
    without_small_talk,
)
from edgeworth.dialogues.claims import Claim
from edgeworth.dialogues.confidence import DOUBTFUL, NO_ACT, PLAIN, SURE, is_known, of_act, of_offer
from edgeworth.dialogues.lines import Speaker
from edgeworth.dialogues.mentions import REST, Element, Mention, elements_of
from edgeworth.dialogues.offers import EARLIER, Evidence, Offer, View, offer_of, refuses_theirs, repeats_theirs
from edgeworth.dialogues.owners import claims_of
from edgeworth.dialogues.rewording import reworded
from edgeworth.dialogues.words import words_of
from edgeworth.games.bargaining.contexts import Triple, checked_triple, rest_of
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, Act, Side

SIDES: dict[Speaker, Side] = {"YOU": Side.AGENT, "THEM": Side.PARTNER}
"""The speakers of a released dialogue: the reader of the line is the agent."""


@dataclass(frozen=True)
class Judgement:
    """An act, with how sure it is; None where the utterance does nothing in the game."""

    act: Act | None
    confidence: float


def judge(words: Sequence[str], offer: Offer | None, view: View) -> Judgement:
    """The act of an utterance."""
    if offer is not None:
        act = _act_of_offer(words, offer, view)
        odd = bool({"?", "no", "not"} & set(words)) or not is_known(words)
        doubtful = act is Act.AGREE and odd and not assents(words, ANY_ASSENT)
        return Judgement(act, min(of_offer(offer.evidence, words), DOUBTFUL if doubtful else 1))
    found = _without_offer(words, view)
    return Judgement(found.act, of_act(found.confidence, words))


def _without_offer(words: Sequence[str], view: View) -> Judgement:
    """The act of words that offer nothing."""
    if postpones(words):
        return Judgement(None, NO_ACT)
    words = without_small_talk(words)
    firm, mild, refused = assents(words, FIRM_ASSENT), assents(words, MILD_ASSENT), refuses(words)
    if has(words, ENDING) and not firm:
        return Judgement(Act.END, DOUBTFUL)
    if has(words, FIRM_REFUSAL) or (refused and not firm):
        nothing_to_refuse = view.standing is None and not has(words, FIRM_REFUSAL)
        return Judgement(Act.DISAGREE, DOUBTFUL if firm or mild or nothing_to_refuse else PLAIN)
    if firm or mild:
        return _assent(words, refused or demands(words) or not (firm or is_known(words)), view)
    return Judgement(None, NO_ACT)


def _assent(words: Sequence[str], doubtful: bool, view: View) -> Judgement:
    """Assent means the offer that stands; after "no deal" it means to part; with a question mark, after one's own offer, it insists.

    It is doubtful beside a refusal or a demand, and where it is mild and there are unknown words ("lovely weather").
    """
    if view.given_up:
        return Judgement(Act.DISAGREE, DOUBTFUL)
    if view.standing is None:
        return Judgement(None, NO_ACT)
    if "?" in words and view.standing in view.mine[-1:] and view.standing not in view.theirs[-1:]:
        return Judgement(Act.INSIST, DOUBTFUL)
    return Judgement(Act.AGREE, DOUBTFUL if doubtful or "?" in words else PLAIN)


def _act_of_offer(words: Sequence[str], offer: Offer, view: View) -> Act:
    """What the speaker calls it ("i propose", "i insist"); else whether it is new, one's own again, or the other side's, confirmed."""
    for act, phrases in NAMED_ACTS.items():
        if has(words, phrases):
            return act
    assented = (assents(words, FIRM_ASSENT) or assents(words, MILD_ASSENT)) and not refuses(words)
    if offer.share in view.theirs[-1:] or (assented and (offer.share == view.standing or _names_offer(words, offer, view))):
        return Act.AGREE
    return Act.INSIST if offer.share in view.mine[-1:] else Act.PROPOSE


def _refused(elements: Sequence[Element], claims: Sequence[Claim], offer: Offer, view: View) -> bool:
    """Whether what is named is the other side's offer, and named to refuse it: "then i'd be left with a hat, so no"."""
    if offer.share in view.theirs[-1:] or not any(offer.share):
        return rejects(elements)
    if repeats_theirs(claims, view):
        return rejects(elements, firmly=True)
    return refuses_theirs(claims, view) and offer.share not in view.mine[-1:]


def _names_offer(words: Sequence[str], offer: Offer, view: View) -> bool:
    """Whether an offer of the other side is accepted by its name, as in "your first offer"."""
    return offer.share in view.theirs and bool(EARLIER & set(words))


@dataclass(frozen=True)
class Reading:
    """What an utterance does: its act and the split it states."""

    side: Side
    act: Act | None
    """None where it is no move of the game: a greeting, a question, a remark about values."""
    share: Triple | None
    """The speaker's units; the other side gets the rest. Of an AGREE or END, under the offer that stands."""
    confidence: float
    """In [0, 1]: of an offer, how often one read on such evidence was the deal in the end."""
    evidence: Evidence | None
    """What the split rests on, where the utterance states one itself."""

    @property
    def sure(self) -> bool:
        """Whether it is a move that can be made without asking back."""
        return self.act is not None and self.confidence >= SURE


class Conversation:
    """A conversation read utterance by utterance, each in the light of the pool and of the offers before it."""

    def __init__(self, pool: Triple) -> None:
        self.pool = checked_triple("pool", pool, COUNT_LIMIT)
        self.readings: list[Reading] = []
        self._offers: list[tuple[Side, Triple]] = []
        """Who offered, and the agent's share."""
        self._last_item: int | None = None
        self._gave_up: Side | None = None
        """Who has just said that there is no deal."""

    @property
    def last_offer(self) -> Triple | None:
        """The agent's share under the last offer, whoever made it; None before the first."""
        return self._offers[-1][1] if self._offers else None

    def hear(self, side: Side, text: str) -> Reading:
        """Read one utterance."""
        words = reworded(words_of(text))
        elements = elements_of(words, self.pool, self._last_item)
        view = self._view(side)
        claims = claims_of(elements, self.pool)
        offer = offer_of(words, claims, view)
        refused = bool(claims) and offer is not None and _refused(elements, claims, offer, view)
        offer = None if refused else offer
        judgement = Judgement(Act.DISAGREE, PLAIN) if refused else judge(words, offer, view)
        if offer is not None:
            self._offers.append((side, self._seen_by(side, offer.share)))
        self._gave_up = side if offer is None and gives_up(words) else None
        items = [e.item for e in elements if isinstance(e, Mention) and e.item != REST]
        self._last_item = items[-1] if items else self._last_item
        accepted = view.standing if judgement.act in (Act.AGREE, Act.END) else None
        share, evidence = (accepted, None) if offer is None else (offer.share, offer.evidence)
        self.readings.append(Reading(side, judgement.act, share, judgement.confidence, evidence))
        return self.readings[-1]

    def read(self, side: Side, text: str) -> Reading:
        """Read one utterance without taking note of it."""
        listener = Conversation(self.pool)
        listener._offers, listener._last_item, listener._gave_up = list(self._offers), self._last_item, self._gave_up
        return listener.hear(side, text)

    def offers_of(self, side: Side) -> tuple[Triple, ...]:
        """The offers that a side has made, as its own share, in order."""
        return self._view(side).mine

    def note_offer(self, side: Side, share: Triple) -> None:
        """Take note of an offer that was made without words, as the offering side's own share."""
        self._offers.append((side, self._seen_by(side, share)))

    def _view(self, side: Side) -> View:
        offers = [(who, self._seen_by(side, share)) for who, share in self._offers]
        mine, theirs = (tuple(share for who, share in offers if (who == side) == own) for own in (True, False))
        return View(self.pool, offers[-1][1] if offers else None, mine, theirs, self._gave_up not in (None, side))

    def _seen_by(self, side: Side, share: Triple) -> Triple:
        """Turn a side's share into the agent's, or the agent's into the side's."""
        return share if side == Side.AGENT else rest_of(self.pool, share)


def read_conversation(pool: Triple, utterances: Iterable[tuple[Speaker, str]]) -> Conversation:
    """Read all utterances of a released dialogue."""
    conversation = Conversation(pool)
    for speaker, text in utterances:
        conversation.hear(SIDES[speaker], text)
    return conversation
