"""Learning against partners outside the rules: both backends, and the same as against partners of the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgeworth.config import BargainingConfig
from edgeworth.training.curriculum import make_learner, shape_for, stages_of
from edgeworth.training.learner import Learner
from edgeworth.training.settings import settings_of
from networks import write_network
from outside_partner import use_outside_partner

CASES: dict[str, dict[str, Any]] = {
    "ppo": {"algo": "ppo"},
    "ppo, hints": {"algo": "ppo", "hints": {"mode": "random", "k": 2}},
    "reinforce": {"algo": "reinforce"},
}
SMALL = {"num_envs": 16, "rollout": 24, "hidden": 24, "reading": "ordered"}


@pytest.fixture
def network(tmp_path: Path) -> str:
    return str(write_network(tmp_path / "agent"))


def learner(backend: str, game: dict[str, Any], **given: Any) -> Learner:
    algo = given["algo"]
    settings = settings_of({**given, "backend": backend, "device": "cpu", "env": game, algo: {**given.get(algo, {}), **SMALL}})
    stages = stages_of(settings)
    return make_learner(settings, stages, shape_for(settings, stages), 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sampled", [False, True], ids=["likeliest", "sampled"])
def test_both_backends_learn_the_same_from_a_network(name: str, sampled: bool, network: str) -> None:
    game = {"max_turns": 6, "partner": network, "partner_options": {"sampled": sampled}}
    fused, reference = (learner(backend, game, **CASES[name]) for backend in ("fused", "torch"))
    for _ in range(2):
        one, other = fused.iterate(), reference.iterate()
        assert one.keys() == other.keys()
        for key in one:
            assert one[key] == pytest.approx(other[key], rel=2e-3, abs=2e-4, nan_ok=True), key
    np.testing.assert_allclose(fused.parameters, reference.parameters, atol=2e-5)
    assert fused.state()["episodes"].tobytes() == reference.state()["episodes"].tobytes()


@pytest.mark.parametrize("name", CASES)
def test_the_fused_learner_learns_the_same_whether_the_partner_is_asked_inside_or_outside(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = {"max_turns": 6, "partner": "linear"}
    inside = learner("fused", game, **CASES[name])
    use_outside_partner(monkeypatch, BargainingConfig(**game))
    outside = learner("fused", game, **CASES[name])
    for _ in range(3):
        one, other = inside.iterate(), outside.iterate()
        assert one == pytest.approx(other, nan_ok=True)
        states = inside.state(), outside.state()
        for key, array in states[0].items():
            assert array.tobytes() == states[1][key].tobytes(), key


def test_a_fused_learner_goes_on_where_another_stopped(network: str) -> None:
    game = {"max_turns": 6, "partner": network, "partner_options": {"sampled": True}}
    one, other = (learner("fused", game, algo="ppo") for _ in range(2))
    one.iterate()
    other.load_state(one.state())
    assert one.iterate() == pytest.approx(other.iterate(), nan_ok=True)
    assert one.parameters.tobytes() == other.parameters.tobytes()
