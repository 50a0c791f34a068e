"""Spaces of the auction environments: mechanisms in words, in numbers and as levels, observations, and the options of `reset`.

People and language models write a mechanism with words (`"vcg"`, `true`), Gymnasium's spaces sample numbers; `in_words` turns the one into
the other, and the game's own `checked_action` checks the result.

For learners that choose from a table, every field has a few levels:

| field | levels |
|---|---|
| `auction_type` | 3, as in the vocabulary |
| `reserve_price` | 19: 0 to 0.9 by 0.05 |
| the five `reveal_…` | 2: false, true |
| the three penalties | 13: 0 to 3 by 0.25 |
| `coalition_policy` | 4, as in the vocabulary |

A mechanism is then eleven whole numbers, in the order of the fields. A mask over all 75 levels, field after field, says which may be
chosen; of a locked field it leaves one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BIDDER_RANGE, STEP_RANGE, AuctionConfig
from edgeworth.envs.options import refuse_mistyped
from edgeworth.errors import IllegalAction, InvalidOption, UnknownKey
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, HIGHEST, NUMBERS, DaedalusAction, checked_action
from edgeworth.games.auction.market_view import FIELD_LIMITS, PROXY_LIMITS, RECENT_STEPS
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.state import MECHANISM, PROXIES, SCORES
from edgeworth.validation import array_of

RESET_OPTIONS = ("stage", "mix", "n_agents", "episode_length")
STEPS_PER_UNIT = {name: 20 if name == "reserve_price" else 4 for name in NUMBERS}
"""Levels of a number per unit."""


def level_values(name: str) -> tuple[Any, ...]:
    """What each level of a field means."""
    if name in CHOICES:
        return CHOICES[name]
    if name in FLAGS:
        return (False, True)
    return tuple(k / STEPS_PER_UNIT[name] for k in range(round(HIGHEST[name] * STEPS_PER_UNIT[name]) + 1))


LEVEL_VALUES: dict[str, tuple[Any, ...]] = {name: level_values(name) for name in FIELDS}
LEVEL_COUNTS = tuple(len(values) for values in LEVEL_VALUES.values())

Levels = NDArray[np.int64]


def mechanism_space() -> spaces.Dict:
    """The eleven fields as numbers: words by their place in the vocabulary, flags as 0 or 1."""
    fields: dict[str, spaces.Space[Any]] = {}
    for name in FIELDS:
        if name in CHOICES:
            fields[name] = spaces.Discrete(len(CHOICES[name]))
        elif name in FLAGS:
            fields[name] = spaces.Discrete(2)
        else:
            fields[name] = spaces.Box(0.0, HIGHEST[name], (), np.float64)
    return spaces.Dict(fields, sort_keys=False)


def observation_space() -> spaces.Dict:
    """What a designer sees; wide enough for every market that `reset` may open."""
    return spaces.Dict(
        {
            "market_outcomes": spaces.Box(0.0, 1.0, (RECENT_STEPS, len(SCORES)), np.float64),
            "population_proxies": spaces.Box(np.zeros(len(PROXIES)), PROXY_LIMITS, dtype=np.float64),
            "round_number": spaces.Discrete(STEP_RANGE[1] + 1),
            "episode_length": spaces.Discrete(STEP_RANGE[1] + 1),
            "n_agents": spaces.Discrete(BIDDER_RANGE[1] + 1),
            "current_mechanism": mechanism_space(),
            "recent_mechanisms": _each_step(FIELD_LIMITS),
            "recent_proxies": _each_step(PROXY_LIMITS),
        },
        sort_keys=False,
    )


def _each_step(highest: NDArray[np.float64]) -> spaces.Box[Any]:
    """A row of numbers from 0 up for each of the last steps."""
    rows = np.tile(highest, (RECENT_STEPS, 1))
    return spaces.Box(np.zeros_like(rows), rows, dtype=np.float64)


def action_from(value: Any) -> DaedalusAction:
    """The mechanism that arrived, in words or in numbers, or an error that names the field that is wrong."""
    return checked_action(in_words(value))


def in_words(value: Any) -> Any:
    """A mechanism whose numbers stand for words and flags, with these words and flags; anything else as it is."""
    return {name: _in_words(name, item) for name, item in value.items()} if isinstance(value, Mapping) else value


def _in_words(name: Any, item: Any) -> Any:
    if isinstance(item, np.generic) or (isinstance(item, np.ndarray) and item.shape == ()):
        item = item.item()
    if type(item) is int:
        if name in CHOICES and 0 <= item < len(CHOICES[name]):
            return CHOICES[name][item]
        if name in FLAGS and item in (0, 1):
            return bool(item)
    return item


def config_after(config: AuctionConfig, options: Mapping[str, Any] | None, also_known: tuple[str, ...] = ()) -> AuctionConfig:
    """The options in force after `reset(options=…)`, checked; naming a stage puts it in the place of a mix."""
    given = options or {}
    refuse_mistyped(given, (*RESET_OPTIONS, *also_known))
    changes = {key: given[key] for key in RESET_OPTIONS if key in given}
    if not changes:
        return config
    if config.curriculum and ("stage" in changes or "mix" in changes):
        raise InvalidOption("curriculum chooses the population; make the environment without it to name a stage or a mix.")
    if "stage" in changes and changes.setdefault("mix", None) is not None:
        raise InvalidOption("stage and mix both name the population; give one of them.")
    settings = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    settings.update(changes)
    if settings["mix"] is not None or config.curriculum:
        del settings["stage"]  # the default, which names no population here
    changed = AuctionConfig.from_options(**settings)
    population_table(changed.stage, changed.mix)  # refuses what does not exist
    return changed


def rows_of_levels(levels: Levels) -> NDArray[np.void]:
    """The mechanisms behind rows of eleven levels."""
    rows = np.zeros(len(levels), MECHANISM)
    for k, name in enumerate(FIELDS):
        rows[name] = levels[:, k] / STEPS_PER_UNIT[name] if name in NUMBERS else levels[:, k]
    return rows


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


class LevelSpace(spaces.MultiDiscrete):
    """Levels of one market, or of a batch of `size`; only the given value of a locked field may be chosen."""

    def __init__(self, locked: Mapping[str, Any] | None = None, size: int | None = None) -> None:
        if locked is not None and not isinstance(locked, Mapping):
            raise InvalidOption(f"locked is {locked!r}; expected values by field, for example {{auction_type: vcg}}.")
        super().__init__(np.array(LEVEL_COUNTS) if size is None else np.tile(LEVEL_COUNTS, (size, 1)))
        self.lowest, self.highest = np.zeros(len(FIELDS), np.int64), np.array(LEVEL_COUNTS) - 1
        for name, value in (locked or {}).items():
            self.lowest[FIELDS.index(name)] = self.highest[FIELDS.index(name)] = level_of(name, value)

    def mask(self) -> NDArray[np.int8]:
        """1 for every level that may be chosen, field after field; one row for each market of a batch."""
        limits = zip(LEVEL_COUNTS, self.lowest, self.highest, strict=True)
        allowed = np.concatenate([(low <= np.arange(n)) & (np.arange(n) <= high) for n, low, high in limits]).astype(np.int8)
        return allowed if self.nvec.ndim == 1 else np.tile(allowed, (len(self.nvec), 1))

    def checked(self, values: Any) -> Levels:
        """Eleven levels for each market, a row each, or an error that names the first that may not be chosen."""
        array = array_of([values] if self.nvec.ndim == 1 else values)
        wanted = np.atleast_2d(self.nvec).shape
        if array.shape != wanted or array.dtype.kind not in "iu":
            found = f"shape {array.shape} and dtype {array.dtype}"
            raise IllegalAction(f"The levels have {found}; expected {wanted} whole numbers.", "mechanism")
        wrong = (array < self.lowest) | (array > self.highest)
        if wrong.any():
            slot, k = (int(i) for i in np.argwhere(wrong)[0])
            raise self._refusal(k, int(array[slot, k]), slot if len(array) > 1 else None)
        return array.astype(np.int64)

    def _refusal(self, k: int, level: int, slot: int | None) -> IllegalAction:
        name, low, high = FIELDS[k], int(self.lowest[k]), int(self.highest[k])
        if low == high:
            return IllegalAction(f"{name} is level {level}; it is locked at level {low} ({LEVEL_VALUES[name][low]}).", name, slot)
        return IllegalAction(f"{name} is level {level}; expected {low} to {high}.", name, slot)

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Levels that may be chosen, or any that a mask over all levels allows."""
        if isinstance(mask, np.ndarray) and probability is None:
            fields = np.split(self.np_random.random(mask.shape) * (mask > 0), np.cumsum(LEVEL_COUNTS)[:-1], axis=-1)
            return np.stack([field.argmax(axis=-1) for field in fields], axis=-1)
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return self.np_random.integers(self.lowest, self.highest + 1, size=self.shape)
