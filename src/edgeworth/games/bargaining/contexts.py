"""Where pools and utilities come from: uniform draws, or the exact Lewis table.

`uniform`: counts 1 to 4 per type, utilities 0 to 10, independent. `lewis`: the task of Lewis et al. (2017) — 5 to 7 items, every
type present, each side's whole pool worth exactly 10, every type valued by someone and some type by both — sampled from the table
of all such contexts, so that nothing is drawn and thrown away.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidContext, shown
from edgeworth.games.bargaining.vocabulary import BUDGET, COUNT_LIMIT, ITEM_TYPES, UTILITY_LIMIT
from edgeworth.validation import array_of

LEWIS_ITEMS = range(5, 8)
LEWIS_COUNTS = range(1, 5)
UNIFORM_MAX_COUNT = 4

CONTEXT_KEYS = ("counts", "my_utilities", "partner_utilities")
"""The three parts of a context, as users write them."""

Triple = tuple[int, int, int]
ContextTable = NDArray[np.int16]
"""Rows of nine numbers: counts, the agent's utilities, the partner's utilities."""


@dataclass(frozen=True)
class Context:
    """One pool and what a unit of each type is worth to either side."""

    counts: Triple
    my_utilities: Triple
    partner_utilities: Triple

    def __post_init__(self) -> None:
        for name in ("counts", "my_utilities", "partner_utilities"):
            limit = COUNT_LIMIT if name == "counts" else UTILITY_LIMIT
            object.__setattr__(self, name, checked_triple(name, getattr(self, name), limit))
        if sum(self.counts) == 0:
            raise InvalidContext("counts are 0,0,0; expected at least one item to divide.")

    @classmethod
    def from_row(cls, row: Sequence[int] | NDArray[np.int16]) -> Context:
        """The context behind nine numbers."""
        a, b, c, d, e, f, g, h, i = (int(n) for n in row)
        return cls((a, b, c), (d, e, f), (g, h, i))

    def row(self) -> tuple[int, ...]:
        """The nine numbers of this context."""
        return (*self.counts, *self.my_utilities, *self.partner_utilities)

    def half(self) -> Context:
        """What the agent knows of it: the partner's utilities left blank."""
        return Context(self.counts, self.my_utilities, (0, 0, 0))

    @property
    def my_maximum(self) -> int:
        """Worth of the whole pool to the agent."""
        return sum(c * u for c, u in zip(self.counts, self.my_utilities, strict=True))

    @property
    def partner_maximum(self) -> int:
        """Worth of the whole pool to the partner."""
        return sum(c * u for c, u in zip(self.counts, self.partner_utilities, strict=True))

    def is_lewis(self) -> bool:
        """Whether the context obeys the rules of Lewis et al.: see the module header."""
        mine, theirs = self.my_utilities, self.partner_utilities
        return (
            sum(self.counts) in LEWIS_ITEMS
            and min(self.counts) >= 1
            and self.my_maximum == self.partner_maximum == BUDGET
            and all(m + t > 0 for m, t in zip(mine, theirs, strict=True))
            and any(m * t > 0 for m, t in zip(mine, theirs, strict=True))
        )


def context_of(episode: np.void) -> Context:
    """The context of an episode's record, the partner's utilities included."""
    return Context.from_row([*episode["counts"], *episode["utilities"].reshape(-1)])


def triple_of(values: NDArray[np.generic] | Sequence[int]) -> Triple:
    """Three numbers as plain integers."""
    a, b, c = (int(v) for v in values)
    return (a, b, c)


def rest_of(counts: Triple, share: Triple) -> Triple:
    """What a share leaves of the pool to the other side."""
    return (counts[0] - share[0], counts[1] - share[1], counts[2] - share[2])


def checked_triple(name: str, values: object, limit: int) -> Triple:
    """Three whole numbers from 0 to the limit, or an error that says what arrived."""
    array = array_of(values)
    if array.shape != (ITEM_TYPES,) or not np.issubdtype(array.dtype, np.integer):
        raise InvalidContext(f"{name} is {shown(values)}; expected three whole numbers, one per item type.")
    if array.min() < 0 or array.max() > limit:
        raise InvalidContext(f"{name} is {array.tolist()}; expected numbers from 0 to {limit}.")
    return triple_of(array)


class ContextSource(Protocol):
    """Where contexts come from."""

    def table(self) -> ContextTable | None:
        """All contexts, equally likely; None where they are drawn uniformly."""
        ...


@dataclass(frozen=True)
class UniformContexts:
    """Counts and utilities drawn independently; `min_count` and `max_count` are settings of the game."""

    def table(self) -> ContextTable | None:
        return None


@dataclass(frozen=True)
class LewisContexts:
    """Every context of the Lewis task, equally likely."""

    def table(self) -> ContextTable | None:
        return lewis_table()


@cache
def lewis_table() -> ContextTable:
    """All contexts of the Lewis task with 1 to 4 units per type."""
    rows: list[tuple[int, ...]] = []
    for counts in itertools.product(LEWIS_COUNTS, repeat=ITEM_TYPES):
        if sum(counts) not in LEWIS_ITEMS:
            continue
        worth_ten = [
            u
            for u in itertools.product(range(UTILITY_LIMIT + 1), repeat=ITEM_TYPES)
            if sum(c * v for c, v in zip(counts, u, strict=True)) == BUDGET
        ]
        rows += [
            (*counts, *mine, *theirs)
            for mine, theirs in itertools.product(worth_ten, repeat=2)
            if all(m + t > 0 for m, t in zip(mine, theirs, strict=True)) and any(m * t > 0 for m, t in zip(mine, theirs, strict=True))
        ]
    return np.array(rows, np.int16)


def largest_count(config: BargainingConfig, table: ContextTable | None) -> int:
    """Most units of a type that the spaces must hold: as set, else what the source can give."""
    if table is None:
        return config.max_count if config.max_count is not None else max(UNIFORM_MAX_COUNT, config.min_count)
    largest = int(table[:, :3].max())
    if config.max_count is not None and config.max_count < largest:
        raise InvalidContext(f"max_count is {config.max_count}, but the contexts hold up to {largest} units of a type; raise it.")
    return config.max_count if config.max_count is not None else largest


def own_sides(config: BargainingConfig, table: ContextTable | None) -> NDArray[np.int64]:
    """Every pool with the agent's utilities that a game can draw, rows of six numbers in order; `table` as its source gives it."""
    if table is not None:
        return np.unique(table[:, :6], axis=0).astype(np.int64)
    counts = range(config.min_count, largest_count(config, None) + 1)
    sides = itertools.product(*[counts] * ITEM_TYPES, *[range(UTILITY_LIMIT + 1)] * ITEM_TYPES)
    rows = np.array(list(sides), np.int64)
    return rows[rows[:, :3].any(axis=1)]
