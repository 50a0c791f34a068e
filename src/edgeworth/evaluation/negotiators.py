"""How good a negotiator is: seeded episodes, every measure with its interval, between the floor of random play and blind Bayes.

All agents play the same seeds, so that they meet the same pools, partners and chances; what they differ by is their own doing. The
yardsticks of the scale are played on the first of these seeds: random legal play is 0, the best blind plan is 1. The measures:

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

Intervals are 95 % bootstraps over episodes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.bayes import Bayes
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.random import RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.deals import deal_quality
from edgeworth.evaluation.episodes import Episodes, play_episodes
from edgeworth.evaluation.statistics import Estimate, mean, paired_difference, ratio
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.progress import Progress, silent

QUANTITY = (
    "reward, advantage, regret in points per episode; share_of_maximum: sum of rewards / sum of the agent's maxima; normalised_score:"
    " random legal play = 0, blind Bayes plan = 1, on the first episodes; 95 % bootstrap intervals over episodes"
)


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
        both = {"random": self.random, "bayes": self.bayes}
        return {name: None if played is None else float(played.reward.sum() / played.maximum.sum()) for name, played in both.items()}


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

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


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

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def play_ends(config: BargainingConfig, episodes: int, seed: int, progress: Progress = silent) -> Ends:
    """Play the ends of the scale; against a partner whose replies betray something there is no blind plan."""
    random = play_episodes(config, RandomLegal(), episodes, seed)
    try:
        check_silent_partner(BargainingBatch(config, 1))
    except InvalidOption as error:
        return Ends(random, None, f"No score against blind Bayes: {error}")
    return Ends(random, played(config, Bayes(), "blind Bayes", episodes, seed, progress))


def played(config: BargainingConfig, negotiator: Negotiator, name: str, episodes: int, seed: int, progress: Progress = silent) -> Episodes:
    """Play seeded episodes and tell how far it is."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(name, done, episodes)

    progress(name, 0, episodes)
    return play_episodes(config, negotiator, episodes, seed, count)


def measured(agent: str, config: BargainingConfig, episodes: Episodes, ends: Ends) -> Evaluation:
    """Every measure of an agent's episodes."""
    quality = deal_quality(episodes.contexts, episodes.deal, episodes.agreed, config.reservation)
    agreed = episodes.agreed.astype(np.float64)
    head = episodes.first(ends.episodes)
    return Evaluation(
        agent=agent,
        episodes=len(agreed),
        yardstick_episodes=ends.episodes,
        reward=mean(episodes.reward),
        share_of_maximum=ratio(episodes.reward, episodes.maximum),
        normalised_score=_score(head, ends),
        deal_rate=mean(agreed),
        pareto_rate=ratio(quality.pareto[episodes.agreed].astype(np.float64), np.ones(int(agreed.sum()))) if agreed.any() else None,
        nash_ratio=_safe_ratio(quality.nash, quality.best_nash),
        advantage=paired_difference(episodes.reward, episodes.partner_reward),
        length=mean(episodes.turns.astype(np.float64)),
        regret=None if ends.bayes is None else paired_difference(ends.bayes.reward, head.reward),
    )


def _score(episodes: Episodes, ends: Ends) -> Estimate | None:
    """Where the agent stands between the ends of the scale."""
    if ends.bayes is None:
        return None
    return _safe_ratio(episodes.reward - ends.random.reward, ends.bayes.reward - ends.random.reward)


def _safe_ratio(parts: Any, wholes: Any) -> Estimate | None:
    return ratio(parts, wholes) if wholes.sum() > 0.0 else None


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
