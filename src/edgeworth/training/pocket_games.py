"""The negotiations that the pocket model learns from: which games, which contexts, and which contexts are held out.

Part of the lessons are the scenarios, classic games with one option changed, and classic games with each of the other partners. In the
others every job draws a game: pools of up to ten of a type, points that are scaled or not, thresholds, lengths, and one further rule.

A half-context is what one side knows: the pool and its own utilities. Its standard order sorts the item types, whose names mean nothing,
and utilities are divided by their greatest common divisor, since scaled points show no more. One half-context in ten is held out, in all
orders, multiples and games, so that the model is never tested on a context that it knows by another name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeworth import catalog
from edgeworth.config import BargainingConfig
from edgeworth.errors import InvalidOption
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.blind_plan import check_silent_partner
from edgeworth.games.bargaining.vocabulary import COUNT_LIMIT, UTILITY_LIMIT
from edgeworth.seeding import hash_rows

HELD_OUT_ONE_IN = 10
SPLIT_SALT = np.uint64(0x0ED6E0A7)
BASE = 16
"""More than any count or utility, so that a type is one two-digit number."""

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(6, 19))
TURNS, COSTLY_TURNS = (2, 30), 12
"""Fewest and most turns, and the most where time or insisting costs: later ones matter little, and planning takes long."""
USUAL_THRESHOLDS, SCALED, OTHER_RULE = 0.4, 0.4, 0.3
"""How many of the games that are drawn have the usual thresholds, scaled points, and one further rule."""
DISCOUNTS, SUDDEN_ENDS, RESERVATIONS, INSIST_PRICES, PATIENCES = (
    (0.8, 0.85, 0.9, 0.95),
    (0.05, 0.1, 0.2),
    (0.1, 0.2, 0.3),
    (0.25, 0.5, 1.0),
    4,
)
RULES: tuple[Mapping[str, Any], ...] = (
    *({"discount": discount} for discount in DISCOUNTS),
    *({"sudden_end": chance} for chance in SUDDEN_ENDS),
    *({"reservation": (share, 0.0)} for share in RESERVATIONS),
    *({"insist_price": price} for price in INSIST_PRICES),
    *({"partner": "walk_away", "partner_options": {"patience": patience}} for patience in range(PATIENCES)),
    *({"partner_options": {"counter": "keep_all"}},) * 3,
    *({"disagree": "passes"},) * 3,
)
"""Further rules of a drawn game, equally likely."""


def trained_on() -> dict[str, list[Any]]:
    """What the games have, for the model's card: least and most of a number, or names."""
    return {
        "max_count": [1, COUNT_LIMIT],
        "max_turns": list(TURNS),
        "accept": [THRESHOLDS[0], THRESHOLDS[-1]],
        "accept_insist": [THRESHOLDS[0], THRESHOLDS[-1]],
        "patience": [0, PATIENCES - 1],
        "discount": [DISCOUNTS[0], 1.0],
        "sudden_end": [0.0, SUDDEN_ENDS[-1]],
        "reservation": [0.0, RESERVATIONS[-1]],
        "insist_price": [0.0, INSIST_PRICES[-1]],
        "contexts": ["uniform", "lewis"],
        "partner": sorted(catalog.PARTNERS),
    }


# Half-contexts


