"""What a designer is asked over the wire: a market as a client describes it, or as a session knows it.

A description may leave things out. What was not told stays unknown (None): it is not zero, and a designer that would have used it says in
`assumed` what it did without. A session knows everything, also the steps that an observation no longer shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.games.auction.action import FIELDS, DaedalusAction, mechanism_rows, row_values
from edgeworth.games.auction.design_prompt import design_variables
from edgeworth.games.auction.market_view import RECENT_STEPS, MarketView
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.llm.prompt import NOTHING
from edgeworth.server.live import Opening, market_of
from edgeworth.server.refusals import Refused

USUAL_BIDDERS = AuctionConfig().n_agents
Numbers = tuple[float, ...]


class Past(NamedTuple):
    """How a session came to where it is."""

    opening: Opening
    actions: tuple[Any, ...]


@dataclass(frozen=True)
class DesignQuestion:
    """A market before its next step, as far as it is known."""

    round_number: int
    episode_length: int
    outcomes: tuple[Numbers, ...]
    """Scores of the last steps that are known, oldest first."""
    seen: tuple[Numbers, ...]
    """The proxies of the last steps that are known."""
    posted: tuple[DaedalusAction, ...]
    """The mechanisms of the last steps that are known."""
    n_agents: int | None
    seed: int
    """For designers that draw."""
    past: Past | None = None
    """Where the question is about a session."""

    @property
    def proxies(self) -> Numbers | None:
        """What was seen of the bidders in the last step."""
        return self.seen[-1] if self.seen else None

    @property
    def mechanism(self) -> DaedalusAction | None:
        """The mechanism in force."""
        return self.posted[-1] if self.posted else None

    @property
    def bidders(self) -> int:
        """How many there are, or are taken to be."""
        return USUAL_BIDDERS if self.n_agents is None else self.n_agents

    def unknown(self) -> list[str]:
        """What is missing of an observation, and what a designer then goes by."""
        played = self.round_number > 0
        missing = {
            f"n_agents: not given, taken to be {USUAL_BIDDERS}": self.n_agents is None,
            "market_outcomes: not given for the last step, unknown to the designer": played and not self.outcomes,
            "population_proxies: not given, unknown to the designer": played and self.proxies is None,
            "current_mechanism: not given, unknown to the designer": played and self.mechanism is None,
        }
        return [name for name, is_missing in missing.items() if is_missing]

    def view(self) -> MarketView:
        """The market as designers of the package look at it, for those that know what they see; zeros where nothing is known."""
        scores, proxies, fields = (np.zeros((1, RECENT_STEPS, len(names))) for names in (SCORES, PROXIES, FIELDS))
        for rows, known in ((scores, self.outcomes), (proxies, self.seen), (fields, [row_values(action) for action in self.posted])):
            if known:
                rows[0, -len(known) :] = known
        return MarketView(self.round_number, self.episode_length, self.bidders, scores, proxies, fields)

    def variables(self) -> dict[str, str]:
        """The market as a language model is told of it; what is not known is told as `none`."""
        observation = {
            "round_number": self.round_number,
            "episode_length": self.episode_length,
            "n_agents": self.bidders,
            "market_outcomes": self.outcomes or ((0.0,) * len(SCORES),),
            "population_proxies": self.proxies or (0.0,) * len(PROXIES),
            "current_mechanism": self.mechanism or np.zeros(len(FIELDS)),
        }
        told = design_variables(observation)
        known = {"outcomes_csv": self.outcomes, "proxies_csv": self.proxies, "current_mechanism_json": self.mechanism}
        return {**told, **{name: NOTHING for name, value in known.items() if not value}}

    def trail(self, most: int) -> list[MarketView] | None:
        """What was to be seen before each of the first steps and after the last of them, or None where that is not known.

        `most` is after how many steps a designer has learned all that it will.
        """
        if self.past is not None:
            return views_of(self.past, most)
        if min(map(len, (self.outcomes, self.seen, self.posted))) < self.round_number:
            return None
        return [self._after(steps).view() for steps in range(min(self.round_number, most) + 1)]

    def _after(self, steps: int) -> DesignQuestion:
        """The question as it was after the first steps, where all are known."""
        outcomes, seen, posted = self.outcomes[:steps], self.seen[:steps], self.posted[:steps]
        return dataclasses.replace(self, round_number=steps, outcomes=outcomes, seen=seen, posted=posted)


def views_of(past: Past, most: int) -> list[MarketView]:
    """The market of a session before each of its first steps and after the last of them, played again."""
    markets = market_of(past.opening)
    views = [markets.view()]
    for action in past.actions[:most]:
        markets.step(mechanism_rows([action]))
        views.append(markets.view())
    return views


def question_from(observation: Mapping[str, Any], seed: int, past: Past | None = None) -> DesignQuestion:
    """A question about a market as an observation describes it; outcomes and proxies by name, or as rows in their order."""
    round_number, length = observation["round_number"], observation["episode_length"]
    if round_number >= length:
        message = f"round_number is {round_number} of {length}; expected a step that is still to come, 0 to {length - 1}."
        raise Refused(409, "episode_over", message, "Open the next episode with POST /reset.", "round_number")
    known: dict[str, tuple[Any, ...]] = {
        "market_outcomes": tuple(row_of(scores, SCORES) for scores in observation["market_outcomes"]),
        "recent_proxies": tuple(row_of(proxies, PROXIES) for proxies in observation.get("recent_proxies") or ()),
        "recent_mechanisms": tuple(action_from(mechanism) for mechanism in observation.get("recent_mechanisms") or ()),
    }
    for name, steps in known.items():
        if len(steps) > round_number:
            message = f"{name} has {len(steps)} steps, but round_number says that {round_number} have been played."
            raise Refused(409, "contradiction", message, "Send both as the last observation has them.", name)
    proxies, mechanism = observation.get("population_proxies"), observation.get("current_mechanism")
    last_proxies = None if proxies is None else row_of(proxies, PROXIES)
    in_force = None if mechanism is None else action_from(mechanism)  # judged before the first step too, where there is none yet
    if round_number and last_proxies is not None:
        known["recent_proxies"] = ending_in(last_proxies, known, "recent_proxies", "population_proxies")
    if round_number and in_force is not None:
        known["recent_mechanisms"] = ending_in(in_force, known, "recent_mechanisms", "current_mechanism")
    outcomes, seen, posted = (steps[-RECENT_STEPS:] for steps in known.values())
    return DesignQuestion(round_number, length, outcomes, seen, posted, observation.get("n_agents"), seed, past)


def ending_in(last: Any, known: Mapping[str, tuple[Any, ...]], name: str, told_as: str) -> tuple[Any, ...]:
    """What is known of the steps under a name, whose last one is also told by itself."""
    steps = known[name]
    if steps and steps[-1] != last:
        message = f"{told_as} is not the last of {name}, which tell of the same step."
        raise Refused(409, "contradiction", message, "Send both as the last observation has them, or one of them.", told_as)
    return steps or (last,)


def row_of(values: Any, names: tuple[str, ...]) -> Numbers:
    """Numbers in their order."""
    return tuple(values[name] for name in names) if isinstance(values, Mapping) else tuple(values)
