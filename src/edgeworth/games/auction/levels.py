"""Mechanisms on a grid: every field as one of a few levels, for learners that choose from a table.

| field | levels |
|---|---|
| `auction_type` | 3, as in the vocabulary |
| `reserve_price` | 19: 0 to 0.9 by 0.05 |
| the five `reveal_…` | 2: false, true |
| the three penalties | 13: 0 to 3 by 0.25 |
| `coalition_policy` | 4, as in the vocabulary |

A mechanism is then eleven whole numbers, in the order of the fields. A mask over all 75 levels, field after field, says which may be
chosen; it leaves one level of a field that is locked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import IllegalAction, InvalidOption, UnknownKey
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, HIGHEST, NUMBERS
from edgeworth.games.auction.state import MECHANISM

STEPS_PER_UNIT = {name: 20 if name == "reserve_price" else 4 for name in NUMBERS}
"""How finely a number is cut."""


def _values(name: str) -> tuple[Any, ...]:
    if name in CHOICES:
        return CHOICES[name]
    if name in FLAGS:
        return (False, True)
    return tuple(k / STEPS_PER_UNIT[name] for k in range(round(HIGHEST[name] * STEPS_PER_UNIT[name]) + 1))


LEVEL_VALUES: dict[str, tuple[Any, ...]] = {name: _values(name) for name in FIELDS}
"""What each level of a field means."""

LEVEL_COUNTS = tuple(len(values) for values in LEVEL_VALUES.values())
MASK_LENGTH = sum(LEVEL_COUNTS)

Levels = NDArray[np.int64]


def rows_of_levels(levels: Levels) -> NDArray[np.void]:
    """The mechanisms behind rows of eleven levels."""
    rows = np.zeros(len(levels), MECHANISM)
    for k, name in enumerate(FIELDS):
        rows[name] = levels[:, k] / STEPS_PER_UNIT[name] if name in NUMBERS else levels[:, k]
    return rows


def levels_of_rows(rows: NDArray[np.void]) -> Levels:
    """The levels of mechanisms, exact on the grid; a number between two levels goes to the nearer one."""
    levels = np.zeros((len(rows), len(FIELDS)), np.int64)
    for k, name in enumerate(FIELDS):
        levels[:, k] = np.rint(rows[name] * STEPS_PER_UNIT[name]) if name in NUMBERS else rows[name]
    return levels


def level_of(name: str, value: Any) -> int:
    """The level with exactly this value, or an error that shows the levels there are."""
    if name not in LEVEL_VALUES:
        raise UnknownKey("field", name, FIELDS)
    value = value.item() if isinstance(value, np.generic) else value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    for level, known in enumerate(LEVEL_VALUES[name]):
        if (number and name in NUMBERS and abs(value - known) < 1e-9) or (type(value) is type(known) and value == known):
            return level
    shown = ", ".join(f"{known:g}" if isinstance(known, float) else str(known) for known in LEVEL_VALUES[name])
    raise InvalidOption(f"{name} cannot be locked at {value!r}; its levels are {shown}.")


@dataclass(frozen=True)
class LevelChoice:
    """Which levels of every field may be chosen: from `lowest` to `highest`."""

    lowest: Levels
    highest: Levels

    @classmethod
    def with_locked(cls, locked: Mapping[str, Any] | None) -> LevelChoice:
        """All levels, but only the given value of a locked field."""
        if locked is not None and not isinstance(locked, Mapping):
            raise InvalidOption(f"locked is {locked!r}; expected values by field, for example {{auction_type: vcg}}.")
        lowest, highest = np.zeros(len(FIELDS), np.int64), np.array(LEVEL_COUNTS) - 1
        for name, value in (locked or {}).items():
            level = level_of(name, value)
            lowest[FIELDS.index(name)] = highest[FIELDS.index(name)] = level
        return cls(lowest, highest)

    def mask(self) -> NDArray[np.int8]:
        """1 for every level that may be chosen, field after field."""
        parts = [np.arange(n) for n in LEVEL_COUNTS]
        allowed = [(part >= low) & (part <= high) for part, low, high in zip(parts, self.lowest, self.highest, strict=True)]
        return np.concatenate(allowed).astype(np.int8)

    def checked(self, values: Any, size: int) -> Levels:
        """Eleven levels for each of `size` markets, or an error that names the first that may not be chosen."""
        try:
            array = np.asarray(values)
        except (ValueError, TypeError, OverflowError):
            array = np.empty((), object)
        if array.shape != (size, len(FIELDS)) or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"The levels have shape {array.shape} and dtype {array.dtype}; expected {(size, len(FIELDS))} whole numbers.", "mechanism"
            )
        wrong = (array < self.lowest) | (array > self.highest)
        if wrong.any():
            slot, k = (int(i) for i in np.argwhere(wrong)[0])
            raise self._refusal(k, int(array[slot, k]), slot if size > 1 else None)
        return array.astype(np.int64)

    def _refusal(self, k: int, level: int, slot: int | None) -> IllegalAction:
        name, low, high = FIELDS[k], int(self.lowest[k]), int(self.highest[k])
        if low == high:
            return IllegalAction(f"{name} is level {level}; it is locked at level {low} ({LEVEL_VALUES[name][low]}).", name, slot)
        return IllegalAction(f"{name} is level {level}; expected {low} to {high}.", name, slot)
