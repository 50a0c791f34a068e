"""The Bayes plan of every half-context, worked out once and looked up for whole batches: the teacher of the pocket model's hints.

Plans do not care what the item types are called, so a table holds one plan per half-context in standard order (`pocket_split.canonical`)
and side that opens, and turns it to the order at hand: 15,180 plans stand for the 85,184 half-contexts of the classic game.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.hints.bayes import planned_hints
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Triple, own_sides
from edgeworth.protocol import Rejection
from edgeworth.training.pocket_split import BASE, canonical

Progress = Callable[[str, int, int], None]

CHUNK = 500
TYPE_CODES = 5 * BASE
"""Types of at most four units; the code of a type is `count * BASE + utility`."""
PLAN = np.dtype([("acts", np.int8, (7,)), ("shares", np.int8, (7, 3)), ("confidences", np.float32, (7,)), ("moves", np.int8)])
"""The hints of a plan in turn, AGREE or DISAGREE included, for at most ten moves of both sides."""


@dataclass(frozen=True)
class PlanTable:
    """The plans of one set of rules."""

    plans: NDArray[np.void]
    index: NDArray[np.int32]
    """Row of a plan by opener and the codes of the three types in standard order; -1 where there is none."""

    def knows(self, counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which half-contexts it has a plan for."""
        types, _ = canonical(counts, utilities)
        known: NDArray[np.bool_] = self.index[:, types[:, 0], types[:, 1], types[:, 2]].max(axis=0) >= 0
        return known

    def hints(
        self, counts: NDArray[np.int64], utilities: NDArray[np.int64], openers: NDArray[np.int64], made: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The plan's next move for every half-context, given how many moves its side has made: acts, shares, confidences."""
        types, order = canonical(counts, utilities)
        rows = self.plans[self.index[openers, types[:, 0], types[:, 1], types[:, 2]]]
        at = np.minimum(made, rows["moves"] - 1)
        each = np.arange(len(at))
        shares = np.empty((len(at), 3), np.int64)
        np.put_along_axis(shares, order, rows["shares"][each, at].astype(np.int64), axis=1)
        return rows["acts"][each, at].astype(np.int64), shares, rows["confidences"][each, at]


def standard_halves(config: BargainingConfig) -> list[tuple[Triple, Triple]]:
    """Every half-context of a game in standard order: pools of one to four units of each type, or those of its table."""
    batch = BargainingBatch(config, 1)
    halves = own_sides(config, batch.table if batch.rules[0]["from_table"] else None)
    codes = np.unique(canonical(halves[:, :3], halves[:, 3:])[0], axis=0)
    counts, utilities = np.divmod(codes, BASE)
    return [((a, b, c), (x, y, z)) for (a, b, c), (x, y, z) in zip(counts.tolist(), utilities.tolist(), strict=True)]


def make_table(config: BargainingConfig, most: int | None = None, workers: int = 1, progress: Progress | None = None) -> PlanTable:
    """Plan for every half-context of a game and both openers, or for about `most` of them, evenly spread."""
    halves = standard_halves(config)
    halves = halves if most is None else halves[:: max(1, len(halves) // most)]
    openers = {"agent": (0,), "partner": (1,), "random": (0, 1)}[config.opens]
    jobs = [(config, opener, halves[begin : begin + CHUNK]) for opener in openers for begin in range(0, len(halves), CHUNK)]
    parts = []
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for part in pool.imap(_planned, jobs):
            parts.append(part)
            if progress is not None:
                progress("plans", len(parts), len(jobs))
    index = np.full((2, TYPE_CODES, TYPE_CODES, TYPE_CODES), -1, np.int32)
    codes = np.array([[n * BASE + u for n, u in zip(*half, strict=True)] for half in halves])
    for number, opener in enumerate(openers):
        index[opener, codes[:, 0], codes[:, 1], codes[:, 2]] = number * len(halves) + np.arange(len(halves))
    return PlanTable(np.concatenate(parts), index)


def _planned(job: tuple[BargainingConfig, int, list[tuple[Triple, Triple]]]) -> NDArray[np.void]:
    """The plans of some half-contexts, for one opener."""
    config, opener, halves = job
    batch = BargainingBatch(config, 1)
    rows = np.zeros(len(halves), PLAN)
    for row, (counts, utilities) in zip(rows, halves, strict=True):
        hints = planned_hints((opener, counts, utilities), batch, None)
        assert not isinstance(hints, Rejection), "standard half-contexts belong to the game"
        row["moves"] = len(hints)
        for at, hint in enumerate(hints):
            row["acts"][at], row["shares"][at], row["confidences"][at] = hint.act, hint.share, hint.confidence
    return rows
