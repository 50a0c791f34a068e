"""Schedule designer: one mechanism per step, written down beforehand, whatever the market shows.

`configs/schedules/` holds the best open-loop sequences that `edgeworth designers search --schedule` found, by population and number of
bidders. What a schedule gains over the best constant tells whether a market can be led on; what `adaptive` gains over a schedule tells what
looking is worth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgeworth.agents.designers.bundled import bundled_file, bundled_name, bundled_names, read_mechanisms, schedule_folder
from edgeworth.agents.designers.designer import Designer
from edgeworth.config import AuctionConfig
from edgeworth.errors import UnknownName
from edgeworth.games.auction.action import DaedalusAction, mechanism_rows
from edgeworth.games.auction.batch import Rows, constant_rows
from edgeworth.games.auction.market_view import MarketView


def find_schedule(name: str, n_agents: int) -> tuple[list[DaedalusAction], tuple[str, ...]]:
    """A bundled schedule by its population, or one from a JSON file by its path, and what is to be said of it."""
    if name.endswith(".json"):
        return read_mechanisms(Path(name)), ()
    bundled = bundled_file(schedule_folder(), bundled_name(name), n_agents)
    if bundled is None:
        raise UnknownName("schedule", name, bundled_names(schedule_folder()))
    return read_mechanisms(bundled.path), bundled.notes


class Schedule(Designer):
    """Posts a schedule step by step: `schedule` is a population (`mixed`, `stages`, `stage_3`) or a JSON file; the last one stays."""

    def __init__(self, schedule: str = "mixed") -> None:
        self.given = schedule
        self.mechanisms = find_schedule(schedule, AuctionConfig().n_agents)[0]

    def begin(self, config: AuctionConfig, size: int, seed: int, told: NDArray[np.int64] | None = None) -> None:
        self.mechanisms, self.assumed = find_schedule(self.given, config.n_agents)
        if len(self.mechanisms) != config.episode_length:
            steps = f"the schedule has {len(self.mechanisms)} steps, the episode {config.episode_length}"
            self.assumed += (f"{steps}; " + ("its last mechanism stays" if len(self.mechanisms) < config.episode_length else "it is cut"),)
        self.rows = mechanism_rows(self.mechanisms)

    def design(self, view: MarketView) -> Rows:
        return constant_rows(self.rows[min(view.round_number, len(self.rows) - 1)], view.size)
