"""Search for the best constant mechanism of a population: random designs, halved by their scores, then bred and polished.

Every comparison is on identical markets (common random numbers), every round on fresh ones, so that luck does not accumulate in the
winner; the score that is reported comes from markets that the search never saw. First come many random designs on few markets, fewer on
more (successive halving: Jamieson and Talwalkar 2016), then generations of single-field changes to the survivors, then small steps
of the numbers on many markets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import AuctionConfig
from edgeworth.games.auction.action import CHOICES, FIELDS, HIGHEST, NUMBERS, random_mechanisms
from edgeworth.games.auction.batch import MarketBatch, Rows, constant_rows
from edgeworth.games.auction.vocabulary import ALLOW
from edgeworth.seeding import generator

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SearchBudget:
    """How hard to search."""

    candidates: int = 3000
    """Random designs at the start."""
    first_markets: int = 8
    """Markets on which each of them is tried."""
    halvings: int = 3
    """Rounds in which a quarter survives and meets four times as many markets."""
    generations: int = 12
    """Generations of single-field changes."""
    parents: int = 24
    """Survivors of a generation."""
    markets: int = 96
    """Markets per design in a generation."""
    finalists: int = 12
    """Designs that are polished and compared at the end."""
    final_markets: int = 1600
    """Markets on which finalists are compared, and on which the winner is scored again."""


@dataclass(frozen=True)
class Found:
    """The best mechanism found, and its scores on markets that the search never saw."""

    mechanism: np.void
    scores: NDArray[np.float64]


def mean_scores(mechanisms: Rows, config: AuctionConfig, markets: int, seed: int, threads: int = 1) -> NDArray[np.float64]:
    """Mean score of every mechanism over whole episodes, each on the same `markets` markets; shape (mechanisms, markets)."""
    batch = MarketBatch(config, len(mechanisms) * markets)
    batch.seed(np.tile(np.arange(seed, seed + markets), len(mechanisms)))
    batch.reset()
    scores = batch.play_constant(np.repeat(mechanisms, markets), threads=threads)
    means: NDArray[np.float64] = scores.mean(axis=1).reshape(len(mechanisms), markets)
    return means


def search_mechanism(
    config: AuctionConfig,
    seed: int = 0,
    budget: SearchBudget | None = None,
    fixed: dict[str, int | float | bool] | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Found:
    """The best constant mechanism for a population that is known; `fixed` holds fields (as rows hold them) that may not change."""
    budget = SearchBudget() if budget is None else budget
    rng = generator(seed)
    fresh = iter(range(seed + 1_000_000, 2**62, 100_000))  # a new range of markets for every round
    rounds = budget.halvings + budget.generations + 3
    done = 0

    def rank(designs: Rows, markets: int, keep: int, what: str) -> Rows:
        nonlocal done
        scores = mean_scores(designs, config, markets, next(fresh), threads).mean(axis=1)
        done += 1
        if progress is not None:
            progress(what, done, rounds)
        return designs[np.argsort(-scores, kind="stable")[:keep]]

    designs = held(random_mechanisms(rng, budget.candidates), fixed)
    markets = budget.first_markets
    for _ in range(budget.halvings):
        designs = rank(designs, markets, max(budget.parents, len(designs) // 4), "halving")
        markets *= 4
    for generation in range(budget.generations):
        reach = 1.0 - generation / (budget.generations + 1)
        children = held(changed_fields(designs, rng, reach), fixed)
        designs = rank(np.concatenate([designs, children]), budget.markets, budget.parents, "breeding")
    designs = rank(designs, budget.final_markets // 4, budget.finalists, "choosing")
    polished = np.concatenate([designs, held(small_steps(designs, rng), fixed)])
    designs = rank(polished, budget.final_markets // 4, budget.finalists, "polishing")
    best = rank(designs, budget.final_markets, 1, "choosing")
    return Found(best[0], mean_scores(best, config, budget.final_markets, next(fresh), threads)[0])


def held(designs: Rows, fixed: dict[str, int | float | bool] | None) -> Rows:
    """The designs with some fields set."""
    for name, value in (fixed or {}).items():
        designs[name] = value
    return designs


def changed_fields(designs: Rows, rng: np.random.Generator, reach: float) -> Rows:
    """For every design and field, one copy in which that field alone is drawn anew (numbers: moved by up to their range times reach)."""
    changed = []
    for name in FIELDS:
        copies = designs.copy()
        if name in NUMBERS:
            moved = copies[name] + reach * HIGHEST[name] * rng.normal(0.0, 0.2, len(copies))
            copies[name] = np.clip(moved, 0.0, HIGHEST[name])
        elif name in CHOICES:
            copies[name] = (copies[name] + rng.integers(1, len(CHOICES[name]), len(copies))) % len(CHOICES[name])
        else:
            copies[name] = ~copies[name]
        changed.append(copies)
    return np.concatenate(changed)


def small_steps(designs: Rows, rng: np.random.Generator) -> Rows:
    """For every design, copies whose numbers all move a little together."""
    copies = np.concatenate([designs.copy() for _ in range(8)])
    for name in NUMBERS:
        moved = copies[name] + HIGHEST[name] * rng.normal(0.0, 0.04, len(copies))
        copies[name] = np.clip(moved, 0.0, HIGHEST[name])
    return copies


def rounded(mechanism: np.void) -> Rows:
    """A mechanism as people would write it: numbers to two places, no fine that the policy never asks for. An array of one."""
    row = constant_rows(mechanism, 1)
    if row["coalition_policy"][0] == ALLOW:
        row["collusion_penalty"] = 0.0
    for name in NUMBERS:
        row[name] = np.round(row[name], 2)
    return row
