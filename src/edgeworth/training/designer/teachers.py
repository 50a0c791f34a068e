"""Teachers: the mechanisms that supervised fine-tuning imitates, state by state.

`policy` posts what the numeric policy posts there, the strongest teacher that sees no more than the model does. `searched` tries bundled
mechanisms and neighbours of them in the state itself, with its population, and takes the best: hindsight that the model does not have.
`legal` posts random legal mechanisms, which teaches the JSON and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeworth.agents.designers.adaptive import library_rows
from edgeworth.games.auction.action import random_mechanisms
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.state import MECHANISM
from edgeworth.progress import Progress, silent
from edgeworth.seeding import generator
from edgeworth.training.designer.states import States, named_designer
from edgeworth.training.designer.trials import try_mechanisms
from edgeworth.training.designer.variations import moved, rounded_rows

SEARCH_DRAWS, SEARCH_ROUNDS, SEARCH_TRIES = 16, 3, 6
"""Draws of a trial, rounds of neighbours after the bundled mechanisms, and neighbours tried in a round."""
WHOLE_EPISODE = 10_000


def targets(states: States, shares: Mapping[str, float], seed: int, progress: Progress = silent) -> Rows:
    """A mechanism to imitate for every state, its numbers with two digits; each state's teacher is drawn by the shares."""
    rng = generator(seed, 31)
    names = sorted(name for name, share in shares.items() if share > 0)
    weights = np.array([shares[name] for name in names], float)
    drawn = rng.choice(len(names), len(states), p=weights / weights.sum())
    rows: Rows = np.zeros(len(states), MECHANISM)
    for number, name in enumerate(names):
        here = np.flatnonzero(drawn == number)
        if len(here):
            progress(name, number, len(names))
            rows[here] = TEACHERS[name](states.chosen(here), rng)
    return rounded_rows(rows)


def from_policy(states: States, rng: np.random.Generator) -> Rows:
    """What the numeric policy posts."""
    policy = named_designer("policy")
    rows: Rows = np.zeros(len(states), MECHANISM)
    for lot in states.lots():
        _, history = states.chosen(lot).opened()
        rows[lot] = policy.design(history.view())
    return rows


def from_search(states: States, rng: np.random.Generator) -> Rows:
    """The best mechanism found for the rest of the episode: of the bundled ones, then of neighbours of the best so far."""

    def worth(rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = try_mechanisms(states, rows, SEARCH_DRAWS, WHOLE_EPISODE).returns.mean(axis=1)
        return found

    best: Rows = constant_rows(library_rows()[0], len(states))
    value = np.full(len(states), -np.inf)
    tries = [constant_rows(row, len(states)) for row in library_rows()]
    for _ in range(SEARCH_ROUNDS + 1):
        for rows in tries:
            reached = worth(rows)
            better = reached > value
            best, value = np.where(better, rows, best), np.maximum(reached, value)
        tries = [moved(best, rng, np.ones(len(states), np.bool_)) for _ in range(SEARCH_TRIES)]
    return best


def legal(states: States, rng: np.random.Generator) -> Rows:
    """Random legal mechanisms."""
    return random_mechanisms(rng, len(states))


TEACHERS = {"policy": from_policy, "searched": from_search, "legal": legal}
