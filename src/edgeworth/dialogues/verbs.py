"""Verbs, and the small words around them, by which people say who wants, takes, gives or splits something."""

from __future__ import annotations

from edgeworth.dialogues.remarks import SENTENCE_ENDS
from edgeworth.dialogues.words import word_set

WISHES = word_set("need want like love prefer wanted wants hoping hope interested crave desire require covet needed wish needs likes loves")
TAKES = word_set(
    "take have get keep taking getting keeping got grab hold accept choose pick use settle stick own receive gets takes keeps had having"
    " go live"
)
GERUNDS = word_set("taking getting keeping having")
"""Without a subject, the speaker's own: "getting the hats would be nice"."""
LIKES = word_set("like love likes loves enjoy")
"""What is liked a lot is not yet asked for."""
GIVES = word_set(
    "give giving gives offer offering offered leave leaving leaves cede ceding concede spare trade trading send lose sacrifice surrender"
    " part gave toss throw"
)
FORGETS = word_set("forget drop skip scrap ditch")
VALUES = word_set("value care")
POINTS = word_set("points point pts")
VALUERS = word_set("i you we not really also do only mostly")
"""What these say that they value is not asked for."""
SPLITS = word_set("split share divide halve splitting sharing splits dividing half evenly")
HELPERS = word_set("can could may will would should might to do must")
CLAUSE_STARTS = frozenset(("if", "but", "then", "unless", "while"))
EXCEPTIONS = frozenset(("but", "except", "besides", "minus", "bar", "save"))
ORDERS_AFTER = frozenset((*SENTENCE_ENDS, "", ",", "and", "ok", "no", "yes", "then", "so"))
"""After these words "give" and the like are an order to the other side."""
COMPARED = frozenset(("without", "than", "instead", "versus", "vs", "over"))
"""Items after these words are compared, not asked for."""
ASKED_FOR = word_set("settle go hoping looking asking ask hope wait rooting take")
"""Before "for", these words lead to what is wanted, not to what is paid."""
NAMED_OFFER = word_set("my your our the an this that first final last new best")
"""After these words "offer" is no verb."""
