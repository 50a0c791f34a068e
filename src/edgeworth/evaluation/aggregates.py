"""Few runs, many games: interquartile means, probabilities of improvement and their intervals (Agarwal et al. 2021, the package rliable).

Scores come by game: a list with one score per training seed for each. Intervals are 95 % stratified bootstraps: in every resample, seeds
are drawn with replacement within each game, and the whole statistic is computed anew. The interquartile mean is the mean of the middle half
of all scores of all games. The probability of improvement is the chance that a run of one method beats a run of another in the same game,
ties counted half, averaged over the games that both played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from edgeworth.evaluation.statistics import Estimate, from_resamples

RESAMPLES = 2_000
OPTIMUM = 1.0
"""The score from which on nothing is missing: that of blind Bayes, on the scale from random play."""

Numbers = NDArray[np.float64]
ByGame = Mapping[str, Sequence[float]]
Statistic = Callable[[Sequence[Numbers]], Numbers]
"""From the scores of every game, (resamples, seeds) each, to one number per resample."""


def interquartile_mean(games: Sequence[Numbers]) -> Numbers:
    """The mean of the middle half of all scores."""
    scores = np.sort(np.concatenate(games, axis=1), axis=1)
    cut = scores.shape[1] // 4
    return np.asarray(scores[:, cut : scores.shape[1] - cut].mean(axis=1))


def mean_over_games(games: Sequence[Numbers]) -> Numbers:
    """The mean over games of their means."""
    return np.asarray(np.mean([scores.mean(axis=1) for scores in games], axis=0))


def median_over_games(games: Sequence[Numbers]) -> Numbers:
    """The median over games of their means."""
    return np.asarray(np.median([scores.mean(axis=1) for scores in games], axis=0))


def optimality_gap(games: Sequence[Numbers]) -> Numbers:
    """How much is missing to the optimum on average; what is above it makes up for nothing."""
    return np.asarray(np.maximum(0.0, OPTIMUM - np.concatenate(games, axis=1)).mean(axis=1))


STATISTICS: dict[str, Statistic] = {
    "interquartile mean": interquartile_mean,
    "mean": mean_over_games,
    "median": median_over_games,
    "optimality gap": optimality_gap,
}


def improvement(games: Sequence[Numbers], others: Sequence[Numbers]) -> Numbers:
    """The chance that a score of the first beats one of the second in the same game, averaged over games."""
    chances = []
    for scores, rivals in zip(games, others, strict=True):
        better, same = scores[:, :, None] > rivals[:, None, :], scores[:, :, None] == rivals[:, None, :]
        chances.append(better.mean(axis=(1, 2)) + 0.5 * same.mean(axis=(1, 2)))
    return np.asarray(np.mean(chances, axis=0))


def resampled(scores: Sequence[float], rng: np.random.Generator) -> Numbers:
    """The scores of one game as they are, and below them every resample."""
    own = np.asarray(scores, np.float64)
    return np.concatenate([own[None], own[rng.integers(0, len(own), (RESAMPLES, len(own)))]])


def aggregate(by_game: ByGame, statistic: Statistic, seed: int = 0) -> Estimate:
    """A statistic of one method's scores, with its interval; with one seed per game the interval is unknown."""
    rng = np.random.default_rng(seed)
    return _estimate(statistic([resampled(scores, rng) for scores in by_game.values()]), [by_game])


def probability_of_improvement(by_game: ByGame, other: ByGame, seed: int = 0) -> Estimate | None:
    """How likely a run of the first method beats one of the second; None where they have no game in common."""
    both = [game for game in by_game if game in other]
    if not both:
        return None
    rng = np.random.default_rng(seed)
    mine, theirs = ([resampled(scores[game], rng) for game in both] for scores in (by_game, other))
    return _estimate(improvement(mine, theirs), [{game: scores[game] for game in both} for scores in (by_game, other)])


def _estimate(values: Numbers, groups: Sequence[ByGame]) -> Estimate:
    runs = sum(len(scores) for group in groups for scores in group.values())
    known = any(len(scores) > 1 for group in groups for scores in group.values())
    return from_resamples(values[0], values[1:] if known else np.zeros(0), runs)
