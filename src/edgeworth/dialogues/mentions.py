"""Mentions: which items a person speaks of, and how many of each.

Understands numbers and articles ("2 hats", "a ball", "one of the hats"), whole types ("the hats", "both books", "all 3 balls"), what is
left of a type ("all the hats but one", "the other ball"), one of each type, pronouns for the type spoken of last ("both", "them", a bare
number), fractions ("1/3 of the hats"), vague amounts ("some hats"), and the rest of the pool ("the rest", "everything else") or all of it
("everything").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from edgeworth.dialogues.words import word_set
from edgeworth.games.bargaining.contexts import Triple

ITEMS = {"book": 0, "books": 0, "hat": 1, "hats": 1, "ball": 2, "balls": 2}
PLURALS = frozenset(("books", "hats", "balls"))
REST = -1
"""The item of a mention that means whatever else there is."""

ARTICLES = frozenset(("a", "an", "another", "any", "either"))
FILLERS = word_set(
    "the of those these that this your my our his remaining cowboy basket little nice lovely whole entire damn other extra just only own"
    " additional pretty cool blue out"
)
VAGUE_AMOUNTS = word_set("some few several most many lots plenty bunch more lot")
"""How many they are is for the other side to ask."""
MORE = word_set("more another extra additional")
WHOLE_AFTER = frozenset(("for", "to", "goes"))
"""After "all", these say that the whole pool is meant."""
REST_WORDS = frozenset(("rest", "everything", "others", "remaining", "remains", "leftovers", "leftover", "stuff"))
PRONOUNS = frozenset(("them",))
COUNTED_OTHERWISE = word_set("point points pts more times item items object objects things thing day way value worth additional other of")
"""After a number, these say that it does not count the items spoken of last."""
NOT_BOTH = word_set("of sides us get win items things will would are can have give want need")
NOT_COUNTING = word_set("worth value values valued score is are was that this no not other / which")
"""Before a number, these say that it is a worth, or no number at all ("that one")."""


@dataclass(frozen=True)
class Mention:
    """So many units of an item type, or the rest of the pool."""

    item: int
    units: int
    exact: bool
    """Whether the number was said, or there is no other it could be; of the rest, whether the whole pool is meant."""
    vague: bool = False
    """Whether nobody could tell the number from the words: "some hats"."""
    too_many: bool = False
    """Whether more were named than the pool has."""
    more: bool = False
    """Whether these come on top of what was offered: "one more hat"."""


Element = str | Mention


def elements_of(words: Sequence[str], pool: Triple, last_item: int | None) -> list[Element]:
    """The words, with mentions in the place of the words that make them."""
    found: list[Element] = []
    at = 0
    while at < len(words):
        mentions, length = _mentions_at(words, at, pool, last_item, found)
        if mentions:
            found.extend(mentions)
            last_item = next((m.item for m in reversed(mentions) if m.item != REST), last_item)
        else:
            found.append(words[at])
        at += max(1, length)
    return found


def _mentions_at(
    words: Sequence[str], at: int, pool: Triple, last_item: int | None, before: Sequence[Element]
) -> tuple[list[Mention], int]:
    """The mentions that begin at a word, and how many words they take."""
    for reader in (_all_but, _none_of, _counted, _one_of_each, _whole, _rest):
        mentions, length = reader(words, at, pool, before)
        if mentions:
            return mentions, length
    if last_item is None and words[at] == "all" and tuple(words[at + 1 : at + 3]) in (("of", "them"), ("of", "these"), ("of", "those")):
        return [Mention(REST, 0, True)], 3
    return _pronoun(words, at, pool, last_item)


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if 0 <= at < len(words) else ""


def _all_but(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """Exceptions: "all the hats but one" is of that type, "all but one hat" of the whole pool, with the hat still to be read."""
    if words[at] != "all":
        return [], 0
    here = at + 1
    while _word(words, here) in FILLERS or (_word(words, here).isdigit() and _word(words, here + 1) in ITEMS):
        here += 1
    item = ITEMS.get(_word(words, here))
    here += item is not None
    if _word(words, here) not in ("but", "except"):
        return [], 0
    if item is None:
        return [Mention(REST, 0, False)], here - at
    less = _word(words, here + 1)
    return ([Mention(item, max(0, pool[item] - int(less)), True)], here + 2 - at) if less.isdigit() else ([], 0)


def _none_of(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """Not even one: "not a hat", "not a single hat or ball"."""
    here = at + 1
    while _word(words, here) in ("a", "any", "1", "even", "of", "the"):
        here += 1
    if words[at] != "not" or here == at + 1 or _word(words, at - 1) == "why" or _word(words, here) not in ITEMS:
        return [], 0
    found = [Mention(ITEMS[words[here]], 0, True)]
    while _word(words, here + 1) in ("or", "nor") and _word(words, here + 2) in ITEMS:
        here += 2
        found.append(Mention(ITEMS[words[here]], 0, True))
    return found, here + 1 - at


def _counted(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """An item type with what counts it: number, article, "both", "all", "half", "no", "the other", or nothing."""
    here, number, whole, half, article, other, vague = at, None, False, False, False, False, False
    part: Fraction | None = None
    while here < len(words) and words[here] not in ITEMS:
        word = words[here]
        if word.isdigit():
            if number is not None and not whole:
                number = min(number, int(word)) if _word(words, here - 1) in FILLERS else number  # "one of the 3 hats"
            else:
                number = int(word)
        elif word in ("both", "all", "every"):
            whole = True
            refused = {"not", "never"} & {e for e in before[-4 if word == "all" else -1 :] if isinstance(e, str)}
            vague = vague or bool(refused)  # "not all of the hats", "i'm not giving up all the hats"
        elif word == "half":
            half = True
        elif "/" in word and word[0].isdigit():
            part = Fraction(word)
        elif word in VAGUE_AMOUNTS:
            vague = True
        elif word == "no" and _word(words, here + 1) not in ("the", "that", "this"):  # "no the hat" is a refusal and a hat
            number = 0
        elif word in ARTICLES:
            article = True
        elif word in FILLERS:
            other = other or word == "other"
        else:
            return [], 0
        here += 1
    if here == len(words):
        return [], 0
    item, plural = ITEMS[words[here]], words[here] in PLURALS
    part = Fraction(1, 2) if half else part
    units, exact = _units(pool[item], number, whole, part, article, plural)
    if other and number is None:
        said = [m.units for m in before if isinstance(m, Mention) and m.item == item]
        units, exact = (max(0, pool[item] - said[-1]) if said else min(1, pool[item]) if not plural else pool[item]), False
    too_many = number is not None and number > pool[item]
    more = bool(MORE & set(words[at:here])) and (number is not None or not plural)
    return [Mention(item, units, exact, vague and number is None and pool[item] > 1, too_many, more)], here + 1 - at


def _units(count: int, number: int | None, whole: bool, part: Fraction | None, article: bool, plural: bool) -> tuple[int, bool]:
    if whole:
        return (number if number is not None and 0 < number < count else count), True
    if part is not None:
        return int(count * part), (count * part).denominator == 1
    if number is not None:
        return min(number, count), number <= count
    if article:
        return min(1, count), True
    return (count, count == 1) if plural or count <= 1 else (1, False)


def _one_of_each(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """ "one of each", "2 of everything else"."""
    if words[at].isdigit() and _word(words, at + 1) == "of" and _word(words, at + 2) in ("each", "everything"):
        n, others = int(words[at]), _word(words, at + 3) == "else"
        said = {m.item for m in before if isinstance(m, Mention)} if others else set()
        items = [(item, count) for item, count in enumerate(pool) if item not in said]
        return [Mention(item, min(n, count), n <= count, too_many=n > count > 0) for item, count in items], 3 + others
    return [], 0


def _whole(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """The whole pool: "everything", but not "everything else"; "all" before "for me" or at the end of a clause about nothing else."""
    following = _word(words, at + 1)
    paid = "exchange" in (_word(words, at - 2), _word(words, at + 2))  # "i get everything in exchange" means the rest
    if words[at] == "everything" and following not in ("else", "left", "remaining", "other", "over") and not paid:
        return [Mention(REST, 0, True)], 1
    if "/" in words[at] and words[at][0].isdigit() and (following, _word(words, at + 2)) == ("of", "everything"):
        parts = [count * Fraction(words[at]) for count in pool]
        return [Mention(item, int(n), True, n.denominator > 1) for item, n in enumerate(parts)], 3
    if words[at] == "all" and following.isdigit() and _word(words, at + 2) in ("items", "things", "objects"):
        return [Mention(REST, 0, True)], 3
    if words[at] == "all" and following in WHOLE_AFTER and not any(isinstance(e, Mention) for e in before[-1:]):
        return [Mention(REST, 0, True)], 1
    return [], 0


def _rest(words: Sequence[str], at: int, pool: Triple, before: Sequence[Element]) -> tuple[list[Mention], int]:
    """ "the rest", "everything else", "all else", "the others", "the other items", "what is left"."""
    here = at
    while _word(words, here) in ("the", "all", "of", "whatever", "what", "is", "that", "any", "my", "your"):
        here += 1
    word, following = _word(words, here), _word(words, here + 1)
    if word in REST_WORDS:
        if _word(words, here + 1) == "of" and "day" in words[here : here + 5]:
            return [], 0
        here += 1
        while _word(words, here) in ("else", "left", "over", "other") or _leads_to_thing(words, here):
            here += 1
        return [Mention(REST, 0, False)], here - at
    if word == "else" and here > at and words[here - 1] in ("all", "whatever"):
        return [Mention(REST, 0, False)], here + 1 - at
    if word == "left" and here > at:
        return [Mention(REST, 0, False)], here + 1 - at
    if word == "other" and (following in ("items", "objects", "things", "stuff") or (following.isdigit() and _ends(words, here + 2))):
        return [Mention(REST, 0, False)], here + 2 - at
    return [], 0


def _leads_to_thing(words: Sequence[str], at: int) -> bool:
    """Whether "of the …" only goes on to say items in general."""
    while _word(words, at) in ("of", "the"):
        at += 1
    return _word(words, at) in ("items", "objects", "things", "stuff")


def _ends(words: Sequence[str], at: int) -> bool:
    """Whether a noun could have ended here: no item or filler follows."""
    return _word(words, at) not in ITEMS and _word(words, at) not in FILLERS


def _pronoun(words: Sequence[str], at: int, pool: Triple, item: int | None) -> tuple[list[Mention], int]:
    """The type spoken of last: "both", "them", "all of them", "one of them", "the other one", "2"."""
    if item is None:
        return [], 0
    word, following, count = words[at], _word(words, at + 1), pool[item]
    number = int(word) if word.isdigit() else None
    if following == "of" and _word(words, at + 2) in ("them", "those", "these") and (number is not None or word in ("both", "all")):
        return [Mention(item, count if number is None else min(number, count), True)], 3
    if word == "both" and following not in NOT_BOTH and _word(words, at - 1) not in ("we", "they", "us"):
        return [Mention(item, count, count == 2)], 1
    if word in PRONOUNS and _word(words, at - 1) not in ("than", "do", "is", "like"):
        return [Mention(item, count, False)], 1
    if word == "it" and _word(words, at - 1) in ("give", "have", "keep"):
        return [Mention(item, count, False)], 1
    if word == "other" and _word(words, at - 1) == "the" and _ends(words, at + 1):
        return [Mention(item, min(1, count), False)], 2 if following == "1" else 1
    counts = following not in COUNTED_OTHERWISE and _word(words, at - 1) not in NOT_COUNTING
    return ([Mention(item, number, True)], 1) if number is not None and 0 < number <= count and counts else ([], 0)
