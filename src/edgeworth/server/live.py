"""Episodes played over the wire: the environments behind plain JSON.

A session is its opening (game, rules, options, seed) and the log of its actions; `open_live` and `replayed` rebuild the same episode from
them on any machine, bit for bit, and refuse a session of rules that are not in force. Clients can name no file of the server: partners
and contexts go by name, never by path.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgeworth import catalog
from edgeworth.config import AuctionConfig, BargainingConfig, scenario_names
from edgeworth.dialogues.sentences import TONES
from edgeworth.envs.daedalus_spaces import action_from
from edgeworth.envs.designed_markets import DesignedMarkets
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.errors import EpisodeOver, IllegalAction, InvalidOption, OtherRules, UnknownKey, UnknownName
from edgeworth.games.auction.action import completed, row_values
from edgeworth.games.auction.market_view import FIRST_PROXY, RECENT_STEPS
from edgeworth.games.auction.state import MECHANISM, PROXIES, SCORES
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS
from edgeworth.seeding import checked_seed, fresh_seed

AUCTION_OPTIONS = ("stage", "mix", "n_agents", "episode_length", "model", "freeze")
BARGAINING_OPTIONS = (
    "scenario",
    "utterances",
    *(field.name for field in dataclasses.fields(BargainingConfig) if field.name != "context_options"),
)
NAMED_CONTEXTS = ("lewis", "uniform")
"""Sources that need no file."""
LONGEST_EPISODE = 1_000
"""The most steps of an episode here: a session is rebuilt by replaying its log."""
MOVE = ("act_type", "oA")
FIRST_RULES = 1
RULES_OF = {"auction": RULES, "bargaining": FIRST_RULES}
"""The rules in force, by game. A session of other rules is refused: its log would lead elsewhere."""
FILES = ("folder", "checkpoint")
"""Options of partners that name files."""


@dataclass(frozen=True)
class Opening:
    """What a session was opened with; together with its log, it determines the episode."""

    game: str
    seed: int
    options: Mapping[str, Any]
    truth: bool = False
    """Whether `info` includes what no player knows."""
    rules: int = FIRST_RULES
    """The version of the game's rules; an opening without a number has the first."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


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
        whole, filled = completed(action, self.recent[-1].mechanism if self.recent else None)
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
    """Refuse what the environment would ignore or round: further keys, and true or false among the units."""
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


def opening_of(game: str, options: Mapping[str, Any], seed: int | None = None, truth: bool = False) -> Opening:
    """A checked opening; without a seed, one is drawn."""
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
    """Refuse options that name a file of the server."""
    if options.get("contexts", "uniform") not in NAMED_CONTEXTS:
        raise UnknownName("context source over the wire", options["contexts"], NAMED_CONTEXTS)
    if "scenario" in options and options["scenario"] not in scenario_names():
        raise UnknownName("scenario", options["scenario"], scenario_names())
    if options.get("partner", "heuristic") not in catalog.names("partner"):
        raise UnknownName("partner", options["partner"], catalog.names("partner"))
    if options.get("utterances", TONES[0]) not in TONES:
        raise UnknownName("tone of utterances", options["utterances"], TONES)
    partner_options = options.get("partner_options", {})
    refuse_files(partner_options, "partner_options")
    if isinstance(partner_options, Mapping):
        _check_members(partner_options)


def _check_members(partner_options: Mapping[str, Any]) -> None:
    """Refuse members of a population that the catalog does not hold; at home they may be paths of checkpoints."""
    for group in (partner_options.get("members"), partner_options.get("held_out")):
        for label, entry in group.items() if isinstance(group, Mapping) else ():
            name = entry.get("partner", label) if isinstance(entry, Mapping) else label
            if name not in catalog.names("partner"):
                raise UnknownName("partner", name, catalog.names("partner"))


def refuse_files(value: Any, where: str) -> None:
    """Refuse options that name files, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in FILES:
                raise InvalidOption(f"{where}.{name} names a file of the server, which cannot be done over the wire.")
            refuse_files(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            refuse_files(inner, where)


def opening_from(export: Mapping[str, Any]) -> tuple[Opening, list[Any]]:
    """Opening and log of an exported session; a session of other rules is refused."""
    refuse_other_rules(export["game"], export.get("rules", FIRST_RULES))
    opening = opening_of(export["game"], export["options"], export["seed"], bool(export.get("truth", False)))
    return opening, list(export["actions"])


def refuse_other_rules(game: str, rules: object) -> None:
    """Refuse a session of rules that are not in force; `opening_of` refuses an unknown game."""
    expected = RULES_OF.get(game)
    if expected is not None and rules != expected:
        raise OtherRules(game, rules, expected)


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
