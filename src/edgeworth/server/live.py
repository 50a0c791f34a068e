"""Episodes that are played over the wire: the environments behind plain JSON.

A session is its opening (game, rules, options, seed) and the log of its actions; `open_live` and `replayed` make the same episode of them
anywhere, bit for bit, and refuse a session of rules that are not in force. Nothing of the server's machine can be named over the wire:
partners and contexts go by name, never by path.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from pydantic import ValidationError

from edgeworth import catalog
from edgeworth.config import AuctionConfig, BargainingConfig, config_folder
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.envs.designed_markets import COMPONENTS, DesignedMarkets
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption, OtherRules, UnknownKey, UnknownName
from edgeworth.games.auction.action import DaedalusAction, row_values
from edgeworth.games.auction.market_view import FIRST_DIAGNOSTIC, FIRST_PROXY, PROXY_LIMITS, RECENT_STEPS
from edgeworth.games.auction.state import MECHANISM, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS
from edgeworth.seeding import checked_seed, fresh_seed
from edgeworth.server.components import talk_components

AUCTION_OPTIONS = ("stage", "mix", "n_agents", "episode_length", "model", "freeze")
BARGAINING_OPTIONS = ("scenario", *(field.name for field in dataclasses.fields(BargainingConfig) if field.name != "context_options"))
NAMED_CONTEXTS = ("lewis", "uniform")
"""Sources that need no file."""
LONGEST_EPISODE = 1_000
"""The most steps that an episode may have here: a session is rebuilt by playing its log again."""
MOVE = ("act_type", "oA")
PROXIED = slice(FIRST_PROXY, FIRST_DIAGNOSTIC)
"""Where an outcome tells what was seen of the bidders."""
HIGHEST_PROXIES = tuple(PROXY_LIMITS.tolist())
"""What is shown of them at most."""
FIRST_RULES = 1
RULES_OF = {"auction": RULES, "bargaining": FIRST_RULES}
"""The rules that are in force, by game. A session of other rules is refused: its log would lead elsewhere."""
FILES = ("folder", "checkpoint")
"""Options of partners that name files."""


@dataclass(frozen=True)
class Opening:
    """What a session was opened with; together with its log, all there is to know of it."""

    game: str
    seed: int
    options: Mapping[str, Any]
    truth: bool = False
    """Whether the client is told what no player knows."""
    rules: int = FIRST_RULES
    """The version of the game's rules; an opening without a number is of the first."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


class Turn(NamedTuple):
    """What a step came to."""

    observation: dict[str, Any]
    reward: float
    done: bool
    info: dict[str, Any]


class Live(Protocol):
    """An episode in play."""

    steps: int
    done: bool

    def observation(self) -> dict[str, Any]:
        """What the player sees now."""
        ...

    def info(self) -> dict[str, Any]:
        """What else it is told."""
        ...

    def step(self, action: Any) -> Turn:
        """Carry out an action; one that is refused changes nothing."""
        ...

    def logged(self) -> Any:
        """The action of the last step as it is kept in the log, in plain JSON."""
        ...


class LiveAuction:
    """A market whose referee is at the other end of the wire; the market behind `DaedalusEnv`, without its spaces and arrays."""

    def __init__(self, opening: Opening) -> None:
        self.markets, self.truth = market_of(opening), opening.truth
        self.steps, self.done = 0, False
        self._row = np.zeros(1, MECHANISM)
        self._mechanism: dict[str, Any] | None = None
        self._outcome: tuple[float, ...] = self.markets.batch.outcomes.tolist()[0]
        self._scores: deque[dict[str, float]] = deque(maxlen=RECENT_STEPS)
        self._proxies: deque[dict[str, float]] = deque(maxlen=RECENT_STEPS)
        self._mechanisms: deque[dict[str, Any]] = deque(maxlen=RECENT_STEPS)

    def observation(self) -> dict[str, Any]:
        config = self.markets.config
        return {
            "market_outcomes": list(self._scores),
            "population_proxies": self._proxies[-1] if self.steps else None,
            "round_number": self.steps,
            "episode_length": config.episode_length,
            "n_agents": config.n_agents,
            "current_mechanism": self._mechanism,
            "recent_mechanisms": list(self._mechanisms),
            "recent_proxies": list(self._proxies),
        }

    def info(self) -> dict[str, Any]:
        if self.truth:
            return self.markets.info()
        return {"rules": RULES, "components": dict(zip(COMPONENTS, self._outcome, strict=False))}

    def step(self, action: Any) -> Turn:
        refuse_after_the_end(self)
        mechanism = mechanism_from(action)
        self._row[0] = row_values(mechanism)
        (self._outcome,) = self.markets.batch.run(self._row).tolist()
        scores = dict(zip(SCORES, self._outcome, strict=False))
        self._scores.append(scores)
        self._proxies.append(dict(zip(PROXIES, map(min, self._outcome[PROXIED], HIGHEST_PROXIES), strict=True)))
        self._mechanism = dict(vars(mechanism))
        self._mechanisms.append(self._mechanism)
        self.steps += 1
        self.done = self.steps >= self.markets.config.episode_length
        return Turn(self.observation(), scores["composite"], self.done, self.info())

    def logged(self) -> Any:
        return self._mechanism


def market_of(opening: Opening) -> DesignedMarkets:
    """The market that an opening begins."""
    markets = DesignedMarkets(AuctionConfig.from_options(**opening.options), 1)
    markets.batch.seed(opening.seed)
    markets.begin()
    return markets


