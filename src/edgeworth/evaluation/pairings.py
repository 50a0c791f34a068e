"""A pairing of a tournament: two negotiators, or one and the scenario's own partner, on seeded episodes, with its measures.

A pairing is a task (`executor/`), so that many are played side by side. The bootstrap's resamples are kept beside the estimates, since
scores are means over pairings, resample by resample.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.negotiators.learned import negotiator_of, written_at
from edgeworth.config import BargainingConfig
from edgeworth.errors import CannotPlay
from edgeworth.evaluation.episodes import Episodes, Player, consecutive, play_pair, play_seeds
from edgeworth.evaluation.negotiators import deal_quality
from edgeworth.evaluation.statistics import Estimate, as_json, from_resamples, resampled_sums
from edgeworth.executor.tasks import Task
from edgeworth.games.bargaining.vocabulary import AGENT, BUDGET, PARTNER

MEASURES = ("agent_share", "partner_share", "deal_rate", "pareto_rate", "nash_ratio")
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """The measures of one pairing: as estimates, and in every resample."""

    values: Mapping[str, Estimate | None]
    samples: Mapping[str, Numbers]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: as_json(found) for name, found in self.values.items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Measured:
        """The measures that a task returned."""
        values = {name: None if found is None else Estimate.from_dict(found) for name, found in stored["values"].items()}
        return cls(values, stored["samples"])


def player_of(name: str) -> Player:
    """A negotiator by name or path, ready for both seats."""
    return Player(name, {AGENT: negotiator_of(name), PARTNER: negotiator_of(name)})


def title(scenario: str, agent: str, partner: str | None) -> str:
    """What a pairing is called."""
    return f"{scenario}: {agent} with {'its own partner' if partner is None else partner}"


def pairing_task(scenario: str, config: BargainingConfig, agent: str, partner: str | None, seed: int, episodes: int) -> Task:
    """A pairing as a task; without a partner it is the scenario's own."""
    reads = " ".join(written_at(name) for name in (agent, partner) if name is not None)
    return Task(title(scenario, agent, partner), play_pairing, (config, agent, partner, seed, episodes), reads)


@functools.lru_cache(64)
def _prepared(config: str, name: str) -> Player:
    """A negotiator for the pairings of one game that this process plays; what it has worked out serves the next pairing too."""
    return player_of(name)


def play_pairing(config: BargainingConfig, agent: str, partner: str | None, seed: int, episodes: int) -> dict[str, Any]:
    """The measures of a negotiator with another one, or with the scenario's own partner; or who cannot play, and why."""
    seeds, player = consecutive(seed, episodes), _prepared(repr(config), agent)
    if partner is None:
        found = measured(config, play_seeds(config, player.seats[AGENT], seeds))
    else:
        try:
            found = measured(config, play_pair(config, player, _prepared(repr(config), partner), seeds))
        except CannotPlay as error:
            return {"who": error.who, "reason": error.reason}
    return {"values": found.as_dict(), "samples": found.samples}


def measured(config: BargainingConfig, episodes: Episodes) -> Measured:
    """The measures of one pairing."""
    quality = deal_quality(episodes.contexts, episodes.deal, episodes.agreed, config.reservation)
    counts, theirs = episodes.contexts[:, :3], episodes.contexts[:, 6:9]
    partner_maximum = np.full(len(counts), float(BUDGET)) if config.normalize else (counts * theirs).sum(1).astype(np.float64)
    agreed, everything = episodes.agreed.astype(np.float64), np.ones(len(counts))
    parts = np.stack([episodes.reward, episodes.partner_reward, agreed, quality.pareto.astype(np.float64), quality.nash], axis=1)
    wholes = np.stack([episodes.maximum, partner_maximum, everything, agreed, quality.best_nash], axis=1)
    sums = resampled_sums(np.concatenate([parts, wholes], axis=1))
    above, below = sums[:, : len(MEASURES)], sums[:, len(MEASURES) :]
    ratios = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0.0)
    values: dict[str, Estimate | None] = {}
    for column, name in enumerate(MEASURES):
        whole = wholes[:, column].sum()
        n = int(agreed.sum()) if name == "pareto_rate" else len(counts)
        values[name] = None if whole <= 0.0 else from_resamples(parts[:, column].sum() / whole, ratios[:, column], n)
    return Measured(values, {name: ratios[:, column] for column, name in enumerate(MEASURES)})
