"""Episodes played over the wire: the environments behind plain JSON.

A session is its opening (game, rules, options, seed) and the log of its actions; `open_live` and `replayed` rebuild the same episode from
them on any machine, bit for bit, and refuse a session of rules that are not in force.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from edgeworth.config import AuctionConfig
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import EpisodeOver, IllegalAction, shown
from edgeworth.games.auction.action import completed, row_values
from edgeworth.games.auction.market_view import FIRST_PROXY, RECENT_STEPS
from edgeworth.games.auction.state import MECHANISM, PROXIES, SCORES
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS
from edgeworth.server.openings import Opening, refuse_other_rules

MOVE = ("act_type", "oA")


class Turn(NamedTuple):
    """The result of a step."""

    observation: dict[str, Any]
    reward: float
    done: bool
    info: dict[str, Any]


class Live:
    """An episode in play."""

    steps = 0
    done = False

    def observation(self) -> dict[str, Any]:
        """What the player sees now."""
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        """What accompanies the observation."""
        raise NotImplementedError

    def logged(self) -> Any:
        """The action of the last step in plain JSON, for the log."""
        raise NotImplementedError

    def step(self, action: Any) -> Turn:
        """Carry out an action; one that is refused changes nothing."""
        if self.done:
            raise EpisodeOver(f"The episode is over after {self.steps} steps.")
        reward = self._played(action)
        self.steps += 1
        return Turn(self.observation(), reward, self.done, self.info())

    def _played(self, action: Any) -> float:
        """The reward of an action, once it is carried out; sets `done`."""
        raise NotImplementedError


class MarketStep(NamedTuple):
    """What a designer sees of a step."""

    scores: dict[str, float]
    proxies: dict[str, float]
    mechanism: dict[str, Any]


class LiveAuction(Live):
    """A market whose designer is the client; `DaedalusEnv` without its spaces and arrays."""

    def __init__(self, opening: Opening) -> None:
        self.markets, self.truth = DesignedMarkets(AuctionConfig.from_options(**opening.options), 1), opening.truth
        self.markets.batch.seed(opening.seed)
        self.markets.begin()
        self.first: list[MarketStep] = []
        """The first five steps, from which the adaptive designer learns."""
        self.recent: deque[MarketStep] = deque(maxlen=RECENT_STEPS)
        self._row = np.zeros(1, MECHANISM)
        self._filled: tuple[str, ...] = ()

    def observation(self) -> dict[str, Any]:
        config, last = self.markets.config, self.recent[-1] if self.recent else None
        return {
            "market_outcomes": [step.scores for step in self.recent],
            "population_proxies": last and last.proxies,
            "round_number": self.steps,
            "episode_length": config.episode_length,
            "n_agents": config.n_agents,
            "current_mechanism": last and last.mechanism,
            "recent_mechanisms": [step.mechanism for step in self.recent],
            "recent_proxies": [step.proxies for step in self.recent],
        }

    def info(self) -> dict[str, Any]:
        info = self.markets.info()
        if not self.truth:
            del info["truth"]
        return {**info, "filled": list(self._filled)} if self._filled else info

    def _played(self, action: Any) -> float:
        whole, filled = completed(action, lambda: self.recent[-1].mechanism if self.recent else None)
        mechanism = action_from(whole)
        self._filled = filled
        self._row[0] = row_values(mechanism)
        self.markets.batch.run(self._row)
        self.markets.history.add(self._row)
        line = self.markets.lines[0, -1].tolist()
        scores: dict[str, float] = dict(zip(SCORES, line, strict=False))
        proxies = dict(zip(PROXIES, line[FIRST_PROXY:], strict=False))
        self.recent.append(MarketStep(scores, proxies, dict(vars(mechanism))))
        if self.steps < RECENT_STEPS:
            self.first.append(self.recent[-1])
        self.done = self.steps + 1 >= self.markets.config.episode_length
        return scores["composite"]

    def logged(self) -> Any:
        return self.recent[-1].mechanism


class LiveBargaining(Live):
    """A negotiation whose agent is the client."""

    def __init__(self, opening: Opening) -> None:
        options = dict(opening.options)
        context = {key: options.pop(key) for key in CONTEXT_KEYS if key in options}
        self.env, self.truth = NegotiationEnv(**options), opening.truth
        self._seen, self._info = self.env.reset(seed=opening.seed, options=context or None)
        self._move: dict[str, Any] | None = None

    def observation(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._seen.items()}

    def info(self) -> dict[str, Any]:
        info = {name: plain(value) for name, value in self._info.items() if name not in ("history", "utterances")}
        info["history"] = [{"side": side, "act": act, "share": share} for side, act, share in self._info["history"]]
        if "utterances" in self._info:
            info["utterances"] = [said._asdict() for said in self._info["utterances"]]
        if self.steps:
            info["components"] = self.env.batch.reward_parts()
        if self.truth:
            info["truth"] = {"partner_utilities": list(self.env.context.partner_utilities)}
        return info

    def _played(self, action: Any) -> float:
        check_shape(action)
        self._seen, reward, self.done, _, self._info = self.env.step(action)
        self._move = {"act_type": int(action["act_type"]), "oA": [int(units) for units in action["oA"]]}
        return reward

    def logged(self) -> Any:
        return self._move


def check_shape(move: Any) -> None:
    """Refuse what the environment would ignore or round (further keys, true or false among the units), and sentences: a log holds moves."""
    if isinstance(move, str):
        raise IllegalAction(
            f"The action is {shown(move)}; expected act_type and oA. POST /bargaining/parse reads sentences.", "action_shape"
        )
    if not isinstance(move, Mapping):
        return  # the environment's own error describes the shape
    for name in move:
        if name not in MOVE:
            raise IllegalAction(f"Unknown field {name!r} in the move. Known: {', '.join(MOVE)}.", str(name))
    share = move.get("oA")
    if isinstance(share, list) and any(isinstance(units, bool) for units in share):
        raise IllegalAction(f"oA is {share!r}; expected three whole numbers, one per item type.", "action_shape")


def plain(value: Any) -> Any:
    """A value of an observation in plain JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


GAMES: dict[str, Callable[[Opening], Live]] = {"auction": LiveAuction, "bargaining": LiveBargaining}


def open_live(opening: Opening) -> Live:
    """The episode that an opening begins; an opening of other rules is refused."""
    refuse_other_rules(opening.game, opening.rules)
    return GAMES[opening.game](opening)


def replayed(opening: Opening, actions: Iterable[Any]) -> Live:
    """The episode after the actions of a log."""
    live = open_live(opening)
    for action in actions:
        live.step(action)
    return live
