"""What every learner can do, whatever its algorithm and backend: one iteration at a time, and all of its state in arrays.

An iteration is one rollout and what is learnt from it. The state is complete: a learner that takes over the state of another goes on
exactly as that one would have, to the last bit, on the same machine. Below the interface stands what all learners share: the network for a
game, the unit of rewards, schedules, and the metrics of episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.policy_layout import PolicyShape
from edgeworth.config import BargainingConfig
from edgeworth.envs.hint_injector import HintFeed
from edgeworth.errors import InvalidOption, MissingExtra, RunStopped
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.state import BASE_FEATURES
from edgeworth.games.bargaining.vocabulary import BUDGET, ITEM_TYPES, UTILITY_LIMIT
from edgeworth.training.settings import HintSettings, LearnerSettings, Schedule

Metrics = dict[str, float]
State = dict[str, NDArray[Any]]

NO_HINTS = HintSettings()
LEARNT = ("parameters", "first_moment", "second_moment", "updates", "iteration", "steps")
"""Of a state, what belongs to the network, its optimizer and the progress made, not to the episodes under way."""


class Learner(Protocol):
    """Learns to negotiate."""

    steps: int
    """Moves of the agent so far, over all episodes."""
    iteration: int
    """Iterations so far."""

    @property
    def parameters(self) -> NDArray[np.float32]:
        """The network as the flat vector of its layout; copy it to keep it."""
        ...

    @property
    def hint_counts(self) -> dict[str, int | str]:
        """What the hint provider counts; empty without hints."""
        ...

    def iterate(self) -> Metrics:
        """Play a rollout, learn from it, and return the metrics."""
        ...

    def state(self) -> State:
        """Everything that the next iteration depends on, copied."""
        ...

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; one that does not fit is refused."""
        ...

    def close(self) -> None:
        """Close the hint provider."""
        ...


# The network and the unit of rewards


def shape_of(game: BargainingConfig, settings: LearnerSettings, hints: HintSettings = NO_HINTS) -> PolicyShape:
    """The network for a game with these hints."""
    units = BargainingBatch(game, 1).max_count
    return PolicyShape(BASE_FEATURES + hints.width, units, settings.hidden, settings.layers, settings.reading)


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
        raise InvalidOption("A linear schedule ends at the last step; tell the learner its total_steps.")
    return number * max(0.0, 1.0 - steps / total)


def episode_metrics(episodes: float, reward: float, maximum: float, deals: float, turns: float) -> Metrics:
    """Means over episodes from totals: reward in points, share of the maximum, deals, moves of both sides; NaN where there are none."""
    return {
        "reward": reward / episodes if episodes else nan,
        "share_of_maximum": reward / maximum if maximum else nan,
        "deal_rate": deals / episodes if episodes else nan,
        "episode_length": turns / episodes if episodes else nan,
        "episodes": episodes,
    }


def not_finite(update: int, iteration: int) -> RunStopped:
    """The error that ends a run whose loss is not finite."""
    return RunStopped(
        f"The loss of update {update} (iteration {iteration}) is not finite; the parameters that remain are from before it."
        " A smaller learning_rate or gradient_norm may help."
    )


# Stages and the end


def carry_over(before: Learner, after: Learner) -> None:
    """Let a learner go on with the network, the optimizer and the progress of another, in its own episodes."""
    learnt = before.state()
    after.load_state({**after.state(), **{name: learnt[name] for name in LEARNT}})


def close_provider(feed: HintFeed | None) -> None:
    """Close a hint provider that can be closed."""
    close = getattr(feed and feed.provider, "close", None)
    if close is not None:
        close()


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
