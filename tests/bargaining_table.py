"""A table to bargain at in tests: moves by name, one fixed context, and batches that have begun."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import BargainingConfig
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context
from edgeworth.games.bargaining.vocabulary import AGENT, PARTNER, Act

POOL = Context((2, 1, 3), (1, 5, 1), (2, 3, 1))
"""Worth 10 to each side: the agent wants the hat, the partner rather the books."""

Action = dict[str, Any]


class Step(NamedTuple):
    """What `env.step` returns."""

    observation: dict[str, Any]
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


def propose(*share: int) -> Action:
    return {"act_type": int(Act.PROPOSE), "oA": np.array(share)}


def insist(*share: int) -> Action:
    return {"act_type": int(Act.INSIST), "oA": np.array(share)}


def end(*share: int) -> Action:
    return {"act_type": int(Act.END), "oA": np.array(share)}


AGREE: Action = {"act_type": int(Act.AGREE), "oA": np.zeros(3, np.int64)}
DISAGREE: Action = {"act_type": int(Act.DISAGREE), "oA": np.zeros(3, np.int64)}


def fixed(context: Context) -> dict[str, tuple[int, int, int]]:
    """The reset options that play this context."""
    return {"counts": context.counts, "my_utilities": context.my_utilities, "partner_utilities": context.partner_utilities}


def sit_down(context: Context = POOL, seed: int = 0, **options: Any) -> NegotiationEnv:
    """An environment at the start of an episode in this context; the agent opens unless told otherwise."""
    env = NegotiationEnv(**{"opens": "agent", **options})
    env.reset(seed=seed, options=fixed(context))
    return env


def play(env: NegotiationEnv, *actions: Action) -> Step:
    """The last step after these moves of the agent."""
    steps = [Step(*env.step(action)) for action in actions]
    return steps[-1]


def begun(size: int = 1, seed: int = 0, **options: Any) -> BargainingBatch:
    """A batch at the start of its first episodes."""
    batch = BargainingBatch(BargainingConfig.from_options(**options), size)
    batch.seed(seed)
    batch.reset()
    return batch


def begun_with(context: Context, size: int = 1, two_player: bool = False, **options: Any) -> BargainingBatch:
    """A batch at the start of episodes that all play this context; the agent opens unless told otherwise."""
    config = BargainingConfig.from_options(**{"opens": "agent", **options})
    batch = BargainingBatch(config, size, two_player=two_player)
    batch.seed(0)
    batch.reset(np.tile(np.array(context.row(), np.int16), (size, 1)))
    return batch


def say(batch: BargainingBatch, action: Action) -> None:
    """The same agent move in every episode of a batch."""
    batch.step(np.full(batch.size, action["act_type"]), np.tile(action["oA"], (batch.size, 1)))


def say_as(side: int, batch: BargainingBatch, action: Action) -> None:
    """A move of one side of the two-player game."""
    batch.move(side, np.full(batch.size, action["act_type"]), np.tile(action["oA"], (batch.size, 1)))


def talk(batch: BargainingBatch, *actions: Action) -> None:
    """Moves of the two-player game by turns, the agent first."""
    for number, action in enumerate(actions):
        say_as((AGENT, PARTNER)[number % 2], batch, action)


def partner_lines(batch: BargainingBatch) -> list[tuple[int, ...]]:
    """Act and share of the partner's last move in every episode."""
    return [tuple(h[t - 1, 1:].tolist()) for h, t in zip(batch.state["history"], batch.state["turn"], strict=True)]


def bits_of(records: NDArray[np.void]) -> dict[str, bytes]:
    """Every field of an array of records, to the last bit; the padding between fields has no meaning."""
    assert records.dtype.names is not None
    return {name: np.ascontiguousarray(records[name]).tobytes() for name in records.dtype.names}


def all_bits(batch: BargainingBatch) -> list[Any]:
    """Everything a batch holds that a step may change, to the last bit."""
    return [bits_of(batch.state), bits_of(batch.reports), batch.views.tobytes(), batch.masks.tobytes()]


def looks_like_chance(observed: NDArray[np.integer], weights: NDArray[np.floating] | None = None) -> bool:
    """Whether counts are as chance spreads them, evenly or by weight: false once in a thousand fair samples (Wilson and Hilferty 1931)."""
    chances = np.full(len(observed), 1 / len(observed)) if weights is None else weights / weights.sum()
    expected = observed.sum() * chances
    distance = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(observed) - 1
    critical = freedom * (1 - 2 / (9 * freedom) + 3.09 * (2 / (9 * freedom)) ** 0.5) ** 3
    return distance < critical
