"""The border of the auction environments: spaces, numbers for names, and the options of `reset`.

People and language models write a mechanism with words (`"vcg"`, `true`), Gymnasium's spaces sample numbers; both are read here, by one
function, and the game's own `checked_action` judges the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BIDDER_RANGE, STEP_RANGE, AuctionConfig
from edgeworth.envs.reset_options import refuse_mistyped
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, HIGHEST, DaedalusAction, checked_action
from edgeworth.games.auction.levels import LEVEL_COUNTS, LevelChoice
from edgeworth.games.auction.market_view import FIELD_LIMITS, PROXY_LIMITS, RECENT_STEPS
from edgeworth.games.auction.population import population_table
from edgeworth.games.auction.state import PROXIES, SCORES

RESET_OPTIONS = ("stage", "mix", "n_agents", "episode_length")


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
    if isinstance(value, Mapping):
        value = {name: _in_words(name, item) for name, item in value.items()}
    return checked_action(value)


def _in_words(name: Any, item: Any) -> Any:
    """A number that stands for a word or a flag as what it stands for; anything else as it is."""
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


class LevelSpace(spaces.MultiDiscrete):
    """Levels of one market, or of a batch of `size`; samples keep to what is locked."""

    def __init__(self, choice: LevelChoice, size: int | None = None) -> None:
        super().__init__(np.array(LEVEL_COUNTS) if size is None else np.tile(LEVEL_COUNTS, (size, 1)))
        self._choice = choice

    def sample(self, mask: Any = None, probability: Any = None) -> NDArray[np.int64]:
        """Levels that may be chosen, or any that a mask over all levels allows."""
        if isinstance(mask, np.ndarray) and probability is None:
            fields = np.split(self.np_random.random(mask.shape) * (mask > 0), np.cumsum(LEVEL_COUNTS)[:-1], axis=-1)
            return np.stack([field.argmax(axis=-1) for field in fields], axis=-1)
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        return self.np_random.integers(self._choice.lowest, self._choice.highest + 1, size=self.shape)
