"""Rewording: turns of phrase put into the few plain words that the other rules read.

"everything apart from a hat"         everything except a hat
"anything but the hat is yours"       everything but the hat is yours
"i don't want anything but the book"  i want only the book
"i can't refuse that"                 i agree that
"50/50 on the balls"                  halve on the balls
"two hats, no wait, one hat"          two hats, (correct) one hat
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from edgeworth.dialogues.mentions import ITEMS
from edgeworth.dialogues.words import word_set

CORRECT, CANCEL = "(correct)", "(cancel)"
"""What stands in the place of words that take back a part of what was said before them, or all of it."""
HALVE = "halve"

PLAIN_WORDS = {
    "except": (
        "bar; minus; apart from; aside from; other than; except for; with the exception of; save for; excluding; not counting; leaving out"
    ),
    "everything": (
        "it all; all of it; all items; all the items; all of the items; every item; every single item; the lot; the whole lot; whole"
        " lot; the whole pool; whole pool; the entire pool; all the things; all things; the whole thing; all the stuff; all stuff; all"
        " of the stuff; all of the things; every single thing; every thing; every 1 item; every 1 thing; all of everything; each and"
        " every item; all of the above; the whole pile; whole pile; the entire pile; the whole bunch; whole bunch; the whole set; the"
        " entire set; the whole collection"
    ),
    "only": "nothing more; nothing else; that is all; nothing but; nothing except; nothing other than; none but",
    HALVE: (
        "50 / 50; 50 50; 50 , 50; even split; equal split; equal shares; equal parts; half and half; go halves; half for you; half"
        " for me; half of each; half each; halves; half of everything; split it down the middle; meet in the middle; go even; even"
        " steven; split evenly; split equally; divide evenly; divide equally; share equally; share evenly; equal division; even"
        " division; share and share alike; same number of each; same amount of each; equal number of each; equal numbers of each; equal"
        " amounts of each"
    ),
    "evenly": "in half; in halves; in 2; down the middle; equally; in equal parts; fair and square",
    CANCEL: (
        "scratch that; strike that; forget that; forget it; forget what i said; never mind; nevermind; ignore that; ignore my last"
        " message; ignore my last offer; ignore what i said; i take that back; take that back; changed my mind; cancel that; disregard"
        " that"
    ),
    CORRECT: (
        "no wait; no sorry; sorry no; actually no; let me rephrase; let me correct that; let me correct myself; hold on; wait no;"
        " i mean to say; i mean; i meant to say; i meant; meant to say; meant to write; meant to type; make that; make it; or rather;"
        " correction; oops; whoops; er; erm; on 2 thought; on second thought; on second thoughts; my mistake; my bad; or better;"
        " no , wait"
    ),
    "agree": (
        "that will do; i am game; i am in; i am down; i am on board; we are good; i am good with; i am ok with; i am happy with;"
        " count me in; not be better; not be happier; no doubt; say less; say no more; shake on it; suits me; you got it; you have got"
        " it; that is alright; not see why not; how could i refuse; how could i say no; how can i say no; not say no to that; not say"
        " no to this; not say no to it; not say no to your offer; no reason not to;"
        " not see why i would not; why would i not; why would not i; who would not; how could i not;"
        " be a fool not to; be foolish not to; be crazy not to; be mad not to; be stupid not to; be silly not to"
    ),
    "reject": (
        "get out of here; not enough; too little; too few; too many; are you kidding; you kidding; forget about it;"
        " are you joking; you joking; be"
        " joking; be kidding; you crazy; are you crazy; be reasonable; be serious; get real; hard pass; need to do better; have to do"
        " better; must do better; try again; rip off; not be serious; not serious; not be happy; not be joking; not be kidding; not"
        " happening; not going to happen; not cut it; not going to cut it; not a chance; no chance; dream on; in your dreams; not"
        " think so; hell no; no thanks; no thank you; not like that; not like this; not happy; not interested; not good; need more"
        " than that; want more than that; deserve more; deserve better; deserve something; make a better offer; offer me more; as if;"
        " not do it for me; over my dead body; you trippin; you tripping; your kidding;"
        " get lost; too steep; too high; too low; too lopsided; too one sided; not something i can; not something i could;"
        " not going to fly; not going to work; not going to do it; a no from me; that is a no; rather walk; rather leave; rather have"
        " nothing; rather get nothing; out of the question; not an option; that will not do; this will not do"
    ),
    "want only": "not want nothing but; not want nothing except; not need nothing but; not need nothing except",
    "perhaps": "not sure; not quite sure; not so sure",
    "really": "are you sure; you sure",
    "of each": "of every kind; of every type; of each kind; of each type; of every item; of each item",
    "need": (
        "not go lower than; not go below; not take less than; not accept less than; not settle for less than; not less than; no less"
        " than; nothing less than; require at least"
    ),
    "can you": "can not you; could not you; would not you; why do not you; why not you",
    "i do not value": "i have no use for; i have no need for; i have no interest in; no use for; no need for; i am not interested in",
    "you get everything": "it is all yours; it is yours all of it",
    "i get everything": "it is all mine",
    "split everything": "split it equally; split it evenly; split it in half; divide it equally; divide it evenly",
    "no": "no no; no no no; nuh uh; uh uh",
    "not value": "not interested in; not too keen on; not keen on; not fussed about; not after",
    "refuse": (
        "say no; turn that down; turn this down; turn it down; turn your offer down; turn down; pass that up; pass this up; pass it up;"
        " pass up"
    ),
    "i am": "no way am i not; no way i am not",
    "are mine": "are what i want; are what i need; are what i am after; is what i want; is what i need; is what i am after",
    "i get": "my share would be; my share is",
    "you get": "your share would be; your share is",
    "i never": "never would i; never will i; never could i",
    "not": "not like i can; not like i could; not as if i can; not as if i could",
    "": "not not",
    "take everything": "take whatever you like; take whatever you want; take anything you like; take anything you want",
    "give me": "hook me up with; hit me up with; set me up with",
    "ok": "okie dokie; okey dokey; okie dokey; all right; lets go",
    "get": "end up with; wind up with; come away with; walk away with; walk off with; am stuck with; be stuck with; get stuck with",
    "my previous offer": (
        "my offer stands; my offer still stands; stand by my offer; stick to my offer; sticking to my offer;"
        " stick with my offer; sticking with my offer; sticking with what i offered; my offer is still the same; my"
        " offer has not changed"
    ),
    "for me": "4 me",
    "for you": "4 you",
    "we could": "why do not we; why not we",
    "0": "none of; no part of",
    "want": "not say no to; not mind having; not mind getting; not mind taking; call dibs on; dibs on",
}
"""Plain words, and the phrases that mean them; numbers are digits and contractions are written out by now."""

NEGATIONS = word_set("no not never nothing hardly")
BAD = word_set(
    "refuse refusing object objection objections complain complaint complaints mind argue disagree unfair unreasonable wrong bad terrible"
    " issue issues problem problems against opposed decline hesitate qualms unhappy upset disappointed"
)
"""A negation before one of these is assent."""
BETWEEN = word_set("a an at all any to with it the that too have see real in is be anything so say i reason dream of")
"""Words that may stand between the two halves of a double negation."""
VERBS = word_set("want need like take require care wish")
FRACTIONS = {"third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4}


def _table(lines: Iterable[tuple[str, str]]) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Phrases by their first word, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for plain, phrases in lines:
        for phrase in phrases.split("; "):
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append((words, plain))
    return {first: sorted(entries, key=lambda entry: -len(entry[0])) for first, entries in found.items()}


PHRASES = _table(PLAIN_WORDS.items())


def reworded(words: Sequence[str]) -> list[str]:
    """An utterance in plain words."""
    found = _with_wish_apart(_with_whole_pools(_without_double_negation(list(_plain(list(_fractions(list(_counts(words)))))))))
    return ["reject" if _refuses_at_the_end(found, at) else word for at, word in enumerate(found)]


def _refuses_at_the_end(words: Sequence[str], at: int) -> bool:
    """ "one book? forget it", "only the books, so i'll pass"."""
    return (words[at] == CANCEL and _is_last(words, at)) or (words[at] == "pass" and not "".join(words[at + 1 : at + 2]).isalnum())


def _is_last(words: Sequence[str], at: int) -> bool:
    """Whether nothing but punctuation follows: "one book? forget it" refuses, and takes nothing back."""
    return not any(word.isalnum() for word in words[at + 1 :])


def _plain(words: Sequence[str]) -> Iterator[str]:
    """Phrases of the table, replaced from left to right."""
    at = 0
    while at < len(words):
        phrase, plain = next(
            (e for e in PHRASES.get(words[at], ()) if tuple(words[at : at + len(e[0])]) == e[0]), ((words[at],), words[at])
        )
        refused = plain == CORRECT and "no" in phrase and _is_last(words, at + len(phrase) - 1)
        yield from ["no"] if refused else plain.split()  # "sorry, no" takes nothing back where nothing else follows
        at += len(phrase)


def _without_double_negation(words: Sequence[str]) -> list[str]:
    """ "i can't refuse that" is assent; "i don't want anything but the hat" wants the hat."""
    found = list(words)
    for at, word in enumerate(found):
        if word not in NEGATIONS:
            continue
        end = at + 1
        while end < len(found) and found[end] in BETWEEN:
            end += 1
        if end < len(found) and found[end] in BAD:
            return [*found[:at], "agree", *_without_double_negation(found[end + 1 :])]
        verb, thing, exception = (*found[at + 1 : at + 4], "", "", "")[:3]
        if word == "not" and verb in VERBS and thing in ("anything", "nothing") and exception in ("but", "except"):
            return [*found[:at], verb, "only", *_without_double_negation(found[at + 4 :])]
    return found


def _with_whole_pools(words: Sequence[str]) -> list[str]:
    """ "anything but the hat" is everything but the hat, where nothing is refused; "anything but fair" names no item."""
    return [
        "everything"
        if word == "anything"
        and words[at + 1 : at + 2] in (["but"], ["except"])
        and ITEMS.keys() & set(words[at + 2 : at + 6])
        and not NEGATIONS & set(words[max(0, at - 6) : at])
        else word
        for at, word in enumerate(words)
    ]


def _with_wish_apart(words: Sequence[str]) -> list[str]:
    """ "i don't want a hat, just the ball": what is wanted becomes a sentence of its own."""
    return [
        ";" if word == "," and words[at + 1 : at + 2] in (["just"], ["only"]) and "not" in words[max(0, at - 6) : at] else word
        for at, word in enumerate(words)
    ]


def _counts(words: Sequence[str]) -> Iterator[str]:
    """Numbers before what they count: "hats: 2, balls: 0", "hats x2", "2x hats", "hats 2 balls 0"; and "tow hats"."""
    at, behind = 0, _have_numbers_behind(words)
    while at < len(words):
        word, following, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
        if word in ITEMS and following in (":", "x") and third.isdigit():
            yield from (third, word)
            at += 3
        elif word in ITEMS and behind:
            yield from (following, word)
            at += 2
        elif word.isdigit() and following == "x" and third in ITEMS:
            yield word
            at += 2
        else:
            yield "2" if word == "tow" and following in ITEMS else word
            at += 1


def _have_numbers_behind(words: Sequence[str]) -> bool:
    """Lists in which every item, of several, is followed by its number."""
    behind = [words[at + 1] if at + 1 < len(words) else "" for at, word in enumerate(words) if word in ITEMS]
    return len(behind) > 1 and all(word.isdigit() for word in behind)


def _fractions(words: Sequence[str]) -> Iterator[str]:
    """Fractions as one word: "1/3", "a third of", "three quarters of"."""
    at = 0
    while at < len(words):
        word, following, third = (words[at + n] if at + n < len(words) else "" for n in range(3))
        if word.isdigit() and following == "/" and third.isdigit() and 0 < int(word) <= int(third) < 10:
            yield f"{word}/{third}"
            at += 3
        elif (word.isdigit() or word == "a") and following in FRACTIONS:
            yield f"{word if word.isdigit() else 1}/{FRACTIONS[following]}"
            at += 2
        else:
            yield word
            at += 1
