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
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.network.layers import Gradients, NetworkArrays, aligned_zeros
from edgeworth.agents.network.products import use_one_thread
from edgeworth.agents.network.reading import Reading
from edgeworth.agents.policy_layout import PolicyShape, first_parameters
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import HintFeed, provider_of
from edgeworth.errors import DataError, InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import AGENT, TURN_LIMIT
from edgeworth.seeding import checked_seed
from edgeworth.training.fused import loss, returns, rollout, update
from edgeworth.training.fused.loss import Samples, Terms
from edgeworth.training.fused.order import env_seeds, order_key
from edgeworth.training.fused.rollout import EpisodeProgress, Game, HintState, RolloutBuffer
from edgeworth.training.fused.update import Moments, Schedule, Workspace
from edgeworth.training.learner import NO_HINTS, Metrics, State, close_provider, episode_metrics, not_finite, reward_scale_of, scheduled
from edgeworth.training.practice import ended_episodes, step_chosen
from edgeworth.training.settings import HintSettings, PPOSettings, ReinforceSettings

Settings = PPOSettings | ReinforceSettings
INSIDE = ("none", "random")
"""Hint modes that are drawn inside the rollout."""


class FusedLearner:
    """Plays and learns, one iteration at a time."""

    two_player: ClassVar[bool] = False
    """Whether the learner makes the moves of both sides."""

    def __init__(
        self,
        config: BargainingConfig,
        settings: Settings,
        shape: PolicyShape,
        seed: int,
        hints: HintSettings = NO_HINTS,
        total_steps: int | None = None,
        stepwise: bool | None = None,
    ) -> None:
        """`total_steps` ends a linear schedule; `stepwise` steps from Python even where nothing has to be asked there."""
        for schedule in (settings.lr_schedule, settings.entropy_schedule):
            scheduled(0.0, schedule, 0, total_steps)  # refuse a linear one without an end now
        use_one_thread()
        self.config, self.settings, self.shape, self.hints = config, settings, shape, hints
        self.seed, self.total_steps = checked_seed(seed), total_steps
        self.scale = settings.reward_scale if settings.reward_scale is not None else reward_scale_of(config)
        self.parameters = aligned_zeros(shape.size)
        self.parameters[:] = first_parameters(shape, seed)
        self.steps = self.iteration = self.updates = 0
        self._open_episodes()
        self._allocate()
        self._prepare_hints(stepwise)

    def _open_episodes(self) -> None:
        settings, config = self.settings, self.config
        self.batch = BargainingBatch(config, settings.num_envs, self.two_player)
        self._hint_width, width = self.shape.features - BASE_FEATURES, self.hints.width
        if self.batch.max_count != self.shape.units or (self._hint_width != width and self.hints.given) or self._hint_width < 0:
            raise InvalidOption(
                f"The network is for {self.shape.features} features and up to {self.shape.units} units of a type; the game has"
                f" {BASE_FEATURES + width} and {self.batch.max_count}."
            )
        self.batch.seed([int(seed) for seed in env_seeds(self.seed, settings.num_envs)])
        self.batch.reset()

    def _allocate(self) -> None:
        settings, shape = self.settings, self.shape
        self._net = NetworkArrays.of(self.parameters, shape)
        self._whole_episodes = isinstance(settings, ReinforceSettings)
        steps = settings.rollout + (self.config.max_turns + 1) // 2 * self._whole_episodes
        self._game, self._progress = Game.of(self.batch), EpisodeProgress.of(settings.num_envs)
        self._buffer = RolloutBuffer.of(steps, settings.num_envs, shape.inputs)
        self._work = Workspace(self._net, Samples.of_tile(), Gradients.of(shape), Moments.of(shape.size))
        self._baseline_mean, self._baseline_seen = np.zeros(TURN_LIMIT // 2 + 1), np.zeros(TURN_LIMIT // 2 + 1, np.bool_)
        self._sums = np.zeros(len(loss.SUMS))

    def _prepare_hints(self, stepwise: bool | None) -> None:
        hints = self.hints
        inside = hints.mode in INSIDE
        self._stepwise = self.batch.outside is not None or (not inside if stepwise is None else stepwise)
        random = hints.mode == "random" and not self._stepwise
        self._hints = HintState.of(self.batch, self._hint_width, hints.k, hints.hold_last, random)
        self._feed: HintFeed | None = None
        if hints.given:
            provider = provider_of(hints.mode, hints.options)
            if self._stepwise:
                self._feed = HintFeed(self.batch, provider, hints.cadence)
            else:
                provider.check(self.batch)
        self._hint()

    @property
    def hint_counts(self) -> dict[str, int | str]:
        """How many hints were asked for, given and rejected, and the time that asking took in Python; empty without hints."""
        if self._hints.random:
            return {"asked": (drawn := int(self._hints.drawn[0])), "given": drawn}
        return {} if self._feed is None else self._feed.spent

    def iterate(self) -> Metrics:
        """Play, learn, and return the metrics."""
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
        metrics = {**episode_metrics(*self._progress.totals.tolist()), **self._loss_metrics(made, epochs, len(rows) * epochs)}
        return {**metrics, "approx_kl": kl, "explained_variance": explained, "learning_rate": rate, "steps": float(self.steps)}

    # Playing

    def _play(self) -> int:
        played = self._game, self._buffer, self._progress, self._hints
        return int(rollout.play(self._net, *played, self.scale, self.settings.rollout, self._whole_episodes))

    def _play_stepwise(self) -> int:
        game, buffer, slots, steps = self._game, self._buffer, self.settings.num_envs, self.settings.rollout
        step, playing = 0, 1
        while True:
            rollout.observe(game, self._net.sizes, buffer, self._hints, step)
            rollout.decide(self._net, game, buffer, step, buffer.slots, slots, False)
            if step >= steps and not (self._whole_episodes and playing > 0):
                return step
            moved = ~self._progress.resting
            rests = self._whole_episodes and step >= steps - 1
            if self.batch.outside is None:
                playing = int(rollout.advance(game, buffer, self._progress, self.scale, step, rests))
            else:
                playing = self._advance_outside(step, rests)
            self._hint(moved)
            step += 1

    def _advance_outside(self, step: int, rests: bool) -> int:
        """What `rollout.advance` does, through the batch, which asks the partner outside the rules for its replies."""
        buffer, progress, size = self._buffer, self._progress, self.batch.size
        rows = slice(step * size, (step + 1) * size)
        playing = ~progress.resting
        buffer.played[rows] = playing
        if not playing.any():
            return 0
        moves, orders = buffer.moves[rows].astype(np.int64), buffer.orders[rows]
        shares = Reading(buffer.features[rows], orders, orders).by_type(moves[:, 1:])
        out = step_chosen(self.batch, moves[:, 0], shares, playing)
        buffer.made[rows][playing] = progress.moves[playing]
        buffer.rewards[rows][playing] = out.rewards * self.scale
        buffer.ended[rows][playing] = out.ended
        progress.returns[playing] += out.rewards
        progress.moves[playing] += 1
        ended = np.zeros(size, np.bool_)
        ended[playing] = out.ended
        if ended.any():
            maximum, deals, turns = ended_episodes(self.config, out).sum(axis=1)
            progress.totals[:] += [np.count_nonzero(ended), progress.returns[ended].sum(), maximum, deals, turns]
            progress.returns[ended], progress.moves[ended] = 0.0, 0
        progress.resting[playing] = out.ended & rests
        return int(np.count_nonzero(~progress.resting))

    def _hint(self, chosen: NDArray[np.bool_] | None = None) -> None:
        """Bring the hints up to the situation of now."""
        if self._hints.random:
            rollout.draw_hints(self._game, self._hints)
        elif self._feed is not None:
            self._show_batch()
            self._feed.ask(chosen)
            self._hints.features[:] = self._feed.features

    def _show_batch(self) -> None:
        self.batch.views[:], self.batch.masks[:] = self.batch.look(AGENT)

    # Learning

    def _estimate(self, steps: int) -> None:
        """Write the advantages, returns and baselines of the rollout."""
        settings, buffer, slots = self.settings, self._buffer, self.settings.num_envs
        if isinstance(settings, PPOSettings):
            returns.estimate_advantages(buffer, slots, steps, settings.gamma, settings.gae_lambda)
            return
        returns.add_up_returns(buffer, slots, steps, settings.gamma)
        if settings.baseline == "running":
            returns.subtract_running_means(buffer, steps * slots, self._baseline_mean, self._baseline_seen)
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
        """Everything that the next iteration depends on, as copies."""
        episodes = np.ascontiguousarray(self.batch.state)
        return {
            **{name: array.copy() for name, array in self._saved().items()},
            "episodes": episodes.view(np.uint8).reshape(len(episodes), -1).copy(),
            "updates": np.array(self.updates),
            "iteration": np.array(self.iteration),
            "steps": np.array(self.steps),
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state of a learner with the same game, settings and seed."""
        kept = self._saved()
        shapes = {name: array.shape for name, array in kept.items()} | {"episodes": (self.batch.size, self.batch.state.dtype.itemsize)}
        for name, shape in {**shapes, "updates": (), "iteration": (), "steps": ()}.items():
            if name not in state or state[name].shape != shape:
                found = f"has shape {state[name].shape}" if name in state else "is missing"
                raise DataError("the learner's state", f"{name} {found}; expected shape {shape}, as for this game and network.")
        for name, array in kept.items():
            array[...] = state[name]
        self.batch.state[:] = np.ascontiguousarray(state["episodes"]).view(self.batch.state.dtype).reshape(-1)
        self.updates, self.iteration, self.steps = (int(state[name]) for name in ("updates", "iteration", "steps"))
        self._show_batch()
        if self._feed is not None:
            self._feed.features = self._hints.features.copy()

    def close(self) -> None:
        """Close the hint provider."""
        close_provider(self._feed)

    def _saved(self) -> State:
        return {
            "parameters": self.parameters,
            "first_moment": self._work.moments.first,
            "second_moment": self._work.moments.second,
            "returns_so_far": self._progress.returns,
            "moves_so_far": self._progress.moves,
            "hint_features": self._hints.features,
            "baseline_mean": self._baseline_mean,
            "baseline_seen": self._baseline_seen,
        }
