"""The network in torch: masks, probabilities of whole moves, entropies, draws, and the flat vector."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from edgeworth.agents.policy import Outlook, Policy, draw
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.games.bargaining.legality import STATES_SHARE
from edgeworth.games.bargaining.vocabulary import AGREE, DISAGREE

torch.set_num_threads(1)

SHAPE = PolicyShape(features=18, units=3, hidden=12, layers=2)
MASKS = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 1, 1], [0, 0, 1, 0, 0]], dtype=torch.int8)
CAPS = torch.tensor([[3, 0, 2], [1, 1, 1], [0, 3, 0]], dtype=torch.int32)


def policy(scale: float = 8.0) -> Policy:
    """A network with opinions: first parameters, with the policy heads made much larger."""
    made = Policy(SHAPE, first_parameters(SHAPE, 3))
    with torch.no_grad():
        made.heads.weight[:-1] *= scale / 0.01
    return made


def situations(number: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    features = torch.from_numpy(np.random.default_rng(0).random((number, 18), np.float32))
    return features, MASKS[:number], CAPS[:number]


def every_move(mask: torch.Tensor, caps: torch.Tensor) -> list[tuple[int, tuple[int, ...]]]:
    """All moves that are legal and different: a share only where it is stated."""
    shares = list(product(*(range(int(cap) + 1) for cap in caps)))
    return [(act, share) for act in range(5) if mask[act] for share in (shares if STATES_SHARE[act] else [(0, 0, 0)])]


def probabilities(made: Policy, row: int) -> dict[tuple[int, tuple[int, ...]], float]:
    outlook = made(*situations())
    one = Outlook(*(part[row : row + 1] for part in outlook))
    return {
        (act, share): made.log_prob(one, torch.tensor([act]), torch.tensor([share])).exp().item()
        for act, share in every_move(MASKS[row], CAPS[row])
    }


def test_its_parameters_are_those_of_the_layout_in_their_order() -> None:
    made = policy()
    assert {name: tuple(array.shape) for name, array in made.state_dict().items()} == SHAPE.tensors()
    vector = made.vector()
    assert vector.tobytes() == np.concatenate([array.numpy().ravel() for array in made.state_dict().values()]).tobytes()
    assert Policy(SHAPE, vector).vector().tobytes() == vector.tobytes()


@pytest.mark.parametrize("row", range(3))
def test_the_probabilities_of_all_legal_moves_add_up_to_one(row: int) -> None:
    assert sum(probabilities(policy(), row).values()) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("row", range(3))
def test_the_entropy_of_a_move_is_that_of_the_distribution_over_moves(row: int) -> None:
    made = policy()
    chances = np.array(list(probabilities(made, row).values()))
    with torch.no_grad():
        entropy = made.entropies(made(*situations())).move[row]
    assert float(entropy) == pytest.approx(-(chances * np.log(chances)).sum(), abs=1e-4)


def test_what_is_illegal_has_probability_zero_to_the_last_bit() -> None:
    with torch.no_grad():
        outlook = policy()(*situations())
    assert float(outlook.acts[1, AGREE].exp()) == 0.0
    assert float(outlook.shares[0, 1, 1:].exp().sum()) == 0.0


def test_a_forced_move_has_log_probability_zero() -> None:
    made = policy()
    with torch.no_grad():
        log_prob = made.log_prob(made(*situations()), torch.tensor([0, 0, AGREE]), torch.zeros((3, 3), dtype=torch.int64))
    assert float(log_prob[2]) == 0.0


def test_a_share_that_is_not_stated_changes_no_probability_and_gets_no_gradient() -> None:
    made = policy()
    acts = torch.tensor([DISAGREE, DISAGREE, AGREE])
    outlook = made(*situations())
    one, other = (made.log_prob(outlook, acts, torch.tensor(shares)) for shares in ([[0, 0, 0]] * 3, [[1, 0, 0]] * 3))
    assert one.tolist() == other.tolist()
    one.sum().backward()
    assert made.heads.weight.grad is not None and not made.heads.weight.grad[5:-1].any()


def test_a_masked_head_gets_no_gradient_and_none_is_a_nan() -> None:
    made = policy()
    outlook = made(*situations())
    (made.entropies(outlook).move.sum() + made.log_prob(outlook, torch.tensor([0, 1, 2]), torch.zeros(3, 3).long()).sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in made.parameters() if p.grad is not None)
    made.zero_grad()
    features, legal, caps = situations()
    outlook = made(features, legal[[1, 1, 1]], caps)  # AGREE is masked throughout
    (made.entropies(outlook).move.sum() + made.log_prob(outlook, torch.tensor([0, 1, 3]), torch.zeros(3, 3).long()).sum()).backward()
    weight, bias = made.heads.weight.grad, made.heads.bias.grad
    assert weight is not None and bias is not None and not weight[AGREE].any() and not bias[AGREE]
    assert all(weight[act].any() for act in range(5) if act != AGREE)


def test_moves_are_drawn_with_their_probabilities_and_never_an_illegal_one() -> None:
    made, draws = policy(scale=2.0), 200_000
    uniforms = torch.from_numpy(np.random.default_rng(1).random((draws, 4), np.float32))
    with torch.no_grad():
        outlook = made(*situations())
        for row in range(3):
            many = Outlook(*(part[row : row + 1].expand(draws, *part.shape[1:]) for part in outlook))
            acts, shares = made.sample(many, uniforms)
            assert MASKS[row][acts].all() and (shares <= CAPS[row]).all() and (shares >= 0).all()
            found = torch.bincount(acts, minlength=5) / draws
            np.testing.assert_allclose(found, outlook.acts[row].exp(), atol=0.006)


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-24])
def test_the_ends_of_the_unit_interval_choose_something_legal(uniform: float) -> None:
    made = policy()
    with torch.no_grad():
        outlook = made(*situations())
        acts, shares = made.sample(outlook, torch.full((3, 4), uniform))
    assert MASKS.gather(1, acts[:, None]).all() and (shares <= CAPS).all()


def test_a_new_network_is_nearly_undecided() -> None:
    made = Policy(SHAPE, first_parameters(SHAPE, 0))
    with torch.no_grad():
        outlook = made(*situations())
    np.testing.assert_allclose(outlook.acts[0].exp(), 0.2, atol=0.01)


def test_a_number_that_was_rounded_to_one_draws_the_last_possible_choice() -> None:
    log_probs = torch.tensor([[0.3, 0.7, 0.0], [0.1, 0.2, 0.7]]).log()
    assert draw(log_probs, torch.tensor(1.0 - 2.0**-30, dtype=torch.float64).float().expand(2)).tolist() == [1, 2]
