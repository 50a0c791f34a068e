"""Learned negotiators: networks out of checkpoints at the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bargaining_table import begun
from edgeworth.agents.hints.baselines import Expert
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.agents.policy import Policy
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.errors import DataError, InvalidOption
from edgeworth.evaluation.episodes import play_episodes
from edgeworth.runlog import Checkpoint, write_checkpoint
from edgeworth.training.settings import HintSettings

torch.set_num_threads(1)


def kept(path: Path, features: int = 18, hints: HintSettings | None = None, seed: int = 4, **facts: Any) -> Path:
    """A checkpoint of an untrained network with opinions."""
    shape = PolicyShape(features, 4, 16, 2)
    parameters = first_parameters(shape, seed)
    shape.split(parameters)["heads.weight"][:-1] *= 500
    told = {"game": "bargaining", "shape": vars(shape), "hints": vars(hints or HintSettings()), **facts}
    write_checkpoint(path, Checkpoint(dict(shape.split(parameters)), told))
    return path


def test_it_makes_the_likeliest_move_of_the_network(tmp_path: Path) -> None:
    agent, batch = Learned(kept(tmp_path / "agent")), begun(300, seed=2, opens="partner")
    policy = Policy(agent.network.shape, agent.network.parameters)
    with torch.no_grad():
        outlook = policy(*(torch.from_numpy(np.asarray(array)) for array in (batch.features(), batch.masks, batch.views[:, :3])))
    acts, shares = agent.choose(batch)
    assert acts.tolist() == outlook.acts.argmax(1).tolist() and len(set(acts.tolist())) > 1
    stated = np.isin(acts, [0, 1, 4])
    assert shares[stated].tolist() == outlook.shares.argmax(2).numpy()[stated].tolist() and not shares[~stated].any()
    chances = policy.log_prob(outlook, torch.from_numpy(acts), torch.from_numpy(shares)).exp()
    advised = agent.advise(batch)
    assert advised[0].tolist() == acts.tolist() and advised[1].tolist() == shares.tolist()
    np.testing.assert_allclose(advised[2], chances, atol=1e-5)


def test_drawn_moves_are_a_function_of_the_seed(tmp_path: Path) -> None:
    path = kept(tmp_path / "agent")
    one, again, likeliest = (
        play_episodes(BargainingConfig(), who, 200, 3) for who in (Learned(path, True), Learned(path, True), Learned(path))
    )
    assert one.reward.tolist() == again.reward.tolist() != likeliest.reward.tolist()


def test_a_network_with_inputs_for_hints_asks_as_it_did_in_training(tmp_path: Path) -> None:
    path = kept(tmp_path / "agent", 28, HintSettings("bayes", k=2))
    agent, batch = Learned(path), begun(50, seed=2)
    agent.choose(batch)
    assert agent._feeds[0].asked == 50 and agent.cadence.k == 2
    other = Learned(path, hint="random")
    played = [play_episodes(BargainingConfig(), who, 100, 3).reward.tolist() for who in (agent, other, Learned(path, hint="none"))]
    assert played[0] != played[1] != played[2]


def test_a_network_without_inputs_for_hints_is_given_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="was trained without inputs for hints"):
        Learned(kept(tmp_path / "agent"), hint="bayes")


def test_a_game_with_larger_pools_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="trained with up to 4 units of a type, and this game has up to 6"):
        Learned(kept(tmp_path / "agent")).choose(begun(2, max_count=6))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"game": "auction"}, "is a checkpoint of auction, not of a negotiator"),
        (
            {"shape": {"features": 18, "units": 4, "hidden": 32, "layers": 2}},
            r"another network: trunk.0.weight is \(16, 18\); expected \(32, 18\)",
        ),
        ({"shape": {"features": 18, "units": 4, "hidden": 16, "layers": 3}}, r"trunk.2.weight is missing"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Learned(kept(tmp_path / "agent", **facts)).choose(begun(2))


def test_an_expert_with_a_checkpoint_advises_what_the_network_would_do(tmp_path: Path) -> None:
    path, batch = kept(tmp_path / "agent"), begun(40, seed=2)
    expert, due = Expert(str(path)), np.arange(40) % 2 == 0
    expert.check(batch)
    hints = expert.give(batch, due)
    acts, shares = Learned(path).choose(batch)
    assert hints.given.tolist() == due.tolist() and hints.acts[due].tolist() == acts[due].tolist()
    assert hints.shares[due].tolist() == shares[due].tolist() and 0.0 < hints.confidences[due].min() <= 1.0
    assert expert.counters == {"expert": str(path)}
    with pytest.raises(InvalidOption, match="up to 6"):
        expert.check(begun(1, max_count=6))


def test_an_expert_that_was_trained_with_hints_asks_once_for_every_hint_it_gives(tmp_path: Path) -> None:
    expert, batch = Expert(str(kept(tmp_path / "agent", 28, HintSettings("bayes")))), begun(50, seed=2)
    expert.give(batch, np.ones(50, np.bool_))
    assert expert.negotiator is not None and expert.negotiator._feeds[0].asked == 50
