"""Playing from the flat vector of parameters, without torch: the likeliest moves or drawn ones, for a whole batch in one compiled call."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Moves
from edgeworth.agents.network.blas import use_one_thread
from edgeworth.agents.network.forward import TILE, Scratch, Sizes, forward
from edgeworth.agents.network.heads import ACTS, draw_move, legal_acts, legal_units, likeliest_move, move_uniforms, weigh
from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.compiled import Array, Flag, Int, compiled_bare, compiled_within
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import BASE_FEATURES


@compiled_within
def look(parameters: Array, sizes: Sizes, scratch: Scratch, features: Array, masks: Array, caps: Array, begin: Int, size: Int) -> None:
    """Send some situations through the network, and weigh what is legal."""
    for j in range(size):
        e, row = np.uint64(j), np.uint64(begin + j)
        for column in range(sizes.features):
            scratch.columns[np.uint64(column * size + j)] = features[row, np.uint64(column)]
        scratch.legal[0, e] = legal_acts(masks[row])
        for k in range(3):
            scratch.legal[1 + k, e] = legal_units(caps[row, k])
    forward(parameters, sizes, scratch, size)
    weigh(scratch, sizes.units, size)


@compiled_bare
def choose_moves(
    parameters: Array,
    sizes: Sizes,
    scratch: Scratch,
    features: Array,
    masks: Array,
    caps: Array,
    uniforms: Array,
    greedy: Flag,
    acts: Array,
    shares: Array,
) -> None:
    """A move for every situation: the likeliest, or one drawn by four uniform numbers."""
    for begin in range(0, features.shape[0], TILE):
        size = min(TILE, features.shape[0] - begin)
        look(parameters, sizes, scratch, features, masks, caps, begin, size)
        for j in range(size):
            row = np.uint64(begin + j)
            if greedy:
                act, a, b, c = likeliest_move(scratch.weights, sizes.units, size, j)
            else:
                for_act, for_a, for_b, for_c = uniforms[row, 0], uniforms[row, 1], uniforms[row, 2], uniforms[row, 3]
                act, a, b, c = draw_move(scratch.weights, sizes.units, size, j, for_act, for_a, for_b, for_c)
            acts[row], shares[row, 0], shares[row, 1], shares[row, 2] = act, a, b, c


@compiled_bare
def judge_situations(
    parameters: Array, sizes: Sizes, scratch: Scratch, features: Array, masks: Array, caps: Array, logs: Array, values: Array
) -> None:
    """The log-probabilities of all entries of all heads, and the value, of every situation."""
    for begin in range(0, features.shape[0], TILE):
        size = min(TILE, features.shape[0] - begin)
        look(parameters, sizes, scratch, features, masks, caps, begin, size)
        for j in range(size):
            row = np.uint64(begin + j)
            values[row] = scratch.heads[np.uint64((sizes.heads - 1) * size + j)]
            for entry in range(sizes.heads - 1):
                head = 0 if entry < ACTS else 1 + (entry - ACTS) // (sizes.units + 1)
                log_weight = scratch.heads[np.uint64(entry * size + j)]
                logs[row, np.uint64(entry)] = log_weight - scratch.log_sum[np.uint64(head), np.uint64(j)]


@compiled_bare
def write_uniforms(state: Array, uniforms: Array) -> None:
    """The four numbers in [0, 1) that decide the next move of every episode."""
    for i in range(state.shape[0]):
        e = np.uint64(i)
        uniforms[e, 0], uniforms[e, 1], uniforms[e, 2], uniforms[e, 3] = move_uniforms(state[e])


def batch_uniforms(state: NDArray[np.void]) -> NDArray[np.float64]:
    """The four numbers in [0, 1) that decide the next move of every episode: the act, then each item type."""
    uniforms = np.empty((len(state), 4))
    write_uniforms(state, uniforms)
    return uniforms


class Outlook(NamedTuple):
    """What the network makes of a batch of situations."""

    acts: NDArray[np.float32]
    """Log-probabilities of the five acts."""
    shares: NDArray[np.float32]
    """Log-probabilities of 0 to `units` units of each type, (N, 3, units + 1)."""
    values: NDArray[np.float32]


class NetworkPlayer:
    """A network that plays; as a negotiator it reads the base features, and no hints."""

    knows_partner: ClassVar[bool] = False

    def __init__(self, parameters: NDArray[np.float32], shape: PolicyShape, greedy: bool = True) -> None:
        use_one_thread()
        shape.split(parameters)
        self.parameters, self.shape, self.greedy = np.ascontiguousarray(parameters, np.float32), shape, greedy
        self._sizes, self._scratch = Sizes.of(shape), Scratch.of(shape)

    def uniforms(self, batch: BargainingBatch) -> NDArray[np.float64]:
        """The numbers that decide drawn moves, from the episodes' own randomness."""
        return batch_uniforms(batch.state)

    def choose(self, batch: BargainingBatch) -> Moves:
        features = np.zeros((batch.size, self.shape.features), np.float32)
        features[:, :BASE_FEATURES] = batch.features()
        return self.choose_from(features, batch.masks, batch.views[:, :3], None if self.greedy else self.uniforms(batch))

    def choose_from(
        self,
        features: NDArray[np.float32],
        masks: NDArray[Any],
        caps: NDArray[Any],
        uniforms: NDArray[np.float64] | None = None,
    ) -> Moves:
        """Moves for situations with these features (N, F), legal acts (N, 5) and pools (N, 3); drawn by `uniforms`, or the likeliest."""
        acts, shares = np.empty(len(features), np.int64), np.empty((len(features), 3), np.int64)
        drawn = np.zeros((0, 4)) if uniforms is None else np.ascontiguousarray(uniforms, np.float64)
        choose_moves(
            self.parameters, self._sizes, self._scratch, *self._laid_out(features, masks, caps), drawn, uniforms is None, acts, shares
        )
        return acts, shares

    def outlook(self, features: NDArray[np.float32], masks: NDArray[Any], caps: NDArray[Any]) -> Outlook:
        """Log-probabilities of everything that could be chosen, and values; what is illegal is near -1e9."""
        logs, values = np.empty((len(features), self.shape.logits), np.float32), np.empty(len(features), np.float32)
        judge_situations(self.parameters, self._sizes, self._scratch, *self._laid_out(features, masks, caps), logs, values)
        return Outlook(logs[:, :ACTS], logs[:, ACTS:].reshape(len(features), 3, -1), values)

    def _laid_out(
        self, features: NDArray[np.float32], masks: NDArray[Any], caps: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.int32]]:
        """The arrays in the types that compiled code is built for."""
        size = len(features)
        if features.shape[1:] != (self.shape.features,) or masks.shape != (size, ACTS) or caps.shape != (size, 3):
            raise InvalidOption(
                f"features, masks and caps have shapes {features.shape}, {masks.shape} and {caps.shape}; expected"
                f" ({size}, {self.shape.features}), ({size}, {ACTS}) and ({size}, 3)."
            )
        if size and int(caps.max()) > self.shape.units:
            raise InvalidOption(f"A pool holds {int(caps.max())} units of a type; the network knows up to {self.shape.units}.")
        return np.ascontiguousarray(features, np.float32), np.ascontiguousarray(masks, np.int8), np.ascontiguousarray(caps, np.int32)
