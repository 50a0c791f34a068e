"""The designer's network: probabilities of whole mechanisms, entropies, draws, gradients, and the same choices with and without torch."""

from __future__ import annotations

import numpy as np
import torch

from edgeworth.agents.designers.policy import DesignerPlayer
from edgeworth.agents.designers.policy_layout import DesignerShape
from edgeworth.agents.policy_layout import first_parameters
from edgeworth.envs.daedalus_features import FEATURES
from edgeworth.games.auction.action import FIELDS, HIGHEST, check_rows
from edgeworth.games.auction.vocabulary import COALITION_POLICIES
from edgeworth.training.market_network import DesignerNetwork

torch.set_num_threads(1)

SHAPE = DesignerShape(hidden=16, layers=2, reserve_levels=5, penalty_levels=4, cosines=3)
COUNTS = (3, 5, 2, 2, 2, 2, 2, 4, 4, 4, 4)


def network(scale: float = 8.0) -> DesignerNetwork:
    """A network with opinions: first parameters, with the policy heads made much larger."""
    made = DesignerNetwork(SHAPE, first_parameters(SHAPE, 3))
    with torch.no_grad():
        made.heads.weight[:-1] *= scale / 0.01
    return made


def features(number: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).standard_normal((number, len(FEATURES)), np.float32))


def logits_by_field(made: DesignerNetwork, seen: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The logits of every level of every field, computed field by field: numbers are sums of cosines over their levels."""
    given, found = made.outputs(seen)[:, :-1], []
    for name, count in zip(FIELDS, COUNTS, strict=True):
        width = SHAPE.cosines if name in HIGHEST else count
        part, given = given[:, :width], given[:, width:]
        waves = [[np.cos(np.pi * wave * (level + 0.5) / count) for level in range(count)] for wave in range(1, SHAPE.cosines + 1)]
        found.append(part @ torch.tensor(waves).float() if name in HIGHEST else part)
    assert given.shape[1] == 0
    return tuple(found)


def test_every_field_has_its_levels() -> None:
    assert SHAPE.counts == COUNTS and SHAPE.logits == sum(COUNTS) - (5 + 3 * 4) + 4 * 3
    assert dict(zip(FIELDS, DesignerShape().counts, strict=True))["reserve_price"] == DesignerShape().reserve_levels


def test_the_probability_of_a_mechanism_is_the_product_over_its_fields() -> None:
    made, seen = network(), features(6)
    levels = torch.from_numpy(np.random.default_rng(1).integers(0, COUNTS, (6, len(FIELDS))))
    by_hand = sum(torch.distributions.Categorical(logits=part).log_prob(levels[:, k]) for k, part in enumerate(logits_by_field(made, seen)))
    torch.testing.assert_close(made.log_prob(made(seen), levels), by_hand)


def test_the_entropy_is_the_sum_over_the_fields_and_its_parts_are_words_with_flags_and_numbers() -> None:
    made, seen = network(), features(6)
    each = [torch.distributions.Categorical(logits=part).entropy() for part in logits_by_field(made, seen)]
    found = made.entropies(made(seen))
    torch.testing.assert_close(found.move, torch.stack(each).sum(0))
    numbers = torch.stack([part for name, part in zip(FIELDS, each, strict=True) if name in HIGHEST]).sum(0)
    torch.testing.assert_close(found.parts[1], numbers)


def test_draws_have_the_frequencies_of_the_network() -> None:
    made, number = network(2.0), 40_000
    outlook = made(features(1).expand(number, -1))
    uniforms = torch.from_numpy(np.random.default_rng(2).random((number, len(FIELDS)), np.float32))
    (levels,) = made.sample(outlook, uniforms)
    for k, part in enumerate(logits_by_field(made, features(1))):
        frequencies = torch.bincount(levels[:, k], minlength=COUNTS[k]) / number
        torch.testing.assert_close(frequencies, part[0].softmax(0), atol=0.012, rtol=0.0)


def test_every_drawn_mechanism_is_legal_at_the_ends_of_the_range_too() -> None:
    made = network()
    for uniform in (0.0, 0.5, 1.0):
        (levels,) = made.sample(made(features(50)), torch.full((50, len(FIELDS)), uniform))
        check_rows(SHAPE.mechanisms(levels.numpy()))
    ends = SHAPE.mechanisms(np.array([[0] * len(FIELDS), [count - 1 for count in COUNTS]]))
    check_rows(ends)
    assert all(ends[name].tolist() == [0.0, highest] for name, highest in HIGHEST.items())


def test_a_step_up_the_gradient_of_the_log_probability_makes_a_mechanism_likelier() -> None:
    made, seen = network(0.01), features(4)
    levels = torch.from_numpy(np.random.default_rng(1).integers(0, COUNTS, (4, len(FIELDS))))
    before = made.log_prob(made(seen), levels)
    before.sum().backward()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.grad is not None:
                parameter += 0.01 * parameter.grad
    assert (made.log_prob(made(seen), levels) > before).all()


def test_the_player_without_torch_chooses_the_likeliest_levels_of_the_network() -> None:
    made, seen = network(), features(200)
    with torch.no_grad():
        likeliest = torch.stack([part.argmax(1) for part in logits_by_field(made, seen)], 1).numpy()
    assert np.array_equal(DesignerPlayer(made.vector(), SHAPE).choose(seen.numpy()), likeliest)


def test_a_market_is_given_the_same_mechanism_alone_and_among_others() -> None:
    player, seen = DesignerPlayer(network().vector(), SHAPE), features(100).numpy()
    alone = np.concatenate([player.choose(seen[k : k + 1]) for k in range(100)])
    assert np.array_equal(player.choose(seen), alone)


def test_a_network_without_allow_chooses_among_the_other_coalition_policies_and_posts_them() -> None:
    shape, place = DesignerShape(without_allow=True), FIELDS.index("coalition_policy")
    assert shape.counts[place] == 3 and shape.counts[:place] == DesignerShape().counts[:place]
    levels = np.zeros((3, len(FIELDS)), np.int64)
    levels[:, place] = [0, 1, 2]
    assert [COALITION_POLICIES[row] for row in shape.mechanisms(levels)["coalition_policy"]] == list(COALITION_POLICIES[1:])
    assert (shape.mechanisms(levels)["auction_type"] == 0).all()
