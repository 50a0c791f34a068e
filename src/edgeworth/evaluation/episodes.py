"""Seeded episodes: one negotiator, one scenario, the same contexts and chances for everybody who is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, ONGOING, SELECTIONS_MATCHED

CHUNK = 4096
"""Episodes played side by side."""

MOST_SEEDS_PER_EPISODE = 1000
"""How many contexts are looked at before a wanted kind counts as missing."""

Progress = Callable[[int], None]
Choice = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]
"""Which contexts are wanted, by pools (n, 3) and the agent's utilities (n, 3)."""


@dataclass(frozen=True)
class Episodes:
    """What happened, one entry per episode, in the order of their seeds."""

    reward: NDArray[np.float64]
    partner_reward: NDArray[np.float64]
    maximum: NDArray[np.float64]
    outcome: NDArray[np.int8]
    turns: NDArray[np.int16]
    contexts: NDArray[np.int64]
    """Pool, the agent's utilities, the partner's; nine numbers each, as in `Context.row`."""
    deal: NDArray[np.int64]
    """The agent's share where a deal was closed; zeros elsewhere."""

    @classmethod
    def joined(cls, parts: Sequence[Episodes]) -> Episodes:
        """Parts one after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def first(self, number: int) -> Episodes:
        """The first so many."""
        return Episodes(*(getattr(self, name)[:number] for name in self.__dataclass_fields__))

    @property
    def agreed(self) -> NDArray[np.bool_]:
        """Where a deal was closed."""
        return np.asarray((self.outcome >= AGENT_AGREED) & (self.outcome <= SELECTIONS_MATCHED))


def play_episodes(config: BargainingConfig, negotiator: Negotiator, episodes: int, seed: int, progress: Progress | None = None) -> Episodes:
    """Play the first episode of each of `episodes` consecutive seeds."""
    return play_seeds(config, negotiator, np.arange(seed, seed + episodes, dtype=np.int64), progress)


def play_seeds(config: BargainingConfig, negotiator: Negotiator, seeds: NDArray[np.int64], progress: Progress | None = None) -> Episodes:
    """Play the first episode of each of these seeds."""
    parts = []
    for begin in range(0, len(seeds), CHUNK):
        parts.append(_play_chunk(config, negotiator, seeds[begin : begin + CHUNK]))
        if progress is not None:
            progress(len(parts[-1].reward))
    return Episodes.joined(parts)


def _play_chunk(config: BargainingConfig, negotiator: Negotiator, seeds: NDArray[np.int64]) -> Episodes:
    batch = opened(config, seeds)
    return episodes_of(batch, *play_out(batch, negotiator))


def episodes_of(batch: BargainingBatch, reward: NDArray[np.float64], partner_reward: NDArray[np.float64]) -> Episodes:
    """What happened in a batch that has been played to its end, with what both sides got."""
    state = batch.state
    contexts = np.concatenate([state["counts"], state["utilities"].reshape(-1, 6)], axis=1).astype(np.int64)
    deal = state["deal"].astype(np.int64)
    return Episodes(reward, partner_reward, maximum_rewards(batch), state["outcome"].copy(), state["turn"].copy(), contexts, deal)


def opened(config: BargainingConfig, seeds: NDArray[np.int64]) -> BargainingBatch:
    """The first episode of each of these seeds, before the agent's first move."""
    batch = BargainingBatch(config, len(seeds))
    batch.seed(seeds.tolist())
    batch.reset()
    return batch


def play_out(batch: BargainingBatch, negotiator: Negotiator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Play every episode of a batch to its end; what the agent and the partner get from here on."""
    reward, partner_reward = np.zeros(batch.size), np.zeros(batch.size)
    while (going := batch.state["outcome"] == ONGOING).any():
        acts, shares = negotiator.choose(batch)
        part = batch.selected(going)
        part.step(acts[going], shares[going])
        batch.write_back(part, going)
        reward[going] += part.reports["reward"]
        partner_reward[going] = part.reports["partner_reward"]
    return reward, partner_reward


def seeds_with(config: BargainingConfig, wanted: Choice, episodes: int, seed: int) -> NDArray[np.int64]:
    """The first `episodes` seeds, counting up from `seed`, whose first context is a wanted one."""
    found = np.zeros(0, np.int64)
    looked_at = 0
    while len(found) < episodes:
        if looked_at >= MOST_SEEDS_PER_EPISODE * episodes:
            raise InvalidOption(
                f"Among {looked_at:,} contexts of this game {len(found):,} are of the kind that is wanted; {episodes:,} were asked for."
            )
        seeds = np.arange(seed + looked_at, seed + looked_at + CHUNK, dtype=np.int64)
        state = opened(config, seeds).state
        chosen = wanted(state["counts"].astype(np.int64), state["utilities"][:, AGENT].astype(np.int64))
        found = np.concatenate([found, seeds[chosen]])
        looked_at += CHUNK
    return found[:episodes]


def maximum_rewards(batch: BargainingBatch) -> NDArray[np.float64]:
    """The worth of the whole pool to the agent, in the units the environment pays."""
    if batch.config.normalize:
        return np.full(batch.size, 10.0)
    return batch.state["maximum"][:, 0].astype(np.float64)
