"""A market as a request describes it: what is known of its steps, what was left out, and what is assumed instead.

An outcome may come with three, four or five of its parts. The composite is the product of the other four, so that one missing part follows
from the rest; where two or more are missing, they are those of an average market, scaled to the composite if that is given. Everything else
that was not given stays unknown: it is not zero. What is assumed is said in the reply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgeworth.agents.designers.design_prompt import design_variables
from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_features import scales
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.games.auction.action import FIELDS, DaedalusAction, row_values
from edgeworth.games.auction.market_view import RECENT_STEPS, SEEN, MarketView
from edgeworth.games.auction.state import PROXIES, SCORES
from edgeworth.llm.prompt import NOTHING
from edgeworth.server.live import LiveAuction
from edgeworth.server.refusals import Refused

USUAL_BIDDERS = AuctionConfig().n_agents
PUBLISHED_LENGTH = 50
"""Steps of an episode where a client does not say: the page of the published environment plays so many, and does not send the number."""
LAST = slice(-RECENT_STEPS, None)
*FACTORS, COMPOSITE = SCORES
"""The composite is the product of the other scores."""
FEWEST_PARTS = 3
"""How many of the five scores an outcome needs."""
PUBLISHED_PARTS = {"gini_coefficient": "fairness_score", "composite_reward": COMPOSITE}
"""Scores that the published environment sends under other names; fairness is there 1 - Gini."""
Numbers = tuple[float, ...]


class Steps(NamedTuple):
    """What is known of consecutive steps of a market, oldest first; the three parts may differ in length and then end together."""

    outcomes: tuple[Numbers, ...] = ()
    proxies: tuple[Numbers, ...] = ()
    mechanisms: tuple[DaedalusAction, ...] = ()

    def part(self, steps: slice) -> Steps:
        """Some of the steps."""
        return Steps(self.outcomes[steps], self.proxies[steps], self.mechanisms[steps])

    def view(self, round_number: int, config: AuctionConfig) -> MarketView:
        """The market after these steps as designers see it; zeros where nothing is known."""
        recent = [np.zeros((1, RECENT_STEPS, len(names))) for names in (SCORES, PROXIES, FIELDS)]
        rows = self.outcomes, self.proxies, tuple(map(row_values, self.mechanisms))
        for shown, known in zip(recent, rows, strict=True):
            if known:
                shown[0, -len(known) :] = known
        return MarketView(round_number, config.episode_length, config.n_agents, *recent)


def steps_of(outcomes: Iterable[Any], proxies: Iterable[Any], mechanisms: Iterable[Any]) -> Steps:
    """Steps in plain JSON: outcomes and proxies by name or as rows in order, mechanisms in words or numbers."""
    scores, seen = (tuple(_row(values, names) for values in rows) for rows, names in ((outcomes, SCORES), (proxies, PROXIES)))
    return Steps(scores, seen, tuple(action_from(mechanism) for mechanism in mechanisms))


def parts_of(outcome: Mapping[str, float]) -> dict[str, float]:
    """The scores among the numbers of an outcome, under our names."""
    named = {PUBLISHED_PARTS.get(name, name): 1.0 - value if name == "gini_coefficient" else value for name, value in outcome.items()}
    return {name: named[name] for name in SCORES if name in named}


def completed(outcome: Mapping[str, float]) -> tuple[Numbers, dict[str, str]]:
    """All five scores of an outcome that has some of them, and how each of the others was found."""
    known, how = parts_of(outcome), {}
    if "gini_coefficient" in outcome:
        how["fairness_score"] = "it is 1 - gini_coefficient"
    missing = [name for name in FACTORS if name not in known]
    usual = dict(zip(SEEN, scales()[0].tolist(), strict=True))
    rest = math.prod(known[name] for name in FACTORS if name in known)
    scale = 1.0
    if missing and COMPOSITE in known and rest > 0.0:
        scale = (known[COMPOSITE] / rest / math.prod(usual[name] for name in missing)) ** (1.0 / len(missing))
        how |= dict.fromkeys(missing, "it follows from the composite" if len(missing) == 1 else "an average one is scaled to the composite")
    else:
        how |= dict.fromkeys(missing, "that of an average market is assumed")
    known |= {name: min(usual[name] * scale, 1.0) for name in missing}
    if COMPOSITE not in known:
        known[COMPOSITE] = math.prod(known[name] for name in FACTORS)
        how[COMPOSITE] = "it is the product of the others"
    return tuple(known[name] for name in SCORES), how


def completed_outcomes(outcomes: Iterable[Mapping[str, float]]) -> tuple[list[Numbers], list[str]]:
    """Outcomes with all five scores, and what was assumed to complete them."""
    rows: list[Numbers] = []
    notes: dict[str, None] = {}
    for outcome in outcomes:
        row, how = completed(outcome)
        rows.append(row)
        notes |= {f"market_outcomes: where {name} is missing, {source}": None for name, source in how.items()}
    return rows, list(notes)


def _row(values: Any, names: tuple[str, ...]) -> Numbers:
    return tuple(values[name] for name in names) if isinstance(values, Mapping) else tuple(values)


@dataclass(frozen=True)
class KnownMarket:
    """A market before its next step, as far as it is known."""

    round_number: int
    episode_length: int
    n_agents: int | None
    known: Steps
    """The last steps, as many as are known; not fewer than five in a session that has had so many."""
    first: Steps
    """The first steps, where they are known without gaps."""
    seed: int
    """For designers that draw."""
    notes: tuple[str, ...] = ()
    """What was assumed to read the description."""

    @property
    def recent(self) -> Steps:
        """The last steps that a designer sees."""
        return self.known.part(LAST)

    def config(self) -> AuctionConfig:
        """The market's options that a designer may know; the usual number of bidders where none is given."""
        n_agents = USUAL_BIDDERS if self.n_agents is None else self.n_agents
        return AuctionConfig(n_agents=n_agents, episode_length=self.episode_length)

    def unknown(self) -> list[str]:
        """What is missing of an observation, and what a designer assumes instead."""
        played = self.round_number > 0
        missing = {
            f"n_agents: not given, taken to be {USUAL_BIDDERS}": self.n_agents is None,
            "market_outcomes: not given for the last step, unknown to the designer": played and not self.recent.outcomes,
            "population_proxies: not given, unknown to the designer": played and not self.recent.proxies,
            "current_mechanism: not given, unknown to the designer": played and not self.recent.mechanisms,
        }
        return [name for name, is_missing in missing.items() if is_missing]

    def view(self) -> MarketView:
        """The market as designers see it."""
        return self.recent.view(self.round_number, self.config())

    def first_views(self, most: int) -> list[MarketView] | None:
        """The market after each of its first steps, at most so many; None where they are not known."""
        steps = min(self.round_number, most)
        if min(map(len, self.first)) < steps:
            return None
        return [self.first.part(slice(played)).view(played, self.config()) for played in range(1, steps + 1)]

    def variables(self) -> dict[str, str]:
        """The market as prompt variables; `none` where something is unknown."""
        outcomes, proxies, mechanisms = self.recent
        observation = {
            "round_number": self.round_number,
            "episode_length": self.episode_length,
            "n_agents": self.config().n_agents,
            "market_outcomes": outcomes or ((0.0,) * len(SCORES),),
            "population_proxies": proxies[-1] if proxies else (0.0,) * len(PROXIES),
            "current_mechanism": mechanisms[-1] if mechanisms else np.zeros(len(FIELDS)),
        }
        known = {"outcomes_csv": outcomes, "proxies_csv": proxies, "current_mechanism_json": mechanisms}
        return design_variables(observation) | {name: NOTHING for name, value in known.items() if not value}


