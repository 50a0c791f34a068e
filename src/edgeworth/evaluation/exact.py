"""The scale of a game over its whole population: the oracle, the best blind plans and random play, without sampling error.

All values are Σ reward / Σ maximum over every context that the game can draw and both sides that may open; `whole_population.py` plays
agents over the same contexts. Where only the pool matters to the partner's counter-offers, the names of the item types change no value,
and bounds are computed for one order of the types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.negotiators import Evaluation
from edgeworth.evaluation.statistics import Estimate, counted, exactly
from edgeworth.evaluation.whole_population import ExactPlay, Population, part_of, parts
from edgeworth.executor.execution import HERE, Executor
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import BEGINNINGS, bayes_plan, check_silent_partner
from edgeworth.games.bargaining.bounds import oracle_members
from edgeworth.games.bargaining.contexts import triple_of
from edgeworth.games.bargaining.partners.program import HEURISTIC, WALK_AWAY
from edgeworth.games.bargaining.random_play import random_takings
from edgeworth.progress import Progress, silent

QUANTITY = (
    "averages over every context that the game can draw and both sides that may open, without sampling error; reward, advantage, regret in"
    " points per negotiation; share_of_maximum: sum of rewards / sum of the agent's maxima; normalised_score: random legal play = 0, blind"
    " Bayes plan = 1"
)
HURRIED_BEGINNINGS = 3_000
"""Where a search for the best plan gives up if time costs something: there are many plans, and little is lost."""
PLANS = 512
"""Own sides in a task that plans."""


@dataclass(frozen=True)
class PlanShares:
    """Blind plans over a whole population, as shares of the maximum."""

    best: float
    gap: float
    """How much more the best plans could at most be worth."""
    unproved: int
    """Own sides and openers whose plan is not proved to be the best."""
    fixed: float
    """Plans with a fixed number of offers before AGREE; 0 where none were asked for."""
    contexts: int

    @property
    def note(self) -> str | None:
        """How much higher the best plans could be, where they are not proved to be the best."""
        if not self.unproved:
            return None
        plans = counted(self.unproved, "blind plan")
        return f"{plans} of {self.contexts:,} not proved to be the best; blind Bayes is at most {self.gap:.6f} higher."


def plan_part(config: BargainingConfig, one_order: bool, fixed: int | None, begin: int, end: int) -> dict[str, Any]:
    """The plans of some own sides: the best values, their gaps and the values with a fixed number of offers; how many are unproved."""
    population = part_of(config, one_order, slice(begin, end))
    found, unproved = np.zeros((3, end - begin)), 0
    limit = HURRIED_BEGINNINGS if config.discount < 1.0 or config.insist_price > 0.0 else BEGINNINGS
    for number, side in enumerate(population.sides):
        for opener in population.openers:
            plan = bayes_plan(population.half(side), population.batch, opener, beginnings=limit)
            found[:2, number] += plan.value, plan.gap
            unproved += plan.gap > 0.0
            if fixed is not None:
                found[2, number] += bayes_plan(population.half(side), population.batch, opener, fixed, limit).value
    return {"found": found, "unproved": unproved}


def plan_shares(config: BargainingConfig, fixed: int | None, run: Executor = HERE, progress: Progress = silent) -> PlanShares:
    """The best blind plan of every own side, and the best that makes a fixed number of offers and then agrees."""
    one_order = not len(BargainingBatch(config, 1).table)
    population = Population.of(config, one_order)
    tasks = [
        Task(f"blind plans from {part[0]}", plan_part, (config, one_order, fixed, *part)) for part in parts(len(population.sides), PLANS)
    ]
    values = run(tasks, progress).whole()
    found = np.concatenate([value["found"] for value in values], axis=1)
    best, gap, short = (population.share(row / len(population.openers)) for row in found)
    unproved = sum(value["unproved"] for value in values)
    return PlanShares(best, gap, unproved, short, len(population.sides) * len(population.openers))


def oracle_share(config: BargainingConfig, progress: Progress = silent) -> Estimate:
    """What an agent that knows its partner gets over the whole population, as a share of the maximum."""
    batch = BargainingBatch(config, 1)
    population = Population.of(
        config, one_order=batch.table.size == 0 and bool(np.isin(batch.partners["kind"], (HEURISTIC, WALK_AWAY)).all())
    )
    values, number = np.zeros(len(population.sides)), 0
    for some, branches in population.started(progress, "oracle"):
        number += len(branches.members)
        np.add.at(values[some], branches.origins, oracle_members(branches))
    return exactly(population.share(values / len(population.openers)), number)


def random_share(config: BargainingConfig) -> float:
    """What random legal play gets over the whole population, as a share of the maximum."""
    population, values = Population.of(config), []
    known: dict[tuple[int, ...], tuple[NDArray[np.float64], float]] = {}
    scale = population.maximum / np.maximum(1, (population.sides[:, :3] * population.sides[:, 3:]).sum(axis=1))
    told = 6 if len(population.batch.table) else 3  # how much of an own side says which partners are possible
    for side, unit, maximum in zip(population.sides, scale, population.maximum, strict=True):
        value = 0.0
        for opener in population.openers:
            key = (opener, *side[:told].tolist())
            if key not in known:
                known[key] = random_takings(triple_of(side[:3]), population.types(side), population.batch, opener)
            taken, kept = known[key]
            value += unit * float(taken @ side[3:]) + kept * maximum
        values.append(value / len(population.openers))
    return population.share(np.array(values))


# Agents on the scale


@dataclass(frozen=True)
class ExactEnds:
    """Both ends of the scale; a note where the upper one does not exist or is not proved."""

    random: float | None
    bayes: float | None
    note: str | None = None

    def shares(self) -> dict[str, float | None]:
        """The share of the maximum at both ends."""
        return {"random": self.random, "bayes": self.bayes}


def exact_ends(config: BargainingConfig, run: Executor = HERE, progress: Progress = silent) -> ExactEnds:
    """The ends of the scale of a game; only a partner whose counter-offers reveal nothing has them."""
    try:
        check_silent_partner(BargainingBatch(config, 1))
        random = random_share(config)
    except InvalidOption as error:
        return ExactEnds(None, None, f"No score against blind Bayes: {error}")
    plans = plan_shares(config, None, run, progress)
    return ExactEnds(random, plans.best, plans.note)


def measured_exactly(agent: str, play: ExactPlay, ends: ExactEnds) -> Evaluation:
    """Every measure that averages over negotiations; those of single deals are left out."""
    number, share = play.negotiations, play.share_of_maximum
    score = regret = None
    if ends.random is not None and ends.bayes is not None:
        score = exactly((share - ends.random) / (ends.bayes - ends.random), number)
        regret = exactly((ends.bayes - share) * play.maximum, number)
    return Evaluation(
        agent=agent,
        episodes=number,
        yardstick_episodes=number,
        reward=exactly(play.reward, number),
        share_of_maximum=exactly(share, number),
        normalised_score=score,
        deal_rate=exactly(play.deal_rate, number),
        pareto_rate=None,
        nash_ratio=None,
        advantage=exactly(play.reward - play.partner_reward, number),
        length=exactly(play.length, number),
        regret=regret,
    )
