"""How good a negotiator is: seeded episodes, every measure with its interval, on a scale from random play to blind Bayes.

All agents play the same seeds, so that pools, partners and chances are the same for all. The ends of the scale are played on the first of
these seeds: random legal play is 0, the best blind plan is 1. The measures:

| measure | over episodes |
|---|---|
| reward | mean points |
| share_of_maximum | Σ reward / Σ worth of the whole pool to the agent |
| normalised_score | (Σ reward − Σ random's) / (Σ Bayes' − Σ random's), on the episodes of the yardsticks |
| deal_rate | deals / episodes |
| pareto_rate | efficient deals / deals |
| nash_ratio | Σ Nash products of the deals (0 without one) / Σ largest Nash products |
| advantage | mean of the agent's points less the partner's |
| length | mean moves of both sides |
| regret | mean of Bayes' points less the agent's, on the episodes of the yardsticks |

Intervals are 95 % bootstraps over episodes, and Wilson's for rates. `exact.py` has the measures of whole populations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.learned import written_at
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import CHUNK, Episodes, play_episodes
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference, rate, ratio, ratio_or_none
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.contexts import triple_of
from edgeworth.games.bargaining.frontier import all_shares
from edgeworth.progress import Progress, silent

QUANTITY = (
    "reward, advantage, regret in points per episode; share_of_maximum: sum of rewards / sum of the agent's maxima; normalised_score:"
    " random legal play = 0, blind Bayes plan = 1, on the first episodes; 95 % bootstrap intervals over episodes"
)
RANDOM, BAYES = "yardstick: random legal", "yardstick: blind Bayes"
SLOW_CHUNK = 256
"""Episodes of blind Bayes in a task."""

Numbers = NDArray[np.int64]


# Deals


class DealQuality(NamedTuple):
    """How good deals are for both sides together, one entry per episode; where there was no deal, False and 0."""

    pareto: NDArray[np.bool_]
    """Whether no division is better for one side and no worse for the other."""
    nash: NDArray[np.float64]
    """The Nash product of the deal: the product of both sides' gains over no deal."""
    best_nash: NDArray[np.float64]
    """The largest Nash product of all divisions."""


def deal_quality(contexts: Numbers, deals: Numbers, agreed: NDArray[np.bool_], reservation: tuple[float, float]) -> DealQuality:
    """The quality of every deal, given contexts (n, 9), the agent's shares (n, 3), and what no deal pays as shares of the maxima.

    Contexts with the same pool share their list of divisions.
    """
    pareto, nash, best = np.zeros(len(contexts), np.bool_), np.zeros(len(contexts)), np.zeros(len(contexts))
    pools, which = np.unique(contexts[:, :3], axis=0, return_inverse=True)
    for number, pool in enumerate(pools):
        rows = np.flatnonzero(which == number)
        mine_each, theirs_each = contexts[rows, 3:6], contexts[rows, 6:9]
        shares = all_shares(triple_of(pool))
        mine, theirs = mine_each @ shares.T, theirs_each @ (pool - shares).T
        deal_mine, deal_theirs = (deals[rows] * mine_each).sum(1)[:, None], ((pool - deals[rows]) * theirs_each).sum(1)[:, None]
        better = (mine >= deal_mine) & (theirs >= deal_theirs) & ((mine > deal_mine) | (theirs > deal_theirs))
        pareto[rows] = agreed[rows] & ~better.any(axis=1)
        floors = reservation[0] * (mine_each @ pool)[:, None], reservation[1] * (theirs_each @ pool)[:, None]
        nash[rows] = np.where(agreed[rows], _product(deal_mine, deal_theirs, *floors)[:, 0], 0.0)
        best[rows] = _product(mine, theirs, *floors).max(axis=1)
    return DealQuality(pareto, nash, best)


def _product(mine: Numbers, theirs: Numbers, my_floor: NDArray[np.float64], their_floor: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(0.0, mine - my_floor) * np.maximum(0.0, theirs - their_floor))


# Measures


@dataclass(frozen=True)
class Ends:
    """The two ends of the scale, played on the first seeds; a note where the upper one does not exist."""

    random: Episodes
    bayes: Episodes | None
    note: str | None = None

    @property
    def episodes(self) -> int:
        """On how many seeds."""
        return len(self.random.reward)

    def shares(self) -> dict[str, float | None]:
        """The share of the maximum at both ends."""
        return {"random": self.random.share, "bayes": None if self.bayes is None else self.bayes.share}


@dataclass(frozen=True)
class Evaluation:
    """One agent in one game."""

    agent: str
    episodes: int
    yardstick_episodes: int
    reward: Estimate
    share_of_maximum: Estimate
    normalised_score: Estimate | None
    deal_rate: Estimate
    pareto_rate: Estimate | None
    nash_ratio: Estimate | None
    advantage: Estimate
    length: Estimate
    regret: Estimate | None


