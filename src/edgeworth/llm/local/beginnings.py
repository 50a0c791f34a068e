"""Shared beginnings: which prompts begin alike, and the keys and values of beginnings that were read before.

The system message is the same in every prompt of a kind, and by far the longest part of it. Prompts are sorted into groups that share a
beginning; the beginning is read once, kept, and found again by the next call. A kept beginning serves every prompt that agrees with its
first tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeworth.llm.local.packing import Beginning

WORTH_SHARING = 32
"""Tokens from which it pays to keep prompts together."""
KEPT = 6
"""Beginnings that are kept; the least used goes first."""

Tokens = Sequence[int]
Reader = Callable[[Beginning | None, Tokens], Beginning]
"""Reads tokens on top of a beginning, and returns the longer one."""


def common_length(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many tokens two prompts have in common, from the first."""
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


def groups(prompts: Sequence[Tokens]) -> list[list[int]]:
    """The prompts, by number, in groups that begin alike; those that share with nobody form one group."""
    arrays = [np.asarray(prompt, np.int64) for prompt in prompts]
    order = sorted(range(len(prompts)), key=lambda i: tuple(prompts[i]))
    found: list[list[int]] = []
    for place, i in enumerate(order):
        if place and common_length(arrays[order[place - 1]], arrays[i]) >= WORTH_SHARING:
            found[-1].append(i)
        else:
            found.append([i])
    alone = [group[0] for group in found if len(group) == 1]
    together = [sorted(group) for group in found if len(group) > 1]
    return [*together, sorted(alone)] if alone else together


class Beginnings:
    """Beginnings that were read before."""

    def __init__(self) -> None:
        self._kept: list[tuple[NDArray[np.int64], Beginning]] = []

    def shared_by(self, prompts: Sequence[Tokens], read: Reader) -> Beginning | None:
        """What these prompts have in common, read or remembered; it leaves every prompt at least one token of its own.

        A kept beginning that is somewhat shorter than what they share is taken as it is, where reading on costs more than it saves.
        """
        arrays = [np.asarray(prompt, np.int64) for prompt in prompts]
        wanted = min([*(common_length(arrays[0], other) for other in arrays[1:]), *(len(each) - 1 for each in arrays)])
        if wanted < WORTH_SHARING:
            return None
        known, best = 0, None
        for tokens, beginning in self._kept:
            length = common_length(tokens, arrays[0][:wanted])
            if length > known:
                known, best = length, beginning
        if best is not None and 2 * known >= wanted and (len(prompts) - 1) * (wanted - known) < 2 * WORTH_SHARING:
            self._used(best)
            return best.cut(known)
        read_now = read(best.cut(known) if best is not None and known else None, list(prompts[0][known:wanted]))
        if wanted - known >= 2 * WORTH_SHARING or best is None:  # a little more than what is kept is good for this batch alone
            self._kept.append((arrays[0][:wanted].copy(), read_now))
            del self._kept[:-KEPT]
        else:
            self._used(best)
        return read_now

    def _used(self, beginning: Beginning) -> None:
        self._kept.sort(key=lambda entry: entry[1] is beginning)

    def forget(self) -> None:
        """Let go of everything."""
        self._kept.clear()
