"""What a study trains and searches: cells one by one or as a grid, and the space of a search.

A cell is a settings file with changes. A grid is a cross product: every value of an axis has changes of its own, and a cell takes one value
of every axis, in their order. An axis that makes no difference to some cells is left out there (`without`), so that these are trained
once. A cell of a grid is named after its values.

    grid:
      change: {num_train_steps: 1000000}
      axes:
        algo: {PPO: {config: ppo_fast.yaml}, REINFORCE: {config: reinforce_fast.yaml}}
        hints: {none: {}, bayes: {hints: {mode: bayes}}}
        cadence: {k = 1: {hints: {k: 1}}, k = 3: {hints: {k: 3}}}
      without: {cadence: {hints: [none]}}
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from edgeworth.config import config_folder
from edgeworth.errors import InvalidOption, UnknownName
from edgeworth.training.changes import merged
from edgeworth.training.settings import TrainSettings, load_settings
from edgeworth.validation import settings

CONFIG = "config"


@settings
class Cell:
    """One kind of agent."""

    name: str
    config: str
    """A file in `configs/`."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What is changed in it."""
    at_least: float | None = None
    """The share of the maximum that it should reach."""
    below_bayes: float | None = None
    """How far below the blind Bayes plan it may stay, in shares of the maximum."""
    bundle: str | None = None
    """The name under which its first seed's network is bundled, where a folder for that is named."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Its place in a grid: the value of every axis."""

    def settings(self, seed: int, steps: int | None = None) -> TrainSettings:
        """The settings of one of its runs."""
        shorter = {} if steps is None else {"num_train_steps": steps}
        return load_settings(config_folder() / self.config, merged(self.change, {"seed": seed, **shorter}))


@settings
class Grid:
    """Cells as a cross product."""

    axes: Mapping[str, Any]
    """By axis and value: the changes that make it, and where it is chosen there, the settings file (`config`)."""
    without: Mapping[str, Any] = field(default_factory=dict)
    """Axes that some cells do without: by axis, another axis and those of its values."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """What is changed in every cell."""

    def __post_init__(self) -> None:
        for axis, values in self.axes.items():
            if not isinstance(values, Mapping) or not values:
                raise InvalidOption(f"The axis {axis} of the grid is {values!r}; expected its values, each with what it changes.")
        for axis, others in self.without.items():
            self._check(axis)
            if not isinstance(others, Mapping):
                raise InvalidOption(f"without {axis} is {others!r}; expected another axis with a list of its values.")
            for other, values in others.items():
                self._check(other, values)

    def _check(self, axis: str, values: Sequence[str] = ()) -> None:
        if axis not in self.axes:
            raise UnknownName("axis of the grid", axis, self.axes)
        for value in values:
            if value not in self.axes[axis]:
                raise UnknownName(f"value of the axis {axis}", value, self.axes[axis])

    def cells(self) -> list[Cell]:
        """Every combination that differs from the others."""
        found: dict[tuple[tuple[str, str], ...], Cell] = {}
        for combination in itertools.product(*self.axes.values()):
            values = dict(zip(self.axes, (str(value) for value in combination), strict=True))
            values = {axis: value for axis, value in values.items() if not self._left_out(axis, values)}
            if tuple(values.items()) not in found:
                found[tuple(values.items())] = self._cell(values)
        return list(found.values())

    def _left_out(self, axis: str, values: Mapping[str, str]) -> bool:
        return any(values[other] in those for other, those in self.without.get(axis, {}).items())

    def _cell(self, values: dict[str, str]) -> Cell:
        name, change = ", ".join(values.values()), dict(self.change)
        for axis, value in values.items():
            change = merged(change, self.axes[axis][value] or {})
        if not isinstance(change.get(CONFIG), str):
            raise InvalidOption(f"The cell {name} of the grid has no settings file; give `config` to the values of one axis.")
        return Cell(name, change.pop(CONFIG), change, values=values)


KINDS = {"choice": 1, "uniform": 2, "log_uniform": 2, "integer": 2}
"""How a setting is drawn in a search, and how many values that needs at least."""


@settings
class Search:
    """A search for better settings of a cell."""

    space: Mapping[str, Any]
    """By setting, such as `ppo.entropy`: `choice` with a list, or `uniform`, `log_uniform` or `integer` with the lowest and the highest."""
    cell: str | None = None
    """The cell by name; the first one by default."""
    trials: int = 16
    grace: int = 100_000
    """Moves between two reports, and before a trial may be stopped."""
    reduction: int = 3
    """One in so many trials goes on each time."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, given in self.space.items():
            kind, values = next(iter(given.items())) if isinstance(given, Mapping) and len(given) == 1 else (None, None)
            if kind not in KINDS or not isinstance(values, list) or len(values) < KINDS[kind] or (kind != "choice" and len(values) != 2):
                raise InvalidOption(f"The space of {name} is {given!r}; expected one of {', '.join(KINDS)} with its values.")