def standard_order(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order of the item types that sorts every half-context; both arguments have shape (n, 3)."""
    return np.argsort(counts * BASE + utilities, axis=1, kind="stable")


def held_out(counts: NDArray[np.int64], utilities: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which half-contexts are kept back; both arguments have shape (n, 3)."""
    common = np.maximum(np.gcd.reduce(utilities, axis=1), 1)
    types = np.sort(counts * BASE + utilities // common[:, None], axis=1)
    bits = np.empty(len(types), np.uint64)
    hash_rows(types, SPLIT_SALT, bits)
    kept: NDArray[np.bool_] = bits % np.uint64(HELD_OUT_ONE_IN) == 0
    return kept


def draw_halves(batch: BargainingBatch, number: int, rng: np.random.Generator, kept_back: bool) -> NDArray[np.int64]:
    """Half-contexts of a game in standard order, rows of six numbers: held-out ones, or only others."""
    found, there = [], 0
    while there < number:
        tries = 20 * number + 200
        if batch.rules[0]["from_table"]:
            rows = batch.table[rng.integers(len(batch.table), size=tries)].astype(np.int64)
        else:
            pools = rng.integers(batch.config.min_count, batch.max_count + 1, (tries, 3))
            rows = np.concatenate([pools, rng.integers(0, UTILITY_LIMIT + 1, (tries, 3))], axis=1)
        counts, utilities = rows[:, :3], rows[:, 3:6]
        fits = (held_out(counts, utilities) == kept_back) & (((counts * utilities).sum(axis=1) > 0) | (not batch.config.normalize))
        order = standard_order(counts, utilities)[fits]
        halves = (np.take_along_axis(part[fits], order, axis=1) for part in (counts, utilities))
        found.append(np.concatenate(list(halves), axis=1))
        there += len(order)
    return np.concatenate(found)[:number]


# Games


@dataclass(frozen=True)
class Negotiations:
    """A kind of negotiations to learn from, and its share of all."""

    share: float
    scenario: str = "classic"
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    """Whether every job draws a game of its own."""

    def game(self, rng: np.random.Generator) -> BargainingConfig:
        """The game that one job plays; one side opens all of its negotiations."""
        config = BargainingConfig.from_options(self.scenario, **(drawn_options(rng) if self.drawn else self.options))
        opens = ("agent", "partner")[int(rng.integers(2))] if config.opens == "random" else config.opens
        return dataclasses.replace(config, opens=opens)


def drawn_options(rng: np.random.Generator) -> dict[str, Any]:
    """The options of any game."""
    further: dict[str, Any] = dict(RULES[rng.integers(len(RULES))]) if rng.random() < OTHER_RULE else {}
    if rng.random() >= USUAL_THRESHOLDS:
        accept, accept_insist = rng.choice(THRESHOLDS, 2).tolist()
        further["partner_options"] = {**further.get("partner_options", {}), "accept": accept, "accept_insist": accept_insist}
    longest = COSTLY_TURNS if {"discount", "sudden_end", "insist_price"} & further.keys() else TURNS[1]
    return {
        "max_count": int(rng.integers(1, COUNT_LIMIT + 1)),
        "max_turns": int(rng.integers(TURNS[0], longest + 1)),
        "normalize": bool(rng.random() < SCALED),
        **further,
    }


def planned_game(config: BargainingConfig) -> BargainingConfig:
    """The game that is planned for: the one that is played, or where no blind plan is best, the same with the heuristic partner."""
    try:
        check_silent_partner(BargainingBatch(config, 1))
    except InvalidOption:
        return dataclasses.replace(config, partner="heuristic", partner_options={})
    return config


VARIANTS: dict[str, Mapping[str, Any]] = {
    "max_count 6": {"max_count": 6},
    "max_count 10": {"max_count": 10},
    "normalize": {"normalize": True},
    "accept 0.8": {"partner_options": {"accept": 0.8, "accept_insist": 0.8}},
    "max_turns 20": {"max_turns": 20},
}
"""Classic games with one option changed, in which hints are measured."""


def lessons() -> list[Negotiations]:
    """The scenarios, the variants, shorter classic negotiations, classic ones with each of the other partners, and any game."""
    others = [name for name in sorted(catalog.PARTNERS) if name not in ("heuristic", "walk_away")]
    shares = {"max_count 6": 0.06, "max_count 10": 0.10, "normalize": 0.10, "accept 0.8": 0.10, "max_turns 20": 0.05}
    return [
        Negotiations(0.34, drawn=True),
        Negotiations(0.10),
        *(Negotiations(share, options=VARIANTS[name]) for name, share in shares.items()),
        *(Negotiations(0.02, name) for name in ("one_shot", "discounted", "walkaway", "lewis", "lewis_keep_all")),
        Negotiations(0.01, options={"max_turns": 4}),
        *(Negotiations(0.04 / len(others), options={"partner": name}) for name in others),
    ]
