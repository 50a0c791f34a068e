"""The scale of the design comes out: oracle, blind plan, agreeable, random and greedy agents, as shares of the agent's maximum."""

from __future__ import annotations

import pytest

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.scripted import AgreeFirst, Greedy, RandomLegal
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import maximum_rewards, play_episodes
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import bayes_plan
from edgeworth.games.bargaining.bounds import oracle_values
from edgeworth.games.bargaining.contexts import context_of

CONTEXTS, QUICK_PLANS, PLANS = 20_000, 700, 3_000
TOLERANCE = 0.01
CLASSIC = BargainingConfig.from_options("classic")
LEWIS = BargainingConfig.from_options("lewis")
KEEP_ALL = BargainingConfig.from_options("lewis_keep_all")
SEED = 40_000
"""Not the seed of the table in `results/`, so that agreement is no accident of one sample."""


def opened(config: BargainingConfig, size: int) -> BargainingBatch:
    batch = BargainingBatch(config, size)
    batch.seed(SEED)
    batch.reset()
    return batch


def played_share(config: BargainingConfig, negotiator: Negotiator) -> float:
    played = play_episodes(config, negotiator, CONTEXTS, SEED)
    return float(played.reward.sum() / played.maximum.sum())


def planned_share(config: BargainingConfig, offers: int, contexts: int) -> float:
    batch = opened(config, contexts)
    values = [bayes_plan(context_of(s).half(), batch, int(s["opener"]), offers).value for s in batch.state]
    return float(sum(values) / maximum_rewards(batch).sum())


@pytest.mark.parametrize(("config", "share"), [(CLASSIC, 0.696), (LEWIS, 0.839), (KEEP_ALL, 0.775)])
def test_the_oracle_reaches_its_reference_value(config: BargainingConfig, share: float) -> None:
    batch = opened(config, CONTEXTS)
    assert oracle_values(batch).sum() / maximum_rewards(batch).sum() == pytest.approx(share, abs=TOLERANCE)


PLAN_VALUES = [(CLASSIC, 4, 0.662), (LEWIS, 4, 0.836), (KEEP_ALL, 4, 0.762), (BargainingConfig.from_options("one_shot"), 1, 0.563)]


@pytest.mark.parametrize(("config", "offers", "share"), PLAN_VALUES)
def test_the_blind_plan_reaches_its_reference_value(config: BargainingConfig, offers: int, share: float) -> None:
    assert planned_share(config, offers, QUICK_PLANS) == pytest.approx(share, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("config", "offers", "share"), PLAN_VALUES)
def test_the_blind_plan_reaches_its_reference_value_on_many_contexts(config: BargainingConfig, offers: int, share: float) -> None:
    assert planned_share(config, offers, PLANS) == pytest.approx(share, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("config", "negotiator", "share"),
    [
        (CLASSIC, AgreeFirst(), 0.400),
        (LEWIS, AgreeFirst(), 0.679),
        (KEEP_ALL, AgreeFirst(), 0.0),
        (CLASSIC, RandomLegal(), 0.156),
        (LEWIS, RandomLegal(), 0.210),
        (KEEP_ALL, RandomLegal(), 0.098),
        (CLASSIC, Greedy(), 0.0),
        (LEWIS, Greedy(), 0.0),
        (KEEP_ALL, Greedy(), 0.0),
    ],
    ids=str,
)
def test_an_agent_that_is_played_reaches_its_reference_value(config: BargainingConfig, negotiator: Negotiator, share: float) -> None:
    assert played_share(config, negotiator) == pytest.approx(share, abs=TOLERANCE)


@pytest.mark.parametrize(("scenario", "share"), [("classic", 0.223), ("lewis", 0.302), ("lewis_keep_all", 0.128)])
def test_random_play_does_better_where_disagreeing_only_passes(scenario: str, share: float) -> None:
    config = BargainingConfig.from_options(scenario, disagree="passes")
    assert played_share(config, RandomLegal()) == pytest.approx(share, abs=TOLERANCE)
