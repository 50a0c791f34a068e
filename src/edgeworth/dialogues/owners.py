"""Owners: who would get what a person mentions.

An utterance is read from left to right, remembering whom the sentence is about and who gets what is named next. Each method of the
reader is one group of rules, and its first line says what it understands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeworth.dialogues.claims import OTHER, SPEAKER, Claim, Correction, corrected, with_zeros_placed
from edgeworth.dialogues.mentions import REST, Element, Mention
from edgeworth.dialogues.remarks import SENTENCE_ENDS, is_liked, opens_a_question, states_a_value
from edgeworth.dialogues.rewording import CANCEL, CORRECT, HALVE
from edgeworth.dialogues.verbs import (
    ASKED_FOR,
    CLAUSE_STARTS,
    COMPARED,
    EXCEPTIONS,
    FORGETS,
    GERUNDS,
    GIVES,
    HELPERS,
    LIKES,
    NAMED_OFFER,
    ORDERS_AFTER,
    POINTS,
    SPLITS,
    TAKES,
    VALUERS,
    VALUES,
    WISHES,
)
from edgeworth.games.bargaining.contexts import Triple


def claims_of(elements: Sequence[Element], pool: Triple) -> list[Claim]:
    """Who would get what, as far as an utterance says."""
    return _OwnerReader(elements, pool).read()


class _OwnerReader:
    """The state of reading one utterance."""

    def __init__(self, elements: Sequence[Element], pool: Triple) -> None:
        self.elements = elements
        self.pool = pool
        self.claims: list[Claim] = []
        self.group = self.chunk = 0
        """Where the claims that belong together begin, and the last part of them."""
        self.excepted: int | None = None
        """Where the exceptions from the rest begin, as in "everything but the hat for me"."""
        self.corrections: list[Correction] = []
        self._new_clause(None)

    def _new_clause(self, subject: int | None) -> None:
        self.subject = subject
        self.owner: int | None = None
        self.weak = self.negated = self.dropping = self.asking = self.halving = self.each = self.liking = False
        self.group = self.chunk = len(self.claims)
        self.excepted = None

    def read(self) -> list[Claim]:
        for at, element in enumerate(self.elements):
            if isinstance(element, Mention):
                self._mention(at, element)
            elif not (self._boundary(at, element) or self._person(at, element) or self._side_word(at, element)):
                self._verb(at, element)
        if not self.claims and HALVE in self.elements:
            self._share_out(Mention(REST, 0, True))
        return with_zeros_placed(corrected(self.claims, self.corrections))

    def _at(self, at: int) -> Element:
        return self.elements[at] if 0 <= at < len(self.elements) else ""

    def _mention(self, at: int, mention: Mention) -> None:
        """Items go to whom the sentence names; "no hat" refuses one to the other side."""
        if self.asking or self.dropping or (self.owner is None and states_a_value(self.elements, at)):
            return
        if self.liking and is_liked(self.elements, at):
            return
        if self.weak and mention.item == REST:  # "you can't have everything" says nothing of who gets what
            return
        if self.halving or self.each or self._at(at + 1) == "each":
            self._share_out(mention)
            return
        before = self._at(at - 1)
        if isinstance(before, Mention) or (mention.item == REST and before != "and"):
            self.chunk = len(self.claims)
        units = self.pool[mention.item] if self.weak and mention.item != REST else mention.units
        owner, loose = SPEAKER if self.owner is None else self.owner, self.owner is None
        either = "or" in (before, self._at(at + 1)) and mention.units > 0
        self.claims.append(
            Claim(owner, mention.item, units, mention.exact, self.weak, loose, mention.vague or either, mention.too_many, mention.more)
        )

    def _share_out(self, mention: Mention) -> None:
        """Halves: "split the balls" gives each side half, "one hat each" the said number."""
        if mention.item == REST:
            named = {claim.item for claim in self.claims}
            for item, count in enumerate(self.pool):
                if item not in named:
                    self.halving = True
                    self._share_out(Mention(item, count, True))
            return
        count = self.pool[mention.item]
        if self.halving or mention.units * 2 > count:
            sides = (SPEAKER, OTHER) if count % 2 == 0 else (SPEAKER,)
            self.claims += [Claim(side, mention.item, count // 2, count % 2 == 0, vague=count % 2 == 1) for side in sides]
        else:
            self.claims += [Claim(side, mention.item, mention.units, True) for side in (SPEAKER, OTHER)]

    def _boundary(self, at: int, word: str) -> bool:
        """Ends of sentences and clauses, questions about values, exceptions, commas, and words of comparison."""
        following = self._at(at + 1)
        if word in (CORRECT, CANCEL) or self._corrects(at, word):
            self._correct(word == CANCEL)
        elif word in SENTENCE_ENDS:
            self._new_clause(None)
        elif word in EXCEPTIONS and self._after_rest(at, word):
            if isinstance(following, Mention):
                self._except()
        elif word == "but" and self.owner is not None and isinstance(following, Mention) and self._refused_last():
            self.chunk = len(self.claims)  # "you can have no books but every hat"
        elif word in CLAUSE_STARTS:
            self._new_clause(self.subject)
        elif word in (",", "and"):
            if word == "," or self.chunk <= self.group:
                self.chunk = len(self.claims)
            self.negated, self.halving = self.negated and word == "and", self.halving and word == "and"
        elif word == "without" and self._refused_before(at):
            self._own(SPEAKER)
        elif word in COMPARED:
            self.dropping = True
        elif opens_a_question(word, following, self._at(at + 2)):
            self.asking = True
        else:
            return False
        return True

    def _refused_last(self) -> bool:
        """Whether none of an item was named last."""
        return bool(self.claims) and not self.claims[-1].units and self.claims[-1].item != REST

    def _after_rest(self, at: int, word: str) -> bool:
        """Whether the rest was named right before: "everything but", "everything, except"."""
        before = self._at(at - 2) if self._at(at - 1) == "," and word != "but" else self._at(at - 1)
        return isinstance(before, Mention) and before.item == REST

    def _refused_before(self, at: int) -> bool:
        """Conditions: "no deal without the hat", "i can't agree without the hat", "without the hat there is no deal"."""
        no_deal = [n for n in range(len(self.elements)) if self._at(n) == "no" and self._at(n + 1) == "deal"]
        return self.negated or any(n + 2 == at or (at == 0 and n > at) for n in no_deal)

    def _person(self, at: int, word: str) -> bool:
        """Whom the sentence is about: "i", "we", "you", "let me"; a person right before items owns them ("you the hats")."""
        before, following = self._at(at - 1), self._at(at + 1)
        if word in ("i", "we"):
            self._about(SPEAKER, following)
            self.each = word == "we" and following in ("each", "both")
        elif word == "you":
            if before == "let" and self.negated:  # "i can't let you have the hats"
                self.subject = OTHER
                return True
            after_gift = before in GIVES and following not in HELPERS and following not in TAKES
            if not after_gift and before not in ("for", "to", "with", "thank", "tell", "thanks"):
                self._about(OTHER, following)
        elif word == "me":
            if before == "let" or following in TAKES | WISHES:
                self._about(SPEAKER, following)
            elif before not in ("for", "to", "with") and (isinstance(following, Mention) or following == ":"):
                self._own(SPEAKER)
        else:
            return False
        return True

    def _about(self, side: int, following: Element) -> None:
        self.subject = side
        self.weak = self.negated = self.dropping = self.halving = self.each = False
        if isinstance(following, Mention) or following == ":":
            self._own(side)
        else:
            self.group = self.chunk = len(self.claims)

    def _side_word(self, at: int, word: str) -> bool:
        """Words beside the items: "for me", "to you", "are yours", "in exchange for the book", "split", "each", "not"."""
        before, following = self._at(at - 1), self._at(at + 1)
        if word in ("mine", "yours"):
            self._reassign(SPEAKER if word == "mine" else OTHER)
        elif word in ("for", "to", "with") and following in ("me", "you"):
            self._for_someone(at, SPEAKER if following == "me" else OTHER)
        elif word == "for" and isinstance(following, Mention) and before not in ASKED_FOR and not self.dropping:
            self._turn()
        elif word in SPLITS:
            self._halve(at, word)
        elif word == "each":
            self.each = self.each or not isinstance(before, Mention)
        elif word in ("not", "never"):
            self.negated = True
        else:
            return False
        return True

    def _halve(self, at: int, word: str) -> None:
        """ "split the hats" halves what follows; "the hats 50/50", without anything to follow, halves what was just named."""
        named = self.claims[self.group :]
        last_is_rest = word != "evenly" and bool(self.claims) and self.claims[-1].item == REST and not self.claims[-1].exact
        named = self.claims[-1:] if last_is_rest else named
        after_all = word == HALVE or last_is_rest or (word == "evenly" and any(claim.item == REST for claim in named))
        if after_all and named and not any(isinstance(element, Mention) for element in self.elements[at:]):
            items = list(dict.fromkeys(claim.item for claim in named))
            del self.claims[len(self.claims) - len(named) :]
            self.halving = True
            for item in items:
                self._share_out(Mention(item, 0 if item == REST else self.pool[item], True))
        self.halving = not self.negated

    def _for_someone(self, at: int, side: int) -> None:
        before, behind = self._at(at - 1), self._at(at + 2)
        if behind == "to" and self.elements[at] == "for":
            self._about(side, behind)
        elif isinstance(before, Mention) or before in ("please", "go", "goes", "are", "is"):
            self._reassign(side)
        elif (isinstance(behind, Mention) or behind == ":") and (
            before in SENTENCE_ENDS or before in ("", ",", "and", "about", "ok", "so")
        ):
            self._own(side)

    def _verb(self, at: int, word: str) -> None:
        """Wishes ("i need"), takings ("you can have", "take") and gifts ("i'll give you", "leave me"), each of them also refused."""
        before, following = self._at(at - 1), self._at(at + 1)
        if (word in VALUES and before in VALUERS) or word in POINTS:
            self.dropping = True
        elif word == "offer" and before in NAMED_OFFER:
            return
        elif word in GIVES:
            giver = self.subject if self.subject is not None else OTHER if before in ORDERS_AFTER else SPEAKER
            taker = SPEAKER if following in ("me", "us") else OTHER if following == "you" else 1 - giver
            self._own(1 - taker if self.negated else taker, weak=self.negated)
        elif word in WISHES:
            wisher = SPEAKER if self.subject is None else self.subject
            self._own(1 - wisher if self.negated else wisher, weak=self.negated)
            self.liking = word in LIKES and before not in HELPERS
        elif word in FORGETS:
            self._forget(self._at(at + 2) if following == "about" else following)
        elif word == "have" and following == "to":
            self.subject = SPEAKER if self.subject is None else self.subject
        elif word in TAKES:
            taker = SPEAKER if before in HELPERS or (word in GERUNDS and before != "you") else OTHER
            self._taking(taker if self.subject is None else self.subject)

    def _taking(self, taker: int) -> None:
        if self.negated and taker == SPEAKER:  # "i can't take just the balls" says nothing of who gets them
            self._own(None)
            self.dropping = True
        else:
            self._own(SPEAKER if self.negated else taker, weak=self.negated)

    def _own(self, side: int | None, weak: bool = False) -> None:
        """What is named next is for this side."""
        self.owner, self.weak, self.dropping, self.halving, self.liking = side, weak, False, False, False
        self.group = self.chunk = len(self.claims)

    def _turn(self) -> None:
        """Exchanges: after "for" the other side is meant, the one that gets what is paid."""
        if self.owner is not None:
            self._own(1 - self.owner)
        elif len(self.claims) > self.group:
            self._reassign(OTHER)
            self.claims[-1] = replace(self.claims[-1], vague=True)  # "the hats for the book": nobody said who pays which
            self._own(SPEAKER)

    def _except(self) -> None:
        """Exceptions: "everything but the hat" leaves the hat to the other side."""
        self._own(1 - (SPEAKER if self.owner is None else self.owner))
        self.excepted = len(self.claims)

    def _corrects(self, at: int, word: str) -> bool:
        """Words that correct only in some places: "the hats, actually the book", "the hats. no, the book"."""
        before, following = self._at(at - 1), self._at(at + 1)
        if word in ("actually", "sorry"):
            return isinstance(following, Mention)
        return word == "no" and following == "," and (before == "," or before in SENTENCE_ENDS)

    def _correct(self, everything: bool) -> None:
        """Corrections: what follows is for whom the words before were, until somebody is named."""
        if self.claims:
            self.corrections.append(Correction(len(self.claims), everything))
            self._own(None if self.claims[-1].loose else self.claims[-1].owner)

    def _forget(self, what: Element) -> None:
        """Items that are taken back by name: "forget the books"."""
        if isinstance(what, Mention) and any(claim.item == what.item for claim in self.claims):
            self.corrections.append(Correction(len(self.claims), False))
            self.claims.append(replace(self.claims[-1], item=what.item, units=0, exact=True, vague=False, too_many=False))
            self.dropping = True

    def _reassign(self, side: int) -> None:
        """The items just named are for this side, whatever was thought before; exceptions are for the other one."""
        if self.excepted is not None and len(self.claims) > self.excepted > 0:
            rest, named = self.claims[self.excepted - 1], self.claims[self.excepted :]
            self.claims[self.excepted - 1 :] = [replace(rest, owner=side), *(replace(claim, owner=1 - side) for claim in named)]
            self._own(None)
            self.excepted = None
            return
        in_accord = self.owner is None or all(c.owner == side or c.loose for c in self.claims[self.group :])
        begin = self.group if in_accord else self.chunk
        self.claims[begin:] = [replace(claim, owner=side, loose=False, weak=False) for claim in self.claims[begin:]]
        self.owner = None
        self.group = self.chunk = len(self.claims)