def market_in(live: LiveAuction, seed: int) -> KnownMarket:
    """The market of a session, about which everything is known."""
    first = steps_of(*zip(*live.first, strict=True)) if live.first else Steps()
    recent = steps_of(*zip(*live.recent, strict=True)) if live.recent else Steps()
    return KnownMarket(live.steps, live.markets.config.episode_length, live.markets.config.n_agents, recent, first, seed)


def market_described(observation: Mapping[str, Any], seed: int) -> KnownMarket:
    """The market that a client describes by parts of an observation; what contradicts itself is refused."""
    outcomes, notes = completed_outcomes(observation["market_outcomes"])
    defaults = {"round_number": len(outcomes), "episode_length": PUBLISHED_LENGTH}
    notes += [f"{name}: not given, taken to be {value}" for name, value in defaults.items() if name not in observation]
    round_number, length = ({**defaults, **observation}[name] for name in defaults)
    if round_number >= length:
        message = f"round_number is {round_number} of {length}; expected a step that is still to come, 0 to {length - 1}."
        raise Refused(409, "episode_over", message, "Open the next episode with POST /reset.", "round_number")
    names = ("market_outcomes", "recent_proxies", "recent_mechanisms")
    known = steps_of(outcomes, *(observation.get(name) or () for name in names[1:]))
    for name, steps in zip(names, known, strict=True):
        if len(steps) > round_number:
            message = f"{name} has {len(steps)} steps, but round_number says that {round_number} have been played."
            raise Refused(409, "contradiction", message, "Send both as the last observation has them.", name)
    proxies, mechanism = observation.get("population_proxies"), observation.get("current_mechanism")
    last = steps_of((), () if proxies is None else (proxies,), () if mechanism is None else (mechanism,))
    if round_number:  # before the first step both are checked too, but belong to no step
        known = Steps(
            known.outcomes,
            _ending_in(last.proxies, known.proxies, "population_proxies", "recent_proxies"),
            _ending_in(last.mechanisms, known.mechanisms, "current_mechanism", "recent_mechanisms"),
        )
    first = known if min(map(len, known)) == round_number else Steps()
    return KnownMarket(round_number, length, observation.get("n_agents"), known, first, seed, tuple(notes))


def _ending_in(last: tuple[Any, ...], steps: tuple[Any, ...], name: str, recent_name: str) -> tuple[Any, ...]:
    """The known steps, whose last one may also, or only, be given by itself."""
    if last and steps and steps[-1:] != last:
        message = f"{name} is not the last of {recent_name}, which tell of the same step."
        raise Refused(409, "contradiction", message, "Send both as the last observation has them, or one of them.", name)
    return steps or last
