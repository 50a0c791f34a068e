"""The fused learner: a whole iteration of PPO or REINFORCE in compiled code, around the matrix products of BLAS.

    learner = FusedLearner(BargainingConfig(), PPOSettings(), shape_of(BargainingConfig(), PPOSettings()), seed=0)
    metrics = learner.iterate()

It means the same as the torch backend and keeps the same flat vector of parameters. Where torch calls many small operations for every
minibatch, here one call plays a rollout and one learns from it. Random hints are drawn by the rules inside the rollout; other hint
providers and partners outside the rules are asked in Python at every step, with the same compiled steps in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.layers import Gradients, NetworkArrays, aligned_zeros
from edgeworth.agents.network.products import use_one_thread
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.training.fused import loss, returns, rollout, update
from edgeworth.training.fused.hint_state import HintState, draw_hints
from edgeworth.training.fused.loss import Samples, Terms
from edgeworth.training.fused.order import order_key
from edgeworth.training.fused.returns import RunningBaseline
from edgeworth.training.fused.rollout import EpisodeProgress, Game, RolloutBuffer
from edgeworth.training.fused.update import Moments, Schedule, Workspace
from edgeworth.training.learner import NO_HINTS, NegotiationLearner, not_finite, scheduled
from edgeworth.training.practice import Metrics, State, episode_metrics
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings

Settings = PPOSettings | ReinforceSettings
INSIDE = ("none", "random")
"""Hint modes that are drawn inside the rollout."""


class FusedLearner(NegotiationLearner):
    """Plays and learns, one iteration at a time."""

    settings: Settings

    def __init__(
        self,
        game: BargainingConfig,
        settings: Settings,
        shape: PolicyShape,
        seed: int,
        hints: HintSettings = NO_HINTS,
        total_steps: int | None = None,
        stepwise: bool | None = None,
    ) -> None:
        """`stepwise` steps from Python even where nothing has to be asked there."""
        use_one_thread()
        super().__init__(game, settings, shape, seed, hints, total_steps)
        self.batch, slots = self.practice.batch, settings.num_envs
        self._whole_episodes = isinstance(settings, ReinforceSettings)
        self._stepwise = self.batch.outside is not None or (hints.mode not in INSIDE if stepwise is None else stepwise)
        self._net = NetworkArrays.of(aligned_zeros(shape.size), shape)
        self._net.parameters[:] = first_parameters(shape, seed)
        self._game, self._progress = Game.of(self.batch), EpisodeProgress.of(self.practice.reward, self.practice.moves)
        steps = settings.rollout + (game.max_turns + 1) // 2 * self._whole_episodes
        self._buffer = RolloutBuffer.of(steps, slots, shape.inputs)
        self._work = Workspace(self._net, Samples.of_tile(), Gradients.of(shape), Moments.of(shape.size))
        self._baseline = RunningBaseline()
        self._sums = np.zeros(len(loss.SUMS))
        self.updates = 0
        random = hints.mode == "random" and not self._stepwise
        self._hints = HintState.of(self.batch, self.practice.hint_features, hints.cadence, random)
        if random:
            self.practice.feed = None
            draw_hints(self.batch.state, self.batch.rules[0], self._hints)

    @property
    def parameters(self) -> NDArray[np.float32]:
        return self._net.parameters

    @property
    def hint_counts(self) -> dict[str, int | str]:
        if self._hints.random:
            return {"asked": (drawn := int(self._hints.drawn[0])), "given": drawn}
        return super().hint_counts

    def iterate(self) -> Metrics:
        self._progress.resting[:], self._progress.totals[:], self._sums[:] = False, 0.0, 0.0
        steps = self._play_stepwise() if self._stepwise else self._play()
        rows = np.flatnonzero(self._buffer.played[: steps * self.settings.num_envs])
        self._estimate(steps)
        explained = returns.explained_variance(self._buffer, rows)
        rate = scheduled(self.settings.learning_rate, self.settings.lr_schedule, self.steps, self.total_steps)
        made, epochs, kl = self._learn(rows, rate)
        self.updates += made
        if epochs < 0:
            raise not_finite(self.updates + 1, self.iteration + 1)
        self.iteration += 1
        self.steps += len(rows)
        episodes = self.practice.report() if self._stepwise else episode_metrics(*self._progress.totals.tolist())
        losses = self._loss_metrics(made, epochs, len(rows) * epochs)
        return {**episodes, **losses, "approx_kl": kl, "explained_variance": explained, "learning_rate": rate, "steps": float(self.steps)}

    # Playing

    def _play(self) -> int:
        played = self._game, self._buffer, self._progress, self._hints
        return int(rollout.play(self._net, *played, self.scale, self.settings.rollout, self._whole_episodes))

    def _play_stepwise(self) -> int:
        """A rollout in which Python makes the moves and asks for hints."""
        buffer, slots, steps = self._buffer, self.settings.num_envs, self.settings.rollout
        step, playing = 0, np.ones(slots, np.bool_)
        while True:
            rollout.observe(self._game, self._net.sizes, buffer, self._hints, step)
            rollout.decide(self._net, self._game, buffer, step, buffer.slots, slots, False)
            if step >= steps and not (self._whole_episodes and playing.any()):
                return step
            rows = slice(step * slots, (step + 1) * slots)
            buffer.played[rows], buffer.made[rows] = playing, self.practice.moves
            moves = buffer.moves[rows].astype(np.int64)
            points, buffer.ended[rows] = self.practice.step(moves[:, 0], moves[:, 1:], playing)
            buffer.rewards[rows] = points * self.scale
            if self._whole_episodes and step >= steps - 1:
                playing = playing & ~buffer.ended[rows]
            step += 1

    # Learning

    def _estimate(self, steps: int) -> None:
        """Write the advantages, returns and baselines of the rollout."""
        settings, buffer, slots = self.settings, self._buffer, self.settings.num_envs
        if isinstance(settings, PPOSettings):
            returns.estimate_advantages(buffer, slots, steps, settings.gamma, settings.gae_lambda)
            return
        returns.add_up_returns(buffer, slots, steps, settings.gamma)
        if settings.baseline == "running":
            returns.subtract_running_means(buffer, steps * slots, self._baseline)
        else:
            returns.subtract_baseline(buffer, steps * slots, settings.baseline)

    def _terms(self) -> Terms:
        settings = self.settings
        entropy = scheduled(settings.entropy, settings.entropy_schedule, self.steps, self.total_steps)
        if isinstance(settings, PPOSettings):
            clip_value = inf if settings.clip_value is None else settings.clip_value
            return Terms(True, *(np.float32(x) for x in (settings.clip, settings.value, entropy, clip_value)))
        value = settings.value if settings.baseline == "learned" else 0.0
        return Terms(False, *(np.float32(x) for x in (inf, value, entropy, inf)))

    def _learn(self, rows: NDArray[np.int64], rate: float) -> tuple[int, int, float]:
        settings = self.settings
        epochs, target_kl = 1, inf
        if isinstance(settings, PPOSettings):
            epochs, target_kl = settings.epochs, inf if settings.target_kl is None else settings.target_kl
        schedule = Schedule(epochs, settings.minibatch, rate, settings.gradient_norm, settings.normalize_advantages, target_kl)
        made, done, kl = update.learn(
            self._work,
            self._buffer,
            rows,
            np.empty(len(rows), np.int64),
            self._terms(),
            schedule,
            np.uint64(order_key(np.uint64(self.seed), self.iteration)),
            self.updates,
            self._sums,
        )
        return int(made), int(done), float(kl)

    def _loss_metrics(self, made: int, epochs: int, samples: int) -> Metrics:
        named = dict(zip(loss.SUMS, (self._sums / samples).tolist(), strict=True))
        return {
            **{name: named[name] for name in loss.SUMS[: loss.KL]},
            "gradient_norm": float(self._sums[loss.GRADIENT_NORM]) / made,
            "epochs": float(epochs),
            "updates": float(self.updates),
        }

    # The state

    def state(self) -> State:
        return {**super().state(), **{name: array.copy() for name, array in self._saved().items()}, "updates": np.array(self.updates)}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        super().load_state(state)
        for name, array in self._saved().items():
            array[...] = state[name]
        self.updates = int(state["updates"])

    def _saved(self) -> State:
        """What a state holds besides the episodes and the progress."""
        return {
            "parameters": self.parameters,
            "first_moment": self._work.moments.first,
            "second_moment": self._work.moments.second,
            "baseline_mean": self._baseline.mean,
            "baseline_seen": self._baseline.seen,
        }
