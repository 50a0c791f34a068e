"""A trained network out of a checkpoint: its shape, its parameters, and what is known of its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.player import NetworkPlayer
from edgeworth.agents.policy_layout import PolicyShape, TrunkShape
from edgeworth.errors import DataError
from edgeworth.runlog import Checkpoint, read_checkpoint

GAME = "bargaining"


@dataclass(frozen=True)
class Network:
    """A trained network, and how it came about."""

    shape: PolicyShape
    parameters: NDArray[np.float32]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class PlaysNetwork:
    """A negotiator or partner that plays the network of a checkpoint."""

    checkpoint: str | Path
    """A run folder, or a file of a checkpoint."""
    sampled: bool = False
    """Draw moves with the network's probabilities, from the episode's own randomness; otherwise make the likeliest."""

    @cached_property
    def network(self) -> Network:
        """The network, read once."""
        return read_network(self.checkpoint)

    @cached_property
    def player(self) -> NetworkPlayer:
        """The network, ready to play."""
        return NetworkPlayer(self.network.parameters, self.network.shape)


def read_network(path: str | Path) -> Network:
    """The network in a checkpoint; one of another game or kind is refused."""
    checkpoint = read_checkpoint(Path(path))
    facts = checkpoint.facts
    if facts.get("game") != GAME or "shape" not in facts:
        raise DataError(path, f"is a checkpoint of {facts.get('game', 'something else')}, not of a negotiator.")
    shape = PolicyShape(**facts["shape"])
    return Network(shape, network_vector(checkpoint, shape, path), facts)


def network_vector(checkpoint: Checkpoint, shape: TrunkShape, path: str | Path) -> NDArray[np.float32]:
    """The flat parameters in a checkpoint, which must hold a network of this shape."""
    wanted = shape.tensors()
    found = {name: array.shape for name, array in checkpoint.tensors.items() if name in wanted}
    if found != wanted:
        wrong = next(name for name in wanted if found.get(name) != wanted[name])
        raise DataError(
            path, f"is that of another network: {wrong} is {found.get(wrong, 'missing')}; expected {wanted[wrong]} for {shape}."
        )
    return np.concatenate([checkpoint.tensors[name].ravel() for name in wanted]).astype(np.float32)
