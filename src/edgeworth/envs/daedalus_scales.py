"""What the numbers of a market are like: mean and standard deviation of every score and proxy, for standardised features.

Measured under uniformly random mechanisms, drawn anew at every step, in markets of the population `stages` with the usual eight bidders
and ten steps. Entrants count as a share of all bidders. The constants are kept in `daedalus_scales.json`; they belong to the rules, so
measure them again when the rules change: `make scales`, or `python -m edgeworth.envs.daedalus_scales`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.files import write_json
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import FIRST_FIELD, Notebook
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.seeding import generator

NUMBERS = (*SCORES, *PROXIES)
ENTRANTS = NUMBERS.index("entrants")
FILE = Path(__file__).with_suffix(".json")
MARKETS = 20_000
DIGITS = 4
Constants = NDArray[np.float64]


def measured(markets: int = MARKETS, seed: int = 0) -> tuple[Constants, Constants]:
    """Mean and standard deviation of all scores and proxies, in the order of `NUMBERS`."""
    config, rng = AuctionConfig(stage="stages"), generator(seed)
    batch = MarketBatch(config, markets)
    batch.seed(seed)
    batch.reset()
    notebook, seen = Notebook(batch), []
    for _ in range(config.episode_length):
        mechanisms = random_mechanisms(rng, markets)
        batch.step(mechanisms)
        notebook.write(mechanisms)
        seen.append(notebook.lines[:, -1, :FIRST_FIELD].copy())
    numbers = np.concatenate(seen)
    numbers[:, ENTRANTS] /= config.n_agents
    return numbers.mean(axis=0), numbers.std(axis=0)


@cache
def scales() -> tuple[Constants, Constants]:
    """The constants in the package: centre and scale of all scores and proxies, in the order of `NUMBERS`."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["numbers"]
    return np.array([kept[name]["centre"] for name in NUMBERS]), np.array([kept[name]["scale"] for name in NUMBERS])


def write_scales(path: Path = FILE, markets: int = MARKETS, seed: int = 0) -> None:
    """Measure the constants and keep them, with how they were found."""
    centre, scale = (np.round(values, DIGITS).tolist() for values in measured(markets, seed))
    numbers = {name: {"centre": c, "scale": s} for name, c, s in zip(NUMBERS, centre, scale, strict=True)}
    facts = {"command": "python -m edgeworth.envs.daedalus_scales", "rules": RULES, "markets": markets, "seed": seed, "numbers": numbers}
    write_json(path, facts)


if __name__ == "__main__":
    write_scales()
