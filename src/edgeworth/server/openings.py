"""What a session is opened with: game, options, seed and the version of the rules, checked as they come from outside.

Clients can name no file of the server: partners, members of a population and contexts go by name, never by path.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeworth import catalog
from edgeworth.config import AuctionConfig, BargainingConfig, scenario_names
from edgeworth.dialogues.sentences import TONES
from edgeworth.errors import InvalidOption, OtherRules, UnknownKey, UnknownName
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.games.bargaining.contexts import CONTEXT_KEYS
from edgeworth.seeding import checked_seed, fresh_seed
from edgeworth.validation import build

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


def opening_of(game: str, options: Mapping[str, Any], seed: int | None = None, truth: bool = False) -> Opening:
    """A checked opening; without a seed, one is drawn."""
    if game not in RULES_OF:
        raise UnknownName("game", game, RULES_OF)
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


def opening_in(text: str) -> Opening:
    """An opening that was stored as JSON; its rules may be others than those in force."""
    opening: Opening = build(Opening, json.loads(text), "opening")
    if opening.game not in RULES_OF:
        raise UnknownName("game", opening.game, RULES_OF)
    return opening


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
