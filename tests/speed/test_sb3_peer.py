"""Stable-Baselines3 plays the same game with the same network; skipped where the `bench` extra is not installed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="needs the `bench` extra")

from benchmarks.sb3_ppo import SB3PPO, nearest_legal

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.vocabulary import Act
from edgeworth.training.learner import shape_of
from edgeworth.training.ppo import PPO
from edgeworth.training.settings import PPOSettings

GAME = BargainingConfig()
SETTINGS = PPOSettings(num_envs=16, rollout=32)
SHAPE = shape_of(GAME, SETTINGS)


def test_an_illegal_move_becomes_the_nearest_legal_one() -> None:
    moves = np.array([[Act.AGREE, 4, 1, 0], [Act.AGREE, 4, 1, 0], [Act.END, 0, 0, 4]])
    legal = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 1, 1], [1, 1, 0, 1, 1]], np.int8)
    acts, shares = nearest_legal(moves, legal, np.array([[2, 3, 1], [4, 4, 4], [1, 1, 2]], np.int32))
    assert acts.tolist() == [Act.PROPOSE, Act.AGREE, Act.END]
    assert shares.tolist() == [[2, 1, 0], [4, 1, 0], [0, 0, 2]]


def test_its_network_has_the_size_of_ours() -> None:
    policy = SB3PPO(GAME, SETTINGS, SHAPE, 0).model.policy
    assert sum(parameter.numel() for parameter in policy.parameters()) == SHAPE.size


def test_it_sees_and_earns_what_our_learner_does() -> None:
    talks, ours = SB3PPO(GAME, SETTINGS, SHAPE, 3).talks, PPO(GAME, SETTINGS, SHAPE, 3)
    assert np.array_equal(talks.reset(), ours.practice.inputs)
    moves = np.tile([int(Act.PROPOSE), 1, 1, 1], (SETTINGS.num_envs, 1))
    for _ in range(4):
        seen, rewards, ended, _ = talks.step(moves)
        points, over = ours.practice.step(moves[:, 0], moves[:, 1:])
        assert np.array_equal(seen, ours.practice.inputs) and np.array_equal(ended, over)
        assert np.array_equal(rewards, points * ours.scale)


def test_an_observation_it_was_handed_stays_as_it_is() -> None:
    talks = SB3PPO(GAME, SETTINGS, SHAPE, 3).talks
    first = talks.reset()
    kept = first.copy()
    talks.step(np.zeros((SETTINGS.num_envs, 4), np.int64))
    assert np.array_equal(first, kept)


def test_an_iteration_is_one_rollout_and_changes_the_network() -> None:
    learner = SB3PPO(GAME, SETTINGS, SHAPE, 0)
    before = learner.model.policy.action_net.weight.detach().clone()
    for number in (1, 2):
        metrics = learner.iterate()
        assert learner.steps == learner.model.num_timesteps == number * 16 * 32
        assert 0.0 <= metrics["share_of_maximum"] <= 1.0 and metrics["episodes"] > 0
    assert not np.array_equal(before, learner.model.policy.action_net.weight.detach())
    assert learner.model._n_updates == 2 * SETTINGS.epochs
