"""Self-play: one network learns both sides of the two-player game by PPO, against itself and a pool of its past selves.

    settings = load_settings(config_folder() / "self_play.yaml")
    Run.begin(settings, Path("runs/mine"), "self-play").train()

The game's own partner does not play. In a share of the episodes (`latest`) the present network has both seats and learns from the moves of
both; in the others a member of the pool has one seat, drawn by the episode's seed, and the network learns from its own moves alone. So
it learns to open and to answer, from either seat, and a plan that works against the present self alone does not pay (fictitious self-play,
Heinrich et al. 2015). Without the pool this is naive self-play. With a pool that holds one foreign network, and `latest: 0`, it is a best
response to that network.

Every so many moves a copy of the present network goes into the pool; when all places are taken, it replaces the oldest. Networks of other
checkpoints stay. All members must have the learner's own shape, since the same compiled code runs them.

Episodes, rewards and deals in the log are counted once per seat in which the learner sat. There is no best checkpoint: to earn more in
self-play says as much about the other side.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.agents.trained_network import read_network
from edgeworth.config import BargainingConfig
from edgeworth.errors import DataError, InvalidOption
from edgeworth.runlog import CHECKPOINTS, SUFFIX
from edgeworth.training.fused import returns, two_seats
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.fused.two_seats import Opponents, Seats
from edgeworth.training.practice import Metrics, State
from edgeworth.training.settings import PPOSettings, SelfPlaySettings


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
    """The networks that the learner plays against besides itself, in one array: those that stay, then the past selves."""

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


class SelfPlay(FusedLearner):
    """Plays both sides and learns, one iteration at a time."""

    two_player: ClassVar[bool] = True

    def __init__(
        self,
        config: BargainingConfig,
        settings: PPOSettings,
        shape: PolicyShape,
        seed: int,
        self_play: SelfPlaySettings,
        total_steps: int | None = None,
    ) -> None:
        super().__init__(config, settings, shape, seed, total_steps=total_steps)
        self._stepwise = False  # the game's own partner does not play
        self._gae = settings.gamma, settings.gae_lambda
        self.pool = Pool(self_play, shape)
        self.pool.keep(self.parameters)
        self._seats = Seats.of(settings.rollout, settings.num_envs)
        two_seats.take_all_seats(self._game, self._opponents(), self._seats)

    def iterate(self) -> Metrics:
        """Play, learn, keep a past self where one is due, and return the metrics."""
        before = self.steps
        metrics = super().iterate()
        if self.pool.is_due(before, self.steps):
            self.pool.keep(self.parameters)
        return {**metrics, "pool": float(self.pool.members)}

    def _opponents(self) -> Opponents:
        settings = self.pool.settings
        return Opponents(self.pool.parameters, self.pool.members, settings.latest, settings.likeliest)

    def _play(self) -> int:
        steps = self.settings.rollout
        played = self._game, self._buffer, self._seats, self._progress, self._hints
        two_seats.play_both(self._net, *played, self._opponents(), self.scale, steps)
        return steps

    def _estimate(self, steps: int) -> None:
        returns.estimate_both(self._buffer, self._seats, self.settings.num_envs, steps, *self._gae)

    def _saved(self) -> State:
        seats = {"opponents": self._seats.opponent, "own_seats": self._seats.own}
        return {**super()._saved(), **seats, "pool": self.pool.parameters[self.pool.staying :], "pool_kept": self.pool.kept}
