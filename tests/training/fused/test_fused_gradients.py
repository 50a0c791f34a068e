"""Hand-written gradients against automatic differentiation in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from double_precision import earlier_log_probs, fused_gradient, make_parameters, make_situations, reference_gradient
from edgeworth.agents.network.layers import TILE
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.training.fused.loss import CLIPPED, Terms

SHAPE = PolicyShape()
NEAR = 1e-6


def terms(ratio: bool = True, clip: float = 0.2, value: float = 0.5, entropy: float = 0.0, clip_value: float = np.inf) -> Terms:
    return Terms(ratio, *(np.float32(x) for x in (clip, value, entropy, clip_value)))


def distance(shape: PolicyShape, wanted: Terms, size: int = 64, normalize: bool = True, seed: int = 0) -> dict[str, float]:
    """Relative distances of the gradients of every tensor, the rows of the head matrix by what they are for, and the whole."""
    situations, parameters = make_situations(shape, size, seed), make_parameters(shape, seed)
    earlier_log_probs(parameters, situations, 0.3, seed)
    exact = reference_gradient(parameters, situations, wanted, normalize)
    work, _ = fused_gradient(parameters, situations, wanted, normalize)
    found, parts = work.moments.gradient.astype(np.float64), {}
    exact_parts, found_parts = shape.split(exact), shape.split(found)  # type: ignore[arg-type]
    for name in shape.tensors():
        parts[name] = (exact_parts[name], found_parts[name])
    for head, rows in {"act": slice(0, 5), "units": slice(5, shape.logits), "value": slice(shape.logits, None)}.items():
        parts[head] = (exact_parts["heads.weight"][rows], found_parts["heads.weight"][rows])
    parts["whole"] = (exact, found)
    return {name: float(np.linalg.norm(f - e) / max(np.linalg.norm(e), 1e-12)) for name, (e, f) in parts.items()}


@pytest.mark.parametrize(
    "wanted",
    [
        terms(),
        terms(entropy=0.01),
        terms(entropy=1.0),
        terms(clip=0.05),
        terms(clip_value=0.1),
        terms(value=2.0, clip_value=0.5, entropy=0.1),
        terms(ratio=False),
        terms(ratio=False, entropy=0.01),
        terms(ratio=False, value=0.0, entropy=0.5),
    ],
    ids=lambda t: f"{'ppo' if t.ratio else 'reinforce'} clip {t.clip:.2f} value {t.value:.1f}/{t.clip_value:.1f} entropy {t.entropy:.2f}",
)
def test_gradients_of_every_head_agree_with_automatic_differentiation(wanted: Terms) -> None:
    found = distance(SHAPE, wanted)
    if wanted.value == 0.0:
        del found["value"]
    assert max(found.values()) < NEAR, found


@pytest.mark.parametrize(
    "shape",
    [
        PolicyShape(features=28),
        PolicyShape(units=10),
        PolicyShape(hidden=48, layers=1),
        PolicyShape(features=29, hidden=20, layers=4, units=1),
        PolicyShape(features=28, hidden=24, shortcut=True),
        PolicyShape(hidden=40, layers=3, activation="relu"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 64, TILE + 1, 3 * TILE])
def test_gradients_are_right_for_any_network_and_minibatch(shape: PolicyShape, size: int) -> None:
    found = distance(shape, terms(entropy=0.01), size, normalize=size > 1, seed=size)
    assert found["whole"] < NEAR, found


def test_ratios_are_clipped_on_both_sides_in_these_samples() -> None:
    situations, parameters = make_situations(SHAPE, 64, 0), make_parameters(SHAPE, 0)
    earlier_log_probs(parameters, situations, 0.3, 0)
    work, sums = fused_gradient(parameters, situations, terms(), normalize=True)
    ratios, advantages, coefficients = work.samples.ratios[:64], work.samples.advantages[:64], work.samples.coefficients[:64]
    for stopped in ((ratios > 1.2) & (advantages > 0), (ratios < 0.8) & (advantages < 0)):
        assert stopped.sum() > 3 and not coefficients[stopped].any()
    for pulled in ((ratios > 1.2) & (advantages < 0), (ratios < 0.8) & (advantages > 0)):
        assert pulled.sum() > 3 and coefficients[pulled].all()
    assert sums[CLIPPED] == (np.abs(ratios - 1.0) > 0.2).sum()


def test_the_gradient_of_what_is_masked_is_zero() -> None:
    situations, parameters = make_situations(SHAPE, 64, 3), make_parameters(SHAPE, 3)
    work, _ = fused_gradient(parameters, situations, terms(entropy=0.1), normalize=True)
    gradients = work.net.scratch.heads[: SHAPE.heads * 64].reshape(SHAPE.heads, 64)
    assert not gradients[:5][~situations.masks.T].any()
    for k in range(3):
        rows = gradients[5 + 5 * k : 10 + 5 * k]
        assert not rows[np.arange(5)[:, None] > situations.caps[:, k]].any()


def test_an_act_that_states_no_share_teaches_the_share_heads_nothing() -> None:
    situations, parameters = make_situations(SHAPE, 64, 4), make_parameters(SHAPE, 4)
    work, _ = fused_gradient(parameters, situations, terms(), normalize=True)
    silent = np.isin(situations.buffer.moves[:64, 0], (2, 3))
    gradients = work.net.scratch.heads[: SHAPE.heads * 64].reshape(SHAPE.heads, 64)
    assert silent.any() and not gradients[5:-1, silent].any() and gradients[5:-1, ~silent].any()
