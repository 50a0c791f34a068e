"""Training on a GPU: the functions that its threads call, here in a loop on the CPU, against the batch; and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import torch

from edgeworth.agents.network.layers import Sizes
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.training.fused.gpu_episodes import GpuEpisodes, Results, Seen, show_slot, step_slot
from edgeworth.training.fused.rollout import Game
from edgeworth.training.gpu import GpuPPO
from edgeworth.training.learner import shape_of
from edgeworth.training.practice import Practice
from edgeworth.training.settings import HintSettings, PPOSettings

SIZE, SCALE = 300, 0.05
LIKED = np.array([0.5, 0.3, 0.0, -0.2, 0.0])
"""How much likelier each act is made: offers keep episodes going."""
GAMES = {
    "classic": BargainingConfig(),
    "lewis": BargainingConfig(contexts="lewis"),
    "walk away": BargainingConfig(partner="walk_away", discount=0.9, sudden_end=0.1),
    "population": BargainingConfig(partner="population", insist_price=0.5, normalize=True, reveal_partner_utilities=True),
}
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")


def practice(game: BargainingConfig, reading: str = "ordered", memory: str = "none") -> Practice:
    settings = PPOSettings(reading=reading, memory=memory)  # type: ignore[arg-type]
    return Practice(game, HintSettings(), SIZE, 3, shape_of(game, settings))


def some_moves(episodes: Practice, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Legal moves, with the item types in the order of reading."""
    likes = np.where(episodes.legal > 0, rng.random((episodes.size, 5)) + LIKED, -1.0)
    acts = likes.argmax(1)
    return acts, np.where(acts[:, None] % 4 < 2, rng.integers(0, episodes.caps + 1), 0)


@numba.njit
def show_all(game: Any, sizes: Any, seen: Any) -> None:
    for slot in range(game.state.shape[0]):
        show_slot(game, sizes, seen, slot)


@numba.njit
def step_all(game: Any, sizes: Any, seen: Any, results: Any, moves: Any, scale: float) -> None:
    for slot in range(game.state.shape[0]):
        step_slot(game, sizes, seen, results, moves, scale, slot)


def arrays(inputs: int) -> tuple[Seen, Results]:
    whole, real = np.int32, np.float32
    seen = Seen(
        np.zeros((SIZE, inputs), real),
        np.zeros((SIZE, 5), np.int8),
        np.zeros((SIZE, 3), whole),
        np.zeros((SIZE, 3), whole),
        np.zeros((SIZE, 4), real),
    )
    return seen, Results(np.zeros(SIZE, real), np.zeros(SIZE, real), np.zeros(SIZE), np.zeros(SIZE, np.int64), np.zeros((SIZE, 5)))


@pytest.mark.parametrize("memory", ["none", "history"])
@pytest.mark.parametrize("reading", ["plain", "ordered", "fine"])
@pytest.mark.parametrize("name", GAMES)
def test_slots_step_as_the_batch_does(name: str, reading: str, memory: str) -> None:
    batch, apart = practice(GAMES[name], reading, memory), practice(GAMES[name], reading, memory)
    game, sizes = Game.of(apart.batch), Sizes.of(apart.shape)
    seen, results = arrays(apart.shape.inputs)
    show_all(game, sizes, seen)
    rng = np.random.default_rng(5)
    for _ in range(25):
        for found, expected in zip(seen, (batch.inputs, batch.legal, batch.caps, batch.reading.orders, batch.uniforms()), strict=True):
            np.testing.assert_array_equal(found, expected)
        acts, shares = some_moves(batch, rng)
        step_all(game, sizes, seen, results, np.column_stack([acts, shares]), SCALE)
        points, ended = batch.step(acts, shares)
        np.testing.assert_array_equal(results.rewards, (points * SCALE).astype(np.float32))
        np.testing.assert_array_equal(results.ended, ended)
        np.testing.assert_array_equal(results.returns, batch.reward)
        np.testing.assert_array_equal(results.moves, batch.moves)
    told, totals = batch.report(), results.totals.sum(0)
    assert told["episodes"] == totals[0] > SIZE
    means = [told[name] for name in ("reward", "share_of_maximum", "deal_rate", "episode_length")]
    assert [totals[1] / totals[0], totals[1] / totals[2], totals[3] / totals[0], totals[4] / totals[0]] == pytest.approx(means)
    assert apart.batch.state.tobytes() == batch.batch.state.tobytes()


def test_episodes_that_ask_python_are_not_for_a_gpu() -> None:
    hinted = Practice(BargainingConfig(), HintSettings("bayes"), 4, 0, PolicyShape(features=28))
    with pytest.raises(InvalidOption, match="stepped on the CPU"):
        GpuEpisodes(hinted, SCALE, torch.device("cpu"))


@on_a_gpu
@pytest.mark.parametrize("reading", ["plain", "ordered", "fine"])
@pytest.mark.parametrize("name", GAMES)
def test_a_gpu_plays_the_same_game(name: str, reading: str) -> None:
    batch, device = practice(GAMES[name], reading), torch.device("cuda")
    episodes = GpuEpisodes(practice(GAMES[name], reading), SCALE, device)
    rng = np.random.default_rng(5)
    for _ in range(25):
        inputs, legal, caps = (tensor.cpu().numpy() for tensor in episodes.look())
        np.testing.assert_allclose(inputs, batch.inputs, atol=1e-6)
        np.testing.assert_array_equal(legal, batch.legal)
        np.testing.assert_array_equal(caps, batch.caps)
        np.testing.assert_array_equal(episodes.uniforms().cpu().numpy(), batch.uniforms().astype(np.float32))
        acts, shares = some_moves(batch, rng)
        rewards, over = episodes.step(torch.from_numpy(acts).to(device), torch.from_numpy(shares).to(device))
        points, ended = batch.step(acts, shares)
        np.testing.assert_allclose(rewards.cpu().numpy(), points * SCALE, rtol=1e-6)
        np.testing.assert_array_equal(over.cpu().numpy(), ended)
    assert episodes.report() == pytest.approx(batch.report())
    episodes.download()
    assert episodes.practice.state()["episodes"].tobytes() == batch.state()["episodes"].tobytes()


@on_a_gpu
def test_a_replayed_iteration_learns_what_one_learns_that_is_run() -> None:
    settings = PPOSettings(num_envs=64, rollout=16, minibatch=256, entropy=0.01, entropy_schedule="linear", lr_schedule="linear")
    replayed, run = (GpuPPO(BargainingConfig(), settings, PolicyShape(), 1, total_steps=50_000, device="cuda") for _ in range(2))
    run.recorded_iteration.recording = False
    for _ in range(8):
        one, other = replayed.iterate(), run.iterate()
        assert one == pytest.approx(other, rel=1e-3, abs=1e-5)
    assert replayed.recorded_iteration.graph is not None and run.recorded_iteration.graph is None
    np.testing.assert_allclose(replayed.parameters, run.parameters, atol=1e-5)


@on_a_gpu
def test_a_gpu_goes_on_where_it_stopped() -> None:
    settings = PPOSettings(num_envs=32, rollout=8, minibatch=64)
    through, stopped, resumed = (GpuPPO(BargainingConfig(), settings, PolicyShape(), 1, device="cuda") for _ in range(3))
    for _ in range(3):
        through.iterate()
        stopped.iterate()
    resumed.load_state(stopped.state())
    for _ in range(3):
        assert through.iterate() == pytest.approx(resumed.iterate(), rel=1e-3, abs=1e-5)
    np.testing.assert_allclose(through.parameters, resumed.parameters, atol=1e-5)
