"""Whole populations instead of samples: what an agent gets on average over every context that a game can draw, without sampling error.

A game with uniform contexts has 85,184 own sides (pools and utilities) and 1,331 partners for each; the Lewis task has 5,295 contexts. An
agent that draws nothing is played against all partners at once (`games/bargaining/branches.py`), for either side that may open. Random
hints are drawn for every own side and moment, alike for all its partners; what an agent gets with them has the sampling error of the draws.
`exact.py` has the ends of the scale for the same population.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.baselines import RandomHints
from edgeworth.agents.negotiators.bundled import Bundled
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import is_silent
from edgeworth.games.bargaining.branches import Branches, begun, check_predictable
from edgeworth.games.bargaining.contexts import Context, own_sides, triple_of
from edgeworth.games.bargaining.prior import partner_types
from edgeworth.games.bargaining.vocabulary import AGENT_AGREED, BUDGET, SELECTIONS_MATCHED
from edgeworth.progress import Progress, silent

CHUNK = 512
"""Own sides that are played side by side."""
PART = 16 * CHUNK
"""Own sides in a task, a multiple of those that are played side by side, so that all parts are played as in the whole."""
DRAWN = 5_000
"""With how many own sides an agent plays at least whose hints are drawn; where there are fewer, it plays with all of them several times."""
OPENERS = {"agent": (0,), "partner": (1,), "random": (0, 1)}


@dataclass(frozen=True)
class Population:
    """Every own side that a game can draw, with its probability, and the partners it may face."""

    batch: BargainingBatch
    sides: NDArray[np.int64]
    """Pool and own utilities, six numbers each."""
    chances: NDArray[np.float64]

    @classmethod
    def of(cls, config: BargainingConfig, one_order: bool = False) -> Population:
        """The population of a game; with `one_order`, own sides that differ in the order of the item types are counted as one."""
        batch = BargainingBatch(config, 1)
        check_predictable(batch)
        table = batch.table if len(batch.table) else None
        rows = own_sides(config, table) if table is None else table[:, :6].astype(np.int64)
        if config.normalize:
            rows = rows[(rows[:, :3] * rows[:, 3:]).sum(axis=1) > 0]
        if one_order:
            types = np.sort(rows[:, :3] * (BUDGET + 1) + rows[:, 3:], axis=1)
            rows = np.concatenate(np.divmod(types, BUDGET + 1), axis=1)
        sides, numbers = np.unique(rows, axis=0, return_counts=True)
        return cls(batch, sides, numbers / len(rows))

    @classmethod
    def sample(cls, config: BargainingConfig, number: int, seed: int) -> Population:
        """So many own sides, drawn by a seed; each still meets all its partners."""
        whole = cls.of(config)
        drawn = np.random.default_rng(seed).choice(len(whole.sides), number, p=whole.chances)
        return cls(whole.batch, whole.sides[drawn], np.full(number, 1.0 / number))

    @property
    def openers(self) -> tuple[int, ...]:
        """The sides that may open, equally likely."""
        return OPENERS[self.batch.config.opens]

    @property
    def maximum(self) -> NDArray[np.float64]:
        """What the whole pool is worth to each own side, as it is paid."""
        worths = (self.sides[:, :3] * self.sides[:, 3:]).sum(axis=1).astype(np.float64)
        return np.full(len(worths), float(BUDGET)) if self.batch.config.normalize else worths

    @property
    def negotiations(self) -> int:
        """How many different negotiations there are: contexts, times partners of a population, times the sides that may open."""
        contexts = sum(len(self.types(side)) for side in self.sides)
        return contexts * len(self.batch.partners) * len(self.openers)

    def types(self, side: NDArray[np.int64]) -> NDArray[np.int64]:
        """The partner utilities that an own side may face."""
        return partner_types(self.half(side), self.batch)

    def half(self, side: NDArray[np.int64]) -> Context:
        """An own side as a context."""
        return Context(triple_of(side[:3]), triple_of(side[3:]), (0, 0, 0))

    def share(self, values: NDArray[np.float64]) -> float:
        """Σ value / Σ maximum over the population, given one value for every own side."""
        return float((self.chances * values).sum() / (self.chances * self.maximum).sum())

    def started(self, progress: Progress, name: str, draw: int = 0) -> Iterator[tuple[slice, Branches]]:
        """The starts of all negotiations, some own sides at a time."""
        total, done = len(self.sides) * len(self.openers), 0
        for opener in self.openers:
            for begin in range(0, len(self.sides), CHUNK):
                progress(name, done, total)
                some = slice(begin, begin + CHUNK)
                yield some, begun(self.batch, self.sides[some], [self.types(side) for side in self.sides[some]], opener, draw)
                done += len(self.sides[some])
        progress(name, total, total)


@dataclass(frozen=True)
class ExactPlay:
    """What an agent gets over a whole population; averages over negotiations."""

    share_of_maximum: float
    reward: float
    partner_reward: float
    deal_rate: float
    length: float
    negotiations: int
    maximum: float
    """What the whole pool is worth to the agent."""


class SidePlay(NamedTuple):
    """What an agent gets with each own side, on average over its partners and both openers."""

    reward: NDArray[np.float64]
    partner_reward: NDArray[np.float64]
    deal_rate: NDArray[np.float64]
    length: NDArray[np.float64]


def play_sides(population: Population, negotiator: Negotiator, progress: Progress = silent, name: str = "", draw: int = 0) -> SidePlay:
    """Play every negotiation of these own sides; `draw` is the number of the draw where hints are drawn."""
    check_alike(negotiator)
    sums = np.zeros((len(SidePlay._fields), len(population.sides)))
    for some, start in population.started(progress, name, draw):
        branches, played = start, sums[:, some]
        while branches.batch.size:
            moves, weights, origins = negotiator.choose(branches.batch), branches.weights, branches.origins
            ended, branches, charges = branches.after(*moves)
            np.subtract.at(played[0], origins, charges * weights)
            mine, theirs = ended.paid()
            outcome, likely = ended.batch.state["outcome"], ended.weights
            deals = likely * ((outcome >= AGENT_AGREED) & (outcome <= SELECTIONS_MATCHED))
            for total, values in zip(played, (mine, theirs, deals, likely * ended.batch.state["turn"]), strict=True):
                np.add.at(total, ended.origins, values)
    return SidePlay(*(sums / len(population.openers)))


def part_of(config: BargainingConfig, one_order: bool, part: slice) -> Population:
    """Some own sides of a population, with their probabilities in the whole."""
    whole = Population.of(config, one_order)
    return Population(whole.batch, whole.sides[part], whole.chances[part])


def play_part(
    config: BargainingConfig, negotiator: Negotiator, one_order: bool, draws: int, begin: int, end: int
) -> dict[str, NDArray[np.float64]]:
    """What an agent gets with some own sides of a population, on average over draws, as a task returns it."""
    population = part_of(config, one_order, slice(begin, end))
    played = [play_sides(population, negotiator, draw=draw) for draw in range(draws)]
    return {field: np.mean([getattr(each, field) for each in played], axis=0) for field in SidePlay._fields}


def sees_order(negotiator: Negotiator, batch: BargainingBatch) -> bool:
    """Whether an agent might get more with another order of the item types.

    A network that reads them in the order of their worth does not, where contexts are drawn type by type and the partner's counter-offers
    depend on the pool alone; hints might see the order, but for random ones.
    """
    if not isinstance(negotiator, Learned) or negotiator.network.shape.reading == "plain":
        return True
    hinted = negotiator.provider is not None and not draws_hints(negotiator)
    return hinted or len(batch.table) > 0 or not is_silent(batch)


def draws_hints(negotiator: Negotiator) -> bool:
    """Whether the agent's hints are drawn."""
    return isinstance(negotiator, Learned) and isinstance(negotiator.provider, RandomHints)


