"""What a designer sees of its market: the last outcomes, what was seen of the bidders, the clock, and the mechanism in force.

The rules keep what the *bidders* remember. What a designer has been shown is kept in a `Notebook` beside the batch: a fresh page when an
episode begins, a line after every step. A `MarketView` is a page of it before the next step, for N markets at once; `observation_of` is
the same for one market under the public names of the environments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import FIELDS, HIGHEST
from edgeworth.games.auction.batch import MarketBatch, Rows
from edgeworth.games.auction.state import MECHANISM, OUTCOME, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import MAX_BIDDERS

RECENT_STEPS = 5
"""Steps whose outcomes stay in sight."""

HIGHEST_BID = 4.0
"""Bids of the calibrated model stay below 2.2; a wilder model is shown up to here."""
HIGHEST_VARIATION = 9.0
"""Just above √79, the most that eighty bids can vary in units of their mean."""
PROXY_LIMITS = np.array(
    [
        {"bid_mean": HIGHEST_BID, "winner_gap": HIGHEST_BID, "bid_variation": HIGHEST_VARIATION, "entrants": MAX_BIDDERS}.get(name, 1.0)
        for name in PROXIES
    ]
)

FIRST_PROXY, FIRST_DIAGNOSTIC = len(SCORES), len(SCORES) + len(PROXIES)
NOTHING_POSTED = np.zeros(1, MECHANISM)
ALL = slice(None)


@dataclass(frozen=True)
class MarketView:
    """What may be seen of a batch of markets before a step, all of them at the same step."""

    round_number: int
    """Steps played so far in this episode."""
    episode_length: int
    n_agents: int
    recent: NDArray[np.float64]
    """Scores of the last steps, oldest first, in the order of `state.SCORES`: (markets, RECENT_STEPS, scores); zeros where none was."""
    proxies: NDArray[np.float64]
    """What was seen of the bidders in the last step, in the order of `state.PROXIES`; zeros before the first."""
    mechanisms: Rows
    """What was in force in the last step; all zeros before the first."""

    @property
    def size(self) -> int:
        """How many markets there are."""
        return len(self.recent)

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """Scores of the last step; zeros before the first."""
        return self.recent[:, -1]


def observation_of(view: MarketView, slot: int = 0) -> dict[str, Any]:
    """What the designer of one market sees, by its public names; the mechanism is all zeros until one has been posted."""
    return {
        "market_outcomes": view.recent[slot],
        "population_proxies": view.proxies[slot],
        "round_number": view.round_number,
        "episode_length": view.episode_length,
        "n_agents": view.n_agents,
        "current_mechanism": numbered_mechanism(view.mechanisms[slot]),
    }


def numbered_mechanism(row: np.void) -> dict[str, Any]:
    """A mechanism as numbers: words by their place in the vocabulary, flags as 0 or 1."""
    return {name: np.array(value) if name in HIGHEST else int(value) for name, value in zip(FIELDS, row.item(), strict=True)}


def outcome_table(outcomes: Rows) -> NDArray[np.float64]:
    """Outcomes as rows of plain numbers, in the order of the record."""
    return outcomes.view(np.float64).reshape(len(outcomes), len(OUTCOME.names or ()))


class Notebook:
    """What has been shown of the episodes that a batch has in play."""

    def __init__(self, batch: MarketBatch) -> None:
        self.batch = batch
        self.recent = np.zeros((batch.size, RECENT_STEPS, len(SCORES)))
        self.posted: Rows = np.zeros(batch.size, MECHANISM)

    def open(self, chosen: slice | NDArray[np.bool_] = ALL) -> None:
        """A fresh page for all markets, or for the chosen ones, whose episode has just begun."""
        self.recent[chosen], self.posted[chosen] = 0.0, NOTHING_POSTED

    def write(self, mechanisms: Rows, played: slice | NDArray[np.bool_] = ALL) -> None:
        """Note the step just played: the mechanisms it was played under, and its outcomes, which the batch holds."""
        self.posted[played] = mechanisms[played]
        self.recent[played, :-1] = self.recent[played, 1:]
        self.recent[played, -1] = outcome_table(self.batch.outcomes)[played, :FIRST_PROXY]

    def proxies(self, slots: slice = ALL) -> NDArray[np.float64]:
        """What was seen of the bidders in the last step of every market; zeros before the first."""
        seen: NDArray[np.float64] = np.minimum(outcome_table(self.batch.outcomes)[slots, FIRST_PROXY:FIRST_DIAGNOSTIC], PROXY_LIMITS)
        return seen

    def view(self, slots: slice = ALL) -> MarketView:
        """What may be seen now of all markets, or of some; a copy, which later steps leave alone."""
        config, steps = self.batch.config, self.batch.markets["step"][slots]
        if (steps != steps[0]).any():
            raise InvalidOption(f"The markets have played {steps.min()} to {steps.max()} steps; a view shows markets at the same step.")
        recent, posted = self.recent[slots].copy(), self.posted[slots].copy()
        return MarketView(int(steps[0]), config.episode_length, config.n_agents, recent, self.proxies(slots), posted)
