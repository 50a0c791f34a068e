"""Words: what a person typed, as a list of plain words in one spelling.

Understands contractions ("i'll", "cant"), chat spelling ("gimme", "u"), numbers as words, plurals, glued words ("thehat", "2balls") and
slips of one letter in long words. Full stops and the like stay as words of their own, since they divide sentences.
"""

from __future__ import annotations

import re
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    """The words of a line, as a set."""
    return frozenset(text.split())


TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+|[.,?!;:&+/-]")

RUN = re.compile(r"([a-z])\1{2,}")
"""A letter held down: "nooo"."""

CONTRACTIONS = {
    "i'll": "i will", "ill": "i will", "i'l": "i will", "il": "i will", "i'd": "i would", "id": "i would", "i'm": "i am", "im": "i am",
    "i've": "i have", "ive": "i have", "you'll": "you will", "youll": "you will", "you'd": "you would", "youd": "you would",
    "you're": "you are", "youre": "you are", "you've": "you have", "we'll": "we will", "we'd": "we would", "we're": "we are",
    "they're": "they are", "it's": "it is", "its": "it is", "that's": "that is", "thats": "that is", "that'll": "that will",
    "that'd": "that would", "it'll": "it will", "what's": "what is", "whats": "what is", "how's": "how is", "there's": "there is",
    "let's": "lets", "cannot": "can not", "can't": "can not", "cant": "can not", "won't": "will not", "wont": "will not",
    "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not", "arent": "are not", "wouldnt": "would not",
    "couldnt": "could not", "ain't": "is not", "aint": "is not", "gimme": "give me", "gimmie": "give me", "lemme": "let me",
    "wanna": "want to", "gonna": "will", "gotta": "need to", "atleast": "at least", "nodeal": "no deal", "youcan": "you can",
    "ican": "i can", "iwant": "i want", "iwould": "i would", "itake": "i take", "ihave": "i have", "wouldlike": "would like",
    "youhave": "you have", "ima": "i will", "imma": "i will", "tryna": "want to", "outta": "out of", "kinda": "kind of", "bullshit": "bs",
    "idc": "i do not care", "needthe": "need the", "givebook": "give book", "alright": "ok", "hats'": "hats",
}  # fmt: skip

SPELLINGS = {
    "u": "you", "ya": "you", "yuo": "you", "oyu": "you", "yu": "you", "yo": "you", "eyou": "you", "ypu": "you", "yiu": "you",
    "teh": "the", "th": "the", "tha": "the", "hte": "the", "te": "the", "nd": "and", "annd": "and", "adn": "and", "abd": "and", "n": "and",
    "&": "and", "-": ",", "+": "and", "plus": "and", "ok": "ok", "okay": "ok", "k": "ok", "oki": "ok", "oka": "ok", "okey": "ok",
    "bok": "book", "bool": "book", "boook": "book", "obok": "book", "boks": "books", "bookd": "books", "booksk": "books",
    "ht": "hat", "aht": "hat", "hast": "hats", "ahts": "hats", "hates": "hats", "cats": "hats", "thetas": "hats", "hts": "hats",
    "bal": "ball", "bll": "ball", "bals": "balls", "bsall": "ball", "bald": "balls", "ballls": "balls", "blls": "balls",
    "basketball": "ball", "basketballs": "balls", "basketbal": "ball", "baskeballs": "balls", "bball": "ball", "bballs": "balls",
    "vball": "ball", "basketbll": "ball", "basketablls": "balls", "baseball": "ball", "baseballs": "balls",
    "res": "rest", "rets": "rest", "restr": "rest", "reast": "rest", "resst": "rest", "remainder": "rest", "remaining": "rest",
    "eveyrthing": "everything", "everythign": "everything", "eveything": "everything", "evrything": "everything", "esle": "else",
    "tak": "take", "tke": "take", "taake": "take", "giv": "give", "gve": "give", "guve": "give", "ahve": "have", "hae": "have",
    "hve": "have", "haz": "have", "ned": "need", "nee": "need", "wnat": "want", "wan": "want", "wangt": "want", "wantt": "want",
    "liek": "like", "lik": "like", "lke": "like", "llike": "like", "woud": "would", "wold": "would", "wwudl": "would", "cna": "can",
    "cann": "can", "btoh": "both", "onne": "one", "onje": "one", "ger": "get", "gt": "get", "dea": "deal", "deall": "deal", "dal": "deal",
    "dealz": "deal", "jsut": "just", "jjust": "just", "leat": "least", "atlest": "least", "em": "them", "bout": "about",
    "yeah": "yes", "yea": "yes", "yep": "yes", "yup": "yes", "ys": "yes", "nope": "no", "nah": "no", "naw": "no", "newp": "no",
    "hav": "have", "wil": "will", "wnt": "want", "bth": "both", "relly": "really", "realy": "really", "shuld": "should", "al": "all",
    "plese": "please", "yeppers": "yes", "gtfo": "reject", "tht": "that", "evrythng": "everything", "yr": "your",
    "agre": "agree", "agee": "agree", "coolio": "cool", "agred": "agreed",
    "fosho": "sure", "onyl": "only", "mee": "me", "accpet": "accept",
    "kewl": "cool", "kool": "cool", "def": "definitely", "defo": "definitely", "yessir": "yes", "aye": "yes", "yas": "yes", "ofc": "sure",
    "aight": "ok", "ight": "ok", "kk": "ok", "ur": "your", "urs": "yours", "da": "the", "dat": "that", "dem": "them", "r": "are",
    "jus": "just", "plz": "please", "pls": "please", "w": "with", "cop": "get", "snag": "get", "nab": "get", "dope": "great",
    "gucci": "good",
    "myself": "me", "yourself": "you", "reading": "reading", "thx": "thanks", "ty": "thanks",
}  # fmt: skip

