"""How a network reads a situation: the order of the item types, knots, and that what it says is put back to the right types."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.network.reading import read
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.errors import UnknownName
from edgeworth.training.practice import Practice
from edgeworth.training.settings import HintSettings

TRIPLES = (0, 3, 6, 14, 23)
"""Where features with a hint hold one number per item type."""


def situations(size: int = 200, width: int = 28) -> tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.int32]]:
    """Features, legal acts and pools, as if out of talks with hints."""
    rng = np.random.default_rng(0)
    pools = rng.integers(1, 5, (size, 3), dtype=np.int32)
    features = rng.random((size, width), np.float32)
    features[:, :3] = pools / np.float32(4)
    features[:, 3:6] = rng.integers(0, 11, (size, 3)) / np.float32(10)
    features[:, 17] = rng.integers(1, 11, size) / np.float32(10)
    return features, np.ones((size, 5), np.int8), pools


def relabelled(features: NDArray[np.float32], order: tuple[int, ...]) -> NDArray[np.float32]:
    changed = features.copy()
    for begin in TRIPLES:
        changed[:, begin : begin + 3] = features[:, [begin + k for k in order]]
    return changed


@pytest.mark.parametrize("reading", ["ordered", "fine"])
def test_the_most_wanted_type_comes_first_and_all_that_belongs_to_it(reading: str) -> None:
    shape = PolicyShape(28, reading=reading)  # type: ignore[arg-type]
    features, _, pools = situations()
    found = read(shape, features, pools)
    points = found.inputs[:, 3:6]
    assert (np.diff(points, axis=1) <= 0).all()
    tied = np.diff(points, axis=1) == 0
    assert tied.any() and (np.diff(found.inputs[:, :3], axis=1)[tied] <= 0).all()
    for begin in TRIPLES:
        np.testing.assert_array_equal(
            found.inputs[:, begin : begin + 3], np.take_along_axis(features[:, begin : begin + 3], found.orders, 1)
        )
    np.testing.assert_array_equal(found.caps, np.take_along_axis(pools, found.orders, 1))
    alike = [column for column in range(28) if not any(begin <= column < begin + 3 for begin in TRIPLES)]
    np.testing.assert_array_equal(found.inputs[:, alike], features[:, alike])


def test_a_plain_reading_changes_nothing() -> None:
    features, _, pools = situations()
    found = read(PolicyShape(28), features, pools)
    np.testing.assert_array_equal(found.inputs, features)
    assert (found.orders == [0, 1, 2]).all()


def test_knots_say_the_same_number_and_share_1_between_neighbours() -> None:
    shape = PolicyShape(reading="fine")
    features, _, pools = situations(width=18)
    features[0, 3] = 0.37
    inputs = read(shape, features, pools).inputs
    assert inputs.shape[1] == shape.inputs == 18 + 3 * 5 + 3 * 11 + 10
    for source, knots, begin in [(0, np.arange(5) / 4, 18), (3, np.arange(11) / 10, 33)]:
        for k in range(3):
            spread = inputs[:, begin + k * len(knots) : begin + (k + 1) * len(knots)]
            np.testing.assert_allclose(spread.sum(1), 1.0, atol=1e-5)
            np.testing.assert_allclose(spread @ knots, inputs[:, source + k], atol=1e-6)
            assert ((spread > 1e-5).sum(1) <= 2).all()
    np.testing.assert_allclose(inputs[:, -10:] @ (np.arange(1, 11) / 10), inputs[:, 17], atol=1e-6)


@pytest.mark.parametrize("reading", ["ordered", "fine"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_agent_plays_the_same_whatever_the_types_are_called(reading: str, order: tuple[int, ...]) -> None:
    shape = PolicyShape(28, hidden=32, reading=reading)  # type: ignore[arg-type]
    parameters = first_parameters(shape, 3)
    shape.split(parameters)["heads.weight"][:] *= 100.0
    player = NetworkPlayer(parameters, shape)
    features, legal, pools = situations()
    keys = features[:, 3:6] * 64 + features[:, :3]
    distinct = (keys[:, [0, 0, 1]] != keys[:, [1, 2, 2]]).all(1)
    features, legal, pools = features[distinct], legal[distinct], pools[distinct]
    acts, shares = player.choose_from(features, legal, pools)
    other_acts, other_shares = player.choose_from(relabelled(features, order), legal, pools[:, order])
    np.testing.assert_array_equal(other_acts, acts)
    np.testing.assert_array_equal(other_shares, shares[:, order])
    assert (shares <= pools).all() and len(np.unique(shares, axis=0)) > 3
    outlook, other = player.outlook(features, legal, pools), player.outlook(relabelled(features, order), legal, pools[:, order])
    np.testing.assert_array_equal(other.shares, outlook.shares[:, order])


def test_a_plain_network_does_not() -> None:
    shape = PolicyShape(28)
    player = NetworkPlayer(first_parameters(shape, 3), shape)
    features, legal, pools = situations()
    _, shares = player.choose_from(features, legal, pools)
    _, other = player.choose_from(relabelled(features, (2, 0, 1)), legal, pools[:, (2, 0, 1)])
    assert (other != shares[:, (2, 0, 1)]).any()


def test_a_share_in_the_order_of_the_network_reaches_the_types_it_means() -> None:
    practice = Practice(BargainingConfig(), HintSettings(), 64, 0, PolicyShape(reading="ordered"))
    pools, points = practice.batch.state["counts"].copy(), practice.batch.state["utilities"][:, 0].copy()
    asked = np.zeros((64, 3), np.int64)
    asked[:, 0] = practice.caps[:, 0]
    best = np.argmax(points * 64 + pools, axis=1)
    practice.step(np.zeros(64, np.int64), asked)
    going = practice.batch.state["turn"] > 1
    first = practice.batch.state["offer"][going, 0]
    wanted = np.zeros((64, 3), np.int64)
    wanted[np.arange(64), best] = pools[np.arange(64), best]
    assert going.sum() > 10
    np.testing.assert_array_equal(first, wanted[going])


def test_an_unknown_reading_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match="ordered"):
        PolicyShape(reading="orderd")  # type: ignore[arg-type]
