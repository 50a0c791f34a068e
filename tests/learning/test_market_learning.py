"""The designer's PPO solves a game whose answer is known, and learns the real one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from edgeworth.agents.designers.designer import play
from edgeworth.agents.designers.fixed import BestConstant, InformedGreedy, Uniform
from edgeworth.agents.designers.policy import DesignerPlayer, Policy
from edgeworth.agents.designers.policy_layout import DesignerShape, Levels
from edgeworth.config import AuctionConfig
from edgeworth.training.market_learner import MarketPPO
from edgeworth.training.market_practice import MarketMix
from edgeworth.training.practice import Flags
from edgeworth.training.settings import PPOSettings

torch.set_num_threads(1)

SHAPE = DesignerShape(hidden=32, reserve_levels=10, penalty_levels=7, cosines=6)
QUICK = PPOSettings(learning_rate=3e-3, gamma=0.5, num_envs=128, rollout=10, minibatch=320, hidden=32)


def wanted(features: NDArray[np.float32]) -> Levels:
    """The mechanism that pays in each market: the lowest levels in the first half of an episode, the highest in the second."""
    second_half = features[:, -3] >= 0.0
    return np.where(second_half[:, None], np.array(SHAPE.counts) - 1, 0)


def test_it_solves_its_identity_game(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = MarketPPO(MarketMix(varied=0.0), QUICK, SHAPE, seed=0)
    practice = learner.practice
    real_step = practice.step

    def identity(levels: Levels) -> tuple[NDArray[np.float64], Flags]:
        """A step of the markets, whose score is the share of fields at the level that pays."""
        score = (levels == wanted(practice.features())).mean(axis=1)
        return score, real_step(levels)[1]

    monkeypatch.setattr(practice, "step", identity)
    for _ in range(60):
        learner.iterate()
    player = DesignerPlayer(learner.parameters, SHAPE)
    seen = []
    for _ in range(10):
        seen.append(practice.features())
        practice.step(player.choose(seen[-1]))
    features = np.concatenate(seen)
    assert (player.choose(features) == wanted(features)).mean() > 0.97


def test_some_seconds_of_practice_beat_random_mechanisms_and_the_published_one_on_honest_bidders() -> None:
    learner = MarketPPO(MarketMix(populations={"0": 1.0}, varied=0.0), QUICK, SHAPE, seed=0)
    for _ in range(60):
        learner.iterate()
    config = AuctionConfig(stage="0")
    learnt, *others = (
        play(each, config, 300, seed=0).mean()
        for each in (Policy(player=DesignerPlayer(learner.parameters, SHAPE)), Uniform(), InformedGreedy(), BestConstant("mixed"))
    )
    assert learnt > max(others)
