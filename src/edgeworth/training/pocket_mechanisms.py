"""Markets as text for the pocket model: every state a prompt, a mechanism that search found good for such a state the reply.

The library is the bundled mechanisms, which `edgeworth designer search` found. Which of them a state calls for is the judgement of
two teachers. The adaptive designer plays markets of the five stages; now and then some other mechanism of the library is posted in its
stead, and a quarter of the mechanisms is moved a little, so that the model does not only know seven of them. In other markets the
mechanisms in force are anything at all; there the `Watcher` answers, which forecasts from one step under any mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.adaptive import Adaptive, library_rows
from edgeworth.agents.designers.design_prompt import batch_variables, load_design_prompt, mechanism_json
from edgeworth.agents.designers.forecast import Matrix, Revision, mean_futures, ridge_fit, seen_in
from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import CHOICES, FLAGS, HIGHEST, NUMBERS, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.market_view import MarketView, StepHistory
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.seeding import generator
from edgeworth.training.pocket_hints import ANY_REPLY, Example

MOVED_SHARE = 0.25
"""How many of the replies are a library mechanism moved a little."""
MOVED_BY = {"reserve_price": 0.02, "shill_penalty": 0.08, "withdrawal_penalty": 0.04, "collusion_penalty": 0.15}
SWITCHED_SHARE = 0.08
"""How often another mechanism of the library is posted in the adaptive designer's stead."""
DIGITS = 2


@dataclass(frozen=True)
class Markets:
    """A kind of markets to learn from, and its share of all."""

    share: float
    n_agents: int = 8
    episode_length: int = 10
    watched: bool = False
    """Whether the mechanisms in force are anything at all, and the Watcher answers."""

    def config(self) -> AuctionConfig:
        """The market that is played; its population is one of the five stages."""
        return AuctionConfig(stage="stages", n_agents=self.n_agents, episode_length=self.episode_length)


def lessons() -> list[Markets]:
    """Mostly the standard market; some of other sizes and lengths."""
    others = ((4, 10), (6, 5), (10, 10), (12, 20), (16, 10), (3, 5), (8, 5), (8, 20))
    return [
        Markets(0.60),
        Markets(0.20, watched=True),
        *(Markets(0.02, bidders, steps) for bidders, steps in others),
        *(Markets(0.005, bidders, steps, watched=True) for bidders, steps in others),
    ]


def trained_on() -> dict[str, list[Any]]:
    """What the markets have, for the model's card: least and most of a number."""
    names = ("n_agents", "episode_length")
    found = {name: [getattr(kind, name) for kind in lessons()] for name in names}
    return {"rules": [RULES, RULES], **{name: [min(values), max(values)] for name, values in found.items()}}


@dataclass(frozen=True)
class Watcher:
    """Forecasts how each mechanism of the library would do from here on, from one step under any mechanism."""

    forecast: Revision
    library: Rows

    def choose(self, view: MarketView) -> Rows:
        """The best forecast's mechanism for every market."""
        features = watched_features(view)
        best: Rows = self.library[self.forecast.apply(features).argmax(axis=1)]
        return best


def watched_features(view: MarketView) -> Matrix:
    """What was seen of the last step, and the mechanism it was played under."""
    rows = view.mechanisms
    words = [rows[name] == place for name, words in CHOICES.items() for place in range(1, len(words))]
    fields = np.stack([*(rows[name] for name in (*NUMBERS, *FLAGS)), *words], axis=1).astype(np.float64)
    return np.concatenate([seen_in(view), fields], axis=1)


@cache
def fit_watcher(markets: int, seed: int, threads: int = 1) -> Watcher:
    """Play markets of the stages under any mechanisms for some steps, then find out how each of the library does from there."""
    library, rng = library_rows(), generator(seed)
    features, futures = [], []
    for played in (1, 3, 5):
        batch, history = _opened(Markets(1.0).config(), markets, seed + played * markets)
        for _ in range(played):
            in_force = any_mechanisms(rng, library, markets)
            batch.step(in_force)
            history.add(in_force)
        features.append(watched_features(history.view()))
        futures.append(mean_futures(batch, library, batch.config.episode_length - played, threads))
    return Watcher(ridge_fit(np.concatenate(features), np.concatenate(futures), 30.0), library)


def any_mechanisms(rng: np.random.Generator, library: Rows, count: int) -> Rows:
    """Mechanisms of the library, moved ones, and random ones."""
    rows: Rows = moved(library[rng.integers(len(library), size=count)], rng, rng.random(count) < 0.5)
    anything = rng.random(count) < 0.3
    rows[anything] = rounded_rows(random_mechanisms(rng, int(anything.sum())))
    return rows


def moved(rows: Rows, rng: np.random.Generator, chosen: NDArray[np.bool_]) -> Rows:
    """The mechanisms, the numbers of the chosen ones moved a little."""
    rows = rows.copy()
    for name, by in MOVED_BY.items():
        nudged = np.clip(rows[name] + by * rng.standard_normal(len(rows)), 0.0, HIGHEST[name])
        rows[name] = np.where(chosen, np.round(nudged, DIGITS), rows[name])
    return rows


def rounded_rows(rows: Rows) -> Rows:
    """Mechanisms with two digits, as people write them."""
    rows = rows.copy()
    for name in NUMBERS:
        rows[name] = np.round(rows[name], DIGITS)
    return rows


def _opened(config: AuctionConfig, size: int, seed: int) -> tuple[MarketBatch, StepHistory]:
    batch = MarketBatch(config, size)
    batch.seed(seed)
    batch.reset()
    return batch, StepHistory(batch)


def market_examples(markets: Markets, watcher: Watcher, size: int, seed: int, random_share: float = 0.0) -> Iterator[Example]:
    """The examples of `size` markets, one per step; a `random_share` of them is marked, and has random legal replies."""
    config, rng, prompt = markets.config(), generator(seed, 1), load_design_prompt()
    batch, history = _opened(config, size, seed)
    adaptive = Adaptive("stages")
    adaptive.begin(config, size, seed)
    for step in range(config.episode_length):
        view = history.view()
        best = watcher.choose(view) if markets.watched and step else adaptive.design(view)
        taught = moved(best, rng, rng.random(size) < MOVED_SHARE)
        marked = rng.random(size) < random_share
        replies = taught.copy()
        replies[marked] = rounded_rows(random_mechanisms(rng, int(marked.sum())))
        for slot, values in enumerate(batch_variables(view)):
            user = prompt.messages(values)[-1].content
            yield Example(f"{user}\n{ANY_REPLY}" if marked[slot] else user, mechanism_json(replies[slot]))
        posted = any_mechanisms(rng, watcher.library, size) if markets.watched else switched(taught, adaptive, rng)
        batch.step(posted)
        history.add(posted)


def switched(taught: Rows, adaptive: Adaptive, rng: np.random.Generator) -> Rows:
    """What is posted: what was taught, but now and then another mechanism of the library, which the designer is informed of."""
    posted, size = taught.copy(), len(taught)
    other = rng.random(size) < SWITCHED_SHARE
    adaptive.in_force = np.where(other, rng.integers(len(adaptive.library), size=size), adaptive.in_force)
    posted[other] = adaptive.library[adaptive.in_force[other]]
    return posted
