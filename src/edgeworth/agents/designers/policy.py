"""Policy designer: a small network, trained by PPO, that reads the last five steps and chooses all eleven fields anew at every step.

It reads the features of `envs/daedalus_features.py` and posts the likeliest level of every field. Nothing here needs torch: the network is
two small matrix products. They are done in double precision, so that a market is given the same mechanism alone and in a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import CHECKPOINTS
from edgeworth.agents.designers.designer import Designer
from edgeworth.agents.designers.policy_layout import DesignerShape, Levels
from edgeworth.agents.trained_network import network_vector
from edgeworth.envs.daedalus_features import told_in_full, view_features
from edgeworth.errors import DataError
from edgeworth.games.auction.batch import Rows
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView
from edgeworth.runlog import SUFFIX, read_checkpoint

GAME = "auction"
BUNDLED = CHECKPOINTS / "policy"
REMEDY = f"`edgeworth designer policy --bundle {BUNDLED}` trains one and puts it there"


class DesignerPlayer:
    """A designer's network, ready to play."""

    def __init__(self, parameters: NDArray[np.float32], shape: DesignerShape) -> None:
        self.shape = shape
        arrays = {name: array.astype(np.float64) for name, array in shape.split(parameters).items()}
        names = [*(f"trunk.{layer}" for layer in range(shape.layers)), "heads"]
        *self.trunk, (weight, bias) = [(arrays[f"{name}.weight"].T, arrays[f"{name}.bias"]) for name in names]
        curves = shape.curves()
        self.heads = weight[:, : shape.logits] @ curves, bias[: shape.logits] @ curves

    def choose(self, features: NDArray[np.float32]) -> Levels:
        """The likeliest level of every field, (N, 11); of two alike, the lower."""
        hidden = features.astype(np.float64)
        for weight, bias in self.trunk:
            hidden = np.tanh(hidden @ weight + bias)
        logits = hidden @ self.heads[0] + self.heads[1]
        fields = np.split(logits, np.cumsum(self.shape.counts)[:-1], axis=1)
        return np.stack([field.argmax(axis=1) for field in fields], axis=1)


def read_player(path: Path) -> tuple[DesignerPlayer, Mapping[str, Any]]:
    """The network in a checkpoint and what is known of it; one of another game is refused."""
    checkpoint = read_checkpoint(path)
    facts = checkpoint.facts
    if facts.get("game") != GAME or "shape" not in facts:
        raise DataError(path, f"is a checkpoint of {facts.get('game', 'something else')}, not of a designer.")
    shape = DesignerShape(**facts["shape"])
    return DesignerPlayer(network_vector(checkpoint, shape, path), shape), facts


@cache
def bundled_player() -> DesignerPlayer:
    """The bundled network, read once."""
    if not BUNDLED.with_name(BUNDLED.name + SUFFIX).is_file():
        raise DataError(BUNDLED, f"there is no network of the policy designer here; {REMEDY}.")
    return read_player(BUNDLED)[0]


class Policy(Designer):
    """Posts the mechanism that a network trained by PPO prefers: the bundled one, or that of `checkpoint` (a run folder or a file)."""

    memoryless = True

    def __init__(self, checkpoint: str | Path | None = None, player: DesignerPlayer | None = None) -> None:
        if player is None:
            player = bundled_player() if checkpoint is None else read_player(Path(checkpoint))[0]
        self.player = player

    def design(self, view: MarketView) -> Rows:
        wanted = min(view.round_number, RECENT_STEPS)
        missing = wanted - int(told_in_full(view).sum(axis=1).min(initial=wanted))
        self.assumed = (f"{missing} of the last {wanted} steps: not known in full, so it chose without them",) if missing > 0 else ()
        return self.player.shape.mechanisms(self.player.choose(view_features(view)))
