"""A designer's observation as 153 numbers, for learners that want a vector.

The last five steps come first, oldest first, thirty numbers each (`features[:150].reshape(5, 30)`), then the clock:

| numbers | what | scale |
|---|---|---|
| 1 | `played` | 1; 0 where the episode has not had so many steps, and then the whole step is 0 |
| 16 | the mechanism: type one of three, reserve, five flags, three penalties, policy one of four | 0 or 1; numbers over their highest |
| 5 | scores, in the order of `state.SCORES` | less their mean, over their standard deviation; at most ±5 |
| 8 | proxies, in the order of `state.PROXIES`; entrants over n_agents | likewise |
| 3 | the clock, once: round_number, episode_length, n_agents | √12 (played share - ½); log10 - 1; less 8, over 4 |

Means and standard deviations are those of random mechanisms in markets of all stages (`daedalus_scales.py`), so that every number is about
0 ± 1; the clock is 0 in the middle of an episode, at ten steps and at eight bidders. `FEATURES` names each number.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BIDDER_RANGE, STEP_RANGE
from edgeworth.envs.daedalus_scales import ENTRANTS, NUMBERS, scales
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.games.auction.action import CHOICES, FIELDS
from edgeworth.games.auction.market_view import FIELD_LIMITS, FIRST_FIELD, RECENT_STEPS

MECHANISM_FEATURES = tuple(
    feature for name in FIELDS for feature in ([f"{name}={word}" for word in CHOICES[name]] if name in CHOICES else [name])
)
STEP_FEATURES = ("played", *MECHANISM_FEATURES, *NUMBERS)
"""What is told of a step."""
CLOCK_FEATURES = ("round_number", "episode_length", "n_agents")
FEATURES = (*(f"{name}[{step}]" for step in range(-RECENT_STEPS, 0) for name in STEP_FEATURES), *CLOCK_FEATURES)
"""The name of every number."""

LIMIT = 5.0
"""Scores and proxies are shown up to so many standard deviations from their mean."""
FIRST_CLOCK = RECENT_STEPS * len(STEP_FEATURES)
FIRST_NUMBER = len(STEP_FEATURES) - len(NUMBERS)
TYPES, POLICIES = len(CHOICES["auction_type"]), len(CHOICES["coalition_policy"])
BETWEEN = slice(1, -1)
"""The fields between the type and the policy: flags and numbers, a feature each."""


def feature_space() -> spaces.Box[Any]:
    """The box that the features lie in."""
    low, high = np.zeros(len(FEATURES), np.float32), np.ones(len(FEATURES), np.float32)
    low[:FIRST_CLOCK].reshape(RECENT_STEPS, -1)[:, FIRST_NUMBER:] = -LIMIT
    high[:FIRST_CLOCK].reshape(RECENT_STEPS, -1)[:, FIRST_NUMBER:] = LIMIT
    low[FIRST_CLOCK:], high[FIRST_CLOCK:] = (clock_of(np.array([k]), STEP_RANGE[k], BIDDER_RANGE[k])[0] for k in (0, 1))
    return spaces.Box(low, high, dtype=np.float32)


def clock_of(share: NDArray[np.float64], episode_length: int, n_agents: int) -> NDArray[np.float32]:
    """The clock of markets that have played a share of their episodes."""
    clock = np.empty((len(share), len(CLOCK_FEATURES)), np.float32)
    clock[:, 0] = np.sqrt(12.0) * (share - 0.5)
    clock[:, 1] = np.log10(episode_length) - 1.0
    clock[:, 2] = (n_agents - 8) / 4
    return clock


def features_of(markets: DesignedMarkets) -> NDArray[np.float32]:
    """The features of every market."""
    config, size = markets.config, markets.batch.size
    out = np.empty((size, len(FEATURES)), np.float32)
    out[:, FIRST_CLOCK:] = clock_of(markets.steps / config.episode_length, config.episode_length, config.n_agents)
    steps = out[:, :FIRST_CLOCK].reshape(size, RECENT_STEPS, -1)  # a view: what is written to it stands in `out`
    numbers = standardised(markets.lines, config.n_agents)
    steps[..., FIRST_NUMBER:] = numbers[..., :FIRST_FIELD]
    _write_mechanisms(numbers[..., FIRST_FIELD:], steps[..., 1:FIRST_NUMBER])
    steps[..., 0] = 1.0
    steps[np.arange(RECENT_STEPS) < RECENT_STEPS - markets.steps[:, None]] = 0.0  # not played
    return out


def standardised(lines: NDArray[np.float64], n_agents: int) -> NDArray[np.float32]:
    """Scores and proxies less their mean, over their standard deviation; fields over their highest, but words as they are."""
    centre, scale = line_scales(n_agents)
    numbers = lines.reshape(len(lines), -1).astype(np.float32)
    numbers -= centre
    numbers *= scale
    np.clip(numbers, -LIMIT, LIMIT, out=numbers)
    return numbers.reshape(lines.shape)


@cache
def line_scales(n_agents: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What is taken off every number of five lines of a notebook, and what it is then multiplied by."""
    centre, scale = scales()
    unit = np.where(np.arange(len(NUMBERS)) == ENTRANTS, n_agents, 1.0)
    highest = np.where([name in CHOICES for name in FIELDS], 1.0, FIELD_LIMITS)
    centres, scaled = np.concatenate([centre * unit, np.zeros(len(FIELDS))]), np.concatenate([scale * unit, highest])
    return np.tile(centres, RECENT_STEPS).astype(np.float32), np.tile(1.0 / scaled, RECENT_STEPS).astype(np.float32)


def _write_mechanisms(fields: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for place in range(TYPES):
        out[..., place] = fields[..., 0] == place
    out[..., TYPES:-POLICIES] = fields[..., BETWEEN]
    for place in range(POLICIES):
        out[..., place - POLICIES] = fields[..., -1] == place
