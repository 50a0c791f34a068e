"""Acts: what an utterance does in the game, given the offer it makes, if any.

An offer is a PROPOSE; the speaker's own last one again is an INSIST; the other side's last one in one's own words is an AGREE. Without an
offer, words decide: assent to the offer that stands (AGREE), refusal (DISAGREE), and the wish to stop talking and select (END). What is
none of these (greetings, questions, talk of values) has no act.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeworth.games.bargaining.dialogue_acts.offers import EARLIER, Evidence, Offer, View
from edgeworth.games.bargaining.dialogue_acts.words import word_set
from edgeworth.games.bargaining.vocabulary import Act

Phrases = tuple[tuple[str, ...], ...]


def _phrases(text: str) -> Phrases:
    """Phrases from a line that separates them by commas."""
    return tuple(tuple(phrase.split()) for phrase in text.split(","))


FIRM_ASSENT = _phrases(
    "deal,yes,sure,agree,agreed,fine,accept,accepted,works,absolutely,definitely,go for it,take it,live with that,live with it,very well,"
    "allow that,gladly,no problem,no worries,not bad,why not,go with that"
)
MILD_ASSENT = _phrases(
    "ok,perfect,great,cool,work,done,good,sounds,fair,reasonable,acceptable,awesome,excellent,correct,wonderful,right,exactly,beautiful,"
    "do that,do it,make that,got it,true"
)
FIRM_REFUSAL = _phrases(
    "no deal,no way,no can do,too much,not work,not fair,unfair,reject,rejected,refuse,disagree,deal breaker,bad deal,worse deal,"
    "impossible,absolutely not,definitely not"
)
MILD_REFUSAL = _phrases("no,not,never,sorry,unfortunately,neither")
NO_REFUSAL = _phrases("no problem,no worries,not bad,why not,no prob,no value,no use,no points")
ENDING = _phrases(
    "submit,click,button,impasse,impass,stalemate,standoff,no agreement,walk away,end this,end it,end the,done here,waste of,move on,"
    "call it,hit the,press the,selection"
)
BREAKS = word_set(". , ! ? ; but so since then though because")
"""A refusal reaches no further than the next of these words."""

CONFIDENCE = {
    Evidence.SAID: 0.98,
    Evidence.REMAINDER: 0.97,
    Evidence.STANDING: 0.83,
    Evidence.BARE_LIST: 0.80,
    Evidence.MENDED: 0.70,
    Evidence.VAGUE: 0.50,
    Evidence.GUESS: 0.40,
}
"""How often the last offer of an agreed dialogue was the deal, by what it rests on: rounded from the training dialogues, except for GUESS,
which is too rare there and is our own guess."""
PLAIN, DOUBTFUL, NO_ACT = 0.9, 0.6, 0.5
"""Confidence of an act without an offer: by plain words, by words that point both ways, by the absence of words. Judged, not measured."""


@dataclass(frozen=True)
class Judgement:
    """An act, with how sure it is; None where the utterance does nothing in the game."""

    act: Act | None
    confidence: float


def judge(words: Sequence[str], offer: Offer | None, view: View) -> Judgement:
    """The act of an utterance."""
    if offer is not None:
        return Judgement(_act_of_offer(words, offer, view), CONFIDENCE[offer.evidence])
    firm, mild, refused = _assents(words, FIRM_ASSENT), _assents(words, MILD_ASSENT), refuses(words)
    if _has(words, ENDING) and not firm:
        return Judgement(Act.END, DOUBTFUL)
    if _has(words, FIRM_REFUSAL) or (refused and not firm):
        return Judgement(Act.DISAGREE, DOUBTFUL if firm or mild else PLAIN)
    if firm or mild:
        return _assent(words, refused, view)
    return Judgement(None, NO_ACT)


def _assent(words: Sequence[str], refused: bool, view: View) -> Judgement:
    """Assent means the offer that stands; after "no deal" it means to part; with a question mark, after one's own offer, it insists."""
    if view.given_up:
        return Judgement(Act.DISAGREE, DOUBTFUL)
    if view.standing is None:
        return Judgement(None, NO_ACT)
    if "?" in words and view.standing in view.mine[-1:] and view.standing not in view.theirs[-1:]:
        return Judgement(Act.INSIST, DOUBTFUL)
    return Judgement(Act.AGREE, DOUBTFUL if refused or "?" in words else PLAIN)


def _act_of_offer(words: Sequence[str], offer: Offer, view: View) -> Act:
    """Whether an offer is new, one's own again, or the other side's, confirmed."""
    assents = (_assents(words, FIRM_ASSENT) or _assents(words, MILD_ASSENT)) and not refuses(words)
    if offer.share in view.theirs[-1:] or (assents and (offer.share == view.standing or _names_offer(words, offer, view))):
        return Act.AGREE
    return Act.INSIST if offer.share in view.mine[-1:] else Act.PROPOSE


def _names_offer(words: Sequence[str], offer: Offer, view: View) -> bool:
    """Whether an offer of the other side is accepted by its name, as in "your first offer"."""
    return offer.share in view.theirs and bool(EARLIER & set(words))


def refuses(words: Sequence[str]) -> bool:
    """Refusals: "no", "i can't do that", "that won't work", "too much"; but not "no problem"."""
    return _has(words, FIRM_REFUSAL) or (_has(words, MILD_REFUSAL) and not _has(words, NO_REFUSAL))


def gives_up(words: Sequence[str]) -> bool:
    """Farewells without a deal: "no deal then", "we are at an impasse"."""
    return _has(words, (("no", "deal"), *ENDING))


def _assents(words: Sequence[str], phrases: Phrases) -> bool:
    """Assent: "deal", "that works", "i can do that"; not where a refusal stands before it in the clause ("i can't do that")."""
    return any(_at(words, phrase, at) and not _negated(words, at) for phrase in phrases for at in range(len(words)))


def _negated(words: Sequence[str], at: int) -> bool:
    for word in reversed(words[:at]):
        if word in BREAKS:
            return False
        if word in ("no", "not", "never"):
            return True
    return False


def _has(words: Sequence[str], phrases: Phrases) -> bool:
    return any(_at(words, phrase, at) for phrase in phrases for at in range(len(words)))


def _at(words: Sequence[str], phrase: tuple[str, ...], at: int) -> bool:
    return tuple(words[at : at + len(phrase)]) == phrase
