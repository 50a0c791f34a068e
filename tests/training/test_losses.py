"""The arithmetic of both algorithms, against cases small enough to do by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE
from edgeworth.training.fused.returns import RunningBaseline
from edgeworth.training.game_learner import minibatches
from edgeworth.training.ppo import PPO, advantages_of, explained_variance, normalised, ppo_loss, value_loss_of
from edgeworth.training.reinforce import Reinforce, reinforce_loss, returns_of
from edgeworth.training.settings import PPOSettings, ReinforceSettings
from edgeworth.training.torch_learner import Samples

torch.set_num_threads(1)

SHAPE = PolicyShape(features=1, units=1, hidden=1, layers=1)
ACCEPT_OR_LEAVE = [0, 0, 1, 1, 0]
"""Only AGREE and DISAGREE are legal: a choice between two, whose probabilities are a logistic function of one number."""


def coin(agree: float, value: float = 0.0) -> Policy:
    """A network that ignores its input: AGREE has this logit, DISAGREE 0."""
    made = Policy(SHAPE, np.zeros(SHAPE.size, np.float32))
    with torch.no_grad():
        made.heads.bias[AGREE], made.heads.bias[-1] = agree, value
    return made


def samples(acts: list[int], advantages: list[float], old: list[float], returns: list[float] | None = None, **changes: Any) -> Samples:
    n = len(acts)
    numbers = {
        "features": torch.ones(n, 1),
        "legal": torch.tensor([ACCEPT_OR_LEAVE] * n, dtype=torch.int8),
        "caps": torch.zeros(n, 3, dtype=torch.int32),
        "acts": torch.tensor(acts),
        "shares": torch.zeros(n, 3, dtype=torch.int64),
        "log_probs": torch.tensor(old),
        "values": torch.zeros(n),
        "advantages": torch.tensor(advantages),
        "returns": torch.tensor(returns or [0.0] * n),
    }
    return Samples(**{**numbers, **changes})


def slopes(loss: torch.Tensor, policy: Policy) -> tuple[float, float]:
    """The derivatives by the logit of AGREE and by the value."""
    loss.backward()
    assert policy.heads.bias.grad is not None
    return float(policy.heads.bias.grad[AGREE]), float(policy.heads.bias.grad[-1])


PLAIN = PPOSettings(normalize_advantages=False)


def test_the_gradient_of_ppo_is_the_one_computed_by_hand() -> None:
    # p = sigmoid(1) for AGREE. d log p / d logit = 1 - p for AGREE, -p for DISAGREE. Old probabilities equal the new: ratios are 1.
    p = 1 / (1 + math.exp(-1))
    policy = coin(1.0, value=0.5)
    batch = samples([AGREE, DISAGREE], [2.0, -1.0], [math.log(p), math.log(1 - p)], returns=[1.0, 0.0])
    loss, notes = ppo_loss(policy, PLAIN, batch, 0.0)
    of_logit, of_value = slopes(loss, policy)
    assert of_logit == pytest.approx(-(2.0 * (1 - p) + -1.0 * -p) / 2, abs=1e-6)
    assert of_value == pytest.approx(0.5 * ((0.5 - 1.0) + (0.5 - 0.0)) / 2, abs=1e-6)
    assert [note.item() for note in notes[:2]] == pytest.approx([-(2.0 - 1.0) / 2, 0.5 * 0.25], abs=1e-6)


def test_the_gradient_of_the_entropy_is_the_one_computed_by_hand() -> None:
    # H = -p log p - q log q with p = sigmoid(x): dH/dx = -x p q.
    p = 1 / (1 + math.exp(-1))
    policy = coin(1.0)
    batch = samples([AGREE], [0.0], [math.log(p)])
    loss, _ = ppo_loss(policy, PLAIN, batch, 0.1)
    assert slopes(loss, policy)[0] == pytest.approx(0.1 * 1.0 * p * (1 - p), abs=1e-6)


@pytest.mark.parametrize(
    ("advantage", "ratio", "moves"),
    [(1.0, 1.5, False), (1.0, 1.1, True), (1.0, 0.5, True), (-1.0, 0.5, False), (-1.0, 1.5, True)],
)
def test_a_move_that_has_changed_enough_is_left_alone(advantage: float, ratio: float, moves: bool) -> None:
    policy = coin(0.0)
    loss, notes = ppo_loss(policy, PLAIN, samples([AGREE], [advantage], [math.log(0.5 / ratio)]), 0.0)
    of_logit, _ = slopes(loss, policy)
    assert of_logit == pytest.approx(-advantage * ratio * 0.5 if moves else 0.0, abs=1e-6)
    assert notes[6].item() == (abs(ratio - 1.0) > 0.2)


def test_the_divergence_is_that_of_the_ratios() -> None:
    policy = coin(0.0)
    _, notes = ppo_loss(policy, PLAIN, samples([AGREE, DISAGREE], [1.0, 1.0], [math.log(0.4), math.log(0.6)]), 0.0)
    ratios = np.array([0.5 / 0.4, 0.5 / 0.6])
    assert notes[5].item() == pytest.approx(((ratios - 1) - np.log(ratios)).mean(), abs=1e-6)


def test_values_that_moved_too_far_are_judged_where_they_should_have_stopped() -> None:
    batch = samples([AGREE], [0.0], [0.0], returns=[1.0], values=torch.tensor([0.0]))
    values = torch.tensor([0.9], requires_grad=True)
    clipped = value_loss_of(values, batch, 0.2)
    clipped.backward()
    assert float(clipped.detach()) == pytest.approx(0.5 * 0.8**2) and float(values.grad) == 0.0
    assert value_loss_of(values, batch, None).item() == pytest.approx(0.5 * 0.1**2)


def test_advantages_follow_the_sum_and_stop_at_the_end_of_an_episode() -> None:
    # One slot, three moves; the second ends an episode. γ = 0.5, λ = 0.5.
    rewards, ended = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[0.0], [1.0], [0.0]])
    values, last = torch.tensor([[0.5], [1.0], [2.0]]), torch.tensor([8.0])
    found = advantages_of(rewards, ended, values, last, 0.5, 0.5)
    third = 4.0 + 0.5 * 8.0 - 2.0
    second = 2.0 - 1.0
    first = (1.0 + 0.5 * 1.0 - 0.5) + 0.25 * second
    assert found[:, 0].tolist() == [first, second, third]


def test_normalised_advantages_have_mean_nought_and_deviation_one_even_where_all_are_equal() -> None:
    found = normalised(torch.tensor([1.0, 2.0, 6.0]))
    assert float(found.mean()) == pytest.approx(0.0, abs=1e-6) and float(found.std(correction=0)) == pytest.approx(1.0, abs=1e-6)
    assert normalised(torch.tensor([3.0])).tolist() == [0.0]


def test_explained_variance_is_one_for_a_prophet_and_nought_for_a_constant() -> None:
    returns = torch.tensor([0.0, 1.0, 5.0])
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(torch.full((3,), 2.0), returns) == pytest.approx(0.0, abs=1e-6)
    assert math.isnan(explained_variance(returns, torch.ones(3)))


# REINFORCE


def test_the_gradient_of_reinforce_is_the_one_computed_by_hand() -> None:
    p = 1 / (1 + math.exp(-1))
    policy = coin(1.0, value=0.5)
    batch = samples([AGREE, DISAGREE], [2.0, -1.0], [0.0, 0.0], returns=[1.0, 0.0])
    settings = ReinforceSettings(normalize_advantages=False)
    of_logit, of_value = slopes(reinforce_loss(policy, settings, batch, 0.0)[0], policy)
    assert of_logit == pytest.approx(-(2.0 * (1 - p) + -1.0 * -p) / 2, abs=1e-6)
    assert of_value == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("baseline", ["running", "none"])
def test_the_value_is_learnt_only_where_it_is_the_baseline(baseline: str) -> None:
    policy = coin(1.0, value=0.5)
    settings = ReinforceSettings(normalize_advantages=False, baseline=baseline)  # type: ignore[arg-type]
    batch = samples([AGREE], [1.0], [0.0], returns=[1.0])
    assert slopes(reinforce_loss(policy, settings, batch, 0.0)[0], policy)[1] == 0.0


def test_returns_are_discounted_within_their_episode() -> None:
    rewards = np.array([[1.0], [2.0], [4.0]], np.float32)
    ended = np.array([[0.0], [1.0], [1.0]], np.float32)
    assert returns_of(rewards, ended, 0.5)[:, 0].tolist() == [2.0, 2.0, 4.0]


def test_a_running_baseline_begins_at_the_first_mean_and_then_follows_slowly() -> None:
    baseline = RunningBaseline()
    moves, returns = np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0], np.float32)
    assert baseline.of(moves, returns).tolist() == [2.0, 2.0, 5.0]
    assert baseline.of(np.array([0]), np.array([4.0], np.float32)).tolist() == [2.0]
    assert baseline.mean[:2].tolist() == pytest.approx([2.2, 5.0])


# Rollouts

SMALL = {"num_envs": 12, "rollout": 20, "minibatch": 24, "hidden": 8}
GAME = BargainingConfig(max_turns=6)


def network() -> PolicyShape:
    return PolicyShape(hidden=8)


def test_the_first_ratio_is_exactly_one() -> None:
    learner = PPO(GAME, PPOSettings(**SMALL), network(), seed=1)
    learner.play()
    flat = Samples(*(array.flatten(0, 1) for array in learner.samples))
    with torch.no_grad():
        outlook = learner.policy(flat.features[:12], flat.legal[:12], flat.caps[:12])
        again = learner.policy.log_prob(outlook, flat.acts[:12], flat.shares[:12])
    assert (again - flat.log_probs[:12]).exp().tolist() == [1.0] * 12


def test_every_sample_is_used_once_in_every_pass() -> None:
    learner = PPO(GAME, PPOSettings(**SMALL), network(), seed=1)
    learner.samples.returns.copy_(torch.arange(240.0).view(20, 12))
    order = torch.from_numpy(np.random.default_rng(0).permutation(240))
    parts = [Samples(*part).returns for part in minibatches(learner.samples, order, 50)]
    assert [len(part) for part in parts] == [50, 50, 50, 50, 40]
    assert sorted(torch.cat(parts).tolist()) == list(range(240)) and torch.cat(parts).tolist() == order.tolist()


def test_reinforce_plays_every_episode_to_its_end() -> None:
    learner = Reinforce(GAME, ReinforceSettings(**SMALL), network(), seed=1)
    for _ in range(3):
        rewards, ended, made, valid = learner.rollout()
        last = [int(np.flatnonzero(valid[:, slot])[-1]) for slot in range(12)]
        assert all(ended[t, slot] for slot, t in enumerate(last)) and min(last) >= 19
        assert not rewards[~valid].any() and not ended[~valid].any()
        assert (made[0] == 0).all() and not learner.practice.moves.any()
    assert (learner.practice.batch.state["turn"] <= 1).all()


def test_a_gradient_is_never_longer_than_it_may_be() -> None:
    settings = PPOSettings(**SMALL, gradient_norm=1e-3)
    learner = PPO(GAME, settings, network(), seed=1)
    metrics = learner.iterate()
    assert metrics["gradient_norm"] > 1e-3
    norm = torch.sqrt(sum((p.grad.square().sum() for p in learner.policy.parameters() if p.grad is not None), torch.zeros(())))
    assert float(norm) == pytest.approx(1e-3, rel=1e-2)


def test_passes_stop_once_the_policy_has_moved_far_enough() -> None:
    metrics = PPO(GAME, PPOSettings(**SMALL, epochs=6, target_kl=1e-9), network(), seed=1).iterate()
    assert metrics["epochs"] == 1


def test_a_linear_schedule_reaches_nought_at_the_last_step() -> None:
    learner = PPO(GAME, PPOSettings(**SMALL, lr_schedule="linear"), network(), seed=1, total_steps=480)
    assert [round(learner.iterate()["learning_rate"] / 3e-4, 6) for _ in range(3)] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("made", [PPO, Reinforce])
def test_the_weight_of_the_entropy_can_fall_with_the_steps(made: Any) -> None:
    kind = PPOSettings if made is PPO else ReinforceSettings
    learner = made(GAME, kind(**SMALL, entropy=0.1, entropy_schedule="linear"), network(), seed=1, total_steps=480)
    learner.iterate(), learner.iterate()
    assert learner.bonus.item() == pytest.approx(0.05, abs=0.003)


def test_what_is_logged_about_rewards_is_in_points_whatever_their_scale_for_the_learner() -> None:
    one, other = (PPO(GAME, PPOSettings(**SMALL, reward_scale=scale), network(), seed=1).iterate() for scale in (1.0, 0.01))
    assert one["reward"] == other["reward"] and one["value_loss"] > 100 * other["value_loss"]
