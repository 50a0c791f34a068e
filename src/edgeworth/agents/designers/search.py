"""Search for the best constant mechanism of a population, one auction format after the other.

Each format has its own optimum, and a search over all of them at once commits to one too soon; so each is searched by itself, with
restarts, and their winners are compared at the end. Every comparison is on identical markets (common random numbers), every round on new
ones, so that luck does not accumulate in the winner; reported scores come from markets that the search did not use. A run tries many random
designs on few markets, fewer on more (successive halving: Jamieson and Talwalkar 2016), then generations of single-field changes to the
survivors, then small steps of the numbers on many markets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST, NUMBERS, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.vocabulary import ALLOW, AUCTION_TYPES
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator

FixedFields = Mapping[str, int | float | bool]

FORMAT = "auction_type"
FIRST_ROUND, ROUND_WIDTH = 1_000_000, 100_000
"""Where the markets of the first round begin, from the seed, and how far apart those of two rounds are."""
TASK_MARKETS = 4_000
"""Episodes of a market in a task: some tenths of a second."""


@dataclass(frozen=True)
class SearchBudget:
    """How hard to search; the defaults take about a minute for eight bidders on one core."""

    restarts: int = 2
    """Runs per auction format, each from random designs of its own."""
    candidates: int = 600
    """Random designs at the start of a run."""
    first_markets: int = 8
    """Markets on which each of them is tried."""
    halvings: int = 3
    """Rounds after which a quarter survives, to be tried on four times as many markets."""
    generations: int = 9
    """Generations of single-field changes."""
    parents: int = 12
    """Survivors of a generation."""
    markets: int = 64
    """Markets per design in a generation."""
    finalists: int = 6
    """Designs that take the small steps at the end of a run; half of them are compared with those of other restarts."""
    final_markets: int = 2000
    """Markets on which finalists are compared, and on which the winners are scored again."""

    def scaled(self, effort: float) -> Self:
        """This budget with so many times the episodes."""
        parts = ("candidates", "markets", "final_markets")
        return dataclasses.replace(self, **{name: max(4, round(effort * getattr(self, name))) for name in parts})


QUICK = SearchBudget(restarts=1, candidates=160, halvings=2, generations=6, parents=6, markets=48, finalists=3, final_markets=800)
"""About a tenth of the default: for searches within another command, best with designs to start from."""


@dataclass(frozen=True)
class Found:
    """The best mechanism of every format, the best of them first, and their scores on markets that the search did not use."""

    mechanisms: Rows
    scores: NDArray[np.float64]
    """Shape (formats, markets)."""

    @property
    def mechanism(self) -> np.void:
        """The best of all."""
        best: np.void = self.mechanisms[0]
        return best

    def by_format(self) -> dict[str, NDArray[np.float64]]:
        """The scores of each format's winner, the best first."""
        return {AUCTION_TYPES[int(row[FORMAT])]: scores for row, scores in zip(self.mechanisms, self.scores, strict=True)}


def mean_scores(designs: Rows, config: AuctionConfig, markets: int, seed: int, threads: int = 1) -> NDArray[np.float64]:
    """Mean score of every design over whole episodes, each on the same `markets` markets; shape (designs, markets).

    A design is a mechanism, or a schedule of one per step: an array of shape (designs,) or (designs, steps).
    """
    batch = MarketBatch(config, len(designs) * markets)
    batch.seed(np.tile(np.arange(seed, seed + markets), len(designs)))
    batch.reset()
    repeated = np.repeat(designs, markets, axis=0)
    scores = batch.play_constant(repeated, threads=threads) if designs.ndim == 1 else batch.play_schedule(repeated, threads)
    means: NDArray[np.float64] = scores.mean(axis=1).reshape(len(designs), markets)
    return means


