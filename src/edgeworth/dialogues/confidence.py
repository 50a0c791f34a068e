"""Confidence: how far a reading is to be trusted, by what it rests on and by the words that no rule knows.

The confidence of an offer is a measured share: how often the last offer of an agreed training dialogue was the deal, by what it rests on
and by whether the utterance has words that no rule knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgeworth.dialogues import attitudes, mentions, offers, owners, rewording
from edgeworth.dialogues.offers import Evidence
from edgeworth.dialogues.words import word_set

OFFER = {
    Evidence.SAID: (0.98, 0.92),
    Evidence.REMAINDER: (0.97, 0.88),
    Evidence.STANDING: (0.86, 0.60),
    Evidence.BARE_LIST: (0.81, 0.68),
    Evidence.MENDED: (0.70, 0.70),
    Evidence.VAGUE: (0.57, 0.57),
    Evidence.GUESS: (0.40, 0.40),
}
"""Of an offer, by what it rests on: where every word is known, and where some are not. GUESS is too rare there and is our own guess."""
PLAIN, DOUBTFUL, NO_ACT = 0.9, 0.6, 0.5
"""Of an act without an offer: by plain words, by words that point both ways, by the absence of words. Judged, not measured."""
UNKNOWN = 0.8
"""Of such an act at most, where a word is unknown."""
SURE = 0.75
"""Below this confidence the lab asks back instead of making the move."""

COMMON = word_set(
    "a about after again am an and any anyone anything are as at away back be because been before begin best better bit both by came come"
    " could day did do does doing done down else end enough even ever everyone far feel few find first for friend from fun game glad go"
    " goes going gone good great guess guy had happen happy hard has have having he hello help her here hey hi him his hmm hope how i idea if"
    " in into is it just kind know last later least let lets little long look lot love lovely ma made make makes man many may maybe me mean"
    " might mind more morning most much must my myself name never new next nice nothing now of off oh ok old on once one only or other our out"
    " over own people perhaps please point points possible pretty probably put quite ready really right said same say see seem seems shall she"
    " should side since sir so some something soon sorry start still stuff such suggest suit sure take tell than thank thanks that the their"
    " them then there these they thing things think this those though thought through time to today together too totally try two"
    " type types under until up upon us use used very wait want was way we well were what whatever when where which while who whole why will wish"
    " with without wonder work would yet you your yours bro dude fam buddy mate pal haha lol um uh well ah wow cheers mr total amount number"
    " exchange return rather case sound along actually hm meant ahead mine saying however evening night afternoon answer clear"
    " each every item items type kind myself yourself getting having taking being else provided long willing able also always"
)
"""Words that change nothing in what is offered."""


def _rule_words() -> frozenset[str]:
    """Every word that some rule reads."""
    found: set[str] = set(COMMON) | {rewording.CORRECT, rewording.CANCEL, "evenly", "only", "which", "who", "why", "what", "how", "let"}
    for module in (attitudes, mentions, offers, owners):
        for value in vars(module).values():
            if isinstance(value, frozenset | dict):
                found |= {word for word in value if isinstance(word, str)}
            elif isinstance(value, tuple):
                found |= {word for phrase in value if isinstance(phrase, tuple) for word in phrase}
    return frozenset(found | set(rewording.NEGATIONS | rewording.BAD))


KNOWN = _rule_words()


def unknown_words(words: Iterable[str]) -> list[str]:
    """Words of an utterance that no rule reads and that are not common either."""
    return [word for word in words if word.isalpha() and word not in KNOWN]


def of_offer(evidence: Evidence, words: Sequence[str]) -> float:
    """The confidence of an offer that rests on this evidence."""
    return OFFER[evidence][bool(unknown_words(words))]


def of_act(confidence: float, words: Sequence[str]) -> float:
    """The confidence of an act without an offer, no higher than its words allow."""
    return min(confidence, UNKNOWN) if unknown_words(words) else confidence
