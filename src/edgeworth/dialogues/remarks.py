"""Remarks: what people say of values, and questions, which claim nothing."""

from __future__ import annotations

from collections.abc import Sequence

from edgeworth.dialogues.mentions import Element, Mention
from edgeworth.dialogues.words import word_set

SENTENCE_ENDS = frozenset((".", "?", "!", ";"))
STATES = word_set("is are was were has worth mean means matter matters not")
MEANS = word_set("mean means matter matters")
POSSESSES = word_set("have hold has had holds")
WORTH = word_set("value worth points point worthless useless valuable use important")
ASKED_ABOUT = word_set("need like love prefer care value")
"""What "do you …" asks about without offering it."""
LIKED = (("a", "lot"), ("the", "most"), ("the", "best"), ("best",), ("most",), ("very", "much"))
"""After items, these say that somebody likes them, not that somebody asks for them."""
BRINGS = word_set("give gives bring brings get gets earn")


def states_a_value(elements: Sequence[Element], at: int) -> bool:
    """Remarks about worth: "the balls are worth 0 to me", "hats have no value"; but not "the hat is mine"."""
    at += 1
    while isinstance(_at(elements, at), Mention) or _at(elements, at) in ("and", ","):
        at += 1
    clause: list[Element] = []
    for element in elements[at : at + 12]:
        if element in SENTENCE_ENDS or element == ",":
            break
        clause.append(element)
    if not clause:
        return False
    words = {e for e in clause[1:8] if isinstance(e, str)}
    if clause[0] in WORTH or (clause[0] in POSSESSES | STATES | BRINGS and WORTH & words):
        return True
    if clause[0] in MEANS:
        return True
    names_a_side = bool({"offer", "negotiable", "mine", "yours", "i", "you", "good", "fine", "ok", "me"} & words)
    return clause[0] in STATES and (clause[0] == "not" or not names_a_side)


def is_liked(elements: Sequence[Element], at: int) -> bool:
    """Whether items are only liked: "i like books a lot"."""
    return any(tuple(elements[at + 1 : at + 1 + len(words)]) == words for words in LIKED)


def _at(elements: Sequence[Element], at: int) -> Element:
    return elements[at] if 0 <= at < len(elements) else ""


def opens_a_question(word: str, following: Element, third: Element) -> bool:
    """Questions that claim nothing: "what would you like", "how much is a ball worth", "which one", "do you like hats"."""
    if word == "do" and following == "you":
        return third in ASKED_ABOUT
    if word in ("which", "who", "why"):
        return True
    if word == "what":
        return following in ("do", "would", "is", "are", "does")
    return word == "how" and following in ("much", "many", "do", "does")
