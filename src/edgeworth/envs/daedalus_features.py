"""A designer's observation as 52 numbers, for learners that want a vector.

| numbers | what | scale |
|---|---|---|
| 25 | scores of the last five steps, oldest first, each in the order of `state.SCORES` | as they are, 0 to 1 |
| 8 | proxies of the last step, in the order of `state.PROXIES` | as they are; entrants over n_agents |
| 3 | round_number, episode_length, n_agents | played share of the episode; log10 over 4; over 16 |
| 16 | the mechanism in force: type one of three, reserve, five flags, three penalties, policy one of four | over their highest |

Everything is 0 before the first step, except the three numbers of the third line. `FEATURES` names each number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BIDDER_RANGE, STEP_RANGE
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST
from edgeworth.games.auction.market_view import PROXY_LIMITS, RECENT_STEPS
from edgeworth.games.auction.state import PROXIES, SCORES

OUTCOME_FEATURES = tuple(f"{score}[{step}]" for step in range(-RECENT_STEPS, 0) for score in SCORES)
CLOCK_FEATURES = ("round_number", "episode_length", "n_agents")
MECHANISM_FEATURES = tuple(
    feature for name in FIELDS for feature in ([f"{name}={word}" for word in CHOICES[name]] if name in CHOICES else [name])
)
FEATURES = (*OUTCOME_FEATURES, *PROXIES, *CLOCK_FEATURES, *MECHANISM_FEATURES)
"""The name of every number."""

FIRST_PROXY = len(OUTCOME_FEATURES)
FIRST_CLOCK = FIRST_PROXY + len(PROXIES)
FIRST_FIELD = FIRST_CLOCK + len(CLOCK_FEATURES)


def feature_space() -> spaces.Box[Any]:
    """The box that the features lie in."""
    highest = np.ones(len(FEATURES), np.float32)
    highest[FIRST_PROXY:FIRST_CLOCK] = np.where(np.array(PROXIES) == "entrants", 1.0, PROXY_LIMITS)
    return spaces.Box(np.zeros_like(highest), highest, dtype=np.float32)


def features_of(markets: DesignedMarkets) -> NDArray[np.float32]:
    """The features of every market."""
    size, config = markets.batch.size, markets.config
    out = np.zeros((size, len(FEATURES)), np.float32)
    out[:, :FIRST_PROXY] = markets.recent.reshape(size, -1)
    out[:, FIRST_PROXY:FIRST_CLOCK] = markets.proxies()
    out[:, FIRST_PROXY + PROXIES.index("entrants")] /= config.n_agents
    out[:, FIRST_CLOCK] = markets.steps / config.episode_length
    out[:, FIRST_CLOCK + 1] = np.log10(config.episode_length) / np.log10(STEP_RANGE[1])
    out[:, FIRST_CLOCK + 2] = config.n_agents / BIDDER_RANGE[1]
    _write_mechanisms(markets, out[:, FIRST_FIELD:])
    return out


def _write_mechanisms(markets: DesignedMarkets, out: NDArray[np.float32]) -> None:
    column, posted = 0, markets.steps > 0
    for name in FIELDS:
        values = markets.posted[name]
        if name in CHOICES:
            places = np.arange(len(CHOICES[name]))
            out[:, column : column + len(places)] = (values[:, None] == places) & posted[:, None]
            column += len(places)
        else:
            out[:, column] = values / HIGHEST.get(name, 1.0)
            column += 1
