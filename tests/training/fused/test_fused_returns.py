"""Advantages, returns and baselines against loops that are slow and plain; the step of Adam against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.training.fused.returns import (
    RunningBaseline,
    add_up_returns,
    estimate_advantages,
    subtract_baseline,
    subtract_running_means,
)
from edgeworth.training.fused.rollout import RolloutBuffer
from edgeworth.training.fused.update import Moments, adam_step
from edgeworth.training.learner import mean_worth, reward_scale_of

STEPS, SLOTS = 40, 6


def made_up_rollout(seed: int = 0) -> RolloutBuffer:
    rng = np.random.default_rng(seed)
    buffer, rows = RolloutBuffer.of(STEPS, SLOTS, 1), STEPS * SLOTS
    buffer.values[:] = rng.normal(size=len(buffer.values))
    buffer.rewards[:rows] = rng.normal(size=rows)
    buffer.ended[:rows] = rng.random(rows) < 0.4
    buffer.played[:rows] = True
    return buffer


def test_advantages_cross_the_ends_of_episodes_as_they_should() -> None:
    buffer, gamma, gae_lambda = made_up_rollout(), 0.97, 0.9
    estimate_advantages(buffer, SLOTS, STEPS, gamma, gae_lambda)
    values = buffer.values.reshape(-1, SLOTS).astype(float)
    for slot in range(SLOTS):
        for step in range(STEPS):
            expected, factor = 0.0, 1.0
            for later in range(step, STEPS):
                row = later * SLOTS + slot
                following = 0.0 if buffer.ended[row] else values[later + 1, slot]
                expected += factor * (buffer.rewards[row] + gamma * following - values[later, slot])
                if buffer.ended[row]:
                    break
                factor *= gamma * gae_lambda
            row = step * SLOTS + slot
            assert buffer.advantages[row] == pytest.approx(expected, abs=1e-5)
            assert buffer.returns[row] == pytest.approx(expected + values[step, slot], abs=1e-5)
            assert buffer.baselines[row] == buffer.values[row]


def test_returns_are_those_of_whole_episodes() -> None:
    buffer, gamma = made_up_rollout(1), 0.95
    for slot in range(SLOTS):  # every slot rests after an episode's end
        ends = np.flatnonzero(buffer.ended.reshape(-1, SLOTS)[:STEPS, slot])
        buffer.played.reshape(-1, SLOTS)[ends[-1] + 1 :, slot] = False
    add_up_returns(buffer, SLOTS, STEPS, gamma)
    for slot in range(SLOTS):
        for step in range(STEPS):
            row = step * SLOTS + slot
            if not buffer.played[row]:
                continue
            expected, factor, later = 0.0, 1.0, row
            while True:
                expected += factor * buffer.rewards[later]
                if buffer.ended[later]:
                    break
                factor, later = factor * gamma, later + SLOTS
            assert buffer.returns[row] == pytest.approx(expected, abs=1e-5)


def test_baselines_are_subtracted() -> None:
    buffer, rows = made_up_rollout(2), STEPS * SLOTS
    returns, baselines, advantages = buffer.returns, buffer.baselines, buffer.advantages
    returns[:rows] = np.random.default_rng(0).normal(size=rows)
    subtract_baseline(buffer, rows, "learned")
    assert np.allclose(advantages[:rows], returns[:rows] - buffer.values[:rows]) and (baselines[:rows] == buffer.values[:rows]).all()
    subtract_baseline(buffer, rows, "none")
    assert (advantages[:rows] == returns[:rows]).all() and not baselines[:rows].any()


def test_the_running_baseline_follows_the_mean_of_each_move() -> None:
    buffer, rows = made_up_rollout(3), STEPS * SLOTS
    buffer.made[:rows] = np.arange(rows) % 3
    buffer.played[5] = False
    baseline = RunningBaseline()
    for round_ in range(2):
        returns, baselines, advantages = buffer.returns, buffer.baselines, buffer.advantages
        returns[:rows] = round_ + np.random.default_rng(round_).normal(size=rows)
        before = baseline.mean.copy()
        subtract_running_means(buffer, rows, baseline)
        for k in range(3):
            chosen = (buffer.made[:rows] == k) & buffer.played[:rows]
            now = returns[:rows][chosen].astype(float).mean()
            used = now if round_ == 0 else before[k]
            assert np.allclose(baselines[:rows][chosen], used, atol=1e-6)
            assert np.allclose(advantages[:rows][chosen], returns[:rows][chosen] - used, atol=1e-6)
            assert baseline.mean[k] == pytest.approx(used + 0.1 * (now - used))
    assert baseline.seen.sum() == 3


@pytest.mark.parametrize("limit", [0.5, 1e9])
def test_adam_with_a_limited_gradient_is_torch_s(limit: float) -> None:
    rng, size = np.random.default_rng(0), 1_003
    parameters = rng.normal(size=size).astype(np.float32)
    first, second = np.zeros(size, np.float32), np.zeros(size, np.float32)
    twin = torch.nn.Parameter(torch.tensor(parameters))
    adam = torch.optim.Adam([twin], lr=1e-2, eps=1e-5)
    for time in range(1, 30):
        gradient = (rng.normal(size=size) * rng.choice([1e-4, 1e-1, 10.0])).astype(np.float32)
        twin.grad = torch.tensor(gradient)
        norm = torch.nn.utils.clip_grad_norm_([twin], limit)
        adam.step()
        found = adam_step(parameters, Moments(gradient, first, second), 1e-2, limit, time)
        assert found == pytest.approx(float(norm), rel=1e-5)
        assert np.allclose(parameters, twin.detach().numpy(), atol=2e-6)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    parameters, first, second = np.ones(8, np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    gradient = np.array([1.0, np.nan] * 4, np.float32)
    assert not np.isfinite(adam_step(parameters, Moments(gradient, first, second), 1e-2, 0.5, 1))
    assert (parameters == 1.0).all() and not first.any() and not second.any()


@pytest.mark.parametrize(
    "config",
    [
        BargainingConfig(),
        BargainingConfig(min_count=0, max_count=2),
        BargainingConfig(min_count=2, max_count=7),
        BargainingConfig(contexts="lewis"),
        BargainingConfig(normalize=True),
    ],
    ids=["classic", "types may be missing", "large pools", "lewis", "normalised"],
)
def test_the_unit_of_rewards_is_the_mean_worth_of_the_pool(config: BargainingConfig) -> None:
    batch = BargainingBatch(config, 40_000)
    batch.seed(0)
    batch.reset()
    worth = 10.0 if config.normalize else batch.state["maximum"][:, 0].mean()
    assert mean_worth(config) == pytest.approx(worth, rel=0.01)
    assert reward_scale_of(config) == pytest.approx(1.0 / mean_worth(config))
