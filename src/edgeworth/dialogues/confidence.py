"""Confidence: how far a reading is to be trusted, by what it rests on and by the words that no rule knows.

The confidence of an offer is a measured share, by what it rests on and by whether the words are plain: all of them known to some rule, and
no negation, correction or remark on values among them. It is how often the last offer of an agreed training dialogue was the deal, or how
often our own sentences were right at their first reading, whichever is lower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from edgeworth.dialogues import attitudes, mentions, offers, remarks, rewording, verbs
from edgeworth.dialogues.offers import Evidence
from edgeworth.dialogues.words import word_set

OFFER = {
    Evidence.SAID: (0.98, 0.92),
    Evidence.REMAINDER: (0.93, 0.85),
    Evidence.STANDING: (0.86, 0.60),
    Evidence.BARE_LIST: (0.81, 0.68),
    Evidence.MENDED: (0.70, 0.70),
    Evidence.VAGUE: (0.57, 0.57),
    Evidence.GUESS: (0.40, 0.40),
}
"""Of an offer, by what it rests on: in plain words, and in others. GUESS is too rare there and is our own guess."""
PLAIN, DOUBTFUL, NO_ACT = 0.9, 0.6, 0.5
"""Of an act without an offer: by plain words, by words that point both ways, by the absence of words. Judged, not measured."""
UNKNOWN = 0.8
"""Of such an act at most, where a word is unknown."""
SURE = 0.75
"""Below this confidence the lab asks back instead of making the move."""

COMMON = word_set(
    "insist propose final selection settle happy thanks talking anyway "
    "a able about actually after afternoon again ah ahead along also always am amount an and answer any anyone anything are as at"
    " away back be because been before begin being best better bit both bro buddy by came case cheers clear come could day did do does"
    " doing done down dude each else end enough even evening ever every everyone exchange fam far feel few find first for friend from"
    " fun game getting glad go goes going gone good great guess guy had haha happen happy hard has have having he hello help her here"
    " hey hi him his hm hmm hope how however i idea if in into is it item items just kind know last later least let lets little lol"
    " long look lot love lovely ma made make makes man many mate may maybe me mean meant might mind mine more morning most mr much"
    " must my myself name never new next nice night nothing now number of off oh ok old on once one only or other our out over own pal"
    " people perhaps please point points possible pretty probably provided put quite rather ready really return right said same say"
    " saying see seem seems shall she should side since sir so some something soon sorry sound start still stuff such suggest suit"
    " sure take taking tell than thank thanks that the their them then there these they thing things think this those though thought"
    " through time to today together too total totally try two type types uh um under until up upon us use used very wait want was way"
    " we well were what whatever when where which while who whole why will willing wish with without wonder work would wow yet you"
    " your yours yourself"
)
"""Words that change nothing in what is offered."""


def _rule_words() -> frozenset[str]:
    """Every word that some rule reads."""
    found: set[str] = set(COMMON) | {rewording.CORRECT, rewording.CANCEL, "evenly", "only", "which", "who", "why", "what", "how", "let"}
    for module in (attitudes, mentions, offers, remarks, verbs):
        for value in vars(module).values():
            if isinstance(value, frozenset | dict):
                found |= {word for word in value if isinstance(word, str)}
            elif isinstance(value, tuple):
                found |= {word for phrase in value if isinstance(phrase, tuple) for word in phrase}
    return frozenset(found | set(rewording.NEGATIONS | rewording.BAD))


KNOWN = _rule_words()
HARD = (
    remarks.WORTH | verbs.EXCEPTIONS - {"but"} | rewording.NEGATIONS | {rewording.CORRECT, rewording.CANCEL, "without", "or", "0", "sorry"}
)
"""Words that change what others mean: remarks on values, exceptions, negations and corrections."""


def is_known(words: Iterable[str]) -> bool:
    """Whether every word is read by some rule, or is a common one."""
    return all(word in KNOWN for word in words if word.isalpha())


def is_plain(words: Sequence[str]) -> bool:
    """Whether every word is known, and none of them changes what others mean."""
    return is_known(words) and not HARD & set(words) and not any("/" in word for word in words)


def of_offer(evidence: Evidence, words: Sequence[str]) -> float:
    """The confidence of an offer that rests on this evidence; a number before an unknown word may count anything ("2 blas")."""
    confidence = OFFER[evidence][not is_plain(words)]
    return min(confidence, DOUBTFUL) if any(a.isdigit() and not is_known([b]) for a, b in pairwise(words)) else confidence


def of_act(confidence: float, words: Sequence[str]) -> float:
    """The confidence of an act without an offer, no higher than its words allow."""
    return confidence if is_known(words) else min(confidence, UNKNOWN)
