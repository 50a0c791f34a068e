"""What a hint is: an act, a share and a confidence, given to the agent before its move; and the interface of hint providers.

Hints come in batches, as moves do. A provider sees the batch of episodes and which of them are due, and returns for each of these a hint
that the rules allow at this moment, or the reason why there is none. A batch of hints is kept as the features that a network reads
(`hint_features.py`); acts and shares can be read back from them without loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, triple_of
from edgeworth.games.bargaining.hint_features import CONFIDENCE_COLUMN, HINT_FEATURES, read_moves, write_hint_features
from edgeworth.games.bargaining.state import VIEW
from edgeworth.games.bargaining.vocabulary import END, ITEM_NAMES, PROPOSE, Act
from edgeworth.protocol import Reason, Rejection

NO_REJECTIONS: Mapping[int, Rejection] = {}


class Hint(NamedTuple):
    """One hint: the act to make, the share to state (zeros where the act states none), and how sure its giver is, from 0 to 1."""

    act: Act
    share: Triple
    confidence: float


class Hints(NamedTuple):
    """Hints for a batch of episodes, one row each."""

    features: NDArray[np.float32]
    """The ten features, zeros where there is no hint."""
    given: NDArray[np.bool_]
    views: NDArray[np.int32]
    """What each agent sees; the first three columns are the pool."""
    rejections: Mapping[int, Rejection] = NO_REJECTIONS
    """Why an episode that was due has no hint."""

    def moves(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The act and the share of every hint; zeros where there is none."""
        acts, shares = np.empty(len(self.features), np.int64), np.empty((len(self.features), 3), np.int64)
        read_moves(self.features, self.views, acts, shares)
        return acts, shares

    @property
    def acts(self) -> NDArray[np.int64]:
        """The act of every hint."""
        return self.moves()[0]

    @property
    def shares(self) -> NDArray[np.int64]:
        """The share of every hint."""
        return self.moves()[1]

    @property
    def confidences(self) -> NDArray[np.float32]:
        """How sure each hint's giver is; 0 where there is none."""
        return self.features[:, CONFIDENCE_COLUMN]

    def at(self, slot: int) -> Hint | None:
        """The hint for one episode, if it has one."""
        if not self.given[slot]:
            return None
        row = Hints(self.features[slot : slot + 1], self.given, self.views[slot : slot + 1])
        acts, shares = row.moves()
        return Hint(Act(acts.item()), triple_of(shares[0]), row.confidences.item())


def no_hints(batch: BargainingBatch) -> Hints:
    """No hint for anybody."""
    return Hints(np.zeros((batch.size, HINT_FEATURES), np.float32), np.zeros(batch.size, np.bool_), batch.views)


def hints_of_moves(
    batch: BargainingBatch,
    given: NDArray[np.bool_],
    acts: NDArray[np.int64],
    shares: NDArray[np.int64],
    confidences: NDArray[np.float32],
    rejections: Mapping[int, Rejection] = NO_REJECTIONS,
) -> Hints:
    """The hints to make these moves where they are given; those that the rules forbid at this moment become rejections."""
    features = np.empty((batch.size, HINT_FEATURES), np.float32)
    if write_hint_features(batch.views, batch.masks, acts, shares, confidences, given, features):
        given, rejections = given.copy(), dict(rejections)
        for slot in np.flatnonzero(given).tolist():
            hint = Hint(acts[slot].item(), triple_of(shares[slot]), confidences[slot].item())
            rejection = forbidden(hint, batch.masks[slot], batch.views[slot, VIEW["counts"]])
            if rejection is not None:
                given[slot], rejections[slot] = False, rejection
    return Hints(features, given, batch.views, rejections)


def forbidden(hint: Hint, mask: NDArray[Any], caps: NDArray[Any]) -> Rejection | None:
    """Why a hint may not be followed now, if it may not; whatever its act, its share must lie within the pool."""
    if not PROPOSE <= hint.act <= END:
        return Rejection(Reason.OUT_OF_RANGE, f"act_type is {int(hint.act)}; expected a whole number from 0 to 4.", "act_type")
    if not mask[hint.act]:
        open_now = ", ".join(f"{act.value} ({act.name})" for act in Act if mask[act])
        legal = f"legal now: {open_now}" if open_now else "the negotiation is over"
        return Rejection(Reason.MASKED_ACT, f"act_type is {int(hint.act)} ({Act(hint.act).name}), which is masked; {legal}.", "act_type")
    for asked, cap, name in zip(hint.share, caps, ITEM_NAMES, strict=True):
        if not 0 <= asked <= cap:
            return Rejection(Reason.OVER_CAP, f"oA asks for {asked} {name}s; expected 0 to {int(cap)}, which is all there is.", "oA")
    if not 0.0 <= hint.confidence <= 1.0:
        return Rejection(Reason.OUT_OF_RANGE, f"confidence is {hint.confidence}; expected a number from 0 to 1.", "confidence")
    return None


class HintProvider(Protocol):
    """Gives hints. It may read what the agent may know (`batch.views`, `batch.masks`, the moves so far), and changes nothing."""

    @property
    def counters(self) -> Mapping[str, int | str]:
        """What a log should know about it: a fallback that is in use, calls, cache hits."""
        ...

    def check(self, batch: BargainingBatch) -> None:
        """Refuse a game for which it can give no hints; asked once, before the first episode."""
        ...

    def give(self, batch: BargainingBatch, due: NDArray[np.bool_]) -> Hints:
        """A hint or a rejection for every episode that is due, all asked at once."""
        ...
