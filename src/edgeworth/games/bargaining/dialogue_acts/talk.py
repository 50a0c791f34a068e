"""The state of a talk: the pool, the offers so far, and what was spoken of last; each utterance is read in its light.

talk = Talk((1, 2, 3))
talk.hear(Side.AGENT, "i want the book and one hat")   # PROPOSE 1,1,0
talk.hear(Side.PARTNER, "ok")                          # AGREE   0,1,3
talk.last_offer                                        # (1, 1, 0): the agent's share
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgeworth.games.bargaining.contexts import Triple, checked_triple
from edgeworth.games.bargaining.dialogue_acts.acts import gives_up, judge
from edgeworth.games.bargaining.dialogue_acts.mentions import REST, Mention, elements_of
from edgeworth.games.bargaining.dialogue_acts.offers import Evidence, View, offer_of
from edgeworth.games.bargaining.dialogue_acts.owners import claims_of
from edgeworth.games.bargaining.dialogue_acts.words import words_of
from edgeworth.games.bargaining.dialogue_lines import Speaker
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, Act, Side

SIDES: dict[Speaker, Side] = {"YOU": Side.AGENT, "THEM": Side.PARTNER}
"""The speakers of a released dialogue: the reader of the line is the agent."""


@dataclass(frozen=True)
class Reading:
    """What an utterance does: its act and the split it states."""

    side: Side
    act: Act | None
    """None where it is no move of the game: a greeting, a question, talk of values."""
    share: Triple | None
    """The speaker's units; the other side gets the rest. Of an AGREE or END, under the offer that stands."""
    confidence: float
    """In [0, 1]: of an offer, how often one read on such evidence was the deal in the end."""
    evidence: Evidence | None
    """What the split rests on, where the utterance states one itself."""


class Talk:
    """A dialogue as it is heard."""

    def __init__(self, pool: Triple) -> None:
        self.pool = checked_triple("pool", pool, COUNT_LIMIT)
        self.readings: list[Reading] = []
        self._offers: list[tuple[Side, Triple]] = []
        """Who offered, and the agent's share."""
        self._last_item: int | None = None
        self._gave_up: Side | None = None
        """Who has just said that there is no deal."""

    @property
    def last_offer(self) -> Triple | None:
        """The agent's share under the last offer, whoever made it; None before the first."""
        return self._offers[-1][1] if self._offers else None

    def hear(self, side: Side, text: str) -> Reading:
        """Read one utterance."""
        words = words_of(text)
        elements = elements_of(words, self.pool, self._last_item)
        view = self._view(side)
        offer = offer_of(words, claims_of(elements, self.pool), view)
        judgement = judge(words, offer, view)
        if offer is not None:
            self._offers.append((side, self._seen_by(side, offer.share)))
        self._gave_up = side if offer is None and gives_up(words) else None
        items = [e.item for e in elements if isinstance(e, Mention) and e.item != REST]
        self._last_item = items[-1] if items else self._last_item
        accepted = view.standing if judgement.act in (Act.AGREE, Act.END) else None
        share, evidence = (accepted, None) if offer is None else (offer.share, offer.evidence)
        self.readings.append(Reading(side, judgement.act, share, judgement.confidence, evidence))
        return self.readings[-1]

    def _view(self, side: Side) -> View:
        offers = [(who, self._seen_by(side, share)) for who, share in self._offers]
        mine, theirs = (tuple(share for who, share in offers if (who == side) == own) for own in (True, False))
        return View(self.pool, offers[-1][1] if offers else None, mine, theirs, self._gave_up not in (None, side))

    def _seen_by(self, side: Side, share: Triple) -> Triple:
        """Turn a side's share into the agent's, or the agent's into the side's."""
        if side == Side.AGENT:
            return share
        return (self.pool[0] - share[0], self.pool[1] - share[1], self.pool[2] - share[2])


def read_talk(pool: Triple, utterances: Iterable[tuple[Speaker, str]]) -> Talk:
    """A whole dialogue, as it is released."""
    talk = Talk(pool)
    for speaker, text in utterances:
        talk.hear(SIDES[speaker], text)
    return talk
