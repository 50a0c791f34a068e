"""A designer's observation as 153 numbers, for learners that want a vector.

The last five steps come first, oldest first, thirty numbers each (`features[:150].reshape(5, 30)`), then the clock:

| numbers | what | scale |
|---|---|---|
| 1 | `played` | 1; 0 where the episode has not had so many steps, and then the whole step is 0 |
| 16 | the mechanism: type one of three, reserve, five flags, three penalties, policy one of four | 0 or 1; numbers over their highest |
| 5 | scores, in the order of `state.SCORES` | less their mean, over their standard deviation; at most ±5 |
| 8 | proxies, in the order of `state.PROXIES`; entrants over n_agents | likewise |
| 3 | the clock, once: round_number, episode_length, n_agents | √12 (played share - ½); log10 - 1; less 8, over 4 |

`FEATURES` names each number. The clock is 0 in the middle of an episode, at ten steps and at eight bidders.

Means and standard deviations are those of uniformly random mechanisms, drawn at every step, in markets of the population `stages` with
eight bidders and ten steps; entrants count as a share of all bidders. They are kept in `daedalus_scales.json` and belong to the rules:
measure them again when the rules change, with `make scales` or `python -m edgeworth.envs.daedalus_features`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from edgeworth.config import BIDDER_RANGE, STEP_RANGE, AuctionConfig
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.files import write_json
from edgeworth.games.auction.action import CHOICES, FIELDS, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import FIELD_COLUMNS, FIELD_LIMITS, RECENT_STEPS, SEEN, SEEN_COLUMNS, MarketView, StepHistory
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.seeding import generator

Constants = NDArray[np.float64]

MECHANISM_FEATURES = tuple(
    feature for name in FIELDS for feature in ([f"{name}={word}" for word in CHOICES[name]] if name in CHOICES else [name])
)
STEP_FEATURES = ("played", *MECHANISM_FEATURES, *SEEN)
CLOCK_FEATURES = ("round_number", "episode_length", "n_agents")
FEATURES = (*(f"{name}[{step}]" for step in range(-RECENT_STEPS, 0) for name in STEP_FEATURES), *CLOCK_FEATURES)
"""The name of every number."""

PLAYED = STEP_FEATURES.index("played")
FIRST_SEEN = STEP_FEATURES.index(SEEN[0])
"""From here on the features of a step are scores and proxies."""
FIRST_CLOCK = FEATURES.index(CLOCK_FEATURES[0])
LIMIT = 5.0
"""Scores and proxies are shown up to so many standard deviations from their mean."""

PLAIN_FIELDS = tuple(name for name in FIELDS if name not in CHOICES)
PLAIN_FEATURES = [STEP_FEATURES.index(name) for name in PLAIN_FIELDS]
PLAIN_SOURCES = [FIELDS.index(name) for name in PLAIN_FIELDS]
WORDS = tuple((name, place) for name, words in CHOICES.items() for place in range(len(words)))
WORD_FEATURES = [STEP_FEATURES.index(f"{name}={CHOICES[name][place]}") for name, place in WORDS]
WORD_SOURCES = [FIELDS.index(name) for name, _ in WORDS]
WORD_PLACES = np.array([place for _, place in WORDS], np.float32)
"""A mechanism's features: its numbers and flags as they are, and 1 for each word that it holds."""

FILE = Path(__file__).with_name("daedalus_scales.json")
MARKETS = 20_000
DIGITS = 4


def feature_space() -> spaces.Box[Any]:
    """The box that the features lie in."""
    low, high = np.zeros(len(FEATURES), np.float32), np.ones(len(FEATURES), np.float32)
    low[:FIRST_CLOCK].reshape(RECENT_STEPS, -1)[:, FIRST_SEEN:] = -LIMIT
    high[:FIRST_CLOCK].reshape(RECENT_STEPS, -1)[:, FIRST_SEEN:] = LIMIT
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
    return line_features(markets.lines, markets.steps, markets.config.episode_length, markets.config.n_agents)


def view_features(view: MarketView) -> NDArray[np.float32]:
    """The features of every market in a view; a step that is not told in full stays out, as if it had not been played."""
    lines = np.concatenate([view.recent, view.recent_proxies, view.recent_mechanisms], axis=2)
    out = line_features(lines, np.full(view.size, view.round_number), view.episode_length, view.n_agents)
    out[:, :FIRST_CLOCK].reshape(view.size, RECENT_STEPS, -1)[~told_in_full(view)] = 0.0
    return out


