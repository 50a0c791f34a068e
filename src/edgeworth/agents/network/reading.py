"""How a network reads a situation: item types in the order of their worth to it, and numbers spread over knots.

Calling hats balls changes nothing in the game. A network that reads the types as they come has to learn everything six times, once for
every order; one that reads the most wanted type first learns it once, and what it asks for is put back to the types that it meant.

A number such as 7 points of 10 is one input of a network that can bend it only smoothly. Spread over knots it is eleven: 1 at its own
knot, 0 at all others, and two parts that add up to 1 for a number between knots. Units, the agent's points and the time left are spread;
if the negotiation is remembered, also the units of every offer, with zeros at all knots where no offer was made.

| reading | inputs |
|---|---|
| plain | the features as they are |
| ordered | the same, with the item types from the most to the least wanted |
| fine | ordered, and with units, points and time spread over knots as well |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.elementary import NOTHING, ONE
from edgeworth.agents.network.layers import Sizes, aligned_zeros
from edgeworth.agents.policy_layout import POINT_KNOTS, READINGS, TIME_KNOTS, PolicyShape
from edgeworth.arithmetic import larger
from edgeworth.compiled import Array, Int, Real, compiled_bare, compiled_within
from edgeworth.games.bargaining.hint_features import SHARE_COLUMN
from edgeworth.games.bargaining.history_features import MADE_COLUMN, PLACE_WIDTH
from edgeworth.games.bargaining.state import BASE_FEATURES

PLAIN, ORDERED, FINE = (READINGS.index(name) for name in ("plain", "ordered", "fine"))
COUNTS, POINTS, PARTNER_POINTS, OFFER, TIME = 0, 3, 6, 14, 17
"""Where the base features hold the pool, both sides' points, what the partner offers, and the time left."""
POINTS_FIRST = np.float32(64.0)
"""Makes points decide the order before counts, which differ by less than 1."""
NO_KNOT = 2
"""The first knot for an offer that was not made: so far from 0 that all its knots are zero."""


@compiled_within
def write_order(row: Array, order: Array) -> None:
    """The item types from the most to the least wanted: by points, then by how many there are, then as they stand."""
    for k in range(3):
        rank: Int = 0
        own = POINTS_FIRST * row[np.uint64(POINTS + k)] + row[np.uint64(COUNTS + k)]
        for other in range(3):
            its = POINTS_FIRST * row[np.uint64(POINTS + other)] + row[np.uint64(COUNTS + other)]
            rank += np.int64((its > own) | ((its == own) & (other < k)))
        order[np.uint64(rank)] = k


@compiled_within
def arrange(row: Array, order: Array, begin: Int) -> None:
    """Put three numbers, one per item type, into an order."""
    first, second, third = (
        row[np.uint64(begin + order[0])],
        row[np.uint64(begin + order[1])],
        row[np.uint64(begin + order[2])],
    )
    row[np.uint64(begin)], row[np.uint64(begin + 1)], row[np.uint64(begin + 2)] = first, second, third


@compiled_within
def spread(row: Array, number: Real, first: Int, knots: Int, begin: Int) -> None:
    """Write how near a number is to each of the knots `first`, `first` + 1, …: 1 at a knot, falling to 0 at the next."""
    for knot in range(knots):
        row[np.uint64(begin + knot)] = larger(NOTHING, ONE - abs(number - np.float32(first + knot)))


@compiled_within
def spread_offer(row: Array, place: Int, units: Int, begin: Int) -> None:
    """Spread the units of a remembered offer over knots; zeros where there is none."""
    first = 0 if row[np.uint64(place + MADE_COLUMN)] > NOTHING else NO_KNOT
    for k in range(3):
        spread(row, row[np.uint64(place + k)] * np.float32(units), first, units + 1, begin + k * (units + 1))


@compiled_bare
def read_row(row: Array, order: Array, sizes: Sizes) -> None:
    """Turn the features at the beginning of a row into the inputs of the network, in place, and note the order of the types."""
    if sizes.reading == PLAIN:
        order[0], order[1], order[2] = 0, 1, 2
        return
    write_order(row, order)
    arrange(row, order, COUNTS)
    arrange(row, order, POINTS)
    arrange(row, order, PARTNER_POINTS)
    arrange(row, order, OFFER)
    for place in range(BASE_FEATURES, sizes.unhinted, PLACE_WIDTH):
        arrange(row, order, place)
    if sizes.seen > sizes.unhinted:
        arrange(row, order, sizes.unhinted + SHARE_COLUMN)
    if sizes.reading == FINE:
        begin = sizes.seen
        for k in range(3):
            spread(row, row[np.uint64(COUNTS + k)] * np.float32(sizes.units), 0, sizes.units + 1, begin)
            begin += sizes.units + 1
        for k in range(3):
            spread(row, row[np.uint64(POINTS + k)] * np.float32(POINT_KNOTS - 1), 0, POINT_KNOTS, begin)
            begin += POINT_KNOTS
        spread(row, row[TIME] * np.float32(TIME_KNOTS), 1, TIME_KNOTS, begin)
        begin += TIME_KNOTS
        for place in range(BASE_FEATURES, sizes.unhinted, PLACE_WIDTH):
            spread_offer(row, place, sizes.units, begin)
            begin += 3 * (sizes.units + 1)


@compiled_bare
def read_rows(rows: Array, pools: Array, sizes: Sizes, orders: Array, caps: Array) -> None:
    """Read many situations, and put their pools into the order of the network."""
    for i in range(rows.shape[0]):
        e = np.uint64(i)
        read_row(rows[e], orders[e], sizes)
        for k in range(3):
            caps[e, k] = pools[e, np.uint64(orders[e, k])]


@dataclass(frozen=True)
class Reading:
    """What a network reads of a batch of situations."""

    inputs: NDArray[np.float32]
    """(N, inputs)."""
    caps: NDArray[np.int32]
    """The pools in the order of the network, (N, 3)."""
    orders: NDArray[np.int32]
    """Which item type stands first, second and third, (N, 3)."""

    def by_type(self, values: NDArray[Any]) -> NDArray[Any]:
        """What the network says of the first, second and third type, (N, 3, …), put back to the types of the game."""
        found = np.empty_like(values)
        places = self.orders.astype(np.int64).reshape(len(values), 3, *[1] * (values.ndim - 2))
        np.put_along_axis(found, np.broadcast_to(places, values.shape), values, axis=1)
        return found


def read(shape: PolicyShape, features: NDArray[np.float32], pools: NDArray[np.int32]) -> Reading:
    """Read situations with these features (N, features) and pools (N, 3) as a network of this shape does."""
    size = len(features)
    reading = Reading(aligned_zeros((size, shape.inputs)), np.empty((size, 3), np.int32), np.empty((size, 3), np.int32))
    reading.inputs[:, : shape.features] = features
    read_rows(reading.inputs, np.ascontiguousarray(pools, np.int32), Sizes.of(shape), reading.orders, reading.caps)
    return reading
