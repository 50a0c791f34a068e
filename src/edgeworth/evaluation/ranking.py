"""How far a tournament's ranking depends on who takes part, and on how games are counted.

The mean over all others is easy to read, but adding a copy of a weak opponent changes it, and scenarios that differ only in their own
partner, which a tournament replaces, are the same game counted twice. Four remedies, computed from the shares in a tournament's result:

- *distinct games*: scenarios of the same game are averaged first, then the games;
- *left out*: the places that a negotiator takes when any one of the others does not take part;
- *α-rank* (Omidshafiei et al. 2019): the long-run share of time that a population spends with a negotiator when now and then one of its
  members tries another one, and spreads if it earns more, also among its own kind (a Moran process). Copies of a negotiator share its part;
- *training seeds*: the scores and places when all networks are replaced by others of the same training, one seed after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.evaluation.statistics import over_seeds
from edgeworth.evaluation.tournament import cross_table

SELECTION, MEMBERS = (1.0, 10.0), 50
"""How strongly earning more helps to spread, weak and strong, and the size of the population."""

Payoffs = NDArray[np.float64]


def robust_ranking(result: Mapping[str, Any], games: Mapping[str, BargainingConfig]) -> list[dict[str, Any]]:
    """For all that played every scenario: the score over distinct games, the place, the places with another left out, and the α-rank."""
    names, payoffs = distinct_payoffs(result["scenarios"], games)
    if len(names) < 3:
        return []
    scores, masses = mean_scores(payoffs), {strength: alpha_rank(payoffs, strength) for strength in SELECTION}
    places, ranges = places_of(scores), places_left_out(payoffs)
    rows = [
        {
            "name": name,
            "score": float(scores[i]),
            "place": int(places[i]),
            "left_out": ranges[i],
            "alpha_rank": {f"{strength:g}": float(mass[i]) for strength, mass in masses.items()},
        }
        for i, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: int(row["place"]))


def add_training_seeds(ranking: Sequence[dict[str, Any]], others: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Write into a ranking what becomes of everybody over it and those with the networks of other training seeds."""
    for row in ranking if others else ():
        rows = [row, *(other for rows in others for other in rows if other["name"] == row["name"])]
        places = [int(each["place"]) for each in rows]
        score = over_seeds([float(each["score"]) for each in rows])
        row["over_training_seeds"] = {"score": score.as_dict(), "places": [min(places), max(places)]}


def distinct_payoffs(scenarios: Sequence[Mapping[str, Any]], games: Mapping[str, BargainingConfig]) -> tuple[list[str], Payoffs]:
    """Those who played everywhere, and what each (row) gets from each (column), the mean over distinct games."""
    tables = {scenario["scenario"]: cross_table(scenario) for scenario in scenarios}
    names = sorted(set.intersection(*(set(table) for table in tables.values())))
    kinds: dict[str, list[Payoffs]] = {}
    for scenario, table in tables.items():
        shares = np.array([[np.nan if table[row][column] is None else table[row][column] for column in names] for row in names], np.float64)
        kinds.setdefault(game_without_partner(games[scenario]), []).append(shares)
    return names, np.mean([np.mean(shares, axis=0) for shares in kinds.values()], axis=0)


def game_without_partner(config: BargainingConfig) -> str:
    """What two negotiators play in a scenario; equal for scenarios that differ only in their own partner."""
    return repr({name: value for name, value in vars(config).items() if name not in ("partner", "partner_options")})


def mean_scores(payoffs: Payoffs) -> Payoffs:
    """What each gets on average from all others."""
    others = ~np.eye(len(payoffs), dtype=np.bool_)
    return np.asarray((payoffs * others).sum(axis=1) / (len(payoffs) - 1))


def places_of(scores: Payoffs) -> NDArray[np.int64]:
    """The place of each score, 1 for the highest."""
    return np.asarray(1 + (scores[None] > scores[:, None]).sum(axis=1), np.int64)


def places_left_out(payoffs: Payoffs) -> list[list[int]]:
    """The best and the worst place of each when one of the others is left out, counted among those that remain."""
    found: list[list[int]] = [[] for _ in payoffs]
    for absent in range(len(payoffs)):
        present = np.delete(np.arange(len(payoffs)), absent)
        for i, place in zip(present, places_of(mean_scores(payoffs[np.ix_(present, present)])), strict=True):
            found[i].append(int(place))
    return [[min(places), max(places)] for places in found]


def _fixation(payoffs: Payoffs, selection: float, new: int, old: int) -> float:
    """How likely one newcomer takes over a population of the old kind."""
    newcomers = np.arange(1, MEMBERS)
    earned = ((newcomers - 1) * payoffs[new, new] + (MEMBERS - newcomers) * payoffs[new, old]) / (MEMBERS - 1)
    before = (newcomers * payoffs[old, new] + (MEMBERS - newcomers - 1) * payoffs[old, old]) / (MEMBERS - 1)
    return float(1.0 / (1.0 + np.exp(np.minimum(700.0, np.cumsum(selection * (before - earned)))).sum()))


def alpha_rank(payoffs: Payoffs, selection: float) -> Payoffs:
    """The stationary distribution over what a population plays; it changes when a newcomer has taken over."""
    size = len(payoffs)
    spreads = np.array([[_fixation(payoffs, selection, new, old) for new in range(size)] for old in range(size)])
    moves = spreads / (size - 1)
    np.fill_diagonal(moves, 0.0)
    np.fill_diagonal(moves, 1.0 - moves.sum(axis=1))
    system = np.concatenate([moves.T - np.eye(size), np.ones((1, size))])
    masses = np.linalg.lstsq(system, np.concatenate([np.zeros(size), [1.0]]), rcond=None)[0]
    return np.asarray(np.clip(masses, 0.0, None) / np.clip(masses, 0.0, None).sum())
