"""A tripwire: a learner that scores above what being told the bidders can explain has found a fault of the market."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import Designer, play
from edgeworth.agents.designers.fixed import BestConstant, Schedule
from edgeworth.agents.designers.informed import Oracle
from edgeworth.agents.designers.policy import DesignerPlayer, Policy
from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.config import AuctionConfig
from edgeworth.evaluation.statistics import paired_difference
from edgeworth.training.market_learner import MarketPPO
from edgeworth.training.market_practice import MarketMix
from edgeworth.training.settings import PPOSettings

torch.set_num_threads(1)

FRESH, EPISODES = 9_000_000, 3_000
FAR_SIGHTED = PPOSettings(gamma=0.97, learning_rate=1e-3, entropy=0.01, num_envs=512, rollout=10, minibatch=640)
"""A trick may pay late, so the discount is large."""


def trained(stage: str, seconds: float) -> Designer:
    """What PPO learns on a population in so many CPU seconds."""
    shape = DesignerShape(hidden=FAR_SIGHTED.hidden)
    learner = MarketPPO(MarketMix(populations={stage: 1.0}, varied=0.0), FAR_SIGHTED, shape, seed=0)
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        learner.iterate()
    return Policy(player=DesignerPlayer(learner.parameters, shape))


def scores(designer: Designer, stage: str, episodes: int) -> NDArray[np.float64]:
    found: NDArray[np.float64] = play(designer, AuctionConfig(stage=stage), episodes, FRESH).mean(axis=1)
    return found


def over_the_ceiling(stage: str, seconds: float, episodes: int) -> float:
    """How far PPO's score lies above being told the composition plus what the best schedule gains, at the low end of its interval."""
    told, constant, schedule = (scores(designer, stage, episodes) for designer in (Oracle(), BestConstant(stage), Schedule(stage)))
    learnt = scores(trained(stage, seconds), stage, episodes)
    return paired_difference(learnt, told).low - max(0.0, float((schedule - constant).mean()))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["stages", "mixed"])
def test_two_minutes_of_ppo_find_no_trick(stage: str) -> None:
    assert over_the_ceiling(stage, 120.0, EPISODES) <= 0.0


def test_a_few_seconds_of_ppo_learn_something_and_find_no_trick() -> None:
    untrained, learnt = (scores(trained("stages", seconds), "stages", 500).mean() for seconds in (0.0, 6.0))
    assert learnt > untrained + 0.05
    assert over_the_ceiling("stages", 6.0, 500) <= 0.0
