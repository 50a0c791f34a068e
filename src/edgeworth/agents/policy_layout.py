"""Where every number of a network stands: one flat vector of parameters, shared by all that train or play it.

A network is a trunk of equal layers and one matrix of heads over it; with a shortcut, the heads read the inputs too.
A negotiating network has logits of the five acts, logits of 0 to `units` units for each of the three item types, and the value. With
foresight come four numbers about waiting, and a logit of every share's being accepted. The torch module, the compiled trainer and a
checkpoint all read the same vector, so a network moves between them without translation.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.history_features import HISTORY_FEATURES, PLACES
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import ITEM_TYPES, UTILITY_LIMIT, Act
from edgeworth.seeding import generator
from edgeworth.validation import settings

Reading = Literal["plain", "ordered", "fine"]
Memory = Literal["none", "history"]
Activation = Literal["tanh", "relu"]

ACTS = len(Act)
READINGS = ("plain", "ordered", "fine")
"""How a network reads a situation; see `agents/network/reading.py`."""
POINT_KNOTS, TIME_KNOTS = UTILITY_LIMIT + 1, 10
"""Over how many knots a fine reading spreads the points of a type, and the time left."""
WAITING = 1 + ITEM_TYPES
"""How many numbers about waiting a network with foresight gives: a height, and a slope for every item type."""
TRUNK_GAIN, POLICY_GAIN, VALUE_GAIN = 2.0**0.5, 0.01, 1.0
"""Scales of the orthogonal first weights (Engstrom et al. 2020, Andrychowicz et al. 2021)."""


class TrunkShape:
    """A trunk of equal layers and one matrix of heads over it; a game says how wide they are, and whether there is a shortcut.

    Two networks of the same shape have the same vector.
    """

    hidden: int
    layers: int
    shortcut: bool = False
    activation: Activation = "tanh"

    @property
    def inputs(self) -> int:
        """Inputs of the network."""
        raise NotImplementedError

    @property
    def logits(self) -> int:
        """Logits of all heads."""
        raise NotImplementedError

    @property
    def heads(self) -> int:
        """Rows of the head matrix: the logits, then the value."""
        return self.logits + 1

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the parameters, in the order of the vector; a weight has one row per output."""
        named: dict[str, tuple[int, ...]] = {}
        inputs = self.inputs
        for layer in range(self.layers):
            named[f"trunk.{layer}.weight"], named[f"trunk.{layer}.bias"] = (self.hidden, inputs), (self.hidden,)
            inputs = self.hidden
        named["heads.weight"], named["heads.bias"] = (self.heads, inputs), (self.heads,)
        if self.shortcut:
            named["shortcut.weight"] = (self.heads, self.inputs)
        return named

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return sum(prod(shape) for shape in self.tensors().values())

    def split(self, vector: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """The parameters by name, as views into the vector."""
        if vector.shape != (self.size,):
            raise InvalidOption(f"The vector has shape {vector.shape}; a network of {self} has {self.size} parameters.")
        views, begin = {}, 0
        for name, shape in self.tensors().items():
            views[name] = vector[begin : begin + prod(shape)].reshape(shape)
            begin += prod(shape)
        return views


@settings
class PolicyShape(TrunkShape):
    """The sizes of a negotiating network."""

    features: Annotated[int, Field(ge=1)] = BASE_FEATURES
    """What is seen: the base features, those of the negotiation so far if it is remembered, and those of a hint where there is one."""
    units: Annotated[int, Field(ge=1)] = 4
    """Most units of an item type in the pool."""
    hidden: Annotated[int, Field(ge=1)] = 64
    """Units of a trunk layer."""
    layers: Annotated[int, Field(ge=1)] = 2
    """Trunk layers."""
    reading: Reading = "plain"
    """In which order, and how finely, the features are read."""
    memory: Memory = "none"
    """`history`: the features hold every offer so far, not the partner's last one alone."""
    shortcut: bool = False
    """Whether the heads also read the inputs, past the trunk."""
    activation: Activation = "tanh"
    """What a trunk layer makes of its sums: tanh, or zero in place of what is negative."""
    foresight: bool = False
    """Whether it also says which offers will be accepted, and plays what this makes it expect most of (`agents/network/foresight.py`)."""

    @property
    def heads(self) -> int:
        """Rows of the head matrix: the logits, the value, and with foresight the numbers about waiting and all shares in turn."""
        shares = int((self.units + 1) ** ITEM_TYPES)
        return super().heads + self.foresight * (WAITING + shares)

    @property
    def remembers(self) -> bool:
        """Whether the negotiation so far is among the features."""
        return self.memory == "history"

    @property
    def unhinted(self) -> int:
        """How many features there are before those of a hint."""
        return BASE_FEATURES + self.remembers * HISTORY_FEATURES

    @property
    def inputs(self) -> int:
        """Inputs of the network: the features, and the knots of a fine reading."""
        return self.features + (self.reading == "fine") * self.knots

    @property
    def knots(self) -> int:
        """Over how many knots a fine reading spreads units, points, time and, if they are remembered, the units of offers."""
        return ITEM_TYPES * (self.units + 1 + POINT_KNOTS) + TIME_KNOTS + self.remembers * PLACES * ITEM_TYPES * (self.units + 1)

    @property
    def logits(self) -> int:
        """Acts, then the units of each item type in turn."""
        return ACTS + ITEM_TYPES * (self.units + 1)


def first_parameters(shape: TrunkShape, seed: int) -> NDArray[np.float32]:
    """Orthogonal weights, zero biases, shortcut and foresight; heads of the policy nearly zero: play begins nearly uniform."""
    vector = np.zeros(shape.size, np.float32)
    views = shape.split(vector)
    for number, (name, view) in enumerate(views.items()):
        if not name.endswith("weight") or name == "shortcut.weight":
            continue
        if name == "heads.weight":
            view[: shape.logits] = POLICY_GAIN * orthogonal(shape.logits, view.shape[1], generator(seed, number))
            view[shape.logits] = VALUE_GAIN * orthogonal(1, view.shape[1], generator(seed, number, 1))[0]
        else:
            view[:] = TRUNK_GAIN * orthogonal(view.shape[0], view.shape[1], generator(seed, number))
    return vector


def orthogonal(rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A random matrix whose rows, or columns where there are fewer of them, are orthonormal."""
    tall = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.sign(np.diag(r))
    return np.asarray(q if rows >= columns else q.T)
