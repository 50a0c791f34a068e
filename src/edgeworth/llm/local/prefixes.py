"""Shared prefixes: which prompts begin alike, and the keys and values of prefixes that were read before.

The system message is the same in every prompt of a kind, and by far the longest part of it. Prompts are sorted into groups that share a
prefix; the prefix is read once, kept, and found again by the next call. It serves every prompt that agrees with its first tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

WORTH_SHARING = 32
"""Tokens from which it pays to keep prompts together."""
KEPT = 6
"""Prefixes that are kept; the least recently used goes first."""

Tokens = Sequence[int]


@dataclass(frozen=True)
class Prefix:
    """A shared prefix: for every layer its keys (heads, width, tokens) and its values (heads, tokens, width)."""

    tokens: tuple[int, ...]
    layers: tuple[tuple[Tensor, Tensor], ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def cut(self, length: int) -> Prefix:
        """Its first tokens; nothing is copied."""
        if length == len(self.tokens):
            return self
        return Prefix(self.tokens[:length], tuple((keys[..., :length], values[:, :length]) for keys, values in self.layers))


Reader = Callable[[Prefix | None, Tokens], Prefix]
"""Reads tokens on top of a prefix, and returns the longer one."""


def common_length(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many tokens two prompts have in common, from the first."""
    length = min(len(one), len(other))
    differs = one[:length] != other[:length]
    return int(differs.argmax()) if differs.any() else length


def groups(prompts: Sequence[Tokens]) -> list[list[int]]:
    """The prompts, by number, in groups that begin alike; those that share none form one group."""
    numbers: dict[tuple[int, ...], list[int]] = {}
    for i, prompt in enumerate(prompts):
        numbers.setdefault(tuple(prompt), []).append(i)
    order = sorted(numbers)
    arrays = [np.asarray(prompt, np.int64) for prompt in order]
    found: list[list[int]] = []
    for place, prompt in enumerate(order):
        if len(prompt) < WORTH_SHARING:
            found += [[i] for i in numbers[prompt]]
        elif place and common_length(arrays[place - 1], arrays[place]) >= WORTH_SHARING:
            found[-1] += numbers[prompt]
        else:
            found.append(numbers[prompt])
    alone = [group[0] for group in found if len(group) == 1]
    together = [sorted(group) for group in found if len(group) > 1]
    return [*together, sorted(alone)] if alone else together


class PrefixCache:
    """The prefixes that were read before."""

    def __init__(self) -> None:
        self._kept: list[tuple[NDArray[np.int64], Prefix]] = []

    def shared_by(self, prompts: Sequence[Tokens], read: Reader) -> Prefix | None:
        """What these prompts have in common, read or cached; it leaves every prompt at least one token of its own.

        A kept prefix that is somewhat shorter than what they share is taken as it is, where reading on costs more than it saves.
        """
        arrays = [np.asarray(prompt, np.int64) for prompt in dict.fromkeys(map(tuple, prompts))]
        wanted = min([*(common_length(arrays[0], other) for other in arrays[1:]), *(len(each) - 1 for each in arrays)])
        if wanted < WORTH_SHARING:
            return None
        known, best = 0, None
        for tokens, prefix in self._kept:
            length = common_length(tokens, arrays[0][:wanted])
            if length > known:
                known, best = length, prefix
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

    def _used(self, prefix: Prefix) -> None:
        self._kept.sort(key=lambda entry: entry[1] is prefix)
