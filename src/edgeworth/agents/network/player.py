"""Playing from the flat vector of parameters, without torch: the likeliest moves or drawn ones, for a whole batch in one compiled call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.agents.network.foresight import foresee, promising_move
from edgeworth.agents.network.heads import choose_move, legal_acts, legal_units, move_uniforms, softmax
from edgeworth.agents.network.layers import NetworkArrays, forward
from edgeworth.agents.network.products import use_one_thread
from edgeworth.agents.network.reading import Reading, read
from edgeworth.agents.policy_layout import ACTS, PolicyShape
from edgeworth.compiled import Array, Flag, Int, compiled_bare, compiled_within
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.vocabulary import AGENT

BLOCK = 16
"""Situations that go through the network together: one block of the kernels of the linear algebra library, which on some processors sum
the first and last columns of a wider product in another order than those between."""


@compiled_within
def look(net: NetworkArrays, features: Array, masks: Array, caps: Array, begin: Int, number: Int) -> None:
    """Send some situations through the network to the weights of what is legal.

    A whole block goes through, however few there are: products of another size are summed in another order, and an agent would not be quite
    the same alone as among others.
    """
    scratch = net.scratch
    for j in range(number):
        e, row = np.uint64(j), np.uint64(begin + j)
        for column in range(net.sizes.features):
            scratch.columns[np.uint64(column * BLOCK + j)] = features[row, np.uint64(column)]
        scratch.legal[0, e] = legal_acts(masks[row])
        for k in range(3):
            scratch.legal[1 + k, e] = legal_units(caps[row, k])
    forward(net, BLOCK)
    softmax(scratch, net.sizes.units, BLOCK)


@compiled_bare
def choose_moves(
    net: NetworkArrays, features: Array, masks: Array, caps: Array, uniforms: Array, greedy: Flag, acts: Array, shares: Array
) -> None:
    """A move for every situation: one drawn by four uniform numbers, or the likeliest; with foresight, the one that promises most."""
    promises = greedy & (net.sizes.foresight != 0)
    for begin in range(0, features.shape[0], BLOCK):
        number = min(BLOCK, features.shape[0] - begin)
        look(net, features, masks, caps, begin, number)
        if promises:
            foresee(net.scratch, net.sizes, BLOCK)
        for j in range(number):
            row = np.uint64(begin + j)
            for_act, for_a, for_b, for_c = uniforms[row, 0], uniforms[row, 1], uniforms[row, 2], uniforms[row, 3]
            act, a, b, c = choose_move(net.scratch.weights, net.sizes.units, BLOCK, j, greedy, for_act, for_a, for_b, for_c)
            if promises:
                act, a, b, c = promising_move(net.scratch, net.sizes, BLOCK, j, act, a, b, c)
            acts[row], shares[row, 0], shares[row, 1], shares[row, 2] = act, a, b, c


@compiled_bare
def judge_situations(net: NetworkArrays, features: Array, masks: Array, caps: Array, logs: Array, values: Array) -> None:
    """The log-probabilities of all entries of all heads, and the value, of every situation."""
    sizes, scratch = net.sizes, net.scratch
    for begin in range(0, features.shape[0], BLOCK):
        number = min(BLOCK, features.shape[0] - begin)
        look(net, features, masks, caps, begin, number)
        for j in range(number):
            row = np.uint64(begin + j)
            values[row] = scratch.heads[np.uint64(sizes.value * BLOCK + j)]
            for entry in range(sizes.value):
                head = 0 if entry < ACTS else 1 + (entry - ACTS) // (sizes.units + 1)
                log_weight = scratch.heads[np.uint64(entry * BLOCK + j)]
                logs[row, np.uint64(entry)] = log_weight - scratch.log_sum[np.uint64(head), np.uint64(j)]


@compiled_bare
def write_uniforms(state: Array, side: Int, uniforms: Array) -> None:
    """The four numbers in [0, 1) that decide a side's next move in every episode."""
    for i in range(state.shape[0]):
        e = np.uint64(i)
        uniforms[e, 0], uniforms[e, 1], uniforms[e, 2], uniforms[e, 3] = move_uniforms(state[e], side)


def batch_uniforms(state: NDArray[np.void], side: int = AGENT) -> NDArray[np.float64]:
    """The four numbers in [0, 1) that decide a side's next move in every episode: the act, then each item type."""
    uniforms = np.empty((len(state), 4))
    write_uniforms(state, side, uniforms)
    return uniforms


class Outlook(NamedTuple):
    """What the network makes of a batch of situations."""

    acts: NDArray[np.float32]
    """Log-probabilities of the five acts."""
    shares: NDArray[np.float32]
    """Log-probabilities of 0 to `units` units of each type, (N, 3, units + 1)."""
    values: NDArray[np.float32]


class NetworkPlayer:
    """A network that plays."""

    def __init__(self, parameters: NDArray[np.float32], shape: PolicyShape) -> None:
        use_one_thread()
        shape.split(parameters)
        self.parameters, self.shape = np.ascontiguousarray(parameters, np.float32), shape
        self._net = NetworkArrays.of(self.parameters, shape)

    def choose_from(
        self,
        features: NDArray[np.float32],
        masks: NDArray[Any],
        caps: NDArray[Any],
        uniforms: NDArray[np.float64] | None = None,
    ) -> Moves:
        """Moves for situations with these features (N, F), legal acts (N, 5) and pools (N, 3); drawn by `uniforms`, or the likeliest."""
        acts, shares = np.empty(len(features), np.int64), np.empty((len(features), 3), np.int64)
        drawn = np.zeros((len(features), 4)) if uniforms is None else np.ascontiguousarray(uniforms, np.float64)
        reading, legal = self._read(features, masks, caps)
        situations = reading.inputs, legal, reading.caps
        choose_moves(self._net, *situations, drawn, uniforms is None, acts, shares)
        return acts, reading.by_type(shares)

    def outlook(self, features: NDArray[np.float32], masks: NDArray[Any], caps: NDArray[Any]) -> Outlook:
        """Log-probabilities of everything that could be chosen, and values; what is illegal is near -1e9."""
        logs, values = np.empty((len(features), self.shape.logits), np.float32), np.empty(len(features), np.float32)
        reading, legal = self._read(features, masks, caps)
        judge_situations(self._net, reading.inputs, legal, reading.caps, logs, values)
        return Outlook(logs[:, :ACTS], reading.by_type(logs[:, ACTS:].reshape(len(features), 3, -1)), values)

    def _read(self, features: NDArray[np.float32], masks: NDArray[Any], caps: NDArray[Any]) -> tuple[Reading, NDArray[np.int8]]:
        """The situations as the network reads them, and their legal acts, in the types that compiled code is built for."""
        size = len(features)
        if features.shape[1:] != (self.shape.features,) or masks.shape != (size, ACTS) or caps.shape != (size, 3):
            raise InvalidOption(
                f"features, masks and caps have shapes {features.shape}, {masks.shape} and {caps.shape}; expected"
                f" ({size}, {self.shape.features}), ({size}, {ACTS}) and ({size}, 3)."
            )
        if size and int(caps.max()) > self.shape.units:
            raise InvalidOption(f"A pool holds {int(caps.max())} units of a type; the network knows up to {self.shape.units}.")
        return read(self.shape, features, caps), np.ascontiguousarray(masks, np.int8)