def told_in_full(view: MarketView) -> NDArray[np.bool_]:
    """Which of the last steps have scores and proxies, (markets, RECENT_STEPS); a step that was played never has all of either at 0."""
    return np.asarray(view.recent.any(axis=2) & view.recent_proxies.any(axis=2))


def line_features(lines: NDArray[np.float64], played: NDArray[np.int64], episode_length: int, n_agents: int) -> NDArray[np.float32]:
    """The features of markets with these last steps (columns as in `market_view.LINE`) that have played so many steps."""
    size = len(lines)
    out = np.empty((size, len(FEATURES)), np.float32)
    out[:, FIRST_CLOCK:] = clock_of(played / episode_length, episode_length, n_agents)
    steps = out[:, :FIRST_CLOCK].reshape(size, RECENT_STEPS, -1)  # a view: writing to it writes to `out`
    numbers = standardised(lines, n_agents)
    fields = numbers[..., FIELD_COLUMNS]
    steps[..., PLAYED] = 1.0
    steps[..., PLAIN_FEATURES] = fields[..., PLAIN_SOURCES]
    steps[..., WORD_FEATURES] = fields[..., WORD_SOURCES] == WORD_PLACES
    steps[..., FIRST_SEEN:] = numbers[..., SEEN_COLUMNS]
    steps[np.arange(RECENT_STEPS) < RECENT_STEPS - played[:, None]] = 0.0  # not played
    return out


def standardised(lines: NDArray[np.float64], n_agents: int) -> NDArray[np.float32]:
    """Scores and proxies less their mean, over their standard deviation; numbers of a mechanism over their highest, words as they are."""
    centre, scale = line_scales(n_agents)
    numbers = lines.reshape(len(lines), -1).astype(np.float32)
    numbers -= centre
    numbers *= scale
    np.clip(numbers, -LIMIT, LIMIT, out=numbers)
    return numbers.reshape(lines.shape)


@cache
def line_scales(n_agents: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What is subtracted from every number of the last steps of a market, and what it is then multiplied by."""
    centre, scale = scales()
    unit = np.where([name == "entrants" for name in SEEN], n_agents, 1.0)
    highest = np.where([name in CHOICES for name in FIELDS], 1.0, FIELD_LIMITS)
    centres, scaled = np.concatenate([centre * unit, np.zeros(len(FIELDS))]), np.concatenate([scale * unit, highest])
    return np.tile(centres, RECENT_STEPS).astype(np.float32), np.tile(1.0 / scaled, RECENT_STEPS).astype(np.float32)


@cache
def scales() -> tuple[Constants, Constants]:
    """The constants in the package: mean and standard deviation of all scores and proxies, in the order of `SEEN`."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["numbers"]
    return np.array([kept[name]["centre"] for name in SEEN]), np.array([kept[name]["scale"] for name in SEEN])


def measured(markets: int = MARKETS, seed: int = 0) -> tuple[Constants, Constants]:
    """Mean and standard deviation of all scores and proxies under random mechanisms, in the order of `SEEN`."""
    config, rng = AuctionConfig(stage="stages"), generator(seed)
    batch = MarketBatch(config, markets)
    batch.seed(seed)
    batch.reset()
    history, seen = StepHistory(batch), []
    for _ in range(config.episode_length):
        mechanisms = random_mechanisms(rng, markets)
        batch.step(mechanisms)
        history.add(mechanisms)
        seen.append(history.lines[:, -1, SEEN_COLUMNS].copy())
    numbers = np.concatenate(seen)
    numbers[:, SEEN.index("entrants")] /= config.n_agents
    return numbers.mean(axis=0), numbers.std(axis=0)


def write_scales(path: Path = FILE, markets: int = MARKETS, seed: int = 0) -> None:
    """Measure the constants and keep them, with how they were found."""
    centre, scale = (np.round(values, DIGITS).tolist() for values in measured(markets, seed))
    numbers = {name: {"centre": c, "scale": s} for name, c, s in zip(SEEN, centre, scale, strict=True)}
    facts = {"command": "python -m edgeworth.envs.daedalus_features", "rules": RULES, "markets": markets, "seed": seed, "numbers": numbers}
    write_json(path, facts)


if __name__ == "__main__":
    write_scales()
