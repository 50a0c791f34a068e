"""What a designer sees of its market: the last five steps (mechanism, scores, what was seen of the bidders) and the clock.

The rules keep what the *bidders* remember. A `StepHistory` beside the batch keeps what the designers were shown: it is cleared when an
episode begins, and every step adds a line. A `MarketView` holds what is visible before the next step, for N markets at once;
`observation_of` gives it for one market under the public names of the environments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.errors import InvalidOption
from edgeworth.games.auction.action import FIELDS, HIGHEST, LIMITS
from edgeworth.games.auction.batch import ALL, MarketBatch, Rows
from edgeworth.games.auction.state import MECHANISM, OUTCOME, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import MAX_BIDDERS

RECENT_STEPS = 5
"""How many steps a designer sees."""

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

SEEN = (*SCORES, *PROXIES)
"""What a designer sees of a step, besides its mechanism: the first numbers of an outcome."""
FIRST_PROXY, FIRST_DIAGNOSTIC = len(SCORES), len(SEEN)
LINE = (*SEEN, *FIELDS)
"""The columns of a line: scores, proxies, and the fields of the mechanism as numbers."""
SCORE_COLUMNS = slice(0, FIRST_PROXY)
PROXY_COLUMNS = slice(FIRST_PROXY, len(SEEN))
SEEN_COLUMNS = slice(0, len(SEEN))
FIELD_COLUMNS = slice(len(SEEN), len(LINE))
FIELD_LIMITS = np.array(LIMITS, np.float64)


@dataclass(frozen=True)
class MarketView:
    """What may be seen of a batch of markets before a step, all of them at the same step.

    The last steps are shown oldest first, (markets, RECENT_STEPS, …); zeros where none was.
    """

    round_number: int
    """Steps played so far in this episode."""
    episode_length: int
    n_agents: int
    recent: NDArray[np.float64]
    """Scores of the last steps, in the order of `state.SCORES`."""
    recent_proxies: NDArray[np.float64]
    """What was seen of the bidders in each of them, in the order of `state.PROXIES`."""
    recent_mechanisms: NDArray[np.float64]
    """What was in force in each of them: the eleven fields as numbers, in the order of `action.FIELDS`."""

    @property
    def size(self) -> int:
        """How many markets there are."""
        return len(self.recent)

    @property
    def outcomes(self) -> NDArray[np.float64]:
        """Scores of the last step; zeros before the first."""
        return self.recent[:, -1]

    @property
    def proxies(self) -> NDArray[np.float64]:
        """What was seen of the bidders in the last step; zeros before the first."""
        return self.recent_proxies[:, -1]

    @property
    def mechanisms(self) -> Rows:
        """What was in force in the last step, as records; all zeros before the first."""
        return rows_of_table(self.recent_mechanisms[:, -1])


def observation_of(view: MarketView, slot: int = 0) -> dict[str, Any]:
    """What the designer of one market sees, by its public names; a mechanism is all zeros where none was posted."""
    return {
        "market_outcomes": view.recent[slot],
        "population_proxies": view.proxies[slot].copy(),
        "round_number": view.round_number,
        "episode_length": view.episode_length,
        "n_agents": view.n_agents,
        "current_mechanism": numbered_mechanism(view.recent_mechanisms[slot, -1]),
        "recent_mechanisms": view.recent_mechanisms[slot],
        "recent_proxies": view.recent_proxies[slot],
    }


def numbered_mechanism(row: NDArray[np.float64]) -> dict[str, Any]:
    """A mechanism as numbers by name: words by their place in the vocabulary, flags as 0 or 1."""
    return {name: np.array(value) if name in HIGHEST else int(value) for name, value in zip(FIELDS, row.tolist(), strict=True)}


def mechanism_table(mechanisms: Rows) -> NDArray[np.float64]:
    """Mechanisms as rows of plain numbers, in the order of `action.FIELDS`."""
    table = np.empty((len(mechanisms), len(FIELDS)))
    for column, name in enumerate(FIELDS):
        table[:, column] = mechanisms[name]
    return table


def rows_of_table(table: NDArray[np.float64]) -> Rows:
    """Rows of plain numbers as the records that the market reads."""
    rows: Rows = np.zeros(table.shape[:-1], MECHANISM)
    for column, name in enumerate(FIELDS):
        rows[name] = table[..., column]
    return rows


def outcome_table(outcomes: Rows) -> NDArray[np.float64]:
    """Outcomes as rows of plain numbers, in the order of the record."""
    return outcomes.view(np.float64).reshape(len(outcomes), len(OUTCOME.names or ()))


class StepHistory:
    """The last steps of every market of a batch, as their designers were shown them."""

    def __init__(self, batch: MarketBatch) -> None:
        self.batch = batch
        self.lines = np.zeros((batch.size, RECENT_STEPS, len(LINE)))
        """The last steps of every market, oldest first, with the columns of `LINE`; zeros where none was."""

    def clear(self, chosen: slice | NDArray[np.bool_] = ALL) -> None:
        """Clear the lines of all markets, or of the chosen ones, whose episode has just begun."""
        self.lines[chosen] = 0.0

    def add(self, mechanisms: Rows, played: slice | NDArray[np.bool_] = ALL) -> None:
        """Add the step just played: the mechanisms it was played under, and its outcomes, which the batch holds."""
        self.lines[played, :-1] = self.lines[played, 1:]
        last, outcomes = self.lines[:, -1], outcome_table(self.batch.outcomes)[played]
        last[played, SCORE_COLUMNS] = outcomes[:, SCORE_COLUMNS]
        last[played, PROXY_COLUMNS] = np.minimum(outcomes[:, PROXY_COLUMNS], PROXY_LIMITS)
        last[played, FIELD_COLUMNS] = mechanism_table(mechanisms[played])

    def view(self, slots: slice = ALL) -> MarketView:
        """What may be seen now of all markets, or of some; a copy, which later steps leave alone."""
        config, steps = self.batch.config, self.batch.markets["step"][slots]
        if (steps != steps[0]).any():
            raise InvalidOption(f"The markets have played {steps.min()} to {steps.max()} steps; a view shows markets at the same step.")
        lines = self.lines[slots]
        return MarketView(
            int(steps[0]),
            config.episode_length,
            config.n_agents,
            recent=lines[..., SCORE_COLUMNS].copy(),
            recent_proxies=lines[..., PROXY_COLUMNS].copy(),
            recent_mechanisms=lines[..., FIELD_COLUMNS].copy(),
        )
