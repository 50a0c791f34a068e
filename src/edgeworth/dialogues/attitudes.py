"""Attitudes: whether words assent, refuse, or give up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edgeworth.dialogues.mentions import Element, Mention
from edgeworth.dialogues.words import word_set
from edgeworth.games.bargaining.vocabulary import Act

Phrases = tuple[tuple[str, ...], ...]


def _phrases(text: str) -> Phrases:
    """Phrases from a line that separates them by commas."""
    return tuple(tuple(phrase.split()) for phrase in text.split(","))


FIRM_ASSENT = _phrases(
    "deal,yes,sure,agree,agreed,fine,accept,accepted,works,absolutely,definitely,go for it,take it,live with that,live with it,very well,"
    "allow that,gladly,no problem,no worries,not bad,why not,go with that,bet,certainly,totally,happily,deal,approve,approved,"
    "take that,like it,like that,you win,sold,settled,go with yours,pleasure doing business,shake hands,i suppose so,i guess so"
)
MILD_ASSENT = _phrases(
    "ok,perfect,great,cool,work,done,good,sounds,fair,reasonable,acceptable,awesome,excellent,correct,wonderful,right,exactly,beautiful,"
    "do that,do it,make that,got it,true,sweet,lit,nice 1,alright,lovely,brilliant,happy with"
)
ANY_ASSENT = FIRM_ASSENT + MILD_ASSENT
FIRM_REFUSAL = _phrases(
    "no deal,no way,no can do,too much,not work,not fair,unfair,reject,rejected,refuse,disagree,deal breaker,bad deal,worse deal,"
    "impossible,absolutely not,definitely not,ridiculous,decline,declined,nonsense,insulting,insult,joke,outrageous,greedy,terrible,"
    "awful,worse,no chance,pass on,unacceptable,not acceptable,not accept,lame,wack,bs"
)
MILD_REFUSAL = _phrases("no,not,never,sorry,unfortunately,neither")
NO_REFUSAL = _phrases("no problem,no worries,not bad,why not,no prob,no value,not value,no use,no points")
ENDING = _phrases(
    "submit,click,button,impasse,impass,stalemate,standoff,no agreement,walk away,end this,end it,end the,done here,waste of,move on,"
    "leaving the table,leave the table,goodbye,call it,hit the,press the,selection,select,quit,nowhere,give up,wrap this up,"
    "wrap it up,end here,stop here,stop this,finish this,done negotiating,done bargaining,no point in,let us stop,lets stop,lets finish,"
    "lets end"
)
SMALL_TALK = _phrases(
    "good morning,good afternoon,good evening,good night,good day,good luck,good game,great game,good question,great question,lovely day,"
    "great day,perfect day,big deal,real deal,deal with it,what is the deal"
)
"""Words of assent that assent to nothing."""
DEMAND = re.compile(
    r"(\b(want|need|prefer|would like|insist on|propose|offer|how about|find|(give|make|offer) (me|us)) (a|something)|\blets be|^be)"
    r" (fair|reasonable|better|good|great|acceptable)\b"
)
POSTPONING = _phrases("let me think,let me see,think about it,think it over,do not know,idk,no idea,hold on,one moment")
NAMED_ACTS = {
    Act.END: _phrases("final selection,my selection,i select"),
    Act.INSIST: _phrases("insist,i am insisting"),
    Act.PROPOSE: _phrases("i propose"),
}
"""Offers whose act is said in so many words."""
TAKING = word_set("accept accepting agree agreeing take taking settle settling")
WISHING = word_set("need want like care value worth use")
BREAKS = word_set(". , ! ? ; but so since then though because")
"""A refusal reaches no further than the next of these words."""


def refuses(words: Sequence[str]) -> bool:
    """Refusals: "no", "i can't do that", "that won't work", "too much"; but not "no problem"."""
    return has(words, FIRM_REFUSAL) or (has(words, MILD_REFUSAL) and not has(words, NO_REFUSAL))


def gives_up(words: Sequence[str]) -> bool:
    """Farewells without a deal: "no deal then", "we are at an impasse"."""
    return has(words, (("no", "deal"), *ENDING))


def postpones(words: Sequence[str]) -> bool:
    """Whether the speaker decides nothing yet: "ok, let me think", "i don't know"."""
    return has(words, POSTPONING)


def demands(words: Sequence[str]) -> bool:
    """Whether words of assent say what the speaker would like: "i want a fair deal", "propose something reasonable"."""
    return DEMAND.search(" ".join(words)) is not None


def without_small_talk(words: Sequence[str]) -> list[str]:
    """The words without remarks that only sound like assent: "good morning", "what a lovely day"."""
    said = {at + n for phrase in SMALL_TALK for at in range(len(words)) if _at(words, phrase, at) for n in range(len(phrase))}
    return [word for at, word in enumerate(words) if at not in said]


def rejects(elements: Sequence[Element], firmly: bool = False) -> bool:
    """Whether a clause rejects something, other than by a remark on values: "so no", "that won't work", "i'm not accepting the hat".

    Assent in a later clause takes it back. Firmly: in every clause that names items.
    """
    clauses: list[list[Element]] = [[]]
    for element in elements:
        clauses.append([]) if element in BREAKS else clauses[-1].append(element)
    if not firmly:
        last = max((at for at, clause in enumerate(clauses) if _rejects(clause)), default=None)
        return last is not None and not any(assents(_words(clause), ANY_ASSENT) for clause in clauses[last + 1 :])
    naming = [clause for clause in clauses if any(isinstance(element, Mention) for element in clause)]
    return all(has(_words(clause), FIRM_REFUSAL) or _takes_not(_words(clause)) for clause in naming)


def _words(clause: Sequence[Element]) -> list[str]:
    return [element for element in clause if isinstance(element, str)]


def _rejects(clause: Sequence[Element]) -> bool:
    words = _words(clause)
    if has(words, FIRM_REFUSAL):
        return True
    if not {"no", "not", "never"} & set(words) or has(words, NO_REFUSAL):
        return False
    return _takes_not(words) if len(words) < len(clause) else not WISHING & set(words)


def _takes_not(words: Sequence[str]) -> bool:
    """ "not accepting", "not going to take", "no to"."""
    nots = [at for at, word in enumerate(words) if word in ("not", "never")]
    return any(TAKING & set(words[at + 1 : at + 4]) for at in nots) or has(words, (("no", "to"),))


def assents(words: Sequence[str], phrases: Phrases) -> bool:
    """Assent: "deal", "that works", "i can do that"; not where a refusal stands before it in the clause ("i can't do that")."""
    return any(_at(words, phrase, at) and not _negated(words, at) for phrase in phrases for at in range(len(words)))


def _negated(words: Sequence[str], at: int) -> bool:
    for word in reversed(words[:at]):
        if word in BREAKS:
            return False
        if word in ("no", "not", "never"):
            return True
    return False


def has(words: Sequence[str], phrases: Phrases) -> bool:
    """Whether one of these phrases occurs."""
    return any(_at(words, phrase, at) for phrase in phrases for at in range(len(words)))


def _at(words: Sequence[str], phrase: tuple[str, ...], at: int) -> bool:
    return tuple(words[at : at + len(phrase)]) == phrase
