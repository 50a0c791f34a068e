"""What every learner can do, whatever its algorithm and backend: an iteration at a time, and all of its state in arrays.

An iteration is one rollout and what is learnt from it. The state is complete: a learner that takes over the state of another goes on
exactly as that one would have, to the last bit, on the same machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeworth.envs.hint_injector import HintFeed
from edgeworth.errors import InvalidOption, RunStopped
from edgeworth.training.settings import Schedule

Metrics = dict[str, float]
State = dict[str, NDArray[Any]]

LEARNT = ("parameters", "first_moment", "second_moment", "updates", "iteration", "steps")
"""Of a state, what belongs to the network, its optimizer and the progress made, not to the talks under way."""


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
        """What the hints' giver counts; empty without hints."""
        ...

    def iterate(self) -> Metrics:
        """Play a rollout, learn from it, and say what happened."""
        ...

    def state(self) -> State:
        """Everything that the next iteration depends on, copied."""
        ...

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; one that does not fit is refused."""
        ...

    def close(self) -> None:
        """Let go of what the hints' giver holds."""
        ...


def not_finite(update: int, iteration: int) -> RunStopped:
    """The end of a run whose numbers have left all bounds."""
    return RunStopped(
        f"The loss of update {update} (iteration {iteration}) is not finite; the parameters that remain are from before it."
        " A smaller learning_rate or gradient_norm may help."
    )


def let_go(feed: HintFeed | None) -> None:
    """Close the giver of hints, where it holds something that can be closed."""
    close = getattr(feed and feed.provider, "close", None)
    if close is not None:
        close()


def scheduled(number: float, schedule: Schedule, steps: int, total: int | None) -> float:
    """A setting that stays, or falls in a line to 0 at the last step; the same throughout an iteration, which began after so many steps."""
    if schedule == "constant":
        return number
    if total is None:
        raise InvalidOption("A linear schedule ends at the last step; tell the learner its total_steps.")
    return number * max(0.0, 1.0 - steps / total)


def carry_over(before: Learner, after: Learner) -> None:
    """Let a learner go on with the network, the optimizer and the progress of another, in its own talks."""
    learnt = before.state()
    after.load_state({**after.state(), **{name: learnt[name] for name in LEARNT}})
