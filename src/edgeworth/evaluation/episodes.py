"""Seeded episodes: one negotiator, one scenario, the same contexts and chances for everybody who is compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.config import BargainingConfig
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import ONGOING

CHUNK = 4096
"""Episodes played side by side."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Episodes:
    """What happened, one entry per episode; episode *i* has seed `seed + i`."""

    reward: NDArray[np.float64]
    partner_reward: NDArray[np.float64]
    maximum: NDArray[np.float64]
    outcome: NDArray[np.int8]
    turns: NDArray[np.int16]


def play_episodes(config: BargainingConfig, negotiator: Negotiator, episodes: int, seed: int, progress: Progress | None = None) -> Episodes:
    """Play the first episode of each of `episodes` consecutive seeds."""
    parts = []
    for begin in range(0, episodes, CHUNK):
        parts.append(_play_chunk(config, negotiator, min(CHUNK, episodes - begin), seed + begin))
        if progress is not None:
            progress(len(parts[-1].reward))
    return Episodes(*(np.concatenate([getattr(p, name) for p in parts]) for name in Episodes.__dataclass_fields__))


def _play_chunk(config: BargainingConfig, negotiator: Negotiator, size: int, seed: int) -> Episodes:
    batch = BargainingBatch(config, size)
    batch.seed(seed)
    batch.reset()
    reward, partner_reward = np.zeros(size), np.zeros(size)
    while True:
        going = batch.state["outcome"] == ONGOING
        if not going.any():
            break
        acts, shares = negotiator.choose(batch)
        part = batch.selected(going)
        part.step(acts[going], shares[going])
        batch.write_back(part, going)
        reward[going] += part.reports["reward"]
        partner_reward[going] = part.reports["partner_reward"]
    state = batch.state
    return Episodes(reward, partner_reward, maximum_rewards(batch), state["outcome"].copy(), state["turn"].copy())


def maximum_rewards(batch: BargainingBatch) -> NDArray[np.float64]:
    """The worth of the whole pool to the agent, in the units the environment pays."""
    if batch.config.normalize:
        return np.full(batch.size, 10.0)
    return batch.state["maximum"][:, 0].astype(np.float64)
