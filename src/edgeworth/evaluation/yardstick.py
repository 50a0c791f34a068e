"""The reference scale of negotiators: from random play to the oracle, per scenario, as shares of the agent's maximum.

Every row is Σ reward / Σ maximum over seeded contexts. The oracle and the blind plan are computed exactly for each context (the
plan averages over the partner's possible utilities); the others are played. All rows of a scenario use the contexts of the same
seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import AgreeFirst, Concession, Greedy, RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.evaluation.episodes import consecutive, maximum_rewards, opened, play_episodes
from edgeworth.evaluation.statistics import ratio
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import bayes_plan, offers_before_agreeing
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import context_of
from edgeworth.progress import Progress, silent

PLAYED: dict[str, tuple[str, Negotiator]] = {
    "concession": ("concede 0.9, 0.8, 0.7, 0.6, then AGREE", Concession()),
    "agree_first": ("AGREE at first chance", AgreeFirst()),
    "random": ("random legal", RandomLegal()),
    "greedy": ("always ask for everything", Greedy()),
}


Row = dict[str, Any]
"""One agent on one scenario: its name, its label, and the share of the maximum with its interval."""


def _row(agent: str, label: str, rewards: NDArray[np.float64], maximum: NDArray[np.float64], seed: int) -> Row:
    return {"agent": agent, "label": label, **ratio(rewards, maximum, seed).as_dict()}


def yardstick(
    scenario: str, config: BargainingConfig, contexts: int, plan_contexts: int, seed: int, progress: Progress = silent
) -> dict[str, Any]:
    """Compute the scale of a scenario, exact bounds and simple agents; for JSON, with a note where a row is missing."""
    batch = opened(config, consecutive(seed, contexts))
    maximum = maximum_rewards(batch)
    rows: list[Row] = []
    notes: list[str] = []
    progress("oracle", 0, contexts)
    try:
        rows.append(_row("oracle", "oracle: knows the partner's utilities", oracle_values(batch), maximum, seed))
        rows += _plan_rows(opened(config, consecutive(seed, plan_contexts)), seed, progress)
    except InvalidOption as error:
        notes.append(str(error))
    for name, (label, negotiator) in PLAYED.items():
        progress(name, 0, contexts)
        played = play_episodes(config, negotiator, contexts, seed)
        rows.append(_row(name, label, played.reward, played.maximum, seed))
    progress("done", contexts, contexts)
    return {"scenario": scenario, "notes": notes, "rows": rows}


def _plan_rows(batch: BargainingBatch, seed: int, progress: Progress) -> list[Row]:
    """The best blind plan, and the one that makes a fixed number of offers and then agrees."""
    fixed = min(offers_before_agreeing(batch, opener) for opener in _openers(batch))
    best, short = np.zeros(batch.size), np.zeros(batch.size)
    plans: dict[tuple[int, ...], tuple[float, float]] = {}
    for slot in range(batch.size):
        state = batch.state[slot]
        opener = int(state["opener"])
        context = context_of(state).half()
        key = (opener, *context.row())
        if key not in plans:
            plans[key] = (bayes_plan(context, batch, opener).value, bayes_plan(context, batch, opener, fixed).value)
        best[slot], short[slot] = plans[key]
        if slot % 50 == 0:
            progress("blind plans", slot, batch.size)
    maximum = maximum_rewards(batch)
    offers = f"{fixed} offer{'s' if fixed != 1 else ''}"
    return [
        _row("bayes", "blind Bayes: best plan of offers", best, maximum, seed),
        _row(f"bayes_{fixed}", f"blind Bayes: {offers}, then AGREE", short, maximum, seed),
    ]


def _openers(batch: BargainingBatch) -> list[int]:
    return {"agent": [0], "partner": [1], "random": [0, 1]}[batch.config.opens]
