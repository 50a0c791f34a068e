"""Networks that remember: what they read of the negotiation so far, and that those that do not remember read what they always read."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bargaining_table import POOL, begun, insist, play, propose, sit_down
from edgeworth.agents.negotiators.bundled import FOLDER, experts
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.negotiators.seat import mirrored_states
from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.network.reading import read
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.agents.trained_network import read_network
from edgeworth.config import BargainingConfig
from edgeworth.errors import UnknownName
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.history_features import HISTORY_FEATURES, PARTS, PLACE_WIDTH
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import AGENT, INSIST, ONGOING, PARTNER, PROPOSE
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.learner import shape_of
from edgeworth.training.run import Run
from edgeworth.training.settings import HintSettings, PPOSettings, load_settings

REMEMBERS = PolicyShape(BASE_FEATURES + HISTORY_FEATURES, hidden=32, memory="history")
GAMES: dict[str, dict[str, Any]] = {
    "classic": {},
    "odd turns": {"max_turns": 7, "partner": "boulware"},
    "passes": {"disagree": "passes", "partner": "random"},
    "population": {"partner": "population", "contexts": "lewis"},
}


def places(batch: BargainingBatch, side: int = AGENT) -> NDArray[np.float32]:
    """The remembered offers: (episodes, own and the other side's, parts, numbers)."""
    remembered = batch.features(side, memory=True)[:, BASE_FEATURES:]
    return remembered.reshape(batch.size, 2, PARTS, PLACE_WIDTH)


def talk(size: int = 300, moves: int = 4, **options: Any) -> BargainingBatch:
    """Negotiations that have gone on for some random offers."""
    batch = begun(size, seed=5, **options)
    rng = np.random.default_rng(1)
    for _ in range(moves):
        going = batch.state["outcome"] == ONGOING
        part = batch.selected(going)
        part.step(rng.integers(0, 2, part.size), rng.integers(0, part.state["counts"] + 1).astype(np.int64))
        batch.write_back(part, going)
    return batch


# What is remembered


def test_every_offer_stands_in_its_place_with_its_worth() -> None:
    env = sit_down(partner="boulware")
    before = places(env.batch)[0]
    play(env, propose(2, 1, 2), insist(1, 1, 3))
    own, theirs = places(env.batch)[0]
    heard = [move.share for move in env._info(env.batch.views[0])["history"] if move.side == PARTNER]
    assert not before.any() and not own[2:].any() and not theirs[2:].any()
    np.testing.assert_allclose(own[0], [2 / 4, 1 / 4, 2 / 4, 9 / 10, 0.5])
    np.testing.assert_allclose(own[1], [1 / 4, 1 / 4, 3 / 4, 9 / 10, 1.0])
    for place, share in zip(theirs, heard, strict=False):
        left = np.array(POOL.counts) - np.array(share)
        np.testing.assert_allclose(place, [*(left / 4), left @ POOL.my_utilities / 10, 0.5])


@pytest.mark.parametrize("name", GAMES)
def test_the_whole_history_of_ten_turns_can_be_read_back(name: str) -> None:
    batch = talk(**GAMES[name])
    found, counts = places(batch), batch.state["counts"]
    expected = np.zeros_like(found[..., :3])
    acts = np.zeros(found.shape[:-1])
    for slot, episode in enumerate(batch.state):
        for turn in range(episode["turn"]):
            side, act, *share = episode["history"][turn].tolist()
            if act in (PROPOSE, INSIST):
                expected[slot, side, turn // 2] = share if side == AGENT else counts[slot] - share
                acts[slot, side, turn // 2] = 1.0 if act == INSIST else 0.5
    assert (batch.state["turn"] > 3).sum() > 20
    np.testing.assert_allclose(found[..., :3] * batch.max_count, expected, atol=1e-5)
    np.testing.assert_array_equal(found[..., 4], acts)


def test_in_a_long_negotiation_each_part_keeps_its_latest_offer() -> None:
    env = sit_down(partner="boulware", max_turns=30)
    play(env, *[propose(2, 1, 3), propose(2, 1, 2)] * 4)
    own = places(env.batch)[0, 0]
    assert own[:, 4].tolist() == [0.5, 0.5, 0.5, 0.0, 0.0]
    np.testing.assert_allclose(own[:3, 2] * 4, [3, 2, 2])  # the third, sixth and eighth offer


def test_both_sides_remember_the_same_from_their_own_seats() -> None:
    batch = talk(partner="conceder")
    mirrored = batch.over(mirrored_states(batch.state))
    np.testing.assert_array_equal(batch.features(PARTNER, memory=True), mirrored.features(AGENT, memory=True))
    assert places(batch, PARTNER).any() and (places(batch, PARTNER) != places(batch)).any()


def test_the_base_features_come_first_and_are_the_same() -> None:
    batch = talk()
    np.testing.assert_array_equal(batch.features(memory=True)[:, :BASE_FEATURES], batch.features())


def test_what_is_remembered_does_not_depend_on_what_the_partner_keeps_to_itself() -> None:
    batch = talk(partner="linear")
    before = batch.features(memory=True)
    batch.state["utilities"][:, PARTNER] = 3
    batch.state["maximum"][:, PARTNER] = 7
    np.testing.assert_array_equal(batch.features(memory=True), before)


# How it is read


@pytest.mark.parametrize("reading", ["ordered", "fine"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_agent_that_remembers_plays_the_same_whatever_the_types_are_called(reading: Any, order: tuple[int, ...]) -> None:
    shape = replace(REMEMBERS, reading=reading)
    parameters = first_parameters(shape, 3)
    shape.split(parameters)["heads.weight"][:] *= 100.0
    player, batch = NetworkPlayer(parameters, shape), talk(partner="linear")
    keys = batch.state["utilities"][:, AGENT] * 64 + batch.state["counts"]
    batch = batch.over(batch.state[(keys[:, [0, 0, 1]] != keys[:, [1, 2, 2]]).all(1) & (batch.state["outcome"] == ONGOING)])
    renamed = batch.over(batch.state.copy())
    for name in ("counts", "utilities", "offer"):
        renamed.state[name] = batch.state[name][..., order]
    renamed.state["history"][:, :, 2:] = batch.state["history"][:, :, 2:][..., order]
    moves = []
    for some in (batch, renamed):
        some.refresh()
        moves.append(player.choose_from(some.features(memory=True), some.masks, some.views[:, :3]))
    assert batch.size > 20 and len(np.unique(moves[0][1], axis=0)) > 3
    np.testing.assert_array_equal(moves[1][0], moves[0][0])
    np.testing.assert_array_equal(moves[1][1], moves[0][1][:, order])


def test_knots_say_how_many_units_an_offer_had_and_nothing_where_there_was_none() -> None:
    shape, batch = replace(REMEMBERS, reading="fine"), talk(partner="linear")
    reading = read(shape, batch.features(memory=True), batch.views[:, :3])
    knots = reading.inputs[:, -2 * PARTS * 3 * 5 :].reshape(batch.size, 2 * PARTS, 3, 5)
    offers = reading.inputs[:, BASE_FEATURES : BASE_FEATURES + HISTORY_FEATURES].reshape(batch.size, 2 * PARTS, PLACE_WIDTH)
    made = offers[..., 4] > 0
    assert made.any() and not made.all() and not knots[~made].any()
    np.testing.assert_allclose(knots[made].sum(-1), 1.0, atol=1e-5)
    np.testing.assert_allclose(knots[made] @ (np.arange(5) / 4), offers[made][:, :3], atol=1e-6)


# Learning and playing with it


@pytest.mark.parametrize("hints", [HintSettings(), HintSettings("random", k=2, age=True)], ids=["no hints", "hints"])
@pytest.mark.parametrize("reading", ["plain", "ordered", "fine"])
def test_a_rollout_inside_reads_what_python_reads(reading: Any, hints: HintSettings) -> None:
    settings = PPOSettings(num_envs=16, rollout=16, reading=reading, memory="history")
    config = BargainingConfig(partner="boulware")
    inside, outside = (
        FusedLearner(config, settings, shape_of(config, settings, hints), 0, hints, stepwise=stepwise) for stepwise in (False, True)
    )
    for _ in range(2):
        assert inside.iterate() == outside.iterate()
    assert inside.parameters.tobytes() == outside.parameters.tobytes()


def test_a_network_that_remembers_is_trained_kept_and_played(tmp_path: Path) -> None:
    changes = {"num_train_steps": 4096, "ppo": {"memory": "history", "num_envs": 16}, "env": {"partner": "boulware"}}
    run = Run.begin(load_settings(None, {**changes, "logging": {"tensorboard": False}}), tmp_path / "run", "a test")
    run.train()
    network = read_network(tmp_path / "run")
    assert network.shape.remembers and network.shape.features == BASE_FEATURES + HISTORY_FEATURES
    agent, batch = Learned(tmp_path / "run"), talk(partner="boulware", moves=2)
    player = NetworkPlayer(run.learner.parameters, network.shape)
    acts, shares = agent.choose(batch)
    expected = player.choose_from(batch.features(memory=True), batch.masks, batch.views[:, :3])
    assert acts.tolist() == expected[0].tolist() and shares.tolist() == expected[1].tolist()
    assert play_episodes(BargainingConfig(partner=str(tmp_path / "run")), agent, 50, 0).turns.max() > 2


def test_bundled_networks_from_before_memory_read_the_base_features_alone() -> None:
    for name, facts in experts().items():
        if "memory" not in facts["shape"]:
            shape = read_network(FOLDER / name).shape
            assert not shape.remembers and shape.features == shape.unhinted == BASE_FEATURES


def test_an_unknown_memory_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match="history"):
        PolicyShape(memory="histories")  # type: ignore[arg-type]
