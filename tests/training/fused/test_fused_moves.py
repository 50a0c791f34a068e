"""Moves of the compiled network: only legal ones, as often as their probabilities say, with the right log-probabilities."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from double_precision import Situations, fused_gradient, log_probs, make_parameters, make_situations, outlook
from edgeworth.agents.network import products
from edgeworth.agents.network.elementary import exp, log, tanh
from edgeworth.agents.network.player import NetworkPlayer, batch_uniforms
from edgeworth.agents.network.products import use_one_thread
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.errors import FallbackUsed, InvalidOption, MissingExtra
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.fused.loss import Terms
from edgeworth.training.learner import shape_of
from edgeworth.training.settings import PPOSettings

SHAPE = PolicyShape()
MILLION = 1_000_000


@pytest.fixture(scope="module")
def situations() -> Situations:
    return make_situations(SHAPE, 200, 1)


@pytest.fixture(scope="module")
def parameters() -> NDArray[np.float32]:
    return make_parameters(SHAPE, 1)


def drawn(parameters: NDArray[np.float32], situations: Situations, times: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Moves for every situation, many times over; rows (times, situations)."""
    rng, size = np.random.default_rng(0), situations.size
    features = np.tile(situations.buffer.features[:size], (times, 1))
    masks, caps = np.tile(situations.masks, (times, 1)), np.tile(situations.caps, (times, 1))
    acts, shares = NetworkPlayer(parameters, SHAPE).choose_from(features, masks, caps, rng.random((times * size, 4), np.float32))
    return acts.reshape(times, size), shares.reshape(times, size, 3)


@pytest.mark.parametrize(
    "function, exact, points",
    [
        (exp, np.exp, np.linspace(-80.0, 80.0, 2_001)),
        (log, np.log, np.linspace(1e-30, 1e30, 2_001)),
        (log, np.log, np.geomspace(1e-30, 1e30, 2_001)),
        (log, np.log, np.linspace(0.5, 20.0, 2_001)),
        (tanh, np.tanh, np.linspace(-12.0, 12.0, 2_001)),
    ],
    ids=["exp", "log of anything", "log of every size", "log of sums of weights", "tanh"],
)
def test_elementary_functions_are_right_to_a_few_units_in_the_last_place(function, exact, points) -> None:  # type: ignore[no-untyped-def]
    points = points.astype(np.float32)
    found = np.array([function(x) for x in points], np.float64)
    true = exact(points.astype(np.float64))
    if function is not exp:
        assert np.abs(found - true).max() <= 1.0
    assert (np.abs(found - true) <= 4e-7 * np.maximum(np.abs(true), 1e-7 if function is log else 0.0)).all()


