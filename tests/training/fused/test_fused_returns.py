"""Advantages, returns and baselines against loops that are slow and plain; the step of Adam against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.training.fused.adam import adam_step
from edgeworth.training.fused.returns import (
    add_up_returns,
    estimate_advantages,
    subtract_nothing,
    subtract_running_means,
    subtract_values,
)
from edgeworth.training.fused.rollout import Tape
from edgeworth.training.reward_scale import mean_worth, reward_scale_of

STEPS, SLOTS = 40, 6


def made_up_tape(seed: int = 0) -> Tape:
    rng = np.random.default_rng(seed)
    tape, rows = Tape.of(STEPS, SLOTS, 1), STEPS * SLOTS
    tape.values[:] = rng.normal(size=len(tape.values))
    tape.rewards[:rows] = rng.normal(size=rows)
    tape.ended[:rows] = rng.random(rows) < 0.4
    tape.played[:rows] = True
    return tape


def empty() -> list[NDArray[np.float32]]:
    return [np.zeros((STEPS + 1) * SLOTS, np.float32) for _ in range(3)]


def test_advantages_cross_the_ends_of_episodes_as_they_should() -> None:
    tape, gamma, gae_lambda = made_up_tape(), 0.97, 0.9
    advantages, returns, baselines = empty()
    estimate_advantages(tape, SLOTS, STEPS, gamma, gae_lambda, advantages, returns, baselines)
    values = tape.values.reshape(-1, SLOTS).astype(float)
    for slot in range(SLOTS):
        for step in range(STEPS):
            expected, factor = 0.0, 1.0
            for later in range(step, STEPS):
                row = later * SLOTS + slot
                following = 0.0 if tape.ended[row] else values[later + 1, slot]
                expected += factor * (tape.rewards[row] + gamma * following - values[later, slot])
                if tape.ended[row]:
                    break
                factor *= gamma * gae_lambda
            row = step * SLOTS + slot
            assert advantages[row] == pytest.approx(expected, abs=1e-5)
            assert returns[row] == pytest.approx(expected + values[step, slot], abs=1e-5)
            assert baselines[row] == tape.values[row]


def test_returns_are_those_of_whole_episodes() -> None:
    tape, gamma = made_up_tape(1), 0.95
    for slot in range(SLOTS):  # every slot rests after an episode's end
        ends = np.flatnonzero(tape.ended.reshape(-1, SLOTS)[:STEPS, slot])
        tape.played.reshape(-1, SLOTS)[ends[-1] + 1 :, slot] = False
    returns = empty()[0]
    add_up_returns(tape, SLOTS, STEPS, gamma, returns)
    for slot in range(SLOTS):
        for step in range(STEPS):
            row = step * SLOTS + slot
            if not tape.played[row]:
                continue
            expected, factor, later = 0.0, 1.0, row
            while True:
                expected += factor * tape.rewards[later]
                if tape.ended[later]:
                    break
                factor, later = factor * gamma, later + SLOTS
            assert returns[row] == pytest.approx(expected, abs=1e-5)


def test_baselines_are_subtracted() -> None:
    tape, rows = made_up_tape(2), STEPS * SLOTS
    returns, baselines, advantages = empty()
    returns[:rows] = np.random.default_rng(0).normal(size=rows)
    subtract_values(tape, rows, returns, baselines, advantages)
    assert np.allclose(advantages[:rows], returns[:rows] - tape.values[:rows]) and (baselines[:rows] == tape.values[:rows]).all()
    subtract_nothing(tape, rows, returns, baselines, advantages)
    assert (advantages[:rows] == returns[:rows]).all() and not baselines[:rows].any()


def test_the_running_baseline_follows_the_mean_of_each_move() -> None:
    tape, rows = made_up_tape(3), STEPS * SLOTS
    tape.made[:rows] = np.arange(rows) % 3
    tape.played[5] = False
    means, seen = np.zeros(26), np.zeros(26, np.bool_)
    for round_ in range(2):
        returns, baselines, advantages = empty()
        returns[:rows] = round_ + np.random.default_rng(round_).normal(size=rows)
        before = means.copy()
        subtract_running_means(tape, rows, returns, baselines, advantages, means, seen)
        for k in range(3):
            chosen = (tape.made[:rows] == k) & tape.played[:rows]
            now = returns[:rows][chosen].astype(float).mean()
            used = now if round_ == 0 else before[k]
            assert np.allclose(baselines[:rows][chosen], used, atol=1e-6)
            assert np.allclose(advantages[:rows][chosen], returns[:rows][chosen] - used, atol=1e-6)
            assert means[k] == pytest.approx(used + 0.1 * (now - used))
    assert seen.sum() == 3


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
        found = adam_step(parameters, gradient, first, second, 1e-2, limit, time)
        assert found == pytest.approx(float(norm), rel=1e-5)
        assert np.allclose(parameters, twin.detach().numpy(), atol=2e-6)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    parameters, first, second = np.ones(8, np.float32), np.zeros(8, np.float32), np.zeros(8, np.float32)
    gradient = np.array([1.0, np.nan] * 4, np.float32)
    assert not np.isfinite(adam_step(parameters, gradient, first, second, 1e-2, 0.5, 1))
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
