"""One bargaining context measured: what an agent could have got from it, and how a played negotiation compares with that.

The oracle knows the partner's utilities and plays its best response. The blind plan is the exact optimum of an agent that does not know
them (`blind_plan.py`). The random agent plays legal moves. All three face the same pool, the same partner and the same opener. Values are
in points, in the units the environment pays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from edgeworth.agents.negotiators.exact import Bayes
from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidContext, InvalidOption
from edgeworth.evaluation.episodes import play_out
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.best_response import best_response
from edgeworth.games.bargaining.blind_plan import bayes_plan
from edgeworth.games.bargaining.contexts import Context, Triple, triple_of
from edgeworth.games.bargaining.frontier import Allocation, allocations, pareto_frontier, solutions, valued
from edgeworth.games.bargaining.history import Move, share_for_agent
from edgeworth.games.bargaining.vocabulary import Outcome, Side

RANDOM_EPISODES, PLAN_EPISODES = 1_000, 20
"""Episodes over which the reward of the random agent, and of the blind plan, is averaged."""


def could_get(context: Context, config: BargainingConfig, opener: Side) -> dict[str, Any]:
    """What the agent could get when this side opens: with the partner's utilities known, and without; or why that cannot be computed."""
    entry: dict[str, Any] = {}
    try:
        entry["oracle"] = best_response(context, config, opener).value
    except (InvalidOption, InvalidContext) as error:
        entry["oracle_note"] = str(error)
    try:
        plan = bayes_plan(context, BargainingBatch(config, 1), int(opener))
        offers = [{"act": offer.act.name, "share": offer.share} for offer in plan.offers]
        entry["plan"] = {"value": plan.value, "offers": offers, "agrees": plan.agrees}
    except (InvalidOption, InvalidContext) as error:
        entry["plan_note"] = str(error)
    return entry


def played(
    context: Context, config: BargainingConfig, opener: Side, negotiator: Negotiator, episodes: int, seed: int
) -> tuple[float, Triple | None]:
    """A negotiator's mean reward over so many episodes of one context, and the most frequent deal; None where most end without."""
    batch = BargainingBatch(config, episodes)
    batch.rules["opens"] = int(opener)
    batch.seed(seed)
    batch.reset(np.array([context.row()] * episodes, np.int16))
    reward = float(play_out(batch, negotiator)[0].mean())
    ends = zip(batch.state["outcome"], batch.state["deal"], strict=True)
    deals = Counter(triple_of(deal) if Outcome(int(outcome)).is_deal else None for outcome, deal in ends)
    return reward, deals.most_common(1)[0][0]


def improvement(context: Context, deal: Triple | None) -> Allocation | None:
    """The division best for the agent that costs the partner nothing; None where the deal cannot be improved so."""
    got = Allocation((0, 0, 0), 0, 0) if deal is None else valued(context, deal)
    better = [point for point in pareto_frontier(context) if point.theirs >= got.theirs and point.mine > got.mine]
    return max(better, key=lambda point: point.mine, default=None)


def context_report(
    context: Context, config: BargainingConfig, opener: Side, moves: Sequence[Move], deal: Triple | None, seed: int
) -> dict[str, Any]:
    """A played negotiation against everything that was possible in its context."""
    points, got = solutions(context), could_get(context, config, opener)
    if "plan" in got:
        here, share = played(context, config, opener, Bayes(), PLAN_EPISODES, seed)
        got["plan"] |= {"here": here, "deal": None if share is None else asdict(valued(context, share))}
    path = [(move, share_for_agent(context.counts, move)) for move in moves if move.share is not None]
    distinct = {(point.mine, point.theirs): point for point in allocations(context)}
    return {
        "context": {**asdict(context), "my_maximum": context.my_maximum, "partner_maximum": context.partner_maximum},
        "allocations": [asdict(point) for point in distinct.values()],
        "frontier": [asdict(point) for point in pareto_frontier(context)],
        "points": {name: asdict(point) for name, point in vars(points).items()},
        "path": [{"side": move.side, "act": move.act, **asdict(valued(context, share))} for move, share in path],
        "deal": None if deal is None else asdict(valued(context, deal)),
        "improvement": None if (better := improvement(context, deal)) is None else asdict(better),
        "could_get": {**got, "random": played(context, config, opener, RandomLegal(), RANDOM_EPISODES, seed)[0]},
    }
