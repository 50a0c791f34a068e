"""The pool of self-play: past versions of the learner, and networks of other checkpoints.

Every so many moves a copy of the present network goes into the pool; when all places are taken, it replaces the oldest. Networks of other
checkpoints stay. All members must have the learner's own shape, since the same compiled code runs them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.agents.trained_network import read_network
from edgeworth.errors import DataError, InvalidOption
from edgeworth.runlog import CHECKPOINTS, SUFFIX


@dataclass(frozen=True)
class SelfPlaySettings:
    """The opponents of the learner."""

    past_selves: int = 16
    """Most past selves in the pool; 0 with `latest: 1` is naive self-play, against the present self alone."""
    latest: float = 0.5
    """The share of episodes against the present self, in which both sides learn; in the rest a member of the pool, each as likely."""
    snapshot_every: int = 500_000
    """Moves of the learner between two past selves."""
    members: tuple[str, ...] = ()
    """Checkpoints, or folders of them, that are in the pool throughout."""
    likeliest: bool = False
    """Members of the pool make their likeliest moves; otherwise they draw them."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.latest <= 1.0:
            raise InvalidOption(f"latest is {self.latest}; expected 0.0 to 1.0, the share of episodes against the present self.")
        if self.past_selves < 0 or self.snapshot_every < 1:
            raise InvalidOption(
                f"past_selves is {self.past_selves} and snapshot_every {self.snapshot_every}; expected 0 or more, and 1 or more."
            )
        if self.latest < 1.0 and not self.past_selves and not self.members:
            raise InvalidOption(
                f"The pool is empty: latest is {self.latest:g}, so that {1.0 - self.latest:.0%} of the episodes need a member of the pool,"
                " and past_selves is 0 and no members are named. Set past_selves or members, or latest to 1 for naive self-play."
            )


def read_members(paths: tuple[str, ...], shape: PolicyShape) -> NDArray[np.float32]:
    """The networks of checkpoints, or of all checkpoints in a folder, (members, parameters); of another shape they are refused."""
    files = [file for path in paths for file in _checkpoints(Path(path))]
    vectors = np.zeros((len(files), shape.size), np.float32)
    for row, file in enumerate(files):
        network = read_network(file)
        if network.shape != shape:
            raise InvalidOption(
                f"The network in {file} has {described(network.shape, shape)}; the learner has {described(shape, network.shape)}."
                " A pool holds networks of one shape: name others, or give the learner this one."
            )
        vectors[row] = network.parameters
    return vectors


def described(shape: PolicyShape, other: PolicyShape) -> str:
    """A shape by the fields in which it differs from another."""
    differing = [field.name for field in fields(shape) if getattr(shape, field.name) != getattr(other, field.name)]
    return ", ".join(f"{name} {getattr(shape, name)}" for name in differing)


def _checkpoints(path: Path) -> list[Path]:
    """The checkpoint that is meant, or those in a folder that is no run's."""
    if not path.is_dir() or (path / CHECKPOINTS).is_dir():
        return [path]
    files = sorted(path.glob(f"*{SUFFIX}"))
    if not files:
        raise DataError(
            path, f"holds no checkpoint, so the pool would be empty; expected *{SUFFIX} files, as `edgeworth train` writes them."
        )
    return files


class Pool:
    """The networks that the learner may meet besides itself, in one array: those that stay, then the past selves."""

    def __init__(self, settings: SelfPlaySettings, shape: PolicyShape) -> None:
        staying = read_members(settings.members, shape)
        self.settings, self.staying = settings, len(staying)
        self.parameters = np.concatenate([staying, np.zeros((settings.past_selves, shape.size), np.float32)])
        self.kept = np.zeros((), np.int64)
        """How many past selves were ever kept."""

    @property
    def members(self) -> int:
        """How many there are now."""
        return self.staying + min(int(self.kept), self.settings.past_selves)

    def keep(self, parameters: NDArray[np.float32]) -> None:
        """Take the present self into the pool, in the place of the oldest where all are taken."""
        if self.settings.past_selves:
            self.parameters[self.staying + int(self.kept) % self.settings.past_selves] = parameters
            self.kept += 1

    def is_due(self, before: int, now: int) -> bool:
        """Whether a past self is to be kept between two numbers of moves."""
        return now // self.settings.snapshot_every > before // self.settings.snapshot_every
