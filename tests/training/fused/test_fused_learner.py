"""The fused learner as a whole: the same to the last bit whenever it should be, refusals, and metrics that mean what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.errors import DataError, InvalidOption, RunStopped
from edgeworth.training.fused.learner import FusedLearner, Settings
from edgeworth.training.fused.order import env_seeds, shuffled
from edgeworth.training.learner import shape_of
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings

CLASSIC = BargainingConfig()
PPO = PPOSettings(num_envs=16, rollout=16, entropy=0.01)
REINFORCE = ReinforceSettings(num_envs=16, rollout=16)
RANDOM = HintSettings("random")


def make(
    settings: Settings = PPO, seed: int = 0, hints: HintSettings | None = None, config: BargainingConfig = CLASSIC, **more: Any
) -> FusedLearner:
    hints = hints or HintSettings()
    return FusedLearner(config, settings, shape_of(config, settings, hints), seed, hints, **more)


def same(one: FusedLearner, other: FusedLearner) -> bool:
    """Whether two learners agree in every bit that matters."""
    mine, theirs = one.state(), other.state()
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def iterate(learner: FusedLearner, times: int) -> list[dict[str, float]]:
    return [learner.iterate() for _ in range(times)]


# The same to the last bit


@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=["ppo", "reinforce"])
def test_a_run_repeats_itself(settings: Settings) -> None:
    one, other = make(settings), make(settings)
    assert iterate(one, 3) == iterate(other, 3)
    assert same(one, other)
    assert not same(one, make(settings, seed=1))


@pytest.mark.parametrize(
    "hints",
    [
        HintSettings(),
        RANDOM,
        HintSettings("random", k=2, hold_last=True, age=True),
        HintSettings("random", k=3),
        HintSettings("random", k=2, hold_last=True, dropout=0.4),
    ],
    ids=["none", "random", "held with age", "every third", "held with dropout"],
)
@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=["ppo", "reinforce"])
def test_stepping_from_python_is_the_same_as_inside(settings: Settings, hints: HintSettings) -> None:
    inside, outside = make(settings, hints=hints, stepwise=False), make(settings, hints=hints, stepwise=True)
    assert iterate(inside, 3) == iterate(outside, 3)
    assert same(inside, outside)
    if hints.given:
        asked, drawn = outside.hint_counts["asked"], inside.hint_counts["asked"]
        assert asked == drawn if settings is PPO else 0 < asked <= drawn  # inside, those that rest are drawn one too
    else:
        assert inside.hint_counts == outside.hint_counts == {}


@pytest.mark.filterwarnings("ignore::edgeworth.errors.FallbackUsed")
@pytest.mark.parametrize(
    "hints", [HintSettings(), HintSettings("random", k=2, hold_last=True), HintSettings("expert")], ids=lambda h: h.mode
)
@pytest.mark.parametrize(
    "settings", [PPO, REINFORCE, replace(REINFORCE, baseline="running")], ids=["ppo", "reinforce", "reinforce with running baseline"]
)
def test_a_learner_goes_on_from_its_state_as_if_nothing_had_happened(settings: Settings, hints: HintSettings) -> None:
    one = make(settings, hints=hints)
    iterate(one, 2)
    other = make(settings, hints=hints)
    other.load_state(one.state())
    assert same(one, other)
    assert iterate(one, 2) == iterate(other, 2)
    assert same(one, other)


def test_a_state_is_a_copy() -> None:
    learner = make()
    state = learner.state()
    before = {name: array.copy() for name, array in state.items()}
    learner.iterate()
    assert all(np.array_equal(state[name], before[name]) for name in state)


PRINT_BITS = """
import hashlib, sys
from edgeworth.config import BargainingConfig
from edgeworth.training.fused import update
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.learner import shape_of
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings

hints = HintSettings("random")
for settings in (PPOSettings(num_envs=16, rollout=16, entropy=0.01), ReinforceSettings(num_envs=16, rollout=16)):
    learner = FusedLearner(BargainingConfig(), settings, shape_of(BargainingConfig(), settings, hints), 0, hints)
    for _ in range(3):
        learner.iterate()
    for name, array in sorted(learner.state().items()):
        print(settings.__class__.__name__, name, hashlib.sha256(array.tobytes()).hexdigest())
