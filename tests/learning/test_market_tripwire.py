"""A tripwire: a learner that scores above what being told the bidders can explain has found a fault of the market."""

from __future__ import annotations

import pytest
from market_ppo import scores, train

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant, Schedule
from edgeworth.agents.designers.informed import Oracle
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import paired_difference

FRESH, EPISODES = 9_000_000, 3_000


def over_the_ceiling(stage: str, seconds: float, episodes: int) -> float:
    """How far PPO's score lies above being told the composition plus what the best schedule gains, at the low end of its interval."""
    config = AuctionConfig(stage=stage)
    told, constant, schedule = (
        play(designer, config, episodes, FRESH).mean(axis=1) for designer in (Oracle(), BestConstant(stage), Schedule(stage))
    )
    learnt = scores(train(stage, seconds), stage, episodes, FRESH)
    return paired_difference(learnt, told).low - max(0.0, float((schedule - constant).mean()))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["stages", "mixed"])
def test_two_minutes_of_ppo_find_no_trick(stage: str) -> None:
    assert over_the_ceiling(stage, 120.0, EPISODES) <= 0.0


def test_a_few_seconds_of_ppo_learn_something_and_find_no_trick() -> None:
    untrained, learnt = (scores(train("stages", seconds), "stages", 500, FRESH).mean() for seconds in (0.01, 6.0))
    assert learnt > untrained + 0.05
    assert over_the_ceiling("stages", 6.0, 500) <= 0.0