def parts(number: int, size: int) -> list[tuple[int, int]]:
    """Where each part begins and ends, of so many own sides."""
    return [(begin, min(begin + size, number)) for begin in range(0, number, size)]


def play_population(
    config: BargainingConfig, negotiator: Negotiator, run: Executor = HERE, progress: Progress = silent, name: str = "agent"
) -> ExactPlay:
    """Play every negotiation that the game can draw, some own sides per task."""
    batch = BargainingBatch(config, 1)
    if isinstance(negotiator, Bundled):
        negotiator = negotiator.expert(batch)
    check_alike(negotiator)
    one_order = not sees_order(negotiator, batch)
    population = Population.of(config, one_order)
    draws = -(-DRAWN // len(population.sides)) if draws_hints(negotiator) else 1
    tasks = [
        Task(f"{name}, own sides from {part[0]}", play_part, (config, negotiator, one_order, draws, *part))
        for part in parts(len(population.sides), PART)
    ]
    found = run(tasks, progress).whole()
    played = SidePlay(*(np.concatenate([part[field] for part in found]) for field in SidePlay._fields))
    reward, theirs, deals, turns = ((values * population.chances).sum().item() for values in played)
    maximum = float((population.chances * population.maximum).sum())
    negotiations = Population.of(config).negotiations if one_order else population.negotiations
    return ExactPlay(reward / maximum, reward, theirs, min(1.0, deals), turns, negotiations, maximum)


def check_alike(negotiator: Negotiator) -> None:
    """Refuse agents that draw their moves, know the partner, or remember what happened in a batch."""
    if isinstance(negotiator, RandomLegal) or getattr(negotiator, "sampled", False):
        raise InvalidOption("An agent that draws its moves is not played exactly; leave --exact out, or --sampled.")
    if negotiator.knows_partner:
        raise InvalidOption("An agent that knows its partner is not played exactly; `edgeworth yardstick --exact` has the oracle.")
    if isinstance(negotiator, Learned) and negotiator.provider is not None and (negotiator.cadence.hold_last or negotiator.cadence.age):
        raise InvalidOption("An agent that holds hints from move to move is not played exactly; leave --exact out.")