NUMBER_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {w: n for n, w in enumerate(NUMBER_NAMES)} | {"couple": 2, "single": 1, "fifty": 50, "nil": 0, "nada": 0, "zip": 0, "zilch": 0}

LONG_WORDS = (
    "books", "balls", "basketballs", "basketball", "everything", "would", "thanks", "three", "agree", "agreed", "split", "sounds",
    "perfect", "accept", "please", "unfair", "works", "evenly", "except", "nothing", "rather", "instead", "should", "reject", "refuse",
)  # fmt: skip
"""Words in which a slip of one letter is mended."""
SHORT_WORDS = word_set(
    "book hat hats ball the and you for not get can deal rest need give take keep have want like that with both fine sure okay good one"
    " mine yours them each half some just leave offer take done yes two four five six"
)
"""Words in which two neighbours swapped, or a letter doubled, are mended."""
REAL_WORDS = word_set("tow fro won own nods butt loose felt mien booth thee noe")
"""Words that only look like such a slip."""
SLIPS = {
    slip: word
    for word in sorted(SHORT_WORDS)
    for at in range(len(word))
    for slip in (word[:at] + word[at] + word[at:], word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :])
    if slip not in SHORT_WORDS | REAL_WORDS and len(slip) >= len(word)
}
GLUED = ("the", "one", "two", "three", "both", "all", "no")
ITEM_WORDS = ("book", "books", "hat", "hats", "ball", "balls")
NOT_MENDED = word_set(
    "could calls halls walls falls bills bell bells ball book hooks looks cooks took there these threw tree spit sound bound world"
    " words worth expect except accept fair worked work leaves heaven evens events prefect rejects refused pleas"
)


def words_of(text: str) -> list[str]:
    """The words of an utterance in one spelling; whole numbers as digits, punctuation as words."""
    found: list[str] = []
    for token in TOKEN.findall(text.lower().replace("`", "'").replace("’", "'")):
        found.extend(_spelt(token))
    return found


@lru_cache(maxsize=4096)
def _spelt(token: str) -> tuple[str, ...]:
    """One token in our spelling; several words where it was contracted or glued."""
    if token in CONTRACTIONS:
        return tuple(CONTRACTIONS[token].split())
    if token.endswith("n't"):
        return (*_spelt(token[:-3]), "not")
    for ending, word in (("'ll", "will"), ("'d", "would"), ("'re", "are"), ("'s", "is")):
        if token.endswith(ending):
            return (*_spelt(token[: -len(ending)]), word)
    token = RUN.sub(r"\1", token.replace("'", ""))
    if token.isdigit():
        return (str(int(token[:4])),)
    for prefix in GLUED:
        rest = token.removeprefix(prefix)
        if rest != token and SPELLINGS.get(rest, rest) in ITEM_WORDS:
            return (*_spelt(prefix), *_spelt(rest))
    if token.endswith("and") and SPELLINGS.get(token[:-3], token[:-3]) in ITEM_WORDS:
        return (*_spelt(token[:-3]), "and")
    word = SPELLINGS.get(token) or _mended(token)
    return (str(NUMBERS[word]),) if word in NUMBERS else (word,)


def _mended(word: str) -> str:
    """The long word that this one differs from by a slip, else the word itself."""
    if word in SLIPS:
        return SPELLINGS.get(SLIPS[word], SLIPS[word])
    if len(word) < 5 or word in NOT_MENDED:
        return word
    near = next((known for known in LONG_WORDS if word != known and _one_slip(word, known)), word)
    return SPELLINGS.get(near, near)


def _one_slip(word: str, known: str) -> bool:
    """Whether one letter was added, dropped, changed, or swapped with its neighbour."""
    if abs(len(word) - len(known)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, known, strict=False)) if a != b), min(len(word), len(known)))
    tail, known_tail = word[at:], known[at:]
    swapped = len(tail) > 1 and tail[1] + tail[0] + tail[2:] == known_tail
    return swapped or tail[1:] == known_tail or tail == known_tail[1:] or tail[1:] == known_tail[1:]