print("built", sum(update.learn.stats.cache_misses.values()), file=sys.stderr)
"""


@pytest.mark.slow
def test_fresh_and_cached_builds_give_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", PRINT_BITS], env=environment, capture_output=True, text=True, check=True) for _ in range(2)
    ]
    fresh, cached = runs
    assert "built 1" in fresh.stderr and "built 0" in cached.stderr
    assert fresh.stdout == cached.stdout and fresh.stdout.count("parameters") == 2


@pytest.mark.slow
def test_the_number_of_threads_of_the_library_does_not_matter() -> None:
    script = PRINT_BITS.replace('print("built"', 'None and print("built"')
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "OPENBLAS_NUM_THREADS": threads}, capture_output=True, text=True, check=True
        ).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1


# What is played


def test_neighbouring_seeds_share_no_episodes() -> None:
    seeds = np.concatenate([env_seeds(seed, 64) for seed in range(20)])
    assert len(np.unique(seeds)) == len(seeds) and seeds.max() < 2**63


def test_every_epoch_has_an_order_of_its_own() -> None:
    orders = [shuffled(seed, iteration, epoch, 100) for seed in (0, 1) for iteration in (0, 1) for epoch in (0, 1)]
    assert all((np.sort(order) == np.arange(100)).all() for order in orders)
    assert len({order.tobytes() for order in orders}) == len(orders)
    assert (shuffled(0, 1, 1, 100) == orders[3]).all()


def test_orders_are_uniform() -> None:
    counts = np.zeros((5, 5))
    for iteration in range(4_000):
        counts[np.arange(5), shuffled(7, iteration, 0, 5)] += 1
    excess = ((counts - 800.0) ** 2 / 800.0).sum()
    assert excess < 16.0 + 4.0 * np.sqrt(32.0)


def test_reinforce_plays_whole_episodes() -> None:
    learner = make(REINFORCE)
    for _ in range(3):
        learner._buffer.played[:] = False
        assert learner.iterate()["episodes"] >= REINFORCE.num_envs
        assert not learner._progress.moves.any() and not learner._progress.returns.any()
        assert (learner.batch.state["turn"] <= 1).all()
        played = learner._buffer.played.reshape(-1, REINFORCE.num_envs)
        assert played[: REINFORCE.rollout].all()
        ended = learner._buffer.ended.reshape(played.shape)
        lengths = played.sum(axis=0)
        assert ended[lengths - 1, np.arange(REINFORCE.num_envs)].all()
        for slot, length in enumerate(lengths):  # it stopped at the first end from the last step of the rollout on
            assert not ended[REINFORCE.rollout - 1 : length - 1, slot].any()
    assert learner.steps >= 3 * REINFORCE.num_envs * REINFORCE.rollout


def test_metrics_tell_of_whole_episodes_in_points() -> None:
    settings = PPOSettings(num_envs=8, rollout=8, learning_rate=1e-30)
    learner = make(settings, config=BargainingConfig(insist_price=0.5))
    rewards: list[float] = []
    so_far = np.zeros(8)
    for _ in range(20):
        metrics = learner.iterate()
        buffer, ended_rewards = learner._buffer, []
        for step in range(8):
            rows = slice(step * 8, (step + 1) * 8)
            so_far += buffer.rewards[rows] / learner.scale
            ended_rewards += so_far[buffer.ended[rows]].tolist()
            so_far[buffer.ended[rows]] = 0.0
        rewards += ended_rewards
        assert metrics["episodes"] == len(ended_rewards)
        assert metrics["reward"] == pytest.approx(np.mean(ended_rewards), rel=1e-5)
        assert metrics["steps"] == learner.steps == 64 * learner.iteration
    assert min(rewards) < 0.0 < max(rewards)


# Options


def test_a_linear_schedule_falls_to_zero() -> None:
    learner = make(replace(PPO, lr_schedule="linear"), total_steps=3 * 256)
    rates = [metrics["learning_rate"] for metrics in iterate(learner, 4)]
    assert rates == pytest.approx([3e-4, 2e-4, 1e-4, 0.0])
    for setting in ("lr_schedule", "entropy_schedule"):
        with pytest.raises(InvalidOption, match="total_steps"):
            make(replace(PPO, **{setting: "linear"}))


def test_the_entropy_bonus_can_fall_to_zero() -> None:
    falling = make(replace(PPO, entropy=1.0, entropy_schedule="linear"), total_steps=256)
    constant, without = make(replace(PPO, entropy=1.0)), make(replace(PPO, entropy=0.0))
    for learner in (falling, constant, without):
        learner.iterate()
    assert same(falling, constant) and not same(falling, without)
    without.load_state(falling.state())
    falling.iterate()
    without.iterate()
    assert same(falling, without)


def test_epochs_stop_once_the_policy_has_moved_far_enough() -> None:
    bold = replace(PPO, learning_rate=1e-2)
    assert make(bold).iterate()["epochs"] == 4.0
    stopped = make(replace(bold, target_kl=1e-4)).iterate()
    assert stopped["epochs"] == 1.0 and stopped["approx_kl"] > 1e-4 and stopped["updates"] == 4.0


def test_values_can_be_clipped() -> None:
    free, held = make(), make(replace(PPO, clip_value=0.01))
    assert free.iterate()["value_loss"] != held.iterate()["value_loss"]


@pytest.mark.parametrize("baseline", ["running", "none"])
def test_without_a_learned_baseline_the_value_head_stays_as_it_is(baseline: Any) -> None:
    learner = make(replace(REINFORCE, baseline=baseline))
    before = learner.shape.split(learner.parameters)["heads.weight"][-1].copy()
    iterate(learner, 2)
    assert (learner.shape.split(learner.parameters)["heads.weight"][-1] == before).all()


# Refusals


def test_a_gradient_that_is_not_finite_stops_the_run_before_it_does_harm() -> None:
    learner = make()
    learner.iterate()
    learner.parameters[0] = np.nan
    before = learner.parameters.copy()
    with pytest.raises(RunStopped, match=r"update 17 \(iteration 2\) is not finite"):
        learner.iterate()
    assert np.array_equal(learner.parameters, before, equal_nan=True)


def test_a_network_of_another_game_is_refused() -> None:
    with pytest.raises(InvalidOption, match="18 features and up to 7 units"):
        FusedLearner(CLASSIC, PPO, PolicyShape(units=7), 0)
    with pytest.raises(InvalidOption, match="the game has 28 and 4"):
        FusedLearner(CLASSIC, PPO, PolicyShape(), 0, RANDOM)


def test_a_state_of_another_learner_is_refused() -> None:
    learner = make()
    state = learner.state()
    with pytest.raises(DataError, match="second_moment is missing"):
        learner.load_state({name: array for name, array in state.items() if name != "second_moment"})
    with pytest.raises(DataError, match="returns_so_far has shape"):
        make(replace(PPO, num_envs=8)).load_state(state)
