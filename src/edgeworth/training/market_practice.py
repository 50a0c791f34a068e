"""The markets that a designer practises on: most of the usual kind, some with other numbers of bidders and other lengths of the episode.

Episodes are drawn from a mixture of populations. The markets are in groups that move in step. The first group has eight bidders and ten
steps; every other group draws both anew for each of its episodes. All of it can be saved as arrays and taken up again, in the middle of an
episode, to the last bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from math import nan
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgeworth.agents.designers.policy_layout import DesignerShape, Levels
from edgeworth.config import BIDDER_RANGE, AuctionConfig
from edgeworth.envs.daedalus_features import line_features
from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import FIELDS
from edgeworth.games.auction.batch import MarketBatch
from edgeworth.games.auction.market_view import StepHistory
from edgeworth.games.auction.population import mixture_table, recipe_names
from edgeworth.seeding import generator
from edgeworth.training.designer.settings import check_populations
from edgeworth.training.designer.states import TRAINING_SEEDS
from edgeworth.training.practice import Flags, Metrics, State
from edgeworth.training.settings import Count, Share
from edgeworth.validation import settings

FIRST_SEED = TRAINING_SEEDS + 2**42
"""The first seed of a market that a designer practises on; a run has `SEEDS_PER_RUN` of its own."""
SEEDS_PER_RUN = 2**16
VALIDATION_SEED = TRAINING_SEEDS + 2**43
"""The first seed of the markets that the best checkpoint is chosen on."""
GROUP_DRAWS, MOVE_DRAWS = 1, 2
"""Addresses of the random numbers besides those of the markets."""


@settings
class MarketMix:
    """Which markets a designer practises on."""

    populations: Mapping[str, Annotated[float, Field(gt=0.0)]] = field(
        default_factory=lambda: {"stages": 2.0, "dirichlet": 1.0, "mixed": 1.0}
    )
    """Populations by their weight."""
    varied: Share = 0.25
    """The share of markets with other numbers of bidders and lengths of the episode."""
    groups: Count = 4
    """Groups that these are in; a group has the same number and length in all of its markets."""
    lengths: tuple[Count, ...] = (5, 10, 20)
    """Lengths of their episodes, in steps."""

    def __post_init__(self) -> None:
        check_populations(tuple(self.populations))
        if not self.populations or not self.lengths:
            raise InvalidOption("populations and lengths need an entry each; leave them out for the defaults.")

    def sizes(self, markets: int) -> tuple[int, ...]:
        """How many markets each group has, the usual ones first."""
        varied = round(markets * self.varied)
        cuts = np.linspace(0, varied, min(self.groups, max(varied, 1)) + 1).astype(int)
        return (markets - varied, *(int(size) for size in np.diff(cuts) if size))


class Group:
    """Markets that begin and end their episodes together."""

    def __init__(self, mix: MarketMix, size: int, first_seed: int, seed: int, number: int) -> None:
        self.mix, self.seed, self.number, self.episodes = mix, seed, number, 0
        self.batch = MarketBatch(AuctionConfig(), size)
        self.batch.populations = mixture_table(mix.populations)
        self.batch.seed(first_seed)
        self.history, self.returns = StepHistory(self.batch), np.zeros(size)
        self.begin()

    def begin(self) -> None:
        """Begin the next episode of all markets."""
        if self.number:
            rng = generator(self.seed, GROUP_DRAWS, self.number, self.episodes)
            n_agents, length = int(rng.integers(BIDDER_RANGE[0], BIDDER_RANGE[1] + 1)), int(rng.choice(self.mix.lengths))
            self.batch.config = AuctionConfig(n_agents=n_agents, episode_length=length)
        self.episodes += 1
        self.returns[:] = 0.0
        self.batch.reset()
        self.history.clear()

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return int(self.batch.markets["step"][0]) >= self.batch.config.episode_length

    def features(self) -> NDArray[np.float32]:
        """What the network reads of every market."""
        config = self.batch.config
        return line_features(self.history.lines, self.batch.markets["step"], config.episode_length, config.n_agents)

    def step(self, mechanisms: NDArray[np.void]) -> NDArray[np.float64]:
        """One step of every market; the scores."""
        scores: NDArray[np.float64] = self.batch.run(mechanisms)["composite"].copy()
        self.history.add(mechanisms)
        self.returns += scores
        return scores


class MarketPractice:
    """`size` markets side by side, without end."""

    def __init__(self, mix: MarketMix, size: int, seed: int, shape: DesignerShape) -> None:
        self.size, self.seed, self.shape, self.steps = size, seed, shape, 0
        sizes = mix.sizes(size)
        seeds = FIRST_SEED + seed * SEEDS_PER_RUN + np.cumsum([0, *sizes])
        self.groups = [Group(mix, n, int(seeds[k]), seed, k) for k, n in enumerate(sizes) if n]
        self.cuts = np.cumsum([group.batch.size for group in self.groups])[:-1]
        self.families = np.array([name for name in mix.populations for _ in recipe_names(name)])
        """The population that each row of the mixture belongs to."""
        self.names = (*mix.populations, "varied")
        self.ended: list[tuple[str, float, int]] = []

    def features(self) -> NDArray[np.float32]:
        """What the network reads of every market."""
        return np.concatenate([group.features() for group in self.groups])

    def uniforms(self) -> NDArray[np.float64]:
        """A number in [0, 1) for every field of every market's next mechanism, a function of the seed and the step."""
        return generator(self.seed, MOVE_DRAWS, self.steps).random((self.size, len(FIELDS)))

    def step(self, levels: Levels) -> tuple[NDArray[np.float64], Flags]:
        """Post mechanisms in all markets; the scores, and which episodes ended, each followed by the next at once."""
        mechanisms = self.shape.mechanisms(levels)
        parts = zip(self.groups, np.split(mechanisms, self.cuts), strict=True)
        scores = np.concatenate([group.step(part) for group, part in parts])
        ended = np.concatenate([np.full(group.batch.size, group.over) for group in self.groups])
        for group in self.groups:
            if group.over:
                self._note(group)
                group.begin()
        self.steps += 1
        return scores, ended

    def _note(self, group: Group) -> None:
        """Remember the mean scores of an episode that ended, by population."""
        scores = group.returns / group.batch.config.episode_length
        if group.number:
            self.ended.append(("varied", float(scores.sum()), len(scores)))
            return
        families = self.families[group.batch.markets["stage"]]
        for name in self.names[:-1]:
            chosen = scores[families == name]
            self.ended.append((name, float(chosen.sum()), len(chosen)))

    def report(self) -> Metrics:
        """The mean score per step of the episodes that ended since the last report, of all and by population."""
        totals = dict.fromkeys(self.names, (0.0, 0))
        for name, score, number in self.ended:
            totals[name] = totals[name][0] + score, totals[name][1] + number
        self.ended = []
        score, episodes = (sum(column) for column in zip(*totals.values(), strict=True))
        means = {f"score_{name}": total / number if number else nan for name, (total, number) in totals.items()}
        return {"score": score / episodes if episodes else nan, **means, "episodes": episodes}

    def state(self) -> State:
        """The markets as arrays."""
        facts = [(group.episodes, group.batch.config.n_agents, group.batch.config.episode_length) for group in self.groups]
        return {
            "markets": np.concatenate([group.batch.markets for group in self.groups]).view(np.uint8).reshape(self.size, -1),
            "lines": np.concatenate([group.history.lines for group in self.groups]),
            "returns_so_far": np.concatenate([group.returns for group in self.groups]),
            "groups": np.array(facts),
            "steps_so_far": np.array(self.steps),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up markets again; the arrays have the shapes of this one's own state."""
        parts = (np.split(state[name], self.cuts) for name in ("markets", "lines", "returns_so_far"))
        for group, markets, lines, returns, facts in zip(self.groups, *parts, state["groups"].tolist(), strict=True):
            group.batch.markets.view(np.uint8).reshape(group.batch.size, -1)[:] = markets
            group.history.lines[:], group.returns[:], group.episodes = lines, returns, facts[0]
            group.batch.config = dataclasses.replace(group.batch.config, n_agents=facts[1], episode_length=facts[2])
        self.steps, self.ended = int(state["steps_so_far"]), []

    def close(self) -> None:
        """Nothing is open."""
