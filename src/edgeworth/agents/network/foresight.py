"""Foresight: which offers will be accepted, what comes if an offer is not made, and the move that promises most.

After the value stand four numbers about waiting and the logits of all shares' being accepted, if the agent insists on them now. An offer
that would leave the agent w points and is accepted with probability p promises p (w - v) more than waiting does. Here v is what waiting
would bring where this offer is accepted: partners that accept much now would give much later too. It is a linear function of the units
asked for, with a height and a slope for each item type, in tens of points.

Likeliest play compares the best promise with the partner's offer. Where it promises hardly more than waiting, the agent asks for all:
the best of so many promises is mostly an overestimate. Points are compared as they are, so this is for games in which neither time nor
INSIST costs anything.
"""

from __future__ import annotations

import numpy as np

from edgeworth.agents.network.elementary import NOTHING, ONE, exp
from edgeworth.agents.network.heads import NEVER
from edgeworth.agents.network.layers import Scratch, Sizes
from edgeworth.agents.network.reading import COUNTS, OFFER, POINTS
from edgeworth.agents.policy_layout import POINT_KNOTS, WAITING
from edgeworth.arithmetic import larger
from edgeworth.compiled import Int, Real, compiled_within
from edgeworth.games.bargaining.vocabulary import AGREE, INSIST

WAITING_UNIT = np.float32(10.0)
"""Points that the network counts as 1 when it says what waiting brings."""
POINT_RANGE = np.float32(POINT_KNOTS - 1)
MARGIN = np.float32(1.0)
"""How many points more than waiting an offer must promise."""
HALF = np.float32(0.5)
"""Makes a whole number of what lies a rounding error below it."""


@compiled_within
def foresee(scratch: Scratch, sizes: Sizes, size: Int) -> None:
    """Write the chances of all shares' being accepted among the weights, in the rows of their logits."""
    for row in range(sizes.value + 1 + WAITING, sizes.heads):
        logits = scratch.heads[row * size : (row + 1) * size]
        chances = scratch.weights[row * size : (row + 1) * size]
        for j in range(size):
            e = np.uint64(j)
            chances[e] = ONE / (ONE + exp(-logits[e]))


@compiled_within
def waiting_of(scratch: Scratch, sizes: Sizes, size: Int, situation: Int, k: Int) -> Real:
    """A number about waiting: the height, or the slope of an item type."""
    return scratch.heads[np.uint64((sizes.value + 1 + k) * size + situation)]


@compiled_within
def in_units(scratch: Scratch, sizes: Sizes, size: Int, situation: Int, column: Int) -> Int:
    """A number of units among the inputs."""
    return np.int64(np.float32(sizes.units) * scratch.columns[np.uint64(column * size + situation)] + HALF)


@compiled_within
def in_points(scratch: Scratch, size: Int, situation: Int, item: Int) -> Real:
    """What a unit is worth to the agent."""
    return POINT_RANGE * scratch.columns[np.uint64((POINTS + item) * size + situation)]


@compiled_within
def promising_move(
    scratch: Scratch, sizes: Sizes, size: Int, situation: Int, act: Int, a: Int, b: Int, c: Int
) -> tuple[Int, Int, Int, Int]:
    """AGREE or the INSIST that promises most, once the chances are written; the given move where neither is legal."""
    acts, width = scratch.legal[0, np.uint64(situation)], sizes.units + 1
    first, second, third = (
        in_points(scratch, size, situation, 0),
        in_points(scratch, size, situation, 1),
        in_points(scratch, size, situation, 2),
    )
    most = NEVER
    if (acts >> INSIST) & 1:
        height = waiting_of(scratch, sizes, size, situation, 0)
        slopes = (
            waiting_of(scratch, sizes, size, situation, 1),
            waiting_of(scratch, sizes, size, situation, 2),
            waiting_of(scratch, sizes, size, situation, 3),
        )
        row = sizes.value + 1 + WAITING
        act = INSIST
        for x in range(in_units(scratch, sizes, size, situation, COUNTS) + 1):
            for y in range(in_units(scratch, sizes, size, situation, COUNTS + 1) + 1):
                for z in range(in_units(scratch, sizes, size, situation, COUNTS + 2) + 1):
                    chance = scratch.weights[np.uint64((row + (x * width + y) * width + z) * size + situation)]
                    worth = first * np.float32(x) + second * np.float32(y) + third * np.float32(z)
                    slope = slopes[0] * np.float32(x) + slopes[1] * np.float32(y) + slopes[2] * np.float32(z)
                    promise = WAITING_UNIT * height + chance * (worth - WAITING_UNIT * (height + slope))
                    if promise >= most:
                        most, a, b, c = promise, x, y, z
        if most < WAITING_UNIT * height + MARGIN:
            a, b, c = (
                in_units(scratch, sizes, size, situation, COUNTS),
                in_units(scratch, sizes, size, situation, COUNTS + 1),
                in_units(scratch, sizes, size, situation, COUNTS + 2),
            )
    if (acts >> AGREE) & 1:
        offered = (
            first * np.float32(in_units(scratch, sizes, size, situation, OFFER))
            + second * np.float32(in_units(scratch, sizes, size, situation, OFFER + 1))
            + third * np.float32(in_units(scratch, sizes, size, situation, OFFER + 2))
        )
        if offered >= larger(most, NOTHING):
            act, a, b, c = AGREE, 0, 0, 0
    return act, a, b, c
