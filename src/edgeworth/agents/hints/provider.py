"""What hint providers share: asking every different question once, and laying answers out as a batch of hints.

`HintProvider` says what a provider is: `give(batch, due)` answers for all episodes that are due in one call, with a hint or a rejection
each. A provider that calls a model builds one question per due episode, lets `ask_once` put the different ones, judges every reply by
`protocol.parse_reply` with the `hint_schema` of that episode's mask and pool, and hands the verdicts to `hints_of`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.questions import ask_once
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.hints import Hint, HintProvider, Hints, hints_of_moves
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES
from edgeworth.protocol import Rejection

__all__ = ["HintProvider", "ask_once", "hints_of"]


def hints_of(batch: BargainingBatch, due: NDArray[np.bool_], answers: Sequence[Hint | Rejection]) -> Hints:
    """A batch of hints from the answers for the episodes that are due, in their order."""
    acts, shares, confidences = (
        np.zeros(batch.size, np.int64),
        np.zeros((batch.size, ITEM_TYPES), np.int64),
        np.zeros(batch.size, np.float32),
    )
    given, rejections = np.zeros(batch.size, np.bool_), {}
    for slot, answer in zip(np.flatnonzero(due).tolist(), answers, strict=True):
        if isinstance(answer, Rejection):
            rejections[slot] = answer
        else:
            acts[slot], shares[slot], confidences[slot] = answer
            given[slot] = True
    return hints_of_moves(batch, given, acts, shares, confidences, rejections)
