"""Search for the best schedule of a population: a mechanism for every step of the episode, fixed beforehand.

For each auction format there are two kinds of runs: one begins at the best constant, the other at random schedules of two phases (by
successive halving, as in `search`), since a gain may need a first and a second phase that are worth nothing alone. Both then run
generations of changes: some fields change at one step, from a step on, up to a step or at all steps; or a step's mechanism is copied onto
others. Numbers move by less and less. Finally, changes from step to step that do not pay are undone. As in `search`, the designs of a
round are compared on the same markets and every round has new ones; the winner is compared with the best constant on markets used for
neither.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.search import Contest, SearchBudget, redrawn, rounded
from edgeworth.config import AuctionConfig
from edgeworth.executor.execution import HERE, Executor
from edgeworth.games.auction.action import FIELDS, action_of, random_mechanisms
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.vocabulary import AUCTION_TYPES
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator

COPY_CHANCE = 0.15
LEAST_REACH = 0.1
ONE_FIELD = 0.6
"""Chance that a change is of one field alone; else of two with the same chance, and so on."""
MOST_UNDONE = 20
LONGEST_OPENING = 3
"""Steps of the first phase of a random schedule, at most."""


@dataclass(frozen=True)
class ScheduleBudget(SearchBudget):
    """How hard to search for a schedule; the defaults take about two minutes for eight bidders on one core.

    `restarts` counts the runs of each kind and format; `markets` are those of the first generation, five times as many in the last.
    """

    restarts: int = 1
    candidates: int = 1200
    generations: int = 26
    parents: int = 8
    children: int = 8
    """Changed copies of each parent."""
    markets: int = 32
    finalists: int = 4
    final_markets: int = 4000


@dataclass(frozen=True)
class FoundSchedule:
    """The best schedule and the best constant, with their scores on the same markets, which the search did not use."""

    schedule: Rows
    scores: NDArray[np.float64]
    constant: np.void
    constant_scores: NDArray[np.float64]


def search_schedule(
    config: AuctionConfig,
    start: Rows,
    seed: int = 0,
    budget: ScheduleBudget | None = None,
    threads: int = 1,
    progress: Progress = silent,
    run: Executor = HERE,
) -> FoundSchedule:
    """The best schedule of `episode_length` mechanisms; `start` holds the constants to begin at, the best of each format."""
    budget = ScheduleBudget() if budget is None else budget
    steps, rng = config.episode_length, generator(seed)
    rounds = len(start) * budget.restarts * (budget.halvings + 2 * budget.generations + 2) + MOST_UNDONE + 3
    contest = Contest(config, seed, threads, rounds, progress, run)
    constants = np.repeat(start[:, None], steps, axis=1)
    finalists = [constants]
    for constant in constants:
        kind = int(constant["auction_type"][0])
        name = AUCTION_TYPES[kind]
        for _ in range(budget.restarts):
            finalists.append(bred(contest, constant[None], rng, budget, f"{name} from its constant"))
            opened = contest.thinned(two_phases(rng, budget.candidates, steps, kind), budget, name)
            finalists.append(bred(contest, opened[: 2 * budget.parents], rng, budget, f"{name} from random openings"))
    best = contest.best(rounded(np.concatenate(finalists)), budget.final_markets, 1, "comparing schedules")
    best = simplified(contest, best[0], budget)[None]
    constant = contest.best(constants, budget.final_markets, 1, "comparing constants")
    scores = contest.scores(np.concatenate([best, constant]), budget.final_markets, "scoring")
    return FoundSchedule(best[0], scores[0], constant[0, 0], scores[1])


def two_phases(rng: np.random.Generator, count: int, steps: int, kind: int) -> Rows:
    """Random schedules: any mechanism for the first one to three steps, then another of this format."""
    sequel = random_mechanisms(rng, count)
    sequel["auction_type"] = kind
    schedules = np.repeat(sequel[:, None], steps, axis=1)
    opening, length = random_mechanisms(rng, count), rng.integers(1, min(LONGEST_OPENING, steps) + 1, count)
    return np.where(np.arange(steps) < length[:, None], opening[:, None], schedules)


def bred(contest: Contest, schedules: Rows, rng: np.random.Generator, budget: ScheduleBudget, name: str) -> Rows:
    """Generations of changed schedules: the finalists of one run."""
    for generation in range(budget.generations):
        age = generation / max(1, budget.generations - 1)
        reach = max(LEAST_REACH, 1.0 - age)
        children = [changed_schedule(parent, rng, reach)[None] for parent in schedules for _ in range(budget.children)]
        markets = round(budget.markets * (1.0 + 4.0 * age))
        schedules = contest.best(np.concatenate([schedules, *children]), markets, budget.parents, f"{name}, breeding")
    return contest.best(schedules, max(1, budget.final_markets // 4), budget.finalists, f"{name}, choosing")


def simplified(contest: Contest, schedule: Rows, budget: ScheduleBudget) -> Rows:
    """The schedule without the changes from step to step that are worth less than their noise, undone one by one."""
    for _ in range(MOST_UNDONE):
        simpler = undone(schedule)
        if not simpler:
            break
        scores = contest.scores(np.stack([schedule, *simpler]), max(2, budget.final_markets // 4), "simplifying")
        losses = scores[0] - scores[1:]
        excess = losses.mean(axis=1) - losses.std(axis=1) / np.sqrt(losses.shape[1])
        if excess.min() > 0.0:
            break
        schedule = simpler[int(excess.argmin())]
    return schedule


def undone(schedule: Rows) -> list[Rows]:
    """For every field that changes at a step, a copy in which it keeps its value until its next change."""
    copies = []
    for name in FIELDS:
        values = schedule[name]
        changes = [*(np.flatnonzero(values[1:] != values[:-1]) + 1), len(schedule)]
        for begin, end in itertools.pairwise(changes):
            copy = schedule.copy()
            copy[name][begin:end] = values[begin - 1]
            copies.append(copy)
    return copies


def changed_schedule(schedule: Rows, rng: np.random.Generator, reach: float) -> Rows:
    """A copy in which one field or a few change over a span of steps, alike at all of them, or in which the span copies another step."""
    changed, span = schedule.copy(), drawn_span(len(schedule), rng)
    if rng.random() < COPY_CHANCE:
        changed[span] = changed[rng.integers(len(schedule))]
        return changed
    for place in rng.permutation(len(FIELDS))[: rng.geometric(ONE_FIELD)]:
        name = FIELDS[place]
        changed[name][span] = redrawn(changed[name][span][:1], name, rng, reach)[0]
    return changed


def drawn_span(steps: int, rng: np.random.Generator) -> slice:
    """One step, from a step on, up to a step, or all steps."""
    step = int(rng.integers(steps))
    return (slice(step, step + 1), slice(step, steps), slice(0, step + 1), slice(0, steps))[rng.integers(4)]


def schedule_changes(schedule: Rows) -> list[dict[str, object]]:
    """The first mechanism, and of every later step only what changes."""
    actions = [action_of(row).model_dump() for row in schedule]
    changes: list[dict[str, object]] = [actions[0]]
    for before, after in itertools.pairwise(actions):
        changes.append({name: value for name, value in after.items() if value != before[name]})
    return changes
