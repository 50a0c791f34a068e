"""Trials: what a mechanism is worth in a state, found by playing on from exactly that state, over several draws of what comes.

A draw changes the key of the market's randomness and nothing else, so bidders remember all they have lived through. Draws have numbers:
the same numbers bring the same values, shocks and chances to every mechanism that is tried in a state, and differences between
mechanisms are the mechanisms' own. The steps after the first are posted by another designer, the same for all.
"""

from __future__ import annotations

import copy
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer
from edgeworth.games.auction.action import check_rows
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import SCORE_COLUMNS, outcome_table
from edgeworth.games.auction.state import SCORES
from edgeworth.seeding import hash_rows
from edgeworth.training.designer.states import States

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

REDRAWN = np.uint64(0x7D1A15)
COMPOSITE = SCORES.index("composite")
CORES = os.cpu_count() or 1
MARKETS = 1024
"""Markets that a thread plays side by side: with fewer, threads wait for each other's Python; with more, some have nothing to do."""


@dataclass(frozen=True)
class Trials:
    """What came of mechanisms, each tried with several draws."""

    scores: NDArray[np.float64]
    """The scores of the first step, (mechanisms, draws, scores), in the order of `state.SCORES`."""
    returns: NDArray[np.float64]
    """The discounted mean of the composite over all steps that count, (mechanisms, draws)."""


def redrawn_keys(keys: NDArray[np.uint64], draws: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The keys of markets for draws by number."""
    hashed = np.empty(len(keys), np.uint64)
    hash_rows(np.stack([keys, draws.astype(np.uint64)], axis=1), REDRAWN, hashed)
    return hashed


def try_mechanisms(
    states: States, mechanisms: Rows, draws: int, horizon: int = 1, discount: float = 1.0, designer: Designer | None = None
) -> Trials:
    """Post one mechanism in each state and play on for up to `horizon` steps, over `draws` draws.

    The designer posts from the second step on; without one, the mechanism stays.
    """
    check_rows(mechanisms)
    scores, returns = np.zeros((len(states), draws, len(SCORES))), np.zeros((len(states), draws))

    def play(part: NDArray[np.int64]) -> None:
        scores[part], returns[part] = _play(states.chosen(part), mechanisms[part], draws, horizon, discount, designer)

    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(CORES) as pool:
        list(pool.map(play, _parts(states, draws, by_step=designer is not None and not designer.memoryless)))
    return Trials(scores, returns)


def _parts(states: States, draws: int, by_step: bool) -> list[NDArray[np.int64]]:
    """The states in parts to be played in threads, each of one kind and in the order of its steps."""
    parts = list[NDArray[np.int64]]()
    for lot in states.lots(by_step):
        ordered = lot[states.markets["step"][lot].argsort(kind="stable")]
        count = 1 if by_step else -(-len(lot) * draws // MARKETS)
        parts += [ordered[first::count] for first in range(count)]
    return parts


@cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries of this process: where lots are played in threads, theirs would only wait for each other."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _play(
    states: States, mechanisms: Rows, draws: int, horizon: int, discount: float, designer: Designer | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The trials of states of one kind, in the order of their steps: first scores, and returns.

    Those of the earliest step begin and the others join when it is their turn, so that all markets in play are at the same step.
    """
    repeated = np.repeat(np.arange(len(states)), draws)
    batch, history = states.chosen(repeated).opened()
    batch.markets["key"] = redrawn_keys(batch.markets["key"], np.tile(np.arange(draws), len(states)))
    if designer is not None:
        designer = copy.copy(designer)  # parts are played in threads
        designer.begin(batch.config, batch.size, 0)
    posted, begins, length = mechanisms[repeated], batch.markets["step"].copy(), batch.config.episode_length
    weights = np.cumprod([1.0, *[discount] * (length - 1)])
    first, total = np.zeros((batch.size, len(SCORES))), np.zeros(batch.size)
    for step in range(int(begins[0]), length):
        ended, joining, joined = np.searchsorted(begins, [step - horizon, step - 1, step], side="right").tolist()
        if designer is not None and ended < joining:
            chosen = designer.design(history.view(slice(ended, joining)))
            check_rows(chosen)
            posted[ended:joining] = chosen
        played = slice(ended, joined)
        scores = outcome_table(batch.run(posted, played))[:, SCORE_COLUMNS]
        history.add(posted, played)
        first[joining:joined] = scores[joining:joined]
        total[played] += weights[step - begins[played]] * scores[played, COMPOSITE]
    shape = len(states), draws
    steps = np.minimum(horizon, length - begins)
    return first.reshape(*shape, len(SCORES)), (total / weights.cumsum()[steps - 1]).reshape(shape)


def mechanism_share(returns: NDArray[np.float64]) -> float:
    """The share of the variance of rewards within groups that is due to the mechanisms; the rest is left of the draws.

    `returns` is (groups, mechanisms, draws). A reward is a mean over draws; since the draws are common to a group, what is left of them is
    their interaction with the mechanisms, estimated by the analysis of variance.
    """
    groups, mechanisms, draws = returns.shape
    if draws < 2 or mechanisms < 2:
        return float("nan")
    centred = returns - returns.mean(axis=1, keepdims=True)
    effects = centred.mean(axis=2)
    between = draws * (effects**2).sum() / (groups * (mechanisms - 1))
    within = ((centred - effects[:, :, None]) ** 2).sum() / (groups * (mechanisms - 1) * (draws - 1))
    return float(max(0.0, 1.0 - within / between)) if between > 0 else float("nan")
