"""Two negotiators at one table: seeded talks of one as the agent with the other as the partner.

The game is that of the scenario without its partner: the same pools, clock and prices, and both sides free to make any legal move, the
first included. The same seeds bring the same pools, openers and chances for every pair. A drawn move is drawn by the episode and the turn,
whoever draws it, so that the same two in exchanged seats, with exchanged utilities, have the same talks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.negotiator import Negotiator
from edgeworth.agents.negotiators.seat import Seat
from edgeworth.config import BargainingConfig
from edgeworth.evaluation.episodes import CHUNK, Episodes, episodes_of
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.vocabulary import AGENT, ONGOING, PARTNER


@dataclass(frozen=True)
class Player:
    """A negotiator under its name, once for each seat: what it notes beside the talks of one belongs to them."""

    name: str
    seats: Mapping[int, Negotiator]


def play_pair(config: BargainingConfig, agent: Player, partner: Player, seeds: NDArray[np.int64]) -> Episodes:
    """The first talks of each of these seeds, both sides played by negotiators."""
    parts = []
    for begin in range(0, len(seeds), CHUNK):
        table = laid_table(config, seeds[begin : begin + CHUNK])
        charges = play_talks(table, agent, partner)
        payoff = table.state["payoff"]
        parts.append(episodes_of(table, payoff[:, AGENT] - charges[AGENT], payoff[:, PARTNER] - charges[PARTNER]))
    return Episodes.joined(parts)


def laid_table(config: BargainingConfig, seeds: NDArray[np.int64]) -> BargainingBatch:
    """The first talks of each of these seeds, before anybody has spoken."""
    table = BargainingBatch(config, len(seeds), two_player=True)
    table.seed(seeds.tolist())
    table.reset()
    return table


def play_talks(table: BargainingBatch, agent: Player, partner: Player) -> NDArray[np.float64]:
    """Play all talks of a table to their ends; what both sides paid for their moves, (2, N)."""
    seats = [Seat(player.name, player.seats[side], table, side) for side, player in enumerate((agent, partner))]
    charges = np.zeros((2, table.size))
    side = PARTNER  # it makes its openings first, so that from then on all talks wait for the same side
    while (going := table.state["outcome"] == ONGOING).any():
        waiting = going & ((table.state["opener"] + table.state["turn"]) % 2 == side)
        if waiting.any():
            charges[side] += seats[side].move(waiting)
        side = 1 - side
    return charges
