"""Words beside the acts: what both sides of a negotiation say, and sentences as actions of an environment.

An environment made with `utterances="friendly"` (or another tone) puts what was said into `info["utterances"]`, and takes a sentence in the
place of an action. What the agent said itself stands there in its own words; all other moves are worded by templates
(`dialogues/sentences.py`). A sentence that is not understood, or not surely enough, is an illegal action; its message is the question back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.dialogues.sentences import TONES, sentences
from edgeworth.dialogues.understanding import understand
from edgeworth.errors import IllegalAction, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import context_of
from edgeworth.games.bargaining.history import History, history_of
from edgeworth.games.bargaining.vocabulary import Side

NOT_UNDERSTOOD = -1
"""An act that no rule allows."""


class Said(NamedTuple):
    """What a side said with a move."""

    side: int
    text: str


class Spoken:
    """The words of the episode that a batch of one is playing."""

    def __init__(self, tone: str, batch: BargainingBatch) -> None:
        if tone not in TONES:
            raise UnknownName("tone of utterances", tone, TONES)
        self.tone, self.batch = next(known for known in TONES if known == tone), batch
        self._own: dict[int, str] = {}
        """Sentences that were actions, by the number of their move."""

    def begin(self) -> None:
        """Forget the last episode."""
        self._own.clear()

    @property
    def history(self) -> History:
        """The moves so far."""
        return history_of(self.batch.state["history"][0], self.batch.state["turn"][0])

    def utterances(self) -> tuple[Said, ...]:
        """What was said with every move so far."""
        moves, state = self.history, self.batch.state[0]
        words = sentences(context_of(state).counts, moves, self.tone, int(state["key"]))
        return tuple(Said(move.side, self._own.get(number, text)) for number, (move, text) in enumerate(zip(moves, words, strict=True)))

    def action(self, text: str, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A sentence of a side as its act and share.

        Where it is no sure and legal move, that is an error with the question back, or a lost turn where illegal actions cost one.
        """
        _, legal = self.batch.look(side)
        found = understand(text, context_of(self.batch.state[0]).counts, self.history, legal[0], Side(side))
        if found.move is None and self.batch.config.on_illegal == "error":
            raise IllegalAction(found.words, "not_understood")
        self._own[len(self.history)] = text
        act, share = (NOT_UNDERSTOOD, None) if found.move is None else (found.move.act, found.move.share)
        return np.array([act], np.int64), np.array([share or (0, 0, 0)], np.int64)
