"""What all learners share, whatever their game, algorithm and backend: one iteration at a time, and all of the state in arrays.

An iteration is one rollout and what is learnt from it. The state is complete: a learner that takes over the state of another goes on
exactly as that one would have, to the last bit, on the same machine. Below the classes stands what learners of negotiation are made with:
the network for a game, the unit of rewards, and schedules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.errors import DataError, InvalidOption, MissingExtra, RunStopped
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import BUDGET, ITEM_TYPES, UTILITY_LIMIT
from edgeworth.seeding import checked_seed
from edgeworth.training.practice import Metrics, Practice, State
from edgeworth.training.settings import HintSettings, LearnerSettings, Schedule

NO_HINTS = HintSettings()
LEARNT = ("parameters", "first_moment", "second_moment", "updates", "iteration", "steps")
"""Of a state, what belongs to the network, its optimizer and the progress made, not to the episodes under way."""


class Practised(Protocol):
    """The episodes that a learner plays, all of them as arrays."""

    def state(self) -> State:
        """The episodes under way, copied."""

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up episodes again; the arrays have the shapes of this one's own state."""

    def close(self) -> None:
        """Close whatever is open."""


class Learner:
    """Learns a game; a backend adds the network and `iterate`."""

    def __init__(self, practice: Practised, settings: LearnerSettings, seed: int, total_steps: int | None = None) -> None:
        """`total_steps` ends a linear schedule."""
        for schedule in (settings.lr_schedule, settings.entropy_schedule):
            scheduled(0.0, schedule, 0, total_steps)  # refuse a linear one without an end now
        self.practice, self.settings = practice, settings
        self.seed, self.total_steps = checked_seed(seed), total_steps
        self.steps = 0
        """Moves of the agent so far, over all episodes."""
        self.iteration = 0
        """Iterations so far."""

    @property
    def parameters(self) -> NDArray[np.float32]:
        """The network as the flat vector of its layout; copy it to keep it."""
        raise NotImplementedError

    def iterate(self) -> Metrics:
        """Play a rollout, learn from it, and return the metrics."""
        raise NotImplementedError

    def state(self) -> State:
        """Everything that the next iteration depends on, copied."""
        return {**self.practice.state(), "iteration": np.array(self.iteration), "steps": np.array(self.steps)}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from the state of a learner with the same game and settings; one that does not fit is refused."""
        for name, own in self.state().items():
            if name not in state or state[name].shape != own.shape:
                found = f"has shape {state[name].shape}" if name in state else "is missing"
                raise DataError("the learner's state", f"{name} {found}; expected shape {own.shape}, as for this game and network.")
        self.practice.load_state(state)
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])

    def close(self) -> None:
        """Close what the episodes have open, such as a hint provider."""
        self.practice.close()


class NegotiationLearner(Learner):
    """Learns to negotiate."""

    practice: Practice
    two_player: ClassVar[bool] = False
    """Whether the learner makes the moves of both sides."""

    def __init__(
        self,
        game: BargainingConfig,
        settings: LearnerSettings,
        shape: PolicyShape,
        seed: int,
        hints: HintSettings = NO_HINTS,
        total_steps: int | None = None,
    ) -> None:
        """`total_steps` ends a linear schedule."""
        practice = Practice(game, hints, settings.num_envs, checked_seed(seed), shape, self.two_player)
        super().__init__(practice, settings, seed, total_steps)
        self.game, self.shape, self.hints = game, shape, hints
        self.scale = reward_scale_of(game) if settings.reward_scale is None else settings.reward_scale

    @property
    def hint_counts(self) -> dict[str, int | str]:
        """How many hints were asked for, given and rejected, and the time that asking took; empty without hints."""
        return {} if self.practice.feed is None else self.practice.feed.spent


# The network and the unit of rewards


def shape_of(game: BargainingConfig, settings: LearnerSettings, hints: HintSettings = NO_HINTS) -> PolicyShape:
    """The network for a game with these hints."""
    units = BargainingBatch(game, 1).max_count
    named = {name: getattr(settings, name) for name in ("hidden", "layers", "reading", "memory", "shortcut", "activation")}
    network = PolicyShape(units=units, **named)
    return replace(network, features=network.unhinted + hints.width)


def reward_scale_of(game: BargainingConfig) -> float:
    """One over the mean worth of the whole pool to the agent; 1 where it is worth nothing.

    Networks learn slowly on returns of tens of points. One factor for all episodes brings them near 1 and leaves the aim as it is: a policy
    with the larger mean reward in points is also the one with the larger mean reward in this unit.
    """
    worth = mean_worth(game)
    return 1.0 / worth if worth > 0.0 else 1.0


def mean_worth(game: BargainingConfig) -> float:
    """What the whole pool is worth to the agent on average, in points as they are paid."""
    if game.normalize:
        return float(BUDGET)
    batch = BargainingBatch(game, 1)
    if len(batch.table):
        return float((batch.table[:, :3].astype(np.int64) * batch.table[:, 3:6]).sum(axis=1).mean())
    least, levels = game.min_count, batch.max_count - game.min_count + 1
    units = ITEM_TYPES * (least + batch.max_count) / 2.0
    if least == 0:  # every pool but the empty one
        units *= levels**ITEM_TYPES / (levels**ITEM_TYPES - 1.0)
    return units * UTILITY_LIMIT / 2.0


# Iterations


def scheduled(number: float, schedule: Schedule, steps: int, total: int | None) -> float:
    """A setting that stays, or falls linearly to 0 at the last step; constant within an iteration, which began after so many steps."""
    if schedule == "constant":
        return number
    if total is None:
        raise InvalidOption("A linear schedule ends at the last step; give the learner its total_steps.")
    return number * max(0.0, 1.0 - steps / total)


def not_finite(update: int, iteration: int) -> RunStopped:
    """The error that ends a run whose loss is not finite."""
    return RunStopped(
        f"The loss of update {update} (iteration {iteration}) is not finite; the parameters that remain are from before it."
        " A smaller learning_rate or gradient_norm may help."
    )


# Stages and the end


def carry_over(before: NegotiationLearner, after: NegotiationLearner) -> None:
    """Let a learner go on with the network, the optimizer and the progress of another, in its own episodes."""
    learnt = before.state()
    after.load_state({**after.state(), **{name: learnt[name] for name in LEARNT}})


def torch_device(wanted: str) -> str:
    """Where the torch backend computes; on a CPU in one thread, since several on small matrices wait for each other more than they work."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("The torch backend", "torch", "train") from error
    device = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidOption(f"device is {device}, and torch sees no GPU here; use cpu or auto.")
    if device == "cpu":
        torch.set_num_threads(1)
    return device
