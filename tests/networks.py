"""Networks for tests, in checkpoints: untrained, but with opinions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.runlog import Checkpoint, write_checkpoint


def write_network(path: Path, features: int = 18, units: int = 4, seed: int = 4, **facts: Any) -> Path:
    """Write a checkpoint of a small network; `facts` replace what it tells of itself."""
    shape = PolicyShape(features, units, 16, 2, "ordered")
    parameters = first_parameters(shape, seed)
    shape.split(parameters)["heads.weight"][:-1] *= 300
    told = {"game": "bargaining", "shape": vars(shape), "hints": {"mode": "none", "options": {}}, "env": {}, **facts}
    write_checkpoint(path, Checkpoint(dict(shape.split(parameters)), told))
    return path
