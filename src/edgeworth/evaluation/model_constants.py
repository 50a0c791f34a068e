"""Worlds in which one constant of the market model is halved or doubled, and which constants matter.

Constants are read from the model's dataclasses, so a new or renamed one takes part by itself. A number between one half and one is
taken for a share: its distance to one is halved and doubled, since twice a share means nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_mechanism, mechanism_names
from edgeworth.agents.designers.search import mean_scores
from edgeworth.config import AuctionConfig
from edgeworth.errors import EdgeworthError
from edgeworth.games.auction.action import mechanism_rows
from edgeworth.games.auction.model import MarketModel
from edgeworth.progress import Progress, silent

Options = dict[str, Any]

STAGES = ("0", "1", "2", "3", "4")
FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Constant:
    """A number of the market model by its place, such as `ring.overbid` or `bidders.dropout.entry_cost`."""

    path: str
    value: float | int | tuple[float, ...]

    def moved(self, factor: float) -> Options | None:
        """The model's options in which it is scaled; None where that changes nothing or is refused."""
        value = _scaled(self.value, factor)
        options: Any = value
        for name in reversed(self.path.split(".")):
            options = {name: options}
        try:
            changed = MarketModel.from_options(options)
        except EdgeworthError:
            return None
        return dict(options) if changed != MarketModel() else None


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, tuple):
        return tuple(_scaled(entry, factor) for entry in value)
    scaled = 1.0 - (1.0 - value) * factor if 0.5 < value < 1.0 else value * factor
    return round(scaled) if isinstance(value, int) else scaled


def constants_of(settings: Any, path: str = "") -> Iterator[Constant]:
    """Every number of a settings dataclass that scaling can change, groups within groups."""
    for field in dataclasses.fields(settings):
        value, place = getattr(settings, field.name), f"{path}{field.name}"
        if dataclasses.is_dataclass(value):
            yield from constants_of(value, f"{place}.")
        elif is_number(value) or (isinstance(value, tuple) and any(map(is_number, value))):
            yield Constant(place, value)


def is_number(value: object) -> bool:
    """Whether scaling changes it: a number that is no flag and not zero."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


@dataclass(frozen=True)
class World:
    """A market with one constant moved; the calibrated one has none."""

    name: str
    options: Options

    def config(self, stage: str) -> AuctionConfig:
        """A stage of this world."""
        return AuctionConfig(stage=stage, model=self.options)


CALIBRATED = World("calibrated", {})


def rank_constants(markets: int, seed: int, progress: Progress = silent) -> list[tuple[Constant, float]]:
    """Every constant with its influence: the mean change of R, over mechanisms and stages, when it is halved or doubled; most first."""
    mechanisms = mechanism_rows([bundled_mechanism(name) for name in mechanism_names()])

    def table(options: Options) -> NDArray[np.float64]:
        return np.stack([mean_scores(mechanisms, World("", options).config(stage), markets, seed).mean(axis=1) for stage in STAGES])

    base, constants, found = table({}), list(constants_of(MarketModel())), []
    for place, constant in enumerate(constants):
        moves = [options for factor in FACTORS if (options := constant.moved(factor)) is not None]
        influence = max((float(np.abs(table(options) - base).mean()) for options in moves), default=0.0)
        found.append((constant, influence))
        progress(constant.path, place + 1, len(constants))
    return sorted(found, key=lambda entry: -entry[1])


def worlds_of(constants: list[Constant]) -> list[World]:
    """Two worlds for every constant, where the model allows them."""
    moved = ((f"{constant.path} {_shown(constant.value, factor)}", constant.moved(factor)) for constant in constants for factor in FACTORS)
    return [World(name, options) for name, options in moved if options is not None]


def _shown(value: Any, factor: float) -> str:
    return f"× {factor:g}" if isinstance(value, tuple) else f"{value:g} → {_scaled(value, factor):g}"