class Contest:
    """Rounds of comparison: all designs of a round are scored on the same markets, every round on others.

    A round is cut into tasks of some designs each, whatever the number of workers.
    """

    def __init__(self, config: AuctionConfig, seed: int, threads: int, rounds: int, progress: Progress, run: Executor = HERE) -> None:
        self.config, self.threads, self.rounds, self.progress, self.run = config, threads, rounds, progress, run
        self.next_seed, self.done = seed + FIRST_ROUND, 0

    def scores(self, designs: Rows, markets: int, what: str) -> NDArray[np.float64]:
        """The scores of a round, shape (designs, markets)."""
        size = max(1, TASK_MARKETS // markets)
        some = (designs[begin : begin + size] for begin in range(0, len(designs), size))
        tasks = [Task(str(n), mean_scores, (part, self.config, markets, self.next_seed, self.threads)) for n, part in enumerate(some)]
        scores = np.concatenate(self.run(tasks).whole())
        self.next_seed += ROUND_WIDTH
        self.done += 1
        self.progress(what, self.done, self.rounds)
        return scores

    def best(self, designs: Rows, markets: int, keep: int, what: str) -> Rows:
        """The best designs of a round, best first."""
        designs = distinct(designs)
        order = np.argsort(-self.scores(designs, markets, what).mean(axis=1), kind="stable")
        kept: Rows = designs[order[:keep]]
        return kept

    def thinned(self, designs: Rows, budget: SearchBudget, name: str) -> Rows:
        """The best of many designs by successive halving: a quarter survives each round, to be tried on four times as many markets."""
        markets = budget.first_markets
        for _ in range(budget.halvings):
            designs = self.best(designs, markets, max(budget.parents, len(designs) // 4), f"{name}, halving")
            markets *= 4
        return designs


def search_mechanism(
    config: AuctionConfig,
    seed: int = 0,
    budget: SearchBudget | None = None,
    fixed: FixedFields | None = None,
    threads: int = 1,
    progress: Progress = silent,
    start: Rows | None = None,
    run: Executor = HERE,
) -> Found:
    """The best constant mechanisms for a population that is known, one per format.

    `fixed` holds fields (as rows hold them) that may not change; `start` holds designs that take part from the first generation, each in
    every format.
    """
    budget = SearchBudget() if budget is None else budget
    fixed = dict(fixed or {})
    formats = [int(fixed[FORMAT])] if FORMAT in fixed else list(range(len(AUCTION_TYPES)))
    rounds = len(formats) * (budget.restarts * (budget.halvings + budget.generations + 2) + 1) + 2
    contest, rng = Contest(config, seed, threads, rounds, progress, run), generator(seed)
    winners = []
    for kind in formats:
        held_here = {**fixed, FORMAT: kind}
        finalists = [run_format(contest, rng, budget, held_here, AUCTION_TYPES[kind], start) for _ in range(budget.restarts)]
        winners.append(contest.best(np.concatenate(finalists), budget.final_markets, 1, f"{AUCTION_TYPES[kind]}, choosing"))
    ranked = contest.best(held(rounded(np.concatenate(winners)), fixed), budget.final_markets, len(formats), "comparing formats")
    return Found(ranked, contest.scores(ranked, budget.final_markets, "scoring"))


def run_format(contest: Contest, rng: np.random.Generator, budget: SearchBudget, fixed: FixedFields, name: str, start: Rows | None) -> Rows:
    """One run within a format: its finalists, best first."""
    designs = contest.thinned(held(random_mechanisms(rng, budget.candidates), fixed), budget, name)
    if start is not None:
        designs = np.concatenate([held(start.copy(), fixed), designs])
    free = [field for field in FIELDS if field not in fixed]
    for generation in range(budget.generations):
        reach = 1.0 - generation / (budget.generations + 1)
        children = changed_fields(designs[: budget.parents], rng, reach, free)
        designs = contest.best(np.concatenate([designs, children]), budget.markets, budget.parents, f"{name}, breeding")
    designs = contest.best(designs, budget.final_markets // 4, budget.finalists, f"{name}, choosing")
    polished = np.concatenate([designs, held(small_steps(designs, rng), fixed)])
    return contest.best(polished, budget.final_markets // 4, max(1, budget.finalists // 2), f"{name}, polishing")


def held(designs: Rows, fixed: FixedFields | None) -> Rows:
    """The designs with some fields set."""
    for name, value in (fixed or {}).items():
        designs[name] = value
    return designs


def distinct(designs: Rows) -> Rows:
    """Every design once, in the order of its first appearance."""
    once = {tuple(values): place for place, values in reversed(list(enumerate(designs.tolist())))}  # bytes would hold padding
    kept: Rows = designs[sorted(once.values())]
    return kept


def changed_fields(designs: Rows, rng: np.random.Generator, reach: float, fields: Sequence[str] = FIELDS) -> Rows:
    """For every design and field, one copy in which only that field is redrawn."""
    changed = []
    for name in fields:
        copies = designs.copy()
        copies[name] = redrawn(copies[name], name, rng, reach)
        changed.append(copies)
    return np.concatenate(changed)


def redrawn(values: NDArray[np.generic], name: str, rng: np.random.Generator, reach: float) -> NDArray[np.generic]:
    """Other values for a field: words and flags change, numbers move by up to their range times reach."""
    if name in NUMBERS:
        moved = values.astype(np.float64) + reach * HIGHEST[name] * rng.normal(0.0, 0.2, len(values))
        return np.clip(moved, 0.0, HIGHEST[name])
    if name in CHOICES:
        return np.asarray((values.astype(np.int64) + rng.integers(1, len(CHOICES[name]), len(values))) % len(CHOICES[name]))
    return ~values.astype(np.bool_)


def small_steps(designs: Rows, rng: np.random.Generator) -> Rows:
    """For every design, copies whose numbers all move a little together."""
    copies = np.concatenate([designs.copy() for _ in range(8)])
    for name in NUMBERS:
        moved = copies[name] + HIGHEST[name] * rng.normal(0.0, 0.04, len(copies))
        copies[name] = np.clip(moved, 0.0, HIGHEST[name])
    return copies


def rounded(designs: Rows) -> Rows:
    """Mechanisms in round numbers: two decimals, and no collusion penalty where rings are allowed."""
    rows = designs.copy()
    rows["collusion_penalty"][rows["coalition_policy"] == ALLOW] = 0.0
    for name in NUMBERS:
        rows[name] = np.round(rows[name], 2)
    return rows
