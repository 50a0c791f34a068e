"""The two backends are one algorithm: the same draws, the same orders, and after an iteration nearly the same network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgeworth.errors import UnknownKey
from edgeworth.training.curriculum import make_learner, shape_for, stages_of
from edgeworth.training.learner import Learner
from edgeworth.training.settings import settings_of

CASES: dict[str, dict[str, Any]] = {
    "ppo": {"algo": "ppo"},
    "ppo, options": {"algo": "ppo", "ppo": {"clip_value": 0.2, "entropy": 0.01, "target_kl": 0.002, "lr_schedule": "linear"}},
    "ppo, a small last minibatch": {"algo": "ppo", "ppo": {"minibatch": 190, "target_kl": 9e-5}},
    "ppo, hints": {"algo": "ppo", "hints": {"mode": "random", "k": 2, "hold_last": True, "age": True}},
    "ppo, entropy falls": {"algo": "ppo", "ppo": {"entropy": 0.1, "entropy_schedule": "linear"}, "num_train_steps": 800},
    "ppo, shortcut": {"algo": "ppo", "ppo": {"memory": "history", "shortcut": True}},
    "ppo, relu": {"algo": "ppo", "ppo": {"activation": "relu", "layers": 3}},
    "ppo, memory": {"algo": "ppo", "ppo": {"memory": "history", "reading": "fine"}, "hints": {"mode": "random", "dropout": 0.5}},
    "reinforce": {"algo": "reinforce"},
    "reinforce, bayes hints": {"algo": "reinforce", "hints": {"mode": "bayes", "k": 2}},
    "reinforce, running": {"algo": "reinforce", "reinforce": {"baseline": "running"}},
    "reinforce, none": {"algo": "reinforce", "reinforce": {"baseline": "none", "normalize_advantages": False}},
}
SMALL = {"num_envs": 16, "rollout": 24, "hidden": 24}


def learner(backend: str, **given: Any) -> Learner:
    algo = given["algo"]
    settings = settings_of({**given, "backend": backend, "device": "cpu", "env": {"max_turns": 6}, algo: {**given.get(algo, {}), **SMALL}})
    stages = stages_of(settings)
    return make_learner(settings, stages, shape_for(settings, stages), 0)


@pytest.mark.parametrize("name", CASES)
def test_both_backends_learn_the_same_from_the_same_moves(name: str) -> None:
    fused, reference = (learner(backend, **CASES[name]) for backend in ("fused", "torch"))
    for _ in range(2):
        one, other = fused.iterate(), reference.iterate()
        assert one.keys() == other.keys()
        for key in one:
            assert one[key] == pytest.approx(other[key], rel=2e-3, abs=2e-4, nan_ok=True), key
    np.testing.assert_allclose(fused.parameters, reference.parameters, atol=2e-5)
    assert fused.state()["episodes"].tobytes() == reference.state()["episodes"].tobytes()


def test_the_limit_of_the_divergence_weighs_minibatches_by_their_samples() -> None:
    made = [learner(backend, **CASES["ppo, a small last minibatch"]).iterate() for backend in ("fused", "torch")]
    assert [metrics["epochs"] for metrics in made] == [
        3,
        3,
    ]  # the four samples of the last minibatch, weighed as the 190, would stop it at 2


@pytest.mark.parametrize("backend", ["fused", "torch"])
def test_options_that_random_hints_do_not_have_are_refused(backend: str) -> None:
    with pytest.raises(UnknownKey, match="setting of hint provider random 'model'"):
        learner(backend, algo="ppo", hints={"mode": "random", "options": {"model": "x"}})


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
def test_a_network_moves_from_one_backend_to_the_other(algo: str) -> None:
    fused, reference = (learner(backend, algo=algo) for backend in ("fused", "torch"))
    fused.iterate()
    learnt = {name: array for name, array in fused.state().items() if name in ("parameters", "first_moment", "second_moment", "updates")}
    reference.load_state({**reference.state(), **learnt})
    assert reference.parameters.tobytes() == fused.parameters.tobytes()
