"""What a language model reads of a market and what it may answer: the variables of `configs/designer_prompt.txt`, and a mechanism.

| variable | what it holds |
|---|---|
| `round_number`, `episode_length` | steps played, and steps of this episode |
| `n_agents` | bidders |
| `outcomes_csv` | the five scores of the last step, in the order of `state.SCORES`, or `none` |
| `proxies_csv` | what was seen of the bidders in the last step, in the order of `state.PROXIES`, or `none` |
| `current_mechanism_json` | the mechanism in force, or `none` |
| `history_str` | the scores of the steps before, oldest first, with their mechanisms where the designer `remembers` them; capped |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth.config import config_folder
from edgeworth.games.auction.action import CHOICES, FIELDS, FLAGS, KINDS, DaedalusAction, checked_action
from edgeworth.games.auction.market_view import MarketView, observation_of
from edgeworth.llm.prompt import NOTHING, Prompt, capped, load_prompt_or_own, numbers_csv
from edgeworth.protocol import Schema

VARIABLES = ("round_number", "episode_length", "n_agents", "outcomes_csv", "proxies_csv", "current_mechanism_json", "history_str")
REQUIRED = ("outcomes_csv", "proxies_csv", "current_mechanism_json")
"""Variables that a prompt cannot do without."""

Posted = Mapping[str, Any] | DaedalusAction | np.void | NDArray[np.float64]
"""A mechanism, in whatever form it was posted or is shown."""

MOST_STEPS = 4
MOST_CHARS = 1600
DIGITS = 3


def load_design_prompt(path: Path | str | None = None) -> Prompt:
    """The prompt that asks for a mechanism: ours, or a user's own, with our system message where it has none."""
    return load_prompt_or_own(config_folder() / "designer_prompt.txt", path, VARIABLES, REQUIRED)


def design_variables(
    observation: Mapping[str, Any],
    remembers: bool = False,
    most_steps: int = MOST_STEPS,
    most_chars: int = MOST_CHARS,
) -> dict[str, str]:
    """The variables for one observation; with `remembers`, the mechanisms of the steps before the last are among them."""
    played = int(observation["round_number"])
    scores = np.asarray(observation["market_outcomes"]).tolist()
    posted = observation["recent_mechanisms"] if remembers else None
    return {
        "round_number": str(played),
        "episode_length": str(int(observation["episode_length"])),
        "n_agents": str(int(observation["n_agents"])),
        "outcomes_csv": numbers_csv(scores[-1], DIGITS) if played else NOTHING,
        "proxies_csv": numbers_csv(np.asarray(observation["population_proxies"]).tolist(), DIGITS) if played else NOTHING,
        "current_mechanism_json": mechanism_json(observation["current_mechanism"]) if played else NOTHING,
        "history_str": capped(past_steps(scores, played, posted), most_steps, most_chars),
    }


def batch_variables(view: MarketView, remembers: bool = False) -> list[dict[str, str]]:
    """The variables for every market of a view, in order."""
    return [design_variables(observation_of(view, slot), remembers) for slot in range(view.size)]


def past_steps(scores: Sequence[Any], played: int, posted: Sequence[Posted] | None = None) -> list[str]:
    """The steps before the last one that are still seen, a line each, oldest first, with its mechanism where given."""
    lines = []
    for step in range(max(1, played - len(scores) + 1), played):
        place = step - played - 1
        under = "" if posted is None else f" under {mechanism_json(posted[place])}"
        lines.append(f"step {step}: {numbers_csv(scores[place], DIGITS)}{under}")
    return lines


def mechanism_json(mechanism: Posted) -> str:
    """A mechanism as the JSON that a designer writes, whether it comes in words, in numbers or as a record or row."""
    given: Mapping[str, Any]
    if isinstance(mechanism, DaedalusAction):
        given = mechanism.model_dump()
    else:
        given = mechanism if isinstance(mechanism, Mapping) else dict(zip(FIELDS, mechanism.tolist(), strict=True))
    return json.dumps({name: _plain(name, given[name]) for name in FIELDS})


def _plain(name: str, value: Any) -> Any:
    if name in CHOICES:
        return value if isinstance(value, str) else CHOICES[name][int(value)]
    return bool(value) if name in FLAGS else round(float(value), DIGITS)


MECHANISM_SCHEMA: Schema[DaedalusAction] = Schema("mechanism", KINDS, make=checked_action)
"""The reply: one JSON object with the eleven fields of `DaedalusAction`, each of its kind and in its range."""
