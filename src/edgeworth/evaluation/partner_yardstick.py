"""The scale of a game whose partner's counter-offers reveal something: bounds from both sides on the best blind agent.

Every own side meets all partners that are possible, so the only sampling is that of own sides, and there is none where all are played. The
value of the belief agent, as it is played, is a lower bound on the best blind agent, and the best itself where the partner can answer only
one offer; the two relaxations of `games/bargaining/belief_bounds.py` are upper bounds. The bundled expert and scripted agents play the same
negotiations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.bundled import Bundled
from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import AgreeFirst, Concession
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.statistics import Estimate, exactly, ratio
from edgeworth.evaluation.whole_population import Population, play_sides
from edgeworth.games.bargaining.belief_bounds import upper_bounds
from edgeworth.games.bargaining.belief_tables import tables_of
from edgeworth.progress import Progress, silent

TOLD = {"told_partner": "upper bound: told the partner", "told_replies": "upper bound: told the replies in advance"}
PLAYED: dict[str, tuple[str, Negotiator]] = {
    "bayes": ("belief agent, played: a lower bound on the best", Bayes()),
    "learned": ("bundled expert", Bundled()),
    "concession": ("concede 0.9, 0.8, 0.7, 0.6, then AGREE", Concession()),
    "agree_first": ("AGREE at first chance", AgreeFirst()),
}
OPTIMAL = "belief agent, played: the best there is"
"""Its label where nothing is approximated."""


def partner_yardstick(
    scenario: str, config: BargainingConfig, own_sides: int | None, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """The scale of a scenario with this partner, over so many own sides drawn by a seed, or over all; for JSON."""
    population = Population.of(config) if own_sides is None else Population.sample(config, own_sides, seed)
    values = dict(zip(TOLD, _bounds(population, progress), strict=True))
    for name, (_, negotiator) in PLAYED.items():
        values[name] = play_sides(population, negotiator, progress, name).reward
    optimal = plays_the_best(population)
    labels = {**TOLD, **{name: label for name, (label, _) in PLAYED.items()}, **({"bayes": OPTIMAL} if optimal else {})}
    rows = [{"agent": name, "label": labels[name], **_share(population, own, own_sides is None).as_dict()} for name, own in values.items()]
    best = {"optimal": True} if optimal else {}
    exact = own_sides is None
    return {"scenario": scenario, "partner": config.partner, "exact": exact, **best, "own_sides": len(population.sides), "rows": rows}


def plays_the_best(population: Population) -> bool:
    """Whether the belief agent's play is optimal: its lookahead is complete if the partner can answer one offer only."""
    turns = int(population.batch.rules[0]["max_turns"])
    return all(len(range(opener, turns - 1, 2)) <= 1 for opener in population.openers)


def share_against(config: BargainingConfig, negotiator: Negotiator, own_sides: int, seed: int = 0) -> float:
    """The share of the maximum that an agent gets in all negotiations of so many own sides, those of `partner_yardstick`."""
    population = Population.sample(config, own_sides, seed)
    return population.share(play_sides(population, negotiator).reward)


def _bounds(population: Population, progress: Progress) -> NDArray[np.float64]:
    """Both upper bounds for every own side."""
    found = np.zeros((len(TOLD), len(population.sides)))
    for number, side in enumerate(population.sides):
        progress("upper bounds", number, len(population.sides))
        tables = tables_of(population.half(side), population.batch)
        for opener in population.openers:
            found[:, number] += np.array(upper_bounds(tables, opener)) / len(population.openers)
    return found


def _share(population: Population, values: NDArray[np.float64], exact: bool) -> Estimate:
    """The share of the maximum, exactly or with an interval over own sides."""
    if exact:
        return exactly(population.share(values), len(values))
    return ratio(values, population.maximum)
