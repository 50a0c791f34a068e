"""The moves of an episode, and how a history of them is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from edgeworth.games.bargaining.contexts import Triple, rest_of
from edgeworth.games.bargaining.state import HISTORY_LINE
from edgeworth.games.bargaining.vocabulary import AGENT, Act

ACTS_WITH_SHARE = frozenset((int(Act.PROPOSE), int(Act.INSIST), int(Act.END)))


class Move(NamedTuple):
    """One move; the share is the speaker's own, None where the act states none."""

    side: int
    act: int
    share: Triple | None


def share_for_agent(pool: Triple, move: Move) -> Triple:
    """What a move that states a share would give to the agent, whoever made it."""
    share = move.share or (0, 0, 0)
    return share if move.side == AGENT else rest_of(pool, share)


class History(Sequence[Move]):
    """The moves of an episode so far, kept as the bytes that the rules wrote and decoded when they are read."""

    __slots__ = ("_lines",)

    def __init__(self, lines: bytes = b"") -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines) // HISTORY_LINE

    @overload
    def __getitem__(self, index: int) -> Move: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Move, ...]: ...
    def __getitem__(self, index: int | slice) -> Move | tuple[Move, ...]:
        if isinstance(index, slice):
            return tuple(self._move(i) for i in range(len(self))[index])
        return self._move(range(len(self))[index])

    def _move(self, index: int) -> Move:
        side, act, a, b, c = self._lines[HISTORY_LINE * index : HISTORY_LINE * (index + 1)]
        return Move(side, act, (a, b, c) if act in ACTS_WITH_SHARE else None)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, History):
            return self._lines == other._lines
        return isinstance(other, tuple) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def history_of(lines: NDArray[np.int8], turns: int) -> History:
    """The first moves of a stored history."""
    return History(lines[:turns].tobytes())
