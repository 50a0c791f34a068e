"""Self-play: one network learns both sides of the two-player game by PPO, against itself and a pool of its past selves.

    settings = load_settings(config_folder() / "self_play.yaml")
    Run.begin(settings, Path("runs/mine"), "self-play").train()

The partner of the rules is not met. In a share of the episodes (`latest`) the present network has both seats and learns from the moves of
both; in the others a member of the pool has one seat, drawn by the episode's seed, and the network learns from its own moves alone. So
it learns to open and to answer, from either seat, and a plan that works against the present self alone does not pay (fictitious self-play,
Heinrich et al. 2015). Without the pool this is naive self-play. With a pool that holds one foreign network, and `latest: 0`, it is a best
response to that network.

Episodes, rewards and deals in the log are counted once per seat in which the learner sat. There is no best checkpoint: to earn more in
self-play says as much about the other side.
"""

from __future__ import annotations

from typing import ClassVar

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.training.fused import returns, two_seats
from edgeworth.training.fused.learner import FusedLearner
from edgeworth.training.fused.two_seats import Opponents, Seats
from edgeworth.training.learner import Metrics, State
from edgeworth.training.pool import Pool, SelfPlaySettings
from edgeworth.training.settings import PPOSettings


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
        self._stepwise = False  # the partner that the game names, wherever it plays from, is not met
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