def test_nothing_illegal_is_drawn_in_a_million_moves(situations: Situations, parameters: NDArray[np.float32]) -> None:
    acts, shares = drawn(parameters, situations, MILLION // situations.size)
    rows = np.arange(situations.size)
    assert situations.masks[rows, acts].all()
    assert (shares >= 0).all() and (shares <= situations.caps).all()
    assert not shares[STATES_SHARE[acts] == 0].any()


def test_the_edges_of_the_uniform_numbers_draw_legal_moves_too(situations: Situations, parameters: NDArray[np.float32]) -> None:
    size = situations.size
    player = NetworkPlayer(parameters, SHAPE)
    for edge in (0.0, 1.0 - 2.0**-24):
        uniforms = np.full((size, 4), edge)
        acts, shares = player.choose_from(situations.buffer.features[:size], situations.masks, situations.caps, uniforms)
        assert situations.masks[np.arange(size), acts].all() and (shares <= situations.caps).all()


def test_moves_come_as_often_as_their_probabilities_say(situations: Situations, parameters: NDArray[np.float32]) -> None:
    times = 20_000
    acts, shares = drawn(parameters, situations, times)
    with torch.no_grad():
        logs, _ = outlook(torch.tensor(parameters, dtype=torch.float64), situations)
    excess, freedom = 0.0, 0
    for row in range(0, situations.size, 10):
        stated = STATES_SHARE[acts[:, row]] == 1
        for entries, chances, draws in [
            (5, logs[0][row].exp(), acts[:, row]),
            *((5, logs[1 + k][row].exp(), shares[stated, row, k]) for k in range(3)),
        ]:
            expected = chances.numpy() * len(draws)
            common = expected >= 5.0
            counted = np.bincount(draws, minlength=entries)
            excess += (((counted - expected) ** 2)[common] / expected[common]).sum()
            freedom += int(common.sum()) - 1
    assert freedom > 100
    assert abs(excess - freedom) < 4.0 * np.sqrt(2.0 * freedom)


def test_the_likeliest_move_is_greedy_in_every_head(situations: Situations, parameters: NDArray[np.float32]) -> None:
    size = situations.size
    acts, shares = NetworkPlayer(parameters, SHAPE).choose_from(situations.buffer.features[:size], situations.masks, situations.caps)
    with torch.no_grad():
        logs, _ = outlook(torch.tensor(parameters, dtype=torch.float64), situations)
    assert (acts == logs[0].argmax(1).numpy()).all()
    stated = STATES_SHARE[acts] == 1
    for k in range(3):
        assert (shares[stated, k] == logs[1 + k].argmax(1).numpy()[stated]).all()


def test_outlooks_agree_with_double_precision(situations: Situations, parameters: NDArray[np.float32]) -> None:
    size = situations.size
    found = NetworkPlayer(parameters, SHAPE).outlook(situations.buffer.features[:size], situations.masks, situations.caps)
    with torch.no_grad():
        logs, values = outlook(torch.tensor(parameters, dtype=torch.float64), situations)
    assert np.allclose(found.values, values, atol=1e-5)
    assert np.allclose(np.exp(found.acts), logs[0].exp(), atol=1e-6)
    for k in range(3):
        assert np.allclose(np.exp(found.shares[:, k]), logs[1 + k].exp(), atol=1e-6)


def test_a_forced_choice_has_log_probability_zero() -> None:
    situations = make_situations(SHAPE, 64, 5)
    situations.masks[:] = [False, True, False, False, False]
    situations.caps[:] = 0
    situations.buffer.legal[:64] = [2, 1, 1, 1]
    situations.buffer.moves[:64] = [1, 0, 0, 0]
    found = NetworkPlayer(make_parameters(SHAPE, 5), SHAPE).outlook(situations.buffer.features[:64], situations.masks, situations.caps)
    assert (found.acts[:, 1] == 0.0).all() and (found.shares[:, :, 0] == 0.0).all()
    terms = Terms(True, *(np.float32(x) for x in (0.2, 0.5, 0.0, np.inf)))
    work, _ = fused_gradient(make_parameters(SHAPE, 5), situations, terms, normalize=True)
    assert (work.samples.change[:64] == 0.0).all()


@pytest.mark.parametrize("minibatch", [64, 48, 256])
def test_the_first_ratios_are_one(minibatch: int) -> None:
    """Up to a few roundings: the linear algebra library may sum a product of another size in another order, on some processors."""
    config = BargainingConfig()
    settings = PPOSettings(learning_rate=1e-30, minibatch=minibatch, epochs=1)
    learner = FusedLearner(config, settings, shape_of(config, settings), 3)
    learner.iterate()  # parameters do not move, so every minibatch is a first one
    ratios = learner._work.samples.ratios[: minibatch % 128 or 128]
    assert np.abs(ratios - 1.0).max() <= 16 * np.finfo(np.float32).eps
    assert learner._sums[6] == 0.0  # KL, over all minibatches


def test_log_probabilities_on_the_buffer_are_those_of_the_moves() -> None:
    config = BargainingConfig(min_count=0)
    settings = PPOSettings(rollout=16)
    learner = FusedLearner(config, settings, shape_of(config, settings), 4)
    learner._play()
    buffer = learner._buffer
    rows = 16 * settings.num_envs
    caps = np.log2(buffer.legal[:rows, 1:] + 1).astype(np.int64) - 1
    masks = (buffer.legal[:rows, :1] >> np.arange(5)) & 1 == 1
    situations = Situations(learner.shape, buffer, masks, caps)
    with torch.no_grad():
        exact = log_probs(outlook(torch.tensor(learner.parameters, dtype=torch.float64), situations)[0], situations)
    assert np.allclose(buffer.log_probs[:rows], exact, atol=2e-6)


def test_drawn_numbers_belong_to_the_episode_and_the_turn() -> None:
    batch = BargainingBatch(BargainingConfig(), 4)
    batch.seed(0)
    batch.reset()
    before = batch_uniforms(batch.state)
    assert (batch_uniforms(batch.state) == before).all() and (before.astype(np.float32) == before).all()
    alone = BargainingBatch(BargainingConfig(), 1)
    alone.seed(2)
    alone.reset()
    assert (batch_uniforms(alone.state)[0] == before[2]).all()
    batch.state["turn"] += 2
    assert (batch_uniforms(batch.state) != before).all()


def test_without_scipy_the_network_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    use_one_thread.cache_clear()
    with pytest.raises(MissingExtra, match="The compiled network needs scipy \\(the extra `train`\\); install it with: pip install"):
        NetworkPlayer(first_parameters(SHAPE, 0), SHAPE)


def test_a_library_without_a_switch_for_threads_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "SETTERS", ())
    use_one_thread.cache_clear()
    try:
        with pytest.warns(FallbackUsed, match="no switch for its number of threads"):
            use_one_thread()
    finally:
        use_one_thread.cache_clear()


def test_a_player_refuses_what_its_network_was_not_made_for() -> None:
    player = NetworkPlayer(first_parameters(SHAPE, 0), SHAPE)
    with pytest.raises(InvalidOption, match=r"expected \(2, 18\)"):
        player.choose_from(np.zeros((2, 28), np.float32), np.ones((2, 5)), np.ones((2, 3)))
    with pytest.raises(InvalidOption, match="holds 5 units"):
        player.choose_from(np.zeros((2, 18), np.float32), np.ones((2, 5)), np.full((2, 3), 5))


def test_a_network_whose_numbers_are_none_stays_within_the_moves_that_there_are(situations: Situations) -> None:
    acts, shares = drawn(np.full(SHAPE.size, np.nan, np.float32), situations, 5)
    assert acts.min() >= 0 and acts.max() <= 4
    assert shares.min() >= 0 and shares.max() <= SHAPE.units