@dataclass(frozen=True)
class Comparison:
    """Two agents on the same episodes: differences, first less second, episode by episode."""

    first: Evaluation
    second: Evaluation
    reward: Estimate
    share_of_maximum: Estimate
    deal_rate: Estimate
    advantage: Estimate
    length: Estimate
    better: float
    """Share of the episodes in which the first earned more."""
    worse: float


def play_part(config: BargainingConfig, negotiator: Negotiator, episodes: int, seed: int) -> dict[str, NDArray[Any]]:
    """Some episodes of a negotiator, as a task returns them."""
    return play_episodes(config, negotiator, episodes, seed).as_arrays()


class Wanted(NamedTuple):
    """A negotiator and the number of its episodes."""

    negotiator: Negotiator
    episodes: int
    size: int = CHUNK
    """Episodes in a task."""
    reads: str = ""
    """When its checkpoint was written."""


def play_wanted(
    config: BargainingConfig, wanted: Mapping[str, Wanted], seed: int, run: Executor = HERE, progress: Progress = silent
) -> dict[str, Episodes]:
    """Play negotiators on the first of the same seeds, some episodes per task."""
    tasks: dict[str, list[Task]] = {}
    for name, (negotiator, episodes, size, reads) in wanted.items():
        for begin in range(0, episodes, size):
            part = (config, negotiator, min(size, episodes - begin), seed + begin)
            tasks.setdefault(name, []).append(Task(f"{name}, seed {seed + begin}", play_part, part, reads))
    values = iter(run([task for parts in tasks.values() for task in parts], progress).whole())
    return {name: Episodes.joined([Episodes(**next(values)) for _ in parts]) for name, parts in tasks.items()}


def play_all(
    config: BargainingConfig,
    players: Mapping[str, Negotiator],
    episodes: int,
    yardstick_episodes: int,
    seed: int,
    run: Executor = HERE,
    progress: Progress = silent,
) -> tuple[dict[str, Episodes], Ends]:
    """Play negotiators on the same seeds, and the ends of the scale on the first of them.

    There is no blind plan against a partner whose replies reveal something.
    """
    wanted = {name: Wanted(player, episodes, reads=written_at(name)) for name, player in players.items()}
    wanted[RANDOM] = Wanted(RandomLegal(), yardstick_episodes)
    note = None
    try:
        check_silent_partner(BargainingBatch(config, 1))
        wanted[BAYES] = Wanted(Bayes(), yardstick_episodes, SLOW_CHUNK)
    except InvalidOption as error:
        note = f"No score against blind Bayes: {error}"
    played = play_wanted(config, wanted, seed, run, progress)
    return {name: played[name] for name in players}, Ends(played[RANDOM], played.get(BAYES), note)


def play_ends(config: BargainingConfig, episodes: int, seed: int, run: Executor = HERE, progress: Progress = silent) -> Ends:
    """Play the ends of the scale alone."""
    return play_all(config, {}, 0, episodes, seed, run, progress)[1]


def play_measures(episodes: Episodes, reservation: tuple[float, float]) -> dict[str, Estimate | None]:
    """The measures of episodes against any partner; None where there is nothing to divide by."""
    quality, agreed = deal_quality(episodes.contexts, episodes.deal, episodes.agreed, reservation), episodes.agreed
    return {
        "share_of_maximum": ratio(episodes.reward, episodes.maximum),
        "deal_rate": rate(agreed),
        "pareto_rate": rate(quality.pareto[agreed]) if agreed.any() else None,
        "nash_ratio": ratio_or_none(quality.nash, quality.best_nash),
        "length": mean(episodes.turns.astype(np.float64)),
    }


def measured(agent: str, config: BargainingConfig, episodes: Episodes, ends: Ends) -> Evaluation:
    """Every measure of an agent's episodes."""
    head, (random, bayes) = episodes.first(ends.episodes), (ends.random, ends.bayes)
    return Evaluation(
        agent=agent,
        episodes=len(episodes.reward),
        yardstick_episodes=ends.episodes,
        reward=mean(episodes.reward),
        advantage=paired_difference(episodes.reward, episodes.partner_reward),
        normalised_score=None if bayes is None else ratio_or_none(head.reward - random.reward, bayes.reward - random.reward),
        regret=None if bayes is None else paired_difference(bayes.reward, head.reward),
        **play_measures(episodes, config.reservation),  # type: ignore[arg-type]
    )


def compared(first: Evaluation, second: Evaluation, one: Episodes, other: Episodes) -> Comparison:
    """The paired differences of two agents that played the same seeds."""
    return Comparison(
        first,
        second,
        reward=paired_difference(one.reward, other.reward),
        share_of_maximum=ratio(one.reward - other.reward, one.maximum),
        deal_rate=paired_difference(one.agreed.astype(np.float64), other.agreed.astype(np.float64)),
        advantage=paired_difference(one.reward - one.partner_reward, other.reward - other.partner_reward),
        length=paired_difference(one.turns.astype(np.float64), other.turns.astype(np.float64)),
        better=float((one.reward > other.reward).mean()),
        worse=float((one.reward < other.reward).mean()),
    )
