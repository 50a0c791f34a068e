"""Seeded episodes: a negotiator against the scenario's partner, or two negotiators against each other, on the same contexts and chances.

Two negotiators play the scenario's game without its partner: the same pools, clock and prices, and both sides free to make any legal move,
the first included. The same seeds bring the same pools, openers and chances for every pair. A random move depends on the episode and the
turn, not on who makes it, so the same two in exchanged seats, with exchanged utilities, play the same episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.seat import Seat
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGENT, AGENT_AGREED, BUDGET, ONGOING, PARTNER, SELECTIONS_MATCHED
from edgeworth.progress import Progress, silent

CHUNK = 4096
"""Episodes played side by side."""
MOST_SEEDS_PER_EPISODE = 1000
"""How many contexts are looked at before a wanted kind counts as missing."""

Seeds = NDArray[np.int64]
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

    @classmethod
    def of(cls, batch: BargainingBatch, reward: NDArray[np.float64], partner_reward: NDArray[np.float64]) -> Episodes:
        """A batch that has been played to its end, with what both sides got."""
        state = batch.state
        contexts = np.concatenate([state["counts"], state["utilities"].reshape(-1, 6)], axis=1).astype(np.int64)
        deal = state["deal"].astype(np.int64)
        return cls(reward, partner_reward, maximum_rewards(batch), state["outcome"].copy(), state["turn"].copy(), contexts, deal)

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, from which `Episodes(**arrays)` makes the same."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def first(self, number: int) -> Episodes:
        """The first `number` episodes."""
        return Episodes(*(getattr(self, name)[:number] for name in self.__dataclass_fields__))

    @property
    def share(self) -> float:
        """Σ reward / Σ maximum."""
        return float(self.reward.sum() / self.maximum.sum())

    def share_over(self, other: NDArray[np.float64]) -> float:
        """Σ (reward less another one) / Σ maximum, such as what another agent earned in the same episodes."""
        return float((self.reward - other).sum() / self.maximum.sum())

    @property
    def agreed(self) -> NDArray[np.bool_]:
        """Where a deal was closed."""
        return np.asarray((self.outcome >= AGENT_AGREED) & (self.outcome <= SELECTIONS_MATCHED))


def consecutive(seed: int, number: int) -> Seeds:
    """`number` seeds, counting up from `seed`."""
    return np.arange(seed, seed + number, dtype=np.int64)


def opened(config: BargainingConfig, seeds: Seeds, two_player: bool = False) -> BargainingBatch:
    """The first episode of each of these seeds, before the agent's first move, or before any move where both sides are negotiators."""
    batch = BargainingBatch(config, len(seeds), two_player=two_player)
    batch.seed(seeds.tolist())
    batch.reset()
    return batch


def maximum_rewards(batch: BargainingBatch) -> NDArray[np.float64]:
    """The worth of the whole pool to the agent, in the units the environment pays."""
    if batch.config.normalize:
        return np.full(batch.size, float(BUDGET))
    return batch.state["maximum"][:, AGENT].astype(np.float64)


def seeds_with(config: BargainingConfig, wanted: Choice, episodes: int, seed: int) -> Seeds:
    """The first `episodes` seeds, counting up from `seed`, whose first context is a wanted one."""
    found = np.zeros(0, np.int64)
    looked_at = 0
    while len(found) < episodes:
        if looked_at >= MOST_SEEDS_PER_EPISODE * episodes:
            raise InvalidOption(
                f"Among {looked_at:,} contexts of this game {len(found):,} are of the kind that is wanted; {episodes:,} were asked for."
            )
        seeds = consecutive(seed + looked_at, CHUNK)
        state = opened(config, seeds).state
        chosen = wanted(state["counts"].astype(np.int64), state["utilities"][:, AGENT].astype(np.int64))
        found = np.concatenate([found, seeds[chosen]])
        looked_at += CHUNK
    return found[:episodes]


# One negotiator against the scenario's partner


def play_episodes(
    config: BargainingConfig, negotiator: Negotiator, episodes: int, seed: int, progress: Progress = silent, name: str = ""
) -> Episodes:
    """Play the first episode of each of `episodes` consecutive seeds; `name` is for the progress."""
    return play_seeds(config, negotiator, consecutive(seed, episodes), progress, name)


def play_seeds(config: BargainingConfig, negotiator: Negotiator, seeds: Seeds, progress: Progress = silent, name: str = "") -> Episodes:
    """Play the first episode of each of these seeds."""
    parts = []
    progress(name, 0, len(seeds))
    for begin in range(0, len(seeds), CHUNK):
        batch = opened(config, seeds[begin : begin + CHUNK])
        parts.append(Episodes.of(batch, *play_out(batch, negotiator)))
        progress(name, begin + batch.size, len(seeds))
    return Episodes.joined(parts)


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


# Two negotiators against each other


@dataclass(frozen=True)
class Player:
    """A negotiator by name, once for each seat, since a negotiator may keep notes about the episodes it plays."""

    name: str
    seats: Mapping[int, Negotiator]


def play_pair(config: BargainingConfig, agent: Player, partner: Player, seeds: Seeds) -> Episodes:
    """The first episode of each of these seeds, both sides played by negotiators."""
    parts = []
    for begin in range(0, len(seeds), CHUNK):
        batch = opened(config, seeds[begin : begin + CHUNK], two_player=True)
        charges = play_out_pair(batch, agent, partner)
        payoff = batch.state["payoff"]
        parts.append(Episodes.of(batch, payoff[:, AGENT] - charges[AGENT], payoff[:, PARTNER] - charges[PARTNER]))
    return Episodes.joined(parts)


def play_out_pair(batch: BargainingBatch, agent: Player, partner: Player) -> NDArray[np.float64]:
    """Play every episode of a two-player batch to its end; what both sides paid for their moves, (2, N)."""
    seats = [Seat(player.name, player.seats[side], batch, side) for side, player in enumerate((agent, partner))]
    charges = np.zeros((2, batch.size))
    side = PARTNER  # it makes its openings first, so that from then on all episodes wait for the same side
    while (going := batch.state["outcome"] == ONGOING).any():
        waiting = going & ((batch.state["opener"] + batch.state["turn"]) % 2 == side)
        if waiting.any():
            charges[side] += seats[side].move(waiting)
        side = 1 - side
    return charges