def mechanism_from(action: Any) -> DaedalusAction:
    """A mechanism in words, as nearly everybody writes it; in numbers; or an error that says what is wrong with it."""
    try:
        return DaedalusAction.model_validate(action)
    except ValidationError:
        return action_from(action)


class LiveBargaining:
    """Talks whose agent is at the other end of the wire."""

    def __init__(self, opening: Opening) -> None:
        options = dict(opening.options)
        context = {key: options.pop(key) for key in CONTEXT_KEYS if key in options}
        self.env, self.truth = NegotiationEnv(**options), opening.truth
        self._seen, self._info = self.env.reset(seed=opening.seed, options=context or None)
        self.steps, self.done = 0, False
        self._move: dict[str, Any] | None = None

    def observation(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._seen.items()}

    def info(self) -> dict[str, Any]:
        told = {name: plain(value) for name, value in self._info.items() if name != "history"}
        told["history"] = [{"side": side, "act": act, "share": share} for side, act, share in self._info["history"]]
        if self.steps:
            told["components"] = talk_components(self.env.config, self.env.context if self.done else None, self._info)
        if self.truth:
            context = self.env.context
            told["truth"] = {"partner_utilities": list(context.partner_utilities)}
        return told

    def step(self, action: Any) -> Turn:
        refuse_after_the_end(self)
        check_shape(action)
        self._seen, reward, self.done, _, self._info = self.env.step(action)
        self.steps += 1
        self._move = {"act_type": int(action["act_type"]), "oA": [int(units) for units in action["oA"]]}
        return Turn(self.observation(), reward, self.done, self.info())

    def logged(self) -> Any:
        return self._move


def refuse_after_the_end(live: Live) -> None:
    """An episode that is over has no next step."""
    if live.done:
        raise EpisodeOver(f"The episode is over after {live.steps} steps.")


def check_shape(move: Any) -> None:
    """Refuse what the environment would pass over or round: further keys, and true or false among the units."""
    if not isinstance(move, Mapping):
        return  # the environment says what it expects
    for name in move:
        if name not in MOVE:
            raise IllegalAction(f"Unknown field {name!r} in the move. Known: {', '.join(MOVE)}.", str(name))
    share = move.get("oA")
    if isinstance(share, list) and any(isinstance(units, bool) for units in share):
        raise IllegalAction(f"oA is {share!r}; expected three whole numbers, one per item type.", "action_shape")


def plain(value: Any) -> Any:
    """A value of an observation as JSON holds it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


GAMES: dict[str, Callable[[Opening], Live]] = {"auction": LiveAuction, "bargaining": LiveBargaining}


def opening_of(game: str, options: Mapping[str, Any], seed: int | None = None, truth: bool = False) -> Opening:
    """A checked opening; without a seed it is given one of its own."""
    if game not in GAMES:
        raise UnknownName("game", game, GAMES)
    known = AUCTION_OPTIONS if game == "auction" else (*BARGAINING_OPTIONS, *CONTEXT_KEYS)
    for name in options:
        if name not in known:
            raise UnknownKey("option", name, known)
    given = {name: value for name, value in options.items() if value is not None}
    _check_auction(given) if game == "auction" else _check_bargaining(given)
    return Opening(game, fresh_seed() if seed is None else checked_seed(seed), given, truth, RULES_OF[game])


def _check_auction(options: dict[str, Any]) -> None:
    config = AuctionConfig.from_options(**dict(options))
    if config.episode_length > LONGEST_EPISODE:
        raise InvalidOption(f"episode_length is {config.episode_length}; over the wire it is 1 to {LONGEST_EPISODE}.")


def _check_bargaining(options: dict[str, Any]) -> None:
    """Refuse what would name a file on the server."""
    if options.get("contexts", "uniform") not in NAMED_CONTEXTS:
        raise UnknownName("context source over the wire", options["contexts"], NAMED_CONTEXTS)
    if "scenario" in options and options["scenario"] not in scenario_names():
        raise UnknownName("scenario", options["scenario"], scenario_names())
    if options.get("partner", "heuristic") not in catalog.names("partner"):
        raise UnknownName("partner", options["partner"], catalog.names("partner"))
    refuse_files(options.get("partner_options", {}), "partner_options")


def refuse_files(value: Any, where: str) -> None:
    """Refuse options, however deep, that name files."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in FILES:
                raise InvalidOption(f"{where}.{name} names a file of the server, which cannot be done over the wire.")
            refuse_files(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            refuse_files(inner, where)


def scenario_names() -> list[str]:
    """The scenarios that come with the package."""
    return sorted(path.stem for path in (config_folder() / "scenarios").glob("*.yaml"))


def opening_from(export: Mapping[str, Any]) -> tuple[Opening, list[Any]]:
    """The opening and the log in an exported session; one of other rules is refused."""
    refuse_other_rules(export["game"], export.get("rules", FIRST_RULES))
    opening = opening_of(export["game"], export["options"], export["seed"], bool(export.get("truth", False)))
    return opening, list(export["actions"])


def refuse_other_rules(game: str, rules: object) -> None:
    """Refuse a session of rules that are not in force; an unknown game is left to `opening_of`."""
    expected = RULES_OF.get(game)
    if expected is not None and rules != expected:
        raise OtherRules(game, rules, expected)


def open_live(opening: Opening) -> Live:
    """The episode that an opening begins; one of other rules is refused."""
    refuse_other_rules(opening.game, opening.rules)
    return GAMES[opening.game](opening)


def replayed(opening: Opening, actions: Iterable[Any]) -> Live:
    """The episode that an opening and a log lead to."""
    live = open_live(opening)
    for action in actions:
        live.step(action)
    return live
